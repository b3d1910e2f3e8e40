/** A sink that can be shut for good: what a reader still says then is shown to nobody. */
import type { Sink } from './dialect.ts'

export class ClosableSink implements Sink {
  readonly #sink: Sink
  readonly #onText: () => void
  #open = true

  /** `onText`: called before each text that is shown. */
  constructor(sink: Sink, onText: () => void) {
    this.#sink = sink
    this.#onText = onText
  }

  close(): void {
    this.#open = false
  }

  text(text: string): void {
    if (!this.#open) return
    this.#onText()
    this.#sink.text(text)
  }

  reasoning(text: string): void {
    if (this.#open) this.#sink.reasoning(text)
  }
}
