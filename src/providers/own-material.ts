/**
 * Telling a family's own material from foreign in `provider_data`. Own material goes back byte for byte; foreign reasoning is
 * left out, never sent as text, and foreign ids are replaced (SPEC §4.2, §4.3). Pure.
 */
import type { JsonObject } from '../contract/json.ts'
import type { AssistantMessage, ReasoningPart, ToolCallPart } from '../contract/message.ts'
import type { DialectCall } from './dialect.ts'
import type { Profile } from './profile.ts'

/** The family's own data of a call; null where it is foreign or there is none. */
export function ownCall(part: ToolCallPart, profile: Profile): JsonObject | null {
  return stamped(part.provider_data, profile)
}

/** The family's own data of a whole message. */
export function ownMessage(message: AssistantMessage, profile: Profile): JsonObject | null {
  return stamped(message.provider_data, profile)
}

/** A model of the family wrote it: some of its parts, or the whole, has own data. */
export function isOwnAnswer(message: AssistantMessage, profile: Profile): boolean {
  const data = message.content.map((part) => (part.type === 'text' ? null : part.provider_data))
  return [message.provider_data, ...data].some((one) => stamped(one, profile) !== null)
}

/** The family's own data of reasoning that may go back in this request; null: leave it out. */
export function ownReasoning(part: ReasoningPart, message: AssistantMessage, call: DialectCall): JsonObject | null {
  if (call.profile.reasoningGoesTo === 'nobody' || call.repairs.has('no_reasoning')) return null
  if (call.profile.reasoningGoesTo === 'model' && message.model !== call.target.model) return null
  return stamped(part.provider_data, call.profile)
}

/** Own reasoning that only a repair keeps out: its loss is told. */
export function losesReasoning(call: DialectCall): boolean {
  if (!call.repairs.has('no_reasoning')) return false
  const unrepaired: DialectCall = { ...call, repairs: new Set() }
  return call.ask.messages.some(
    (message) =>
      message.role === 'assistant' &&
      message.content.some((part) => part.type === 'reasoning' && ownReasoning(part, message, unrepaired) !== null),
  )
}

function stamped(data: JsonObject | null | undefined, profile: Profile): JsonObject | null {
  return data?.['family'] === profile.family ? data : null
}
