/**
 * `reasoning_details`: structured reasoning that must go back unchanged (OpenRouter, MiniMax). A stream sends it in pieces;
 * neighbouring pieces of one text are joined, encrypted entries stay as they are.
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
}

export class ReasoningDetails {
  readonly #entries: Entry[] = []

  get size(): number {
    return this.#entries.length
  }

  push(details: unknown): void {
    for (const detail of list(details)) if (isObject(detail)) this.#piece(detail as JsonObject)
  }

  #piece(detail: JsonObject): void {
    const joined = joinedField(detail)
    let entry = this.#entries.at(-1)
    if (joined === null || entry?.joined !== joined || !sameEntry(entry.fields, detail)) {
      entry = { fields: {}, joined, pieces: [] }
      this.#entries.push(entry)
    }
    for (const [field, value] of Object.entries(detail)) {
      if (field === joined) entry.pieces.push(text(value))
      else if (value !== null || !Object.hasOwn(entry.fields, field)) entry.fields[field] = value
    }
  }

  /** As it goes back. */
  entries(): readonly JsonObject[] {
    return this.#entries.map(({ fields, joined, pieces }) =>
      joined === null ? fields : { ...fields, [joined]: pieces.join('') },
    )
  }
}

/** The words of a piece, for a server that sends no plain reasoning beside it. */
export function detailWords(details: unknown): string {
  return list(details)
    .map((detail) => (isObject(detail) ? text(detail['text']) || text(detail['summary']) : ''))
    .join('')
}

function joinedField(detail: JsonObject): string | null {
  const type = text(detail['type'])
  return Object.hasOwn(JOINED, type) ? (JOINED[type] ?? null) : null
}

function sameEntry(before: JsonObject, after: JsonObject): boolean {
  return ['index', 'id'].every((key) => before[key] == null || after[key] == null || before[key] === after[key])
}
