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
  /** How many pieces repeated the text before them; null: they are what is new. */
  repeated: number | null
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
      entry = { fields: {}, joined, pieces: [], repeated: this.#mayRepeat ? 0 : null }
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

/** The first piece that does not begin with the text before it tells that none is a repetition. */
function add(entry: Entry, piece: string): string {
  if (piece === '') return ''
  const [first] = entry.pieces
  if (first === undefined || entry.repeated === null) return append(entry, piece)
  const whole = entry.pieces.join('')
  if (piece.startsWith(whole)) {
    entry.repeated += 1
    return append(entry, piece.slice(whole.length))
  }
  // The piece before it only began like the first one by chance, and goes back with its beginning.
  if (entry.repeated === 1) entry.pieces.unshift(first)
  entry.repeated = null
  return append(entry, piece)
}

function append(entry: Entry, said: string): string {
  entry.pieces.push(said)
  return said
}

function joinedField(detail: JsonObject): string | null {
  const type = text(detail['type'])
  return Object.hasOwn(JOINED, type) ? (JOINED[type] ?? null) : null
}

function sameEntry(before: JsonObject, after: JsonObject): boolean {
  return ['index', 'id'].every((key) => before[key] == null || after[key] == null || before[key] === after[key])
}
