/**
 * Lossless JSON: numbers keep the digits they came with.
 *
 * `JSON.parse` rounds an integer beyond 2^53 and a long decimal, and turns 1e400 into Infinity. Where a text holds such
 * a number it is read as a raw number (`JSON.rawJSON`), which `JSON.stringify` writes back digit by digit. All other
 * texts take the ordinary, fast path. Duplicate keys: the last wins. `__proto__` is an ordinary own key.
 */

export type Json = null | boolean | number | string | RawNumber | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}
/** A number whose digits a double cannot hold; `rawJSON` is its source text. Made by `parseJson` only. */
export interface RawNumber {
  readonly rawJSON: string
}

/** How deep JSON from outside may nest. Deeper texts are refused, so that no later walk can overflow the stack. */
export const MAX_JSON_DEPTH = 128

export type ParsedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly reason: string }

interface RawJsonApi {
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): boolean
  parse(text: string, reviver: (key: string, value: Json, context: { source?: string }) => Json): Json
}
// The DOM-free typings of TypeScript 7 do not know the source-text access that Node 24 has.
const native = JSON as unknown as RawJsonApi

/** Sixteen digits or more in one number, or an exponent of three: what a double may not hold. */
const SUSPECT = /(?:^|[\s:,[])-?(?:\d[\d.]{15}|\d[\d.]*[eE][+-]?\d{3})/

/** Reads a JSON text. Never throws: a text that is not JSON, or nests too deep, is a value that says so. */
export function parseJson(text: string, mostLevels = MAX_JSON_DEPTH): ParsedJson {
  if (!nestsWithin(text, mostLevels)) return { ok: false, reason: `nested deeper than ${mostLevels} levels` }
  try {
    return { ok: true, value: SUSPECT.test(text) ? native.parse(text, keepDigits) : (JSON.parse(text) as Json) }
  } catch (error) {
    return { ok: false, reason: sentence(error) }
  }
}

function keepDigits(_key: string, value: Json, context: { source?: string }): Json {
  if (typeof value !== 'number' || context.source === undefined) return value
  return survives(value, context.source) ? value : native.rawJSON(context.source)
}

/** True when a double writes this number with the same value, digit for digit, as the source did. */
function survives(value: number, source: string): boolean {
  return Number.isFinite(value) && sameDecimal(String(value), source)
}

function sameDecimal(left: string, right: string): boolean {
  return normalised(left) === normalised(right)
}

/** Sign, significant digits and power of ten: 1.50e3, 1500 and 1500.0 give the same text. */
function normalised(number: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number)
  if (match === null) return number
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const trimmed = withoutEndingZeros(digits)
  if (trimmed === '') return '0'
  return `${sign}${trimmed}e${Number(exponent) - fraction.length + (digits.length - trimmed.length)}`
}

/** By hand: `/0+$/` begins anew at every zero, and whoever writes a body, arguments or a result may write a million of them. */
function withoutEndingZeros(digits: string): string {
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end -= 1
  return digits.slice(0, end)
}

const ZERO = 0x30

/** V8's message quotes the text it failed on; that may be a secret, so only the place is told. */
function sentence(error: unknown): string {
  const place = /position (\d+)/.exec(error instanceof Error ? error.message : '')
  return place === null ? 'not valid JSON' : `not valid JSON at position ${place[1]}`
}

/**
 * Counted in the text, before it is read: V8 builds every level of a text that is nothing but brackets, and 32 MB of them cost
 * seconds and more than a gigabyte. A text that is no JSON may be counted wrong; reading it ends where it stops being JSON.
 */
function nestsWithin(text: string, most: number): boolean {
  if (text.length <= most) return true
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) index = endOfString(text, index)
    else if (code === OPENS_LIST || code === OPENS_OBJECT) {
      depth += 1
      if (depth > most) return false
    } else if (code === CLOSES_LIST || code === CLOSES_OBJECT) depth -= 1
  }
  return true
}

/** Where the string that begins here is closed; the end of the text where it never is. */
function endOfString(text: string, opened: number): number {
  let quote = opened
  for (;;) {
    quote = text.indexOf('"', quote + 1)
    if (quote === -1) return text.length
    let escapes = 0
    while (text.charCodeAt(quote - 1 - escapes) === BACKSLASH) escapes += 1
    if (escapes % 2 === 0) return quote
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENS_LIST = 0x5b
const CLOSES_LIST = 0x5d
const OPENS_OBJECT = 0x7b
const CLOSES_OBJECT = 0x7d

/** A decimal text as a JSON number with exactly its digits: a double where that holds them, else a raw number. */
export function exactNumber(decimal: string): number | RawNumber {
  const number = Number(decimal)
  return survives(number, decimal) ? number : native.rawJSON(decimal)
}

export function isRawNumber(value: unknown): value is RawNumber {
  return typeof value === 'object' && value !== null && native.isRawJSON(value)
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !native.isRawJSON(value)
}

/** The same value with raw numbers rounded to doubles, for readers that know only those (schema validators). */
export function rounded(value: Json): Json {
  if (isRawNumber(value)) return Number(value.rawJSON)
  if (Array.isArray(value)) return value.map((item: Json) => rounded(item))
  if (isJsonObject(value)) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]))
  return value
}

/** Replaces lone surrogates by U+FFFD: providers refuse ill-formed UTF-16. Returns the same string where it is well-formed. */
export function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}
