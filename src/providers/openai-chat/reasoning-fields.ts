/**
 * Where chat servers put reasoning, and how it goes back: in the place it came from, which `provider_data` remembers. Pure.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { AssistantMessage } from '../../contract/message.ts'
import type { DialectCall } from '../dialect.ts'
import { ownReasoning } from '../own-material.ts'
import type { Profile } from '../profile.ts'
import { list, text, type WireObject } from '../wire-value.ts'

/** Fields that hold reasoning as text. A server that fills two of them says the same in both: the first one counts. */
const FIELDS = ['reasoning_content', 'reasoning', 'reasoning_text'] as const

type TextField = (typeof FIELDS)[number]

/** Where reasoning came from: a field, `reasoning_details` alone, parts of the content, tags inside the content. */
export type ReasoningPlace = TextField | 'reasoning_details' | 'content' | 'tags'

/** Written out: it is asked of every delta, and a field by a name that varies is several times dearer to look up. */
export function fieldWithReasoning({ reasoning, reasoning_content, reasoning_text }: WireObject): TextField | null {
  if (text(reasoning_content) !== '') return 'reasoning_content'
  if (text(reasoning) !== '') return 'reasoning'
  return text(reasoning_text) === '' ? null : 'reasoning_text'
}

export interface Replay {
  /** Fields of the assistant message. */
  readonly fields: JsonObject
  /** Parts that stand in its content before the text. */
  readonly parts: readonly JsonObject[]
}

export function replayedReasoning(message: AssistantMessage, hasCalls: boolean, call: DialectCall): Replay {
  const words: string[] = []
  const details: JsonObject[] = []
  let place = ''
  for (const part of message.content) {
    const own = part.type === 'reasoning' ? ownReasoning(part, message, call) : null
    if (own === null || part.type !== 'reasoning') continue
    words.push(part.text)
    details.push(...(list(own['details']) as readonly JsonObject[]))
    place = text(own['field'])
  }
  const reasoning = words.join('')
  if (details.length > 0) return { fields: { reasoning_details: details }, parts: [] }
  if (place === 'content' && reasoning !== '') {
    return { fields: {}, parts: [{ type: 'thinking', thinking: [{ type: 'text', text: reasoning }] }] }
  }
  if (FIELDS.some((field) => field === place)) return { fields: { [place]: reasoning }, parts: [] }
  const fill = call.repairs.has('no_thinking') ? NO_WORDS : call.profile.reasoningFill
  const filled = fill !== null && (fill.on === 'all' || hasCalls)
  return { fields: filled ? { reasoning_content: fill.text } : {}, parts: [] }
}

/** A server that has asked for the field is given it, whether its row says so or not. */
const NO_WORDS: Profile['reasoningFill'] = { text: '', on: 'all' }
