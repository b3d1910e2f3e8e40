/**
 * What a reader of the step has in view. Text goes out as it comes. When an attempt fails, what it showed stays in view while
 * the next one is prepared, and is reset at that one's first output or with its answer: so nothing is taken from a reader for
 * no better, and if every attempt fails the text already shown stands.
 */
import type { StepTap } from '../engine/ports.ts'
import type { Sink } from './dialect.ts'

export class StepView implements Sink {
  readonly #tap: StepTap
  #texts: string[] = []
  /** Something is in view, text or reasoning. */
  #inView = false
  /** It belongs to an attempt that failed. */
  #stale = false
  #everText = false

  constructor(tap: StepTap) {
    this.#tap = tap
  }

  /** The text in view. */
  get shown(): string {
    return this.#texts.join('')
  }

  /** Text of the step was shown at some time, discarded or not. */
  get everText(): boolean {
    return this.#everText
  }

  text(text: string): void {
    this.refresh()
    this.#inView = true
    this.#everText = true
    this.#texts.push(text)
    this.#tap.text(text)
  }

  reasoning(text: string): void {
    this.refresh()
    this.#inView = true
    this.#tap.reasoning(text)
  }

  /** The attempt that showed it came to nothing. */
  attemptFailed(): void {
    this.#stale = this.#inView
  }

  /** Discards what a failed attempt left in view. */
  refresh(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#inView = false
    this.#texts = []
    this.#tap.reset('retry')
  }
}
