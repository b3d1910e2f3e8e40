/**
 * StoredMessage (SPEC §4): one line of a conversation as the harness stores it and sends it back.
 *
 * The engine returns only a run's new messages; each carries `run_id` and `seq`. Unknown fields are tolerated here and
 * nowhere else, so that history survives an engine's upgrade and rollback.
 */
import { Type, type Static } from 'typebox'
import { anyJson, anyObject, instant, maybe, open, oneWordOf, taggedUnion, text, wholeNumber } from './schema.ts'

const TextPart = open({ type: Type.Literal('text'), text: Type.String() })

const ImagePart = open({
  type: Type.Literal('image'),
  url: maybe(text(1, 8192, 'https address the provider reads the image from, or else the engine')),
  data: maybe(text(1, 40_000_000, 'base64 alone, padded, without line breaks; instead of url')),
  mime_type: text(3, 100),
})

const FilePart = open({
  type: Type.Literal('file'),
  url: maybe(text(1, 8192, 'the same of a file')),
  data: maybe(text(1, 100_000_000, 'the same of a file')),
  mime_type: text(3, 100),
  name: maybe(text(1, 255)),
})

const ReasoningPart = open({
  type: Type.Literal('reasoning'),
  text: Type.String(),
  provider_data: maybe(
    anyObject("the provider's own opaque material; goes back to the same provider family byte for byte"),
  ),
})

const ToolCallPart = open({
  type: Type.Literal('tool_call'),
  call_id: text(1, 200),
  tool: text(1, 200),
  args: anyObject('what the tool was, or would have been, called with'),
  args_text: maybe(
    Type.String({ description: 'arguments that were no JSON object, as the model wrote them; args is then {}' }),
  ),
  provider_data: maybe(anyObject()),
})

export type TextPart = Static<typeof TextPart>
export type ImagePart = Static<typeof ImagePart>
export type FilePart = Static<typeof FilePart>
export type ReasoningPart = Static<typeof ReasoningPart>
export type ToolCallPart = Static<typeof ToolCallPart>
export type UserPart = TextPart | ImagePart | FilePart
export type AssistantPart = ReasoningPart | TextPart | ToolCallPart

/** Set on the messages a run made; absent on those a harness wrote. */
const written = { run_id: maybe(text(1, 100)), seq: maybe(wholeNumber(0, 1_000_000)) }

/** Why a model's answer ended, in one vocabulary for all providers. */
export const STOP_REASONS = [
  'end_turn',
  'tool_calls',
  'length',
  'stop_sequence',
  'refusal',
  'paused',
  'cancelled',
  'timeout',
  'error',
  'other',
] as const
export type StopReason = (typeof STOP_REASONS)[number]

export const UserMessage = open({
  role: Type.Literal('user'),
  content: Type.Unsafe<readonly UserPart[]>({
    type: 'array',
    minItems: 1,
    items: taggedUnion('type', [TextPart, ImagePart, FilePart]),
  }),
  created_at: instant('when the user sent it; the model is shown it in meta.timezone'),
  ...written,
})

export const AssistantMessage = open({
  role: Type.Literal('assistant'),
  content: Type.Unsafe<readonly AssistantPart[]>({
    type: 'array',
    minItems: 1,
    items: taggedUnion('type', [ReasoningPart, TextPart, ToolCallPart]),
  }),
  provider: maybe(text(1, 100)),
  model: maybe(text(1, 200)),
  stop_reason: maybe(oneWordOf(STOP_REASONS)),
  provider_data: maybe(anyObject()),
  created_at: maybe(instant()),
  ...written,
})

export const ToolMessage = open({
  role: Type.Literal('tool'),
  call_id: text(1, 200),
  tool: text(1, 200),
  result: Type.Optional(anyJson('what the tool answered; absent on an error')),
  is_error: maybe(Type.Boolean()),
  error: maybe(text(1, 100_000, 'what the model is told instead of a result')),
  note: maybe(text(1, 10_000, "the engine's own remark to the model; a tool cannot write here")),
  operation_id: maybe(text(1, 500)),
  ticket: maybe(text(1, 2000)),
  created_at: maybe(instant()),
  ...written,
})

export type UserMessage = Static<typeof UserMessage>
export type AssistantMessage = Static<typeof AssistantMessage>
export type ToolMessage = Static<typeof ToolMessage>
export type StoredMessage = UserMessage | AssistantMessage | ToolMessage

export const StoredMessage = taggedUnion<StoredMessage>('role', [UserMessage, AssistantMessage, ToolMessage])

/** A message this run made: a StoredMessage with its place in the run. */
export type NewMessage = StoredMessage & { readonly run_id: string; readonly seq: number; readonly created_at: string }

/** The text parts of an assistant message, joined with nothing between. */
export function textOf(message: AssistantMessage): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

export function callsOf(message: AssistantMessage): ToolCallPart[] {
  return message.content.filter((part) => part.type === 'tool_call')
}
