/**
 * Finds what an error body says, in the many shapes in which providers and gateways write it: `{error:{…}}`, `{error:"…"}`,
 * `{error:true,message}`, `{errors:[…]}`, in a choice, a list of those, one inside another or inside its message, `{object:"error",…}`,
 * `{detail:…}`, flat `{code,message}`, MiniMax's `base_resp`. Pure; never throws.
 *
 * What is no error here may be taken for a part of an answer: half an answer is then shown as a whole one.
 */
import { isObject, list, text, type WireObject } from './wire-value.ts'

export interface ProviderError {
  /** The vendor's word for the kind of error; '' where it says none. */
  readonly type: string
  /** The vendor's code as text, also where it is a number; '' where it says none. */
  readonly code: string
  /** An HTTP status that the body tells beside its code; null where it tells none. */
  readonly status: number | null
  readonly message: string
  /** MiniMax's own number, from `base_resp` or in brackets at the end of the message: no HTTP status. */
  readonly minimaxCode: string
}

/** What a JSON value says as an error; null where it says nothing of one. */
export function providerErrorIn(body: unknown): ProviderError | null {
  if (Array.isArray(body)) return providerErrorIn(body[0])
  if (!isObject(body)) return null
  const { base_resp, choices, detail, errors } = body
  const [choice] = list(choices)
  const named =
    namedIn(body['error'], body) ??
    namedIn(list(errors), body) ??
    (isObject(choice) ? namedIn(choice['error'], choice) : null)
  if (named !== null) return named
  const minimaxCode = isObject(base_resp) ? numeral(base_resp['status_code']) : ''
  if (isObject(base_resp) && minimaxCode !== '' && minimaxCode !== '0') {
    return { ...described({}, `${text(base_resp['status_msg'])} (${minimaxCode})`), minimaxCode }
  }
  if (body['object'] === 'error' || body['type'] === 'error' || isFlat(body)) return fromObject(body, body)
  if (detail === undefined || detail === null) return null
  return isObject(detail) ? fromObject(detail, body) : described(body, detailText(detail))
}

/** The same of something that is an error by its place, whatever is in it: the body of an HTTP error, an event. */
export function providerErrorOf(body: unknown): ProviderError {
  const parsed = typeof body === 'string' ? parsedOrNull(body) : body
  const found = providerErrorIn(parsed)
  if (found !== null) return found
  const flat = isObject(parsed) ? wordsOf(parsed) : ''
  return isObject(parsed) && flat !== '' ? described(parsed, flat) : described({}, text(body))
}

function parsedOrNull(body: string): unknown {
  try {
    return JSON.parse(body) as unknown
  } catch {
    return null
  }
}

/** What stands under the name of an error; null where that says that there is none. */
function namedIn(error: unknown, body: WireObject): ProviderError | null {
  if (Array.isArray(error)) return error.length === 0 ? null : (namedIn(error[0], body) ?? described(body, ''))
  if (isObject(error)) return fromObject(error, body)
  if (error === true) return described(body, wordsOf(body))
  if (typeof error === 'number') return error === 0 ? null : described({ code: error, ...body }, wordsOf(body))
  return text(error) === '' ? null : (insideOf(text(error)) ?? described(body, text(error)))
}

/** An error as gateways write it that have no name for one: a code or a bad status, and a sentence, where an answer would be. */
function isFlat(body: WireObject): boolean {
  const { choices, success, type } = body
  if (list(choices).length > 0 || wordsOf(body) === '') return false
  if (type !== undefined && !/error|exception|fail/i.test(text(type))) return false
  if (success === false || /^(?:error|failed|failure)$/i.test(text(body['status']))) return true
  const code = codeOf(body)
  return statusOf(body) !== null || (code !== '' && !GOOD_CODE.test(code))
}

/** Gateways that give every chunk a code have one of these for the good ones. */
const GOOD_CODE = /^(?:0+|2\d\d|ok|success)$/i

function fromObject(error: WireObject, body: WireObject): ProviderError {
  const inner = isObject(error['error']) ? fromObject(error['error'], error) : insideOf(wordsOf(error))
  if (inner !== null) return inner
  const said = wordsOf(error) || text(body['message'])
  const message = isObject(error['metadata']) ? `${said} ${text(error['metadata']['raw'])}`.trim() : said
  return described(error, message)
}

/** A gateway's message may be the JSON of the error that it was sent itself. */
function insideOf(message: string): ProviderError | null {
  return message.startsWith('{') && message.length <= LONGEST_INSIDE ? providerErrorIn(parsedOrNull(message)) : null
}

const LONGEST_INSIDE = 64 * 1024

function wordsOf(error: WireObject): string {
  for (const field of ['message', 'msg', 'detail', 'error_msg', 'error_message', 'errorMessage', 'status_msg']) {
    const words = text(error[field])
    if (words !== '') return words
  }
  return ''
}

function codeOf(error: WireObject): string {
  const details = isObject(error['details']) ? text(error['details']['error_code']) : ''
  return details || numeral(error['code']) || numeral(error['error_code']) || numeral(error['errorCode'])
}

/** Of an HTTP error: anything else under these names is no status. */
function statusOf(error: WireObject): number | null {
  for (const field of ['status', 'status_code', 'http_code', 'http_status', 'statusCode']) {
    const told = numeral(error[field])
    if (HTTP_ERROR.test(told)) return Number(told)
  }
  return null
}

const HTTP_ERROR = /^[45]\d\d$/

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

function described(error: WireObject, message: string): ProviderError {
  const word = text(error['type']) || text(error['status'])
  return {
    type: error['type'] === 'error' || HTTP_ERROR.test(word) ? '' : word,
    code: codeOf(error),
    status: statusOf(error),
    message,
    minimaxCode: /\((\d{4})\)\s*$/.exec(message)?.[1] ?? '',
  }
}

/** The provider's own words for the journal, which takes out what secrets they quote: one line, at most 500 characters. */
export function errorDetail({ type, code, message }: ProviderError): string {
  const words = [type, code].filter((word) => word !== '' && word !== 'null')
  const sentence = message.slice(0, 2000).replaceAll(/\s+/g, ' ').trim()
  const whole = `${words.join(' ')}${words.length > 0 && sentence !== '' ? ': ' : ''}${sentence}`
  return (whole === '' ? 'no words at all' : whole).slice(0, 500).toWellFormed()
}
