/**
 * One text that arrives in parts, each part piece by piece and then once more whole. What was shown stays: a whole text only
 * adds what is missing at the end, and one that says something else changes nothing.
 *
 * A whole text no longer than what has come is not compared, so that time stays linear in what is received.
 */
import { wellFormed } from '../../contract/json.ts'
import { TextGather } from '../text-gather.ts'

export class PartedText {
  readonly #gather = new TextGather()
  readonly #separator: string
  readonly #show: (text: string) => void
  /** UTF-16 units that came, separators and a half that is still held back included. */
  #taken = 0
  /** Where the part that is being written begins. */
  #from = 0
  #part: unknown
  readonly #parts = new Set<unknown>()

  /** @param separator stands between two parts; @param show gets every piece that may be shown, never empty */
  constructor(separator: string, show: (text: string) => void) {
    this.#separator = separator
    this.#show = show
  }

  get length(): number {
    return this.#gather.length
  }

  /** The next piece of a part. Gives the UTF-16 units that were shown. */
  piece(part: unknown, piece: string): number {
    if (piece === '') return 0
    if (this.#parts.size > 0 && part === this.#part) return this.#push(piece)
    const separated = this.#taken === 0 ? 0 : this.#push(this.#separator)
    this.#part = part
    this.#parts.add(part)
    this.#from = this.#taken
    return separated + this.#push(piece)
  }

  /** A part as a whole. Gives the UTF-16 units that were new. */
  part(part: unknown, whole: string): number {
    if (!this.#parts.has(part)) return this.piece(part, whole)
    return part === this.#part ? this.#tail(whole, this.#from) : 0
  }

  /** All parts, in order. Gives the UTF-16 units that were new. */
  all(parts: readonly string[]): number {
    const whole = parts.filter((part) => part !== '').join(this.#separator)
    if (this.#parts.size === 0) return this.piece(0, whole)
    return this.#tail(whole, 0)
  }

  text(): string {
    return this.#gather.text()
  }

  #tail(whole: string, from: number): number {
    const have = this.#taken - from
    if (whole.length <= have) return 0
    const shown = from === 0 ? this.text() : this.text().slice(from)
    return wellFormed(whole).startsWith(shown) ? this.#push(whole.slice(have)) : 0
  }

  #push(piece: string): number {
    this.#taken += piece.length
    const shown = this.#gather.push(piece)
    if (shown !== '') this.#show(shown)
    return shown.length
  }
}
