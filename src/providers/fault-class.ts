/**
 * What kind of failure a provider's error is. Pure; what follows from each kind is decided in `retry.ts`.
 *
 * A status alone lies: 429 says "slow down" and "no money", 400 says "too long" and "overloaded". So the vendor's codes come
 * first, then its words where the status leaves the kind open, then the status, and inside a 200 stream the vendor's type.
 */
import type { FaultClass } from './dialect.ts'
import type { ProviderError } from './provider-error.ts'

/**
 * @param status of the HTTP answer; null for an error inside a stream, whose numeric code then stands for it
 */
export function faultClass(error: ProviderError, status: number | null): FaultClass {
  const effective = status ?? error.status ?? httpStatusIn(error.code)
  if (NEVER_FITS.test(error.message)) return 'context_overflow'
  if (DAY_IS_OVER.test(error.message) && !COME_BACK.test(error.message)) return 'quota'
  return (
    byMinimax(error) ??
    (error.type === '' ? GLM.get(error.code) : undefined) ??
    CODES.get(error.code) ??
    CODES.get(error.type) ??
    byWords(error.message, effective) ??
    (effective === null ? null : byStatus(effective)) ??
    TYPES.get(error.type) ??
    TYPES.get(error.code) ??
    (effective === null ? bySaying(`${error.type} ${error.code} ${error.message}`) : null) ??
    'server'
  )
}

/** Codes and types that mean one thing under every status. */
const CODES: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ...named('quota', [
    'insufficient_quota',
    'credit_balance_exhausted',
    'organization_spend_limit_exceeded',
    'project_spend_limit_exceeded',
    'organization_usage_limit_exceeded',
    'enforced_spend_limit_reached',
    'contract_spend_limit_reached',
    'billing_error',
    'exceeded_current_quota_error',
    'insufficient_balance_error',
    'billing_not_active',
    'billing_hard_limit_reached',
    'insufficient_user_quota',
    'pre_consume_token_quota_failed',
    'Arrearage',
    'AccountOverdueError',
  ]),
  ...named('context_overflow', ['context_length_exceeded', 'exceed_context_size_error', 'request_too_large']),
  ...named('content', ['content_filter', 'content_policy_violation', 'data_inspection_failed', 'invalid_prompt']),
  ...named('overloaded', ['overloaded_error', 'engine_overloaded_error', 'server_is_overloaded']),
  ...named('not_found', ['model_not_found', 'not_found_error', 'resource_not_found_error', 'invalid_model']),
  ...named('rate', ['rate_limit_exceeded', 'slow_down', 'rate_limit_reached_error', 'rate_limited']),
  ...named('auth', ['invalid_api_key', 'invalid_authentication_error', 'incorrect_api_key_error']),
  // The model's own call failed the provider's check: another sample may pass.
  ...named('malformed', ['tool_use_failed']),
])

/**
 * GLM says nothing but a number, and under one status both "slow down" and "no money". Others use the same numbers beside a
 * type of their own: Mistral's 1300 is a rate limit.
 */
const GLM: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ...named('auth', ['1000', '1001', '1002', '1003', '1004', '1100', '1110', '1111', '1112', '1121', '1220']),
  // Arrears, the day's calls, a plan's window, a plan that is over or has not the model, fair use.
  ...named('quota', ['1113', '1304', '1308', '1309', '1310', '1311', '1313']),
  ...named('rate', ['1302', '1303']),
  ...named('overloaded', ['1305', '1312']),
  ...named('server', ['1120', '1200', '1230', '1234']),
  ...named('not_found', ['1211', '1221', '1222']),
  ...named('bad_request', ['1210', '1212', '1213', '1214', '1215', '1231']),
  ...named('context_overflow', ['1261']),
  ...named('content', ['1300', '1301']),
])

/** MiniMax numbers its errors; the numbers are no HTTP statuses. */
const MINIMAX: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ...named('server', ['1000', '1013', '1024', '1033']),
  ...named('timeout', ['1001']),
  ...named('rate', ['1002', '1039', '1041', '2045']),
  ...named('auth', ['1004', '2049']),
  ...named('quota', ['1008', '2056']),
  ...named('content', ['1026', '1027']),
  ...named('bad_request', ['1042', '2013']),
])

/** Its word for any params it cannot take stands for a model it does not know and for a context that is too long as well. */
const ANY_PARAMS = '2013'

function byMinimax({ message, minimaxCode }: ProviderError): FaultClass | undefined {
  if (minimaxCode === ANY_PARAMS && TOO_LONG.test(message)) return 'context_overflow'
  if (minimaxCode === ANY_PARAMS && NO_MODEL.test(message)) return 'not_found'
  return MINIMAX.get(minimaxCode)
}

/** What the type says where there is no status: inside a stream. */
const TYPES: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ...named('bad_request', ['invalid_request_error', 'BadRequestError', 'bad_request_error', 'INVALID_ARGUMENT']),
  ...named('auth', ['authentication_error', 'permission_error', 'permission_denied_error']),
  ...named('rate', ['rate_limit_error', 'RateLimitError', 'RESOURCE_EXHAUSTED']),
  ...named('overloaded', ['service_unavailable_error', 'UNAVAILABLE']),
  ...named('timeout', ['timeout_error']),
])

function named(faultClass: FaultClass, words: readonly string[]): [string, FaultClass][] {
  return words.map((word) => [word, faultClass])
}

const MONEY =
  /insufficient (?:balance|credits?|funds|quota)|exceeded (?:your )?current quota|credit balance is too low|spend(?:ing)? limit|specified API usage limits|account balance|out of credits|requires more credits|recharge|in arrears|余额不足|额度不足|欠费/i
/** A limit of a day or longer: no run waits for the next one. */
const DAY_IS_OVER = /\bTPD\b|\b(?:tokens|requests) per day\b|\b(?:daily|weekly|monthly)\b.{0,30}\b(?:limit|quota)\b/i
/** A plain rate limit may speak of the quota too, and then says when to come back. */
const COME_BACK = /(?:retry|try again) (?:in|after) \d/i
const TOO_LONG =
  /prompt is too long|maximum context length|context[ _](?:length|window|size)|exceed\w* (?:the |your |this )?(?:model(?:'s)? )?(?:maximum )?(?:context|model token limit)|exceeded model token limit|input length and `?max_tokens|range of input length|reduce the length of the messages|too many (?:input )?tokens|exceeds the maximum number of tokens|input is too long|total message size \d+ exceeds/i
/** A limit of tokens a minute that one request is over by itself: waiting does not make it smaller. */
const NEVER_FITS = /request too large/i
const BUSY =
  /overloaded|too busy|at capacity|over capacity|tier capacity exceeded|no (?:available )?capacity|model is currently loading/i
const REFUSED = /content exists risk|content (?:management )?policy|safety system|flagged|moderation|guardrail/i
const NO_MODEL = /model\b.{0,120}\b(?:does not exist|not found|not exist)|unknown model|no such model/i

function byWords(message: string, status: number | null): FaultClass | null {
  if (message === '') return null
  if (MONEY.test(message) && !COME_BACK.test(message)) return 'quota'
  if (BUSY.test(message) && status !== 401 && status !== 404) return 'overloaded'
  if (status === 429) return 'rate'
  const refusable = status === null || (status >= 400 && status < 500) || status === 500
  if (!refusable) return null
  if (TOO_LONG.test(message)) return 'context_overflow'
  if (REFUSED.test(message)) return 'content'
  return NO_MODEL.test(message) ? 'not_found' : null
}

const LIMITED = /rate[ _-]?limit|too[ _]many[ _]requests|throttl/i
const NO_ACCESS =
  /\bunauthori[sz]ed\b|\b(?:invalid|incorrect|missing)[ _](?:api[ _])?key\b|authentication (?:failed|error)|permission[ _]denied|\bforbidden\b/i

/** An error inside a stream that tells neither a status nor a code anybody knows. */
function bySaying(words: string): FaultClass | null {
  if (LIMITED.test(words)) return 'rate'
  return NO_ACCESS.test(words) ? 'auth' : null
}

/** Of an error inside a stream: a code such as 429 or "502", and nothing that merely is a number. */
function httpStatusIn(code: string): number | null {
  return /^[45]\d\d$/.test(code) ? Number(code) : null
}

function byStatus(status: number): FaultClass {
  switch (status) {
    case 401:
    case 403:
    // GLM: no permission.
    case 434:
      return 'auth'
    case 402:
      return 'quota'
    case 404:
    case 410:
      return 'not_found'
    case 408:
    case 504:
      return 'timeout'
    case 409:
    case 424:
    case 425:
      return 'server'
    case 413:
      return 'context_overflow'
    case 429:
      return 'rate'
    case 498:
    case 503:
    case 529:
      return 'overloaded'
    default:
      return status >= 500 ? 'server' : 'bad_request'
  }
}
