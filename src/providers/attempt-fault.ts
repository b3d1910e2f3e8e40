/**
 * Why an attempt gave no answer, whoever noticed it: the provider (its dialect reads the words), the network, the egress
 * gate, or one of our own deadlines. Pure. What follows from a fault is decided in `retry.ts`.
 */
import type { RunErrorCode } from '../contract/errors.ts'
import type { EgressAnswer } from '../egress/egress.ts'
import type { FaultClass, ProviderFault } from './dialect.ts'

/** The dialects' classes and two that only the attempt can see. */
export type AttemptFaultClass =
  | FaultClass
  /** The stream ended or broke before its end mark. */
  | 'interrupted'
  /** The egress gate did not let the request out. */
  | 'egress_denied'

export interface AttemptFault extends Omit<ProviderFault, 'class'> {
  readonly class: AttemptFaultClass
}

/** A fault of our own making. `detail` is for the journal: no secret, no content. */
export function faultOf(faultClass: AttemptFaultClass, detail: string, status: number | null = null): AttemptFault {
  return { class: faultClass, detail, status, retryAfterMs: null, repair: null }
}

/** A request that got no HTTP answer. */
export function faultOfEgress(answer: Exclude<EgressAnswer, { kind: 'response' }>): AttemptFault {
  if (answer.kind === 'refused') {
    return faultOf('egress_denied', `egress to ${answer.refusal.host} is refused: ${answer.refusal.reason}`)
  }
  return faultOf(answer.fault.kind === 'timeout' ? 'timeout' : 'network', answer.fault.message)
}

/** False: such a request cannot have reached anybody. */
export function mayHaveLeft(answer: Exclude<EgressAnswer, { kind: 'response' }>): boolean {
  return answer.kind === 'fault' && answer.fault.unsent !== true
}

/** The code a run fails with when this was the last fault of its last model. */
export const failureCodes: Readonly<Record<AttemptFaultClass, RunErrorCode>> = {
  auth: 'provider_auth',
  quota: 'provider_quota',
  rate: 'provider_rate_limited',
  overloaded: 'provider_overloaded',
  server: 'provider_unavailable',
  network: 'provider_unavailable',
  interrupted: 'provider_unavailable',
  timeout: 'provider_timeout',
  bad_request: 'provider_rejected',
  malformed: 'provider_malformed',
  not_found: 'model_not_found',
  context_overflow: 'context_overflow',
  content: 'content_blocked',
  egress_denied: 'egress_denied',
}
