/** What a fake provider was sent, read as the parts of it that tests look at. */
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { Received } from './recording-server.ts'

export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: Json
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly reasoning_content?: string
}

export interface ChatRequest {
  readonly model: string
  readonly stream: boolean
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly JsonObject[]
  readonly tool_choice?: string
}

export function chatRequest({ text }: Received): ChatRequest {
  return JSON.parse(text) as ChatRequest
}

/** The content of a message, which must be a text. */
export function contentText(message: ChatMessage | undefined): string {
  const content = message?.content
  if (typeof content !== 'string') throw new Error(`a message without a text: ${JSON.stringify(message)}`)
  return content
}

/** What the model was shown of all tool messages, in order. */
export function toolContents({ messages }: ChatRequest): Json[] {
  return toolTexts(messages).map((text) => JSON.parse(text) as Json)
}

/** The same as the texts that they are. */
export function toolTexts(messages: readonly ChatMessage[]): string[] {
  return messages.filter(({ role }) => role === 'tool').map(contentText)
}

export interface Block {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly tool_use_id?: string
  readonly name?: string
  readonly input?: JsonObject
  readonly content?: Json
  readonly is_error?: boolean
  readonly thinking?: string
  readonly signature?: string
}

export interface MessagesRequest {
  readonly model: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }[]
}

export function messagesRequest({ text }: Received): MessagesRequest {
  return JSON.parse(text) as MessagesRequest
}
