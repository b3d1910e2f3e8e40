/** Reads the bytes of a request as JSON (SPEC §2.3). A body that is none is a value that says so. */
import type { HttpErrorCode } from '../contract/errors.ts'
import { type Json, parseJson } from '../contract/json.ts'
import type { BodyBytes } from './body-bytes.ts'

export type JsonBody =
  | { readonly kind: 'json'; readonly value: Json }
  | { readonly kind: 'fault'; readonly code: HttpErrorCode; readonly message: string }

export interface BodyHeaders {
  readonly 'content-type'?: string | undefined
  readonly 'content-encoding'?: string | undefined
}

const JSON_MEDIA_TYPE = /^application\/json$/i
const CHARSET = /;\s*charset\s*=\s*"?([^\s";]*)/i
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** `body` is undefined where the request had none at all. Its memory is given back: what was read is all there is to it. */
export function readJsonBody(headers: BodyHeaders, body: BodyBytes | undefined): JsonBody {
  try {
    return read(headers, body)
  } finally {
    body?.release()
  }
}

function read(headers: BodyHeaders, body: BodyBytes | undefined): JsonBody {
  if (body === undefined || body.size === 0) return fault('invalid_request', 'the body is empty; it must be JSON')
  const unsupported = unsupportedMedia(headers)
  if (unsupported !== null) return fault('unsupported_media_type', unsupported)
  let text: string
  try {
    text = utf8.decode(body.bytes())
  } catch {
    return fault('invalid_request', 'the body is not valid UTF-8')
  }
  const parsed = parseJson(text)
  return parsed.ok ? { kind: 'json', value: parsed.value } : fault('invalid_request', `the body is ${parsed.reason}`)
}

function unsupportedMedia(headers: BodyHeaders): string | null {
  const type = headers['content-type'] ?? ''
  const mediaType = type.split(';', 1)[0]?.trim() ?? ''
  if (!JSON_MEDIA_TYPE.test(mediaType)) return `the content type must be application/json; got ${quoted(mediaType)}`
  const charset = CHARSET.exec(type)?.[1] ?? 'utf-8'
  if (!/^utf-?8$/i.test(charset)) return `JSON must be sent as utf-8; got the charset ${quoted(charset)}`
  const encoding = headers['content-encoding'] ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    return `the body must be sent uncompressed; got the content encoding ${quoted(encoding)}`
  }
  return null
}

function quoted(text: string): string {
  return text === '' ? 'none' : JSON.stringify(text.slice(0, 60))
}

function fault(code: HttpErrorCode, message: string): JsonBody {
  return { kind: 'fault', code, message }
}
