/**
 * What a tool's HTTP answer means (SPEC §5.3 to §5.6). Pure.
 *
 * What the model gets to see of an answer that is not one of the agreed forms is the status and the media type: never its
 * body, a header or an address.
 */
import { assertNever } from '../contract/assert-never.ts'
import { check, Faults } from '../contract/check.ts'
import { parseJson, type Json } from '../contract/json.ts'
import { retryAfterMs } from '../contract/retry-after.ts'
import type { Tool } from '../contract/run-request.ts'
import type { Keywords } from '../contract/schema.ts'
import { ToolAnswer, withResult } from '../contract/tool-exchange.ts'
import type { LateAnswer } from './late-results.ts'
import type { BodyText } from './read-body.ts'

export type Effect = Tool['effect']

/** What a call comes to. `error` is a sentence for the model. */
export type Settled =
  | { readonly kind: 'ok'; readonly result: Json }
  | { readonly kind: 'error'; readonly error: string }
  | { readonly kind: 'deferred'; readonly operationId: string }
  /** A write tool answered a 2xx that is neither `deferred` nor `error`. */
  | { readonly kind: 'not_deferred' }

/** What one HTTP answer means for the call. */
export type Judged =
  | Settled
  /** The result comes to `result_url`. */
  | { readonly kind: 'accepted' }
  /** Asking again may help. `retryAfterMs`: how long the tool asks to wait. */
  | { readonly kind: 'retry'; readonly error: string; readonly retryAfterMs: number | null }

interface Head {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
}

/**
 * A result nests at most so deep: it goes out again inside a message of a history, which as a whole must stay within
 * `MAX_JSON_DEPTH`.
 */
export const MAX_RESULT_DEPTH = 100

/** What status and headers decide alone; null: the body decides. `now` in ms since the epoch. */
export function judgeHead({ status, headers }: Head, now: number): Judged | null {
  if (status >= 200 && status < 300) return null
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    return { kind: 'retry', error: answered(status), retryAfterMs: retryAfterMs(headers, now) }
  }
  if (status >= 400) return null
  if (status >= 300) return failed(`the tool answered with a redirect (HTTP ${status}), which is not followed`)
  return failed(answered(status))
}

/** What the body of a 2xx or of a 4xx that is not retried means. */
export function judgeBody(head: Head, body: BodyText, effect: Effect): Judged {
  if (head.status >= 400) return judgeRefusal(head, body)
  const read = readAnswer(head, body)
  if (typeof read !== 'string') return judgeAnswer(read, effect)
  // A write that was taken, as its 2xx says, and told in another form: the effect may have happened.
  return effect === 'write' ? { kind: 'not_deferred' } : failed(read)
}

/** The answer in a 2xx, or why it is none. */
function readAnswer(head: Head, body: BodyText): ToolAnswer | string {
  const shown = described(head)
  switch (body.kind) {
    case 'too_large':
      return `the tool's answer is larger than ${body.maxBytes} bytes (${shown})`
    case 'encoded':
      return `the tool's answer is compressed in a way that cannot be read (${shown})`
    case 'not_utf8':
      return `the tool's answer is not valid UTF-8 (${shown})`
    case 'text':
      break
  }
  if (body.text.trim() === '') return `the tool gave an empty answer (HTTP ${head.status})`
  const parsed = parseJson(body.text)
  // The reason quotes nothing of the text.
  if (!parsed.ok) return `the tool's answer is ${parsed.reason} (${shown})`
  const answer = asAnswer(parsed.value)
  return typeof answer === 'string' ? `the tool's answer is not of the agreed form: see ${answer} (${shown})` : answer
}

function judgeAnswer(answer: ToolAnswer, effect: Effect): Judged {
  switch (answer.status) {
    case 'ok':
    case 'error':
      return judgeResult(answer, effect)
    case 'deferred':
      return { kind: 'deferred', operationId: answer.operation_id }
    case 'accepted':
      return { kind: effect === 'write' ? 'not_deferred' : 'accepted' }
    default:
      return assertNever(answer)
  }
}

/** A result, at once or late, by the rule for the tool's effect. */
export function judgeResult(answer: LateAnswer, effect: Effect): Settled {
  if (answer.status === 'error') return failed(answer.error)
  if (effect === 'write') return { kind: 'not_deferred' }
  return nestsWithin(answer.result, MAX_RESULT_DEPTH)
    ? { kind: 'ok', result: answer.result }
    : failed(`the tool's result nests deeper than ${MAX_RESULT_DEPTH} levels`)
}

/** A 4xx may say what is wrong in the agreed form; then the model can mend it. */
function judgeRefusal({ status }: Head, body: BodyText): Judged {
  const parsed = body.kind === 'text' ? parseJson(body.text) : null
  const answer = parsed?.ok === true ? asAnswer(parsed.value) : ''
  return failed(typeof answer === 'object' && answer.status === 'error' ? answer.error : answered(status))
}

/** The answer, or the name of what is wrong with it; never what was got. */
function asAnswer(value: Json): ToolAnswer | string {
  const whole = withResult(value)
  const faults = new Faults()
  check(ToolAnswer as unknown as Keywords, whole, '', faults)
  const [fault] = faults.list
  // The check above is what makes the value this type.
  if (fault === undefined) return whole as unknown as ToolAnswer
  return fault.path === '' ? 'the whole: it must be an object' : fault.path
}

function failed(error: string): Settled {
  return { kind: 'error', error }
}

function answered(status: number): string {
  return `the tool answered HTTP ${status}`
}

function described({ status, headers }: Head): string {
  const [media = ''] =
    /^[a-z0-9!#$&^_.+-]{1,60}\/[a-z0-9!#$&^_.+-]{1,60}(?=\s*(?:;|$))/i.exec(headers['content-type'] ?? '') ?? []
  return media === '' ? `HTTP ${status}` : `HTTP ${status}, ${media}`
}

function nestsWithin(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  return levels > 0 && Object.values(value).every((item: Json) => nestsWithin(item, levels - 1))
}
