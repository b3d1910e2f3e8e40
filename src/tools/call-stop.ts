/**
 * What ends a call from outside its exchange with the tool: the run's signal, the call's deadline, a late result. The first
 * of them wins. Leaves neither a timer nor a listener behind once it is released.
 */
import { LONGEST_TIMER_MS } from '../contract/longest-timer.ts'
import type { Interruption } from '../engine/ports.ts'
import type { LateAnswer } from './late-results.ts'

export type Stop =
  | { readonly kind: 'interrupted'; readonly why: Interruption }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'late_result'; readonly answer: LateAnswer }

export class CallStop {
  /** Resolves when the call is stopped; never rejects, and never settles after `release`. */
  readonly stopped: Promise<Stop>
  #stop: Stop | null = null
  #settle: (stop: Stop) => void = () => {}
  readonly #timer: NodeJS.Timeout
  readonly #signal: AbortSignal
  readonly #onAbort = () => this.#end({ kind: 'interrupted', why: interruption(this.#signal.reason) })

  /** `leftMs`: until the call's deadline. */
  constructor(signal: AbortSignal, leftMs: number) {
    this.stopped = new Promise((resolve) => (this.#settle = resolve))
    this.#signal = signal
    this.#timer = setTimeout(() => this.#end({ kind: 'deadline' }), Math.min(leftMs, LONGEST_TIMER_MS))
    signal.addEventListener('abort', this.#onAbort, { once: true })
    if (signal.aborted) this.#onAbort()
  }

  /** Why the call is stopped; null while it is not. */
  get reason(): Stop | null {
    return this.#stop
  }

  lateResult(answer: LateAnswer): void {
    this.#end({ kind: 'late_result', answer })
  }

  release(): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#onAbort)
  }

  #end(stop: Stop): void {
    if (this.#stop !== null) return
    this.#stop = stop
    this.#settle(stop)
  }
}

/** The reason of a run's signal is an `Interruption`; a foreign one counts as a cancel. */
function interruption(reason: unknown): Interruption {
  return reason === 'deadline' || reason === 'shutdown' || reason === 'lost' ? reason : 'cancelled'
}
