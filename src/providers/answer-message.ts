/** From a whole reading to the step's message. Pure. */
import type { ModelMessage } from '../engine/ports.ts'
import type { Reading } from './dialect.ts'

/**
 * `refusal` is the text of a refusal that no part holds yet: it becomes the answer's text, and is still to be shown where
 * nothing was.
 */
export function messageOf(
  reading: Reading,
  target: number,
): { readonly message: ModelMessage; readonly refusal: string | null } {
  const { parts, provider_data, stop } = reading
  const spoken = parts.some((part) => part.type === 'text' && part.text !== '')
  const refusal = spoken || reading.refusal === '' ? null : reading.refusal
  if (refusal === null) return { message: { parts, stop, target, provider_data }, refusal }
  const text = { type: 'text', text: refusal } as const
  return { message: { parts: [...parts, text], stop: 'refusal', target, provider_data }, refusal }
}
