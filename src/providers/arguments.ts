/**
 * From the arguments text of a call to its arguments, the same for every dialect.
 *
 * Only what loses nothing is mended: white space for `{}`, an object written into a string, the same object sent twice, and
 * a comma or a model's own special token after a whole object. Nothing that is missing is ever guessed: half arguments of a
 * write would be carried out. Half a surrogate pair is U+FFFD, as in a model's text: many a tool and database takes no JSON
 * that has one.
 */
import { canonical } from '../contract/canonical.ts'
import { isJsonObject, parseJson, type Json, type JsonObject } from '../contract/json.ts'
import type { ModelCall } from '../engine/ports.ts'
import { wellFormedJson } from './json-body.ts'
import { firstValueEnd } from './json-scan.ts'

/** Stored arguments stand some levels deeper in the next request than here, and must still be accepted there. */
export const MOST_LEVELS = 100

/** Arguments longer than this, in UTF-16 units, are not kept. */
export const MAX_ARGUMENTS_LENGTH = 1024 * 1024
/** Calls of one answer beyond this are not kept. */
export const MAX_CALLS = 256

export type CallArguments = Pick<ModelCall, 'args' | 'fault'>

/**
 * Arguments, or a piece of them, as their text. A server may send the value itself where a text belongs: it is its JSON, so
 * that whatever it is, a number too, it is judged, and never taken for no arguments at all. Absent and null are ''.
 */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) return ''
  try {
    return JSON.stringify(value)
  } catch {
    return TOO_DEEP
  }
}

/** No JSON: what nests so deep that it cannot be written is judged as what cannot be read. */
const TOO_DEEP = '[nested too deep]'

/**
 * @param ending what is known of the end of the text: it is `whole`; it `may` have been cut (the answer ended early or by
 *   length), which decides only where it is no JSON; it was `open`, so that even nothing at all is not taken for `{}`
 */
export function readArguments(text: string, ending: 'whole' | 'may' | 'open'): CallArguments {
  if (text.trim() === '') return ending === 'open' ? { args: null, fault: 'cut' } : { args: {}, fault: null }
  const parsed = parseJson(text, MOST_LEVELS)
  if (parsed.ok) return fromValue(parsed.value)
  const mended = mend(text)
  if (mended !== null) return { args: withWholePairs(mended), fault: null }
  return { args: null, fault: ending === 'whole' ? 'not_json' : 'cut' }
}

/** Weak models write the object into a string; that is undone once. */
function fromValue(value: Json): CallArguments {
  if (isJsonObject(value)) return { args: withWholePairs(value), fault: null }
  const inner = typeof value === 'string' ? parseJson(value, MOST_LEVELS) : null
  if (inner?.ok === true && isJsonObject(inner.value)) return { args: withWholePairs(inner.value), fault: null }
  return { args: null, fault: 'not_object' }
}

/** The same object without half surrogate pairs. */
function withWholePairs(args: JsonObject): JsonObject {
  const json = JSON.stringify(args)
  const mended = wellFormedJson(json)
  if (mended === json) return args
  const parsed = parseJson(mended, MOST_LEVELS)
  return parsed.ok && isJsonObject(parsed.value) ? parsed.value : args
}

/** What may stand after a whole object without meaning anything. */
const STRAY = /^(?:[\s,]|<\|[^<>|]{1,64}\|>|<\/s>)+$/

function mend(text: string): JsonObject | null {
  const end = firstValueEnd(text)
  if (end === null) return null
  const first = text.slice(0, end).trim()
  const rest = text.slice(end).trim()
  const parsed = parseJson(first, MOST_LEVELS)
  if (!parsed.ok || !isJsonObject(parsed.value)) return null
  return STRAY.test(rest) || isOnly(rest, canonical(parsed.value)) ? parsed.value : null
}

/** True when a text is nothing but JSON values whose canonical form is this one: however each of them is written. */
function isOnly(text: string, form: string): boolean {
  let left = text
  while (left !== '') {
    const end = firstValueEnd(left)
    const copy = end === null ? null : parseJson(left.slice(0, end), MOST_LEVELS)
    if (end === null || copy?.ok !== true || canonical(copy.value) !== form) return false
    left = left.slice(end).trimStart()
  }
  return true
}
