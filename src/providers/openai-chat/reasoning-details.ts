/**
 * `reasoning_details`: structured reasoning that must go back unchanged (OpenRouter, MiniMax). A stream sends it in pieces;
 * neighbouring pieces of one text are joined, encrypted entries stay as they are. MiniMax's documents describe pieces that each
 * hold the whole text so far, while its service sends only what is new: both are read.
 */
import type { Json, JsonObject } from '../../contract/json.ts'
import { isObject, list, text } from '../wire-value.ts'

/** What is joined, by the type of the entry. */
const JOINED: Readonly<Record<string, string>> = { 'reasoning.text': 'text', 'reasoning.summary': 'summary' }

interface Entry {
  /** Fields of the entry but for the joined one; later pieces may add a signature or an id. */
  readonly fields: { [name: string]: Json }
  readonly joined: string | null
  readonly pieces: string[]
  /** Of all pieces. */
  length: number
  /** Each piece repeats the text before it; null while the second one has not come. */
  repeats: boolean | null
}

export class ReasoningDetails {
  readonly #entries: Entry[] = []
  readonly #mayRepeat: boolean

  /** @param mayRepeat the server is one whose pieces may hold the whole text so far */
  constructor(mayRepeat: boolean) {
    this.#mayRepeat = mayRepeat
  }

  get size(): number {
    return this.#entries.length
  }

  /** Gives the words that were new. */
  push(details: unknown): string {
    return list(details)
      .map((detail) => (isObject(detail) ? this.#piece(detail as JsonObject) : ''))
      .join('')
  }

  #piece(detail: JsonObject): string {
    const joined = joinedField(detail)
    let entry = this.#entries.at(-1)
    if (joined === null || entry?.joined !== joined || !sameEntry(entry.fields, detail)) {
      entry = { fields: {}, joined, pieces: [], length: 0, repeats: this.#mayRepeat ? null : false }
      this.#entries.push(entry)
    }
    let said = ''
    for (const [field, value] of Object.entries(detail)) {
      if (field === joined) said = add(entry, text(value))
      else if (value !== null || !Object.hasOwn(entry.fields, field)) entry.fields[field] = value
    }
    return joined === null ? text(detail['text']) || text(detail['summary']) : said
  }

  /** As it goes back. */
  entries(): readonly JsonObject[] {
    return this.#entries.map(({ fields, joined, pieces }) =>
      joined === null ? fields : { ...fields, [joined]: pieces.join('') },
    )
  }
}

/** The second piece tells whether a text is sent whole each time; one that does not begin with it is never a repetition. */
function add(entry: Entry, piece: string): string {
  if (piece === '') return ''
  const first = entry.length === 0
  const begins = !first && entry.repeats !== false && piece.startsWith(entry.pieces.join(''))
  if (!first) entry.repeats ??= begins
  const said = begins && entry.repeats === true ? piece.slice(entry.length) : piece
  entry.pieces.push(said)
  entry.length += said.length
  return said
}

function joinedField(detail: JsonObject): string | null {
  const type = text(detail['type'])
  return Object.hasOwn(JOINED, type) ? (JOINED[type] ?? null) : null
}

function sameEntry(before: JsonObject, after: JsonObject): boolean {
  return ['index', 'id'].every((key) => before[key] == null || after[key] == null || before[key] === after[key])
}
