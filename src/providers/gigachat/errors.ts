/** Errors of GigaChat: flat `{"status": 422, "message": "…"}`, as HTTP answers and inside a stream. Pure. */
import type { ProviderFault, Repair } from '../dialect.ts'
import { type ProviderError, providerErrorIn } from '../provider-error.ts'
import { httpFault, commonRepair } from '../provider-fault.ts'
import { isObject, list, text } from '../wire-value.ts'

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

/** What a chunk of a 200 answer says as an error; null where it says nothing of one. */
export function errorIn(chunk: unknown): ProviderError | null {
  const found = providerErrorIn(chunk)
  if (found !== null || !isObject(chunk) || list(chunk['choices']).length > 0) return found
  const message = text(chunk['message'])
  const status = chunk['status'] ?? chunk['code']
  if (message === '' || typeof status !== 'number') return null
  return { type: '', code: String(status), message, minimaxCode: '' }
}
