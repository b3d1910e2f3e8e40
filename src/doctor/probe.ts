/**
 * Asking a dialect how it writes a conversation, without knowing how: small conversations are written down and compared. So
 * what is told of a request follows the dialect by itself, and no rule of a vendor is written twice. Pure.
 */
import type { StoredMessage, UserMessage } from '../contract/message.ts'
import type { FirstRequest } from './first-request.ts'

/** Writes a conversation alone: no system text, tools, note, nor fields of the caller. The body as JSON text. */
export type Probe = (messages: readonly StoredMessage[]) => string

export function probeOf({ call, dialect }: Pick<FirstRequest, 'call' | 'dialect'>): Probe {
  const target = { ...call.target, params: { ...call.target.params, extra: {} } }
  const ask = { ...call.ask, targets: [target] as const, system: '', tools: [], note: null, outputSchema: null }
  return (messages) => dialect.request({ ...call, target, ask: { ...ask, messages } }).body
}

/** A user's words around what is looked at: it then stands where every dialect lets it stand. */
export const ANCHOR: UserMessage = {
  role: 'user',
  content: [{ type: 'text', text: 'x' }],
  created_at: '1970-01-01T00:00:00.000Z',
}
