/** The events that bring a piece of an item, and where in it the piece belongs. Data. Source: OpenAI's typings of the stream. */
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import type { Place } from './output-items.ts'

export interface PieceRule {
  /** The type of the item. */
  readonly item: 'message' | 'reasoning' | 'function_call'
  readonly place: Place
  /** The field that numbers the parts of an item. */
  readonly part: 'content_index' | 'summary_index'
  /** The field that holds the piece. */
  readonly field: 'delta' | 'text' | 'refusal' | 'arguments'
  /** The field holds the whole part, not its next piece. */
  readonly whole: boolean
}

type EventType = ResponseStreamEvent['type']

const text = { item: 'message', place: 'text', part: 'content_index' } as const
const refusal = { item: 'message', place: 'refusal', part: 'content_index' } as const
const summary = { item: 'reasoning', place: 'summary', part: 'summary_index' } as const
const content = { item: 'reasoning', place: 'content', part: 'content_index' } as const
const callArguments = { item: 'function_call', place: 'arguments', part: 'content_index' } as const

const next = { field: 'delta', whole: false } as const

export const pieceRules: ReadonlyMap<string, PieceRule> = new Map<EventType, PieceRule>([
  ['response.output_text.delta', { ...text, ...next }],
  ['response.output_text.done', { ...text, field: 'text', whole: true }],
  ['response.refusal.delta', { ...refusal, ...next }],
  ['response.refusal.done', { ...refusal, field: 'refusal', whole: true }],
  ['response.reasoning_summary_text.delta', { ...summary, ...next }],
  ['response.reasoning_summary_text.done', { ...summary, field: 'text', whole: true }],
  ['response.reasoning_text.delta', { ...content, ...next }],
  ['response.reasoning_text.done', { ...content, field: 'text', whole: true }],
  ['response.function_call_arguments.delta', { ...callArguments, ...next }],
  ['response.function_call_arguments.done', { ...callArguments, field: 'arguments', whole: true }],
])
