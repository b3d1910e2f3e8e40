/**
 * Finds the end of the first whole JSON object, array or string of a text that may come in pieces. Linear over the whole
 * life: what was scanned once is not scanned again.
 *
 * It looks at brackets and quotes only. What it calls whole may still be no JSON; `parseJson` decides that.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c

export class JsonScan {
  /** Units up to and with the last one of the first whole value; null until it is whole, and for ever for a bare number or word. */
  end: number | null = null
  #position = 0
  #depth = 0
  #inString = false
  #escaped = false

  feed(piece: string): void {
    for (let i = 0; i < piece.length && this.end === null; i += 1) this.#unit(piece.charCodeAt(i), this.#position + i)
    this.#position += piece.length
  }

  #unit(unit: number, at: number): void {
    if (this.#escaped) this.#escaped = false
    else if (this.#inString) this.#unitOfString(unit, at)
    else if (unit === QUOTE) this.#inString = true
    else if (unit === 0x7b || unit === 0x5b) this.#depth += 1
    else if (unit === 0x7d || unit === 0x5d) this.#close(at)
  }

  #unitOfString(unit: number, at: number): void {
    if (unit === BACKSLASH) this.#escaped = true
    else if (unit === QUOTE) {
      this.#inString = false
      if (this.#depth === 0) this.end = at + 1
    }
  }

  #close(at: number): void {
    this.#depth -= 1
    if (this.#depth <= 0) this.end = at + 1
  }
}

/** Units of the first whole value of a text; null where it holds none. */
export function firstValueEnd(text: string): number | null {
  const scan = new JsonScan()
  scan.feed(text)
  return scan.end
}
