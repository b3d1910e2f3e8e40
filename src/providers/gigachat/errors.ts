/** Errors of GigaChat as HTTP answers: flat `{"status": 422, "message": "…"}`. Pure. Those inside a stream are read by `stream.ts`. */
import type { ProviderFault, Repair } from '../dialect.ts'
import { httpFault, commonRepair } from '../provider-fault.ts'

export function gigachatFault(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
  now: number,
): ProviderFault {
  return httpFault({ status, headers, body }, now, repairFor)
}

/**
 * A token may be revoked before its time, and some models refuse a conversation that carries the id of its functions' state:
 * either way the request may pass without.
 */
function repairFor(status: number, body: string): Repair | null {
  if (status === 401) return 'new_token'
  if (status === 422 && /functions or thinking_functions|functions_state/i.test(body)) return 'no_state_id'
  return commonRepair(status, body)
}
