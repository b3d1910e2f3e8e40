/**
 * Puts the pieces of one text together, the same way for every dialect: pieces are kept in an array and joined once, and a
 * surrogate pair that was cut between two of them is shown whole.
 *
 * What `push` gives out over the whole life and what `text` gives at the end are the same string, always well-formed.
 */
import { wellFormed } from '../contract/json.ts'

export class TextGather {
  /** In UTF-16 units, a half that is held back not counted. */
  length = 0
  readonly #pieces: string[] = []
  /** The first half of a pair, waiting for the second. */
  #half = ''

  /** Takes a piece; gives what may be shown now, which is '' where nothing may. */
  push(piece: string): string {
    if (piece === '') return ''
    let whole = this.#half === '' ? piece : this.#half + piece
    this.#half = ''
    if (isHighSurrogate(whole.charCodeAt(whole.length - 1))) {
      this.#half = whole.slice(-1)
      whole = whole.slice(0, -1)
      if (whole === '') return ''
    }
    const shown = wellFormed(whole)
    this.#pieces.push(shown)
    this.length += shown.length
    return shown
  }

  /** All that was given out. A half whose other half never came is dropped: nobody has seen it. */
  text(): string {
    return this.#pieces.join('')
  }
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
