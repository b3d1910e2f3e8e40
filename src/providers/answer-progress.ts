/**
 * How far the reading of one chat answer has come: what its `Reader` shows of itself, and how it ended. The first finish reason
 * and the first fault stand; nothing undoes either.
 */
import type { ProviderFault, Reader } from './dialect.ts'

export class AnswerProgress {
  state: Reader['progress'] = 'open'
  started = false
  outputLength = 0
  /** The provider's word; null: it said none. */
  finish: string | null = null
  fault: ProviderFault | null = null
  #ended = false

  /** An end was seen, and no fault: this is a whole answer. */
  get complete(): boolean {
    return this.#ended && this.fault === null
  }

  /** @param units of output that are new, in UTF-16 units */
  count(units: number): void {
    if (units === 0) return
    this.outputLength += units
    this.started = true
  }

  /** A finish reason: only late usage and the end mark may follow. Some servers send a second, plainer one. */
  finished(word: string): void {
    this.finish ??= word
    this.#ended = true
    if (this.state === 'open') this.state = 'finished'
  }

  /** The end mark. */
  done(): void {
    this.#ended = true
    this.state = 'closed'
  }

  fail(fault: ProviderFault): void {
    this.fault ??= fault
    this.state = 'closed'
  }
}
