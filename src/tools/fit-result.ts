/**
 * Cuts what a tool said to what the model may be given (SPEC §5.6). Pure.
 *
 * The measure is the whole text the model sees (`toolResultText`, remark included), in UTF-8 bytes. What is cut becomes a
 * string inside the envelope, so the text stays valid JSON and half a JSON never stands bare. Characters are never split.
 */
import type { Json } from '../contract/json.ts'
import { toolResultText } from '../contract/tool-result-text.ts'

/** A stored message holds an error of at most 100,000 characters. */
const MAX_ERROR_BYTES = 65_536

export interface FittedResult {
  readonly result: Json
  /** The engine's remark: on the cut, else the one that was given. */
  readonly note: string | null
  readonly truncated: boolean
  /** Of the whole result as JSON. */
  readonly resultBytes: number
}

/** `note` is the engine's remark beside an uncut result. `maxBytes` is at least 256. */
export function fitResult(result: Json, note: string | null, maxBytes: number): FittedResult {
  const json = JSON.stringify(result)
  const resultBytes = Buffer.byteLength(json)
  const envelope = Buffer.byteLength(toolResultText({ result: '', note })) - 2
  if (envelope + resultBytes <= maxBytes) return { result, note, truncated: false, resultBytes }

  const isText = typeof result === 'string'
  const whole = isText ? result : json
  const wholeBytes = isText ? Buffer.byteLength(whole) : resultBytes
  const remark = (shown: number) =>
    isText
      ? `The result is too long: only the first ${shown} of its ${wholeBytes} bytes are here. Ask for less at a time.`
      : `The result is too long: only the first ${shown} of the ${wholeBytes} bytes of its JSON are here, as text. Ask for less at a time.`
  // The number shown has at most as many digits as the whole.
  const free = maxBytes - Buffer.byteLength(toolResultText({ result: '', note: remark(wholeBytes) }))
  const shown = prefixWithin(whole, free)
  return { result: shown, note: remark(Buffer.byteLength(shown)), truncated: true, resultBytes }
}

export interface FittedError {
  readonly error: string
  readonly truncated: boolean
  readonly resultBytes: number
}

/** An error has no remark beside it: the cut is told at its end. */
export function fitError(error: string, maxBytes: number): FittedError {
  const most = Math.min(maxBytes, MAX_ERROR_BYTES)
  const resultBytes = Buffer.byteLength(JSON.stringify(error))
  if (Buffer.byteLength(toolResultText({ is_error: true, error })) <= most) {
    return { error, truncated: false, resultBytes }
  }
  const wholeBytes = Buffer.byteLength(error)
  const remark = (shown: number) => ` … [cut: the first ${shown} of ${wholeBytes} bytes]`
  const free = most - Buffer.byteLength(toolResultText({ is_error: true, error: remark(wholeBytes) }))
  const shown = prefixWithin(error, free)
  return { error: shown + remark(Buffer.byteLength(shown)), truncated: true, resultBytes }
}

/** The longest beginning whose JSON form, without its quotes, has at most so many bytes. Takes time by what is shown. */
function prefixWithin(text: string, maxBytes: number): string {
  let bytes = 0
  let index = 0
  while (index < text.length) {
    const point = text.codePointAt(index) ?? 0
    bytes += jsonBytes(point)
    if (bytes > maxBytes) break
    index += point > 0xffff ? 2 : 1
  }
  return text.slice(0, index)
}

const SHORT_ESCAPES = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x22, 0x5c])

/** UTF-8 bytes of a code point inside a JSON string, as `JSON.stringify` writes it. */
function jsonBytes(point: number): number {
  if (SHORT_ESCAPES.has(point)) return 2
  if (point < 0x20 || (point >= 0xd800 && point <= 0xdfff)) return 6
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point > 0xffff ? 4 : 3
}
