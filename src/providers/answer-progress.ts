/**
 * How far the reading of one chat answer has come: what its `Reader` shows of itself, and how it ended. The first finish reason
 * and the first fault stand; nothing undoes either.
 */
import type { ProviderFault, Reader, UsageReading } from './dialect.ts'

/** Of an answer, in UTF-16 units, that one token is hardly ever: with more of it to a token the usage was told too early. */
const UNITS_PER_TOKEN = 8

export class AnswerProgress {
  state: Reader['progress'] = 'open'
  started = false
  outputLength = 0
  /** The provider's word; null: it said none. */
  finish: string | null = null
  fault: ProviderFault | null = null
  #ended = false
  /** `outputLength` when the usage was told last. */
  #counted = 0

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

  /** Nothing more is read. `held`: what had come before, and was held back until now. */
  over(held: number): void {
    if (this.#counted === this.outputLength) this.#counted += held
    this.count(held)
    this.state = 'closed'
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

  /** A chunk told usage; called behind everything else that it said. */
  usageTold(): void {
    this.#counted = this.outputLength
  }

  /**
   * The usage as far as it is of the whole answer. A running total that was told on the way is only the least that an output
   * had: of an answer that was cut, and of one that said much more behind it.
   * @param reading of the usage that was told last
   */
  asFarAsTold(reading: UsageReading | null): UsageReading | null {
    if (reading?.known !== 'all') return reading
    const isLast = this.#counted === this.outputLength
    const mayBeAll = isLast || reading.tokens.output_tokens * UNITS_PER_TOKEN >= this.outputLength
    return (this.complete ? mayBeAll : isLast && this.fault !== null) ? reading : { ...reading, known: 'input' }
  }
}
