/**
 * Whether an assistant message goes out with words of the engine in the place of reasoning: some models refuse a message without
 * any. Asked of the dialect, by writing the message once as if the model did not mind. Pure.
 */
import type { StoredMessage } from '../contract/message.ts'
import type { FirstRequest } from './first-request.ts'
import { ANCHOR, probeOf } from './probe.ts'

/** What stands in a message for reasoning it lacks; null: nothing does. */
export function filledReasoningOf(
  first: Pick<FirstRequest, 'call' | 'dialect'>,
): (message: StoredMessage) => string | null {
  const { call, dialect } = first
  const fill = call.profile.reasoningFill
  if (fill === null) return () => null
  const probe = probeOf(first)
  const unfilled = probeOf({ dialect, call: { ...call, profile: { ...call.profile, reasoningFill: null } } })
  return (message) => {
    if (message.role !== 'assistant') return null
    const alone = [ANCHOR, message, ANCHOR]
    return probe(alone) === unfilled(alone) ? null : fill.text
  }
}
