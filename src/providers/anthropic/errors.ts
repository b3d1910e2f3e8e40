/** Errors of the Messages API, as HTTP answers and as events inside a stream. Pure. Source: Anthropic's errors page. */
import type { ProviderFault, Repair } from '../dialect.ts'
import { httpFault, commonRepair } from '../provider-fault.ts'

export function anthropicFault(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  now: number,
): ProviderFault {
  return httpFault({ status, headers, body }, now, repairFor)
}

/**
 * A thinking block is refused: bound to another conversation, of another model, or changed. The request may pass without any. So
 * may one without what else is refused.
 */
function repairFor(status: number, body: string): Repair | null {
  if (status === 400 && /thinking/i.test(body) && /signature|bound to|cannot be modified/i.test(body))
    return 'no_reasoning'
  return commonRepair(status, body)
}
