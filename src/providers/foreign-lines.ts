/**
 * Takes lines out of an event stream that are none of its own: JSON or a page that a gateway wrote into it without `data:`, a
 * line that lost its beginning. The grammar of server-sent events passes over what it does not know, and a part of the answer
 * with it. Pure; linear and bounded, and the same wherever the text is cut.
 *
 * A field that nobody knows, and words alone, are passed over all the same: both are sent to keep a connection alive.
 */

export type ForeignLine =
  /** What stands in it is JSON: it lost its field name, or never had one. */
  | { readonly kind: 'data'; readonly event: string | undefined; readonly data: string }
  /** Something was meant by it, and cannot be read. */
  | { readonly kind: 'unreadable' }

export interface Lines {
  /** Text of the stream itself, unchanged. */
  stream(text: string): void
  foreign(line: ForeignLine): void
}

const FIELDS: ReadonlyMap<string, string> = new Map(
  ['data', 'event', 'id', 'retry'].map((name) => [name.charAt(0), name]),
)
const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SMALL_D = 0x64

/** More of a foreign line is not kept: an error is shorter. */
const LONGEST_LINE = 64 * 1024

export class ForeignLines {
  readonly #lines: Lines
  #at: 'start' | 'line' | 'foreign' = 'start'
  /** The beginning of a line that may still become a field. */
  #held = ''
  readonly #foreign: string[] = []
  #length = 0
  /** A foreign line ended in CR; an LF after it is of the same end. */
  #afterCr = false

  constructor(lines: Lines) {
    this.#lines = lines
  }

  feed(piece: string): void {
    const text = this.#held === '' ? piece : this.#held + piece
    this.#held = ''
    const mayHaveCr = text.includes('\r')
    let from = 0
    let at = 0
    while (at < text.length) {
      if (this.#afterCr) {
        this.#afterCr = false
        if (text.charCodeAt(at) === LF) {
          at += 1
          from = at
          continue
        }
      }
      if (this.#at === 'start') {
        const kind = kindOf(text, at)
        if (kind !== 'stream') this.#pass(text, from, at)
        if (kind === 'unsure') {
          this.#held = text.slice(at)
          return
        }
        this.#at = kind === 'stream' ? 'line' : 'foreign'
        if (kind === 'foreign') from = at
      }
      const end = endOfLine(text, at, mayHaveCr)
      if (this.#at === 'foreign') {
        this.#keep(text.slice(at, end === -1 ? undefined : end))
        if (end === -1) return
        this.#afterCr = text.charCodeAt(end) === CR
        this.#tell()
        from = end + 1
      }
      if (end === -1) break
      this.#at = 'start'
      at = end + 1
    }
    this.#pass(text, from, text.length)
  }

  /** The text is over, and so is the line that it ended in. */
  end(): void {
    const held = this.#held
    this.#held = ''
    if (held !== '') this.#lines.stream(held)
    if (this.#at === 'foreign') this.#tell()
  }

  #pass(text: string, from: number, to: number): void {
    if (to > from) this.#lines.stream(from === 0 && to === text.length ? text : text.slice(from, to))
  }

  #keep(piece: string): void {
    this.#length += piece.length
    if (this.#length <= LONGEST_LINE) this.#foreign.push(piece)
  }

  #tell(): void {
    const whole = this.#length <= LONGEST_LINE
    const line = readLine(this.#foreign.join(''), whole)
    this.#foreign.length = 0
    this.#length = 0
    this.#at = 'start'
    if (line !== null) this.#lines.foreign(line)
  }
}

function endOfLine(text: string, at: number, mayHaveCr: boolean): number {
  const lf = text.indexOf('\n', at)
  const cr = mayHaveCr ? text.indexOf('\r', at) : -1
  return cr === -1 || (lf !== -1 && lf < cr) ? lf : cr
}

/** What begins here, where a line does. */
function kindOf(text: string, at: number): 'stream' | 'foreign' | 'unsure' {
  const first = text.charCodeAt(at)
  if (first === LF || first === COLON || first === CR) return 'stream'
  // Most lines by far.
  if (first === SMALL_D && text.startsWith('data:', at)) return 'stream'
  const name = FIELDS.get(text.charAt(at))
  if (name === undefined) return 'foreign'
  if (text.length - at <= name.length) return name.startsWith(text.slice(at)) ? 'unsure' : 'foreign'
  const after = text.charCodeAt(at + name.length)
  return text.startsWith(name, at) && (after === COLON || isEnd(after)) ? 'stream' : 'foreign'
}

function isEnd(unit: number): boolean {
  return unit === LF || unit === CR
}

/** Marks of JSON and of markup: something was meant. */
const MEANT = /["{}<]/
/** A field as the grammar has it, of a name that nobody knows. */
const FIELD = /^[a-z][\w-]{0,40}:/i
/** The name of a field that was meant, behind what must not stand before it. */
const LIKE_A_FIELD = /^[^\w"{}[\]<]*(?:(data|error)\b)?\s*:?\s*/i

/** null: it says nothing. */
function readLine(line: string, whole: boolean): ForeignLine | null {
  if (!MEANT.test(line)) return null
  const [before = '', name = ''] = LIKE_A_FIELD.exec(line) ?? []
  if (name === '' && FIELD.test(line)) return null
  const data = line.slice(before.length)
  if (!whole || !isJson(data)) return { kind: 'unreadable' }
  return { kind: 'data', event: name.toLowerCase() === 'error' ? 'error' : undefined, data }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
