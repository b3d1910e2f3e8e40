/**
 * A conversation in the words of the Messages API. Pure; the same conversation gives the same blocks on every turn.
 *
 * The API merges adjacent messages of one role, but judges the placement of tool results on the array as sent, so they are
 * merged here: the results of a message first, then what the user wrote. Blank text blocks are refused and are left out.
 */
import type { Base64ImageSource, ContentBlockParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '../../contract/json.ts'
import type { AssistantMessage, FilePart, ImagePart, UserMessage } from '../../contract/message.ts'
import type { Warning } from '../../contract/result.ts'
import { wireIds, type WireIds } from '../call-id.ts'
import type { DialectCall } from '../dialect.ts'
import { ownReasoning } from '../own-material.ts'
import { sentPart } from '../sent-part.ts'
import { partReplaced, standIn } from '../stand-in.ts'
import { wireToolName } from '../tool-definition.ts'
import { turnsOf, type CallResult } from '../turns.ts'
import { renamed, type ToolNames } from './property-names.ts'

/** A message whose content is always a list of blocks. */
export interface BlockMessage {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlockParam[]
}

export interface Conversation {
  readonly messages: BlockMessage[]
  readonly warnings: readonly Warning[]
}

/** The first message must be a user's; this stands before a conversation that the assistant opened. */
const OPENING: ContentBlockParam = { type: 'text', text: '[start of the conversation]' }

/** @param names of the arguments of the run's tools */
export function conversationOf(call: DialectCall, names: ToolNames): Conversation {
  const turns = turnsOf(call.ask.messages)
  const facts = { call, ids: wireIds(turns, call.profile), names }
  const messages: BlockMessage[] = []
  const warnings: Warning[] = []
  for (const turn of turns) {
    if (turn.kind === 'user') {
      append(messages, 'user', userBlocks(turn.message, turn.index, call, warnings))
      continue
    }
    if (messages.length === 0) append(messages, 'user', [OPENING])
    append(messages, 'assistant', assistantBlocks(turn.message, facts))
    append(
      messages,
      'user',
      turn.results.map((result) => resultBlock(result, facts.ids)),
    )
  }
  return { messages, warnings }
}

/** Adds blocks at the end, to the last message where that is of the same role. */
export function append(
  messages: BlockMessage[],
  role: BlockMessage['role'],
  blocks: readonly ContentBlockParam[],
): void {
  if (blocks.length === 0) return
  const last = messages.at(-1)
  if (last?.role === role) for (const block of blocks) last.content.push(block)
  else messages.push({ role, content: [...blocks] })
}

function userBlocks(message: UserMessage, index: number, call: DialectCall, warnings: Warning[]): ContentBlockParam[] {
  return message.content.flatMap((part, place) => {
    if (part.type === 'text') return textBlocks(part.text)
    const sent = sentPart(part, call)
    const block = sent === null ? null : mediaBlock(sent)
    if (block !== null) return [block]
    warnings.push(partReplaced(part, call, index, place))
    return textBlocks(standIn(part, call))
  })
}

function textBlocks(text: string): ContentBlockParam[] {
  return text.trim() === '' ? [] : [{ type: 'text', text }]
}

/** Of the types that a profile lists; the API's own typings name the same ones. */
type ImageType = Base64ImageSource['media_type']

/** null: there is nothing to read it from in a form that the API takes. */
function mediaBlock(part: ImagePart | FilePart): ContentBlockParam | null {
  const type = part.mime_type
  const title = part.type === 'file' && typeof part.name === 'string' ? { title: part.name } : {}
  if (typeof part.data === 'string') {
    if (type.startsWith('image/'))
      return { type: 'image', source: { type: 'base64', media_type: type as ImageType, data: part.data } }
    if (type === 'application/pdf')
      return { type: 'document', source: { type: 'base64', media_type: type, data: part.data }, ...title }
    const text = Buffer.from(part.data, 'base64').toString('utf8')
    return text.trim() === ''
      ? null
      : { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title }
  }
  if (typeof part.url !== 'string') return null
  if (type.startsWith('image/')) return { type: 'image', source: { type: 'url', url: part.url } }
  return type === 'application/pdf' ? { type: 'document', source: { type: 'url', url: part.url }, ...title } : null
}

interface Facts {
  readonly call: DialectCall
  readonly ids: WireIds
  readonly names: ToolNames
}

function assistantBlocks(message: AssistantMessage, { call, ids, names }: Facts): ContentBlockParam[] {
  const blocks = message.content.flatMap((part): ContentBlockParam[] => {
    switch (part.type) {
      case 'text':
        return textBlocks(part.text)
      case 'tool_call': {
        const input = renamed(part.args, names.get(part.tool))
        return [{ type: 'tool_use', id: ids.get(part) ?? part.call_id, name: wireToolName(part.tool), input }]
      }
      case 'reasoning': {
        const own = ownReasoning(part, message, call)
        return own === null ? [] : thinkingBlocks(part.text, own, call)
      }
      default:
        return []
    }
  })
  // A message may not end in thinking; one that is nothing else is none.
  while (isThinking(blocks.at(-1))) blocks.pop()
  return filled(blocks, call)
}

/** Byte for byte as it came: the signature is over the text. */
function thinkingBlocks(text: string, own: JsonObject, { profile }: DialectCall): ContentBlockParam[] {
  if (own['type'] === 'redacted_thinking') {
    return typeof own['data'] === 'string' ? [{ type: 'redacted_thinking', data: own['data'] }] : []
  }
  const signature = typeof own['signature'] === 'string' ? own['signature'] : ''
  if (signature === '' && (!profile.anthropic.emptySignature || text.trim() === '')) return []
  return [{ type: 'thinking', thinking: text, signature }]
}

function filled(blocks: ContentBlockParam[], { profile }: DialectCall): ContentBlockParam[] {
  const fill = profile.reasoningFill
  if (fill === null || blocks.length === 0 || blocks.some(isThinking)) return blocks
  if (fill.on === 'calls' && !blocks.some((block) => block.type === 'tool_use')) return blocks
  return [{ type: 'thinking', thinking: fill.text, signature: '' }, ...blocks]
}

export function isThinking(block: ContentBlockParam | undefined): boolean {
  return block?.type === 'thinking' || block?.type === 'redacted_thinking'
}

function resultBlock({ call, text, isError }: CallResult, ids: WireIds): ToolResultBlockParam {
  const result = { type: 'tool_result', tool_use_id: ids.get(call) ?? call.call_id, content: text } as const
  return isError ? { ...result, is_error: true } : result
}
