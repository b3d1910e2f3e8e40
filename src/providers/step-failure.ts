/** What the loop is told of a model that nothing more can be had from. Pure. */
import type { ProviderFailure } from '../engine/ports.ts'
import { type AttemptFault, failureCodes } from './attempt-fault.ts'
import type { Decision } from './retry.ts'
import type { Route } from './route.ts'

/** The detail is for the journal, which takes secrets out of it; this model's own key is not in it to begin with. */
export function stepFailure(
  fault: AttemptFault,
  { apiKey, target }: Pick<Route, 'apiKey' | 'target'>,
  decision: Decision,
): ProviderFailure {
  const isRedirect = fault.status !== null && fault.status >= 300 && fault.status < 400
  const status =
    fault.status === null ? '' : ` (HTTP ${fault.status}${isRedirect ? ', a redirect, which is not followed' : ''})`
  const tooLong = decision.kind === 'end' && decision.tooLongMs !== null ? decision.tooLongMs : null
  const wait = tooLong === null ? '' : `; a wait of ${Math.ceil(tooLong / 1000)} s would end beyond the deadline`
  const detail = `${target.provider} ${target.model}: ${fault.class}${status}${wait}: ${fault.detail}`
  return { code: failureCodes[fault.class], detail: withoutKey(detail, apiKey) }
}

/** Whatever a provider answers may quote what it was sent. */
function withoutKey(text: string, apiKey: string | null): string {
  return apiKey === null || apiKey.length < 4 ? text : text.replaceAll(apiKey, '***')
}
