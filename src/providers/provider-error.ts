/**
 * Finds what an error body says, in the many shapes in which providers and gateways write it: `{error:{…}}`, `{error:"…"}`, a
 * list of those, `{object:"error",…}`, `{detail:…}`, `{message|msg}`, MiniMax's `base_resp`. Pure; never throws.
 */
import { isObject, list, text, type WireObject } from './wire-value.ts'

export interface ProviderError {
  /** The vendor's word for the kind of error; '' where it says none. */
  readonly type: string
  /** The vendor's code as text, also where it is a number; '' where it says none. */
  readonly code: string
  readonly message: string
  /** MiniMax's own number, from `base_resp` or in brackets at the end of the message: no HTTP status. */
  readonly minimaxCode: string
}

/** What a JSON value says as an error; null where it says nothing of one. */
export function providerErrorIn(body: unknown): ProviderError | null {
  if (Array.isArray(body)) return providerErrorIn(body[0])
  if (!isObject(body)) return null
  const { error, object, base_resp, detail } = body
  if (isObject(error)) return fromObject(error, body)
  if (text(error) !== '') return described(text(body['type']), codeOf(body), text(error))
  const minimaxCode = isObject(base_resp) ? numeral(base_resp['status_code']) : ''
  if (isObject(base_resp) && minimaxCode !== '' && minimaxCode !== '0') {
    return { ...described('', '', `${text(base_resp['status_msg'])} (${minimaxCode})`), minimaxCode }
  }
  if (object === 'error' || body['type'] === 'error') return fromObject(body, body)
  return detail === undefined || detail === null ? null : described('', codeOf(body), detailText(detail))
}

/** What an HTTP error body says, whatever it is. */
export function providerErrorOf(body: string): ProviderError {
  const parsed = parsedOrNull(body)
  const found = providerErrorIn(parsed)
  if (found !== null) return found
  const flat = isObject(parsed) ? text(parsed['message']) || text(parsed['msg']) : ''
  return isObject(parsed) && flat !== ''
    ? described(text(parsed['type']), codeOf(parsed), flat)
    : described('', '', body)
}

function parsedOrNull(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return null
  }
}

function fromObject(error: WireObject, body: WireObject): ProviderError {
  const details = isObject(error['details']) ? text(error['details']['error_code']) : ''
  const said = text(error['message']) || text(error['msg']) || text(error['detail']) || text(body['message'])
  const message = isObject(error['metadata']) ? `${said} ${text(error['metadata']['raw'])}`.trim() : said
  const type = error['type'] === 'error' ? '' : text(error['type']) || text(error['status'])
  return described(type, details || codeOf(error), message)
}

function codeOf(value: WireObject): string {
  return numeral(value['code'])
}

/** A code is a number at one vendor and a string at the next. */
function numeral(value: unknown): string {
  return typeof value === 'number' ? String(value) : text(value)
}

/** FastAPI: a sentence, or a list of `{loc, msg}`. */
function detailText(detail: unknown): string {
  if (typeof detail === 'string') return detail
  return list(detail)
    .map((item) => (isObject(item) ? `${list(item['loc']).join('.')}: ${text(item['msg'])}` : ''))
    .join('; ')
}

function described(type: string, code: string, message: string): ProviderError {
  return { type, code, message, minimaxCode: /\((\d{4})\)\s*$/.exec(message)?.[1] ?? '' }
}

/** The provider's own words for the journal: one line, at most 500 characters, keys and tokens out. */
export function errorDetail({ type, code, message }: ProviderError): string {
  const words = [type, code].filter((word) => word !== '' && word !== 'null')
  const sentence = message.slice(0, 2000).replaceAll(/\s+/g, ' ').trim()
  const whole = `${words.join(' ')}${words.length > 0 && sentence !== '' ? ': ' : ''}${sentence}`
  return (whole === '' ? 'no words at all' : whole.replaceAll(SECRET, '[secret]')).slice(0, 500).toWellFormed()
}

/** API keys of the known shapes, bearer tokens and JSON Web Tokens. Some vendors quote the refused key. */
const SECRET =
  /\b(?:sk|pk|rk|ak|gsk|xai|csk|nvapi|hf)[-_][\w*.-]{6,}|\b[Bb]earer\s+\S+|\beyJ[\w-]{8,}(?:\.[\w-]+)*|\b[a-f0-9]{32}\.[\w]{8,}/g
