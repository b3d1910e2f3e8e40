/** A provider's error as a `ProviderFault`, the same way for every dialect. Pure. */
import { retryAfterMs } from '../contract/retry-after.ts'
import type { ProviderFault, Repair } from './dialect.ts'
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

/** The form that the answer should have is what a refused request fails by: it may pass with the form told in words. */
export function refusesForm(status: number, body: string): boolean {
  return (status === 400 || status === 422) && FORM.test(body)
}

/** An error that came inside a 200 answer. */
export function streamFault(error: ProviderError): ProviderFault {
  return { class: faultClass(error, null), detail: errorDetail(error), status: null, retryAfterMs: null, repair: null }
}

/** An answer that breaks its own protocol. `detail` names what, and quotes of it a word at most. */
export function malformed(detail: string): ProviderFault {
  const bounded = detail.slice(0, 200).toWellFormed()
  return { class: 'malformed', detail: bounded, status: null, retryAfterMs: null, repair: null }
}
