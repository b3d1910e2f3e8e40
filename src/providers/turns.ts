/**
 * A conversation in the order in which every provider takes it: the results of an assistant message stand directly after it,
 * in the order of its calls; what a user wrote meanwhile comes after them. Pure, linear.
 *
 * Pairs are found by place and id together, not by id alone: a history made elsewhere may use one id on every turn.
 */
import {
  callsOf,
  type AssistantMessage,
  type StoredMessage,
  type ToolCallPart,
  type ToolMessage,
  type UserMessage,
} from '../contract/message.ts'
import { toolResultText } from '../contract/tool-result-text.ts'
import { wellFormedJson } from './json-body.ts'

export type Turn =
  | { readonly kind: 'user'; readonly message: UserMessage; readonly index: number }
  | { readonly kind: 'assistant'; readonly message: AssistantMessage; readonly results: readonly CallResult[] }

export interface CallResult {
  readonly call: ToolCallPart
  /** What the model reads. */
  readonly text: string
  readonly isError: boolean
}

/** `index` of a turn is the place of its message in `messages`. A result without its call is left out. */
export function turnsOf(messages: readonly StoredMessage[]): Turn[] {
  const turns: Turn[] = []
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at]
    if (message?.role === 'user') turns.push({ kind: 'user', message, index: at })
    if (message?.role !== 'assistant') continue
    const answers = answersAfter(messages, at)
    turns.push({ kind: 'assistant', message, results: callsOf(message).map((call) => resultOf(call, answers)) })
  }
  return turns
}

/** The tool messages up to the next assistant message; the first answer to an id stands. */
function answersAfter(messages: readonly StoredMessage[], at: number): ReadonlyMap<string, ToolMessage> {
  const answers = new Map<string, ToolMessage>()
  for (let next = at + 1; next < messages.length; next += 1) {
    const message = messages[next]
    if (message?.role === 'assistant') break
    if (message?.role === 'tool' && !answers.has(message.call_id)) answers.set(message.call_id, message)
  }
  return answers
}

/** Every call has exactly one result: providers refuse a request that lacks one. */
function resultOf(call: ToolCallPart, answers: ReadonlyMap<string, ToolMessage>): CallResult {
  const answer = answers.get(call.call_id) ?? { is_error: true, error: 'no result was recorded' }
  return { call, text: wellFormedJson(toolResultText(answer)), isError: answer.is_error === true }
}
