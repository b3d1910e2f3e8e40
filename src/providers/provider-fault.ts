/** A provider's error as a `ProviderFault`, the same way for every dialect. Pure. */
import { retryAfterMs } from '../contract/retry-after.ts'
import type { DroppableParam, ProviderFault, Repair } from './dialect.ts'
import { faultClass } from './fault-class.ts'
import { errorDetail, providerErrorOf, type ProviderError } from './provider-error.ts'

/** What repeat may help a refused request; `body` is all of its text. */
export type RepairFor = (status: number, body: string) => Repair | null

export function httpFault(
  answer: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  now: number,
  repairFor: RepairFor,
): ProviderFault {
  const error = providerErrorOf(answer.body)
  return {
    class: faultClass(error, answer.status),
    detail: errorDetail(error),
    status: answer.status,
    retryAfterMs: retryAfterMs(answer.headers, now),
    repair: repairFor(answer.status, answer.body),
  }
}

const FORM =
  /\bresponse_format\b|\boutput_config\.format\b|\btext\.format\b|\bjson_(?:schema|object)\b|structured[ _]outputs?\b|too complex for compilation|\bgrammar\b/i

/** How vendors name each param. A word of everyday language counts only where it is written as a name. */
const PARAMS: readonly (readonly [DroppableParam, RegExp])[] = [
  ['max_output_tokens', /\bmax_(?:output_|completion_)?tokens\b/],
  ['temperature', /\btemperature\b/],
  ['top_p', /\btop_p\b/],
  ['stop', /["'`.]stop(?:_sequences)?\b/],
  ['seed', /["'`.](?:random_)?seed\b/],
  ['parallel_tool_calls', /\b(?:disable_)?parallel_tool_(?:calls|use)\b/],
]
/** An image that is given by its address, and that the vendor does not fetch or could not. */
const URLS =
  /\bimage_url\b|failed_to_download|(?:download|fetch|retriev)\w*\b.{0,60}\b(?:image|file|url)|\burl\b.{0,30}\b(?:image|source)|\bimage\b.{0,30}\burl\b|source\.url/i
const REFUSAL =
  /extra inputs|not permitted|not supported|not allowed|unsupported|un(?:known|expected|recogni[sz]ed)|invalid|illegal|deprecated|must be|should be|maximum|minimum|too (?:large|high|low|small|many)|exceed|out of range/i

/**
 * What any request can do without, where that is what a refused one fails by: the form of the answer, which is then told in words,
 * images by address, or one param. A repeat is made only where the request has it.
 */
export function commonRepair(status: number, body: string): Repair | null {
  if (status !== 400 && status !== 422) return null
  if (FORM.test(body)) return 'no_format'
  if (URLS.test(body)) return 'no_urls'
  if (!REFUSAL.test(body)) return null
  const named = PARAMS.find(([, name]) => name.test(body))
  return named === undefined ? null : `drop_${named[0]}`
}

/** An error that came inside a 200 answer. */
export function streamFault(error: ProviderError): ProviderFault {
  return { class: faultClass(error, null), detail: errorDetail(error), status: null, retryAfterMs: null, repair: null }
}

/** An event that is an error by its name, whatever is in it. */
export function errorEventFault(event: unknown): ProviderFault {
  const error = providerErrorOf(event)
  const saysNothing = `${error.type}${error.code}${error.message}` === '' && error.status === null
  return saysNothing ? malformed('an error event that says nothing') : streamFault(error)
}

/** An answer that breaks its own protocol. `detail` names what, and quotes of it a word at most. */
export function malformed(detail: string): ProviderFault {
  const bounded = detail.slice(0, 200).toWellFormed()
  return { class: 'malformed', detail: bounded, status: null, retryAfterMs: null, repair: null }
}
