/**
 * Time that stands still until everything that can happen now has happened, then leaps to what is due next: a timer, or what a
 * cassette holds. So hours are replayed in a moment, and in the order in which they were.
 *
 * It takes the place of the clock and the timers of the thread it runs in, for good: only ever in a thread of its own.
 */
import timers from 'node:timers/promises'

interface Due {
  readonly at: number
  /** Of two at one time the lower goes first. What was recorded is numbered; a timer comes after all of it. */
  readonly order: number
  readonly run: () => void
}

/** Timers that share a time fire in the order in which they were set. */
const FIRST_TIMER = 2 ** 40
/** What unpacks an answer works outside this thread: so long it is waited for. */
const UNPACKING_MS = 50

export class VirtualTime {
  #now: number
  readonly #due = new Set<Due>()
  #timers = FIRST_TIMER
  #unpacking = false

  constructor(startedAt: number) {
    this.#now = startedAt
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    return this.#now
  }

  /** So late it is by now; what has become due meanwhile comes next. */
  advance(to: number): void {
    this.#now = Math.max(this.#now, to)
  }

  /** Runs it once that time has come; the function that comes back takes it off. */
  schedule(at: number, order: number, run: () => void): () => void {
    const due: Due = { at, order, run }
    this.#due.add(due)
    return () => this.#due.delete(due)
  }

  /** Before the next leap, what another thread unpacks is waited for. */
  unpacking(): void {
    this.#unpacking = true
  }

  install(): void {
    const offs = new WeakMap<object, () => void>()
    const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
      const timer = { ref: () => timer, unref: () => timer, hasRef: () => true, refresh: () => timer }
      this.#timers += 1
      offs.set(
        timer,
        this.schedule(this.#now + Math.max(1, ms), this.#timers, () => run(...given)),
      )
      return timer
    }
    const clear = (timer: unknown) => {
      if (typeof timer === 'object' && timer !== null) offs.get(timer)?.()
    }
    // The forms that the engine uses; the whole of Node's types is not played.
    globalThis.setTimeout = set as unknown as typeof setTimeout
    globalThis.clearTimeout = clear
    Date.now = () => this.#now
  }

  /** True once `done` has settled; false where nothing is due and it has not. */
  async runUntil(done: Promise<unknown>): Promise<boolean> {
    let over = false
    void done.finally(() => (over = true))
    for (;;) {
      await this.#quiet()
      if (over) return true
      if (!this.#leap()) return false
    }
  }

  /** Everything that can go on without time has gone on. */
  async #quiet(): Promise<void> {
    await timers.setImmediate()
    if (!this.#unpacking) return
    this.#unpacking = false
    await timers.setTimeout(UNPACKING_MS)
  }

  #leap(): boolean {
    let next: Due | null = null
    for (const due of this.#due) {
      if (next === null || due.at < next.at || (due.at === next.at && due.order < next.order)) next = due
    }
    if (next === null) return false
    this.#due.delete(next)
    this.advance(next.at)
    next.run()
    return true
  }
}
