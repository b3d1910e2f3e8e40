/**
 * A conversation in the words of chat completions. Pure; the same conversation gives the same messages on every turn.
 *
 * Content is a plain string wherever it can be: weak servers know nothing else, and some models begin to imitate lists.
 */
import type { JsonObject } from '../../contract/json.ts'
import {
  textOf,
  type AssistantMessage,
  type FilePart,
  type ImagePart,
  type UserMessage,
} from '../../contract/message.ts'
import type { Warning } from '../../contract/result.ts'
import { wireIds, type WireIds } from '../call-id.ts'
import type { DialectCall } from '../dialect.ts'
import { jsonBody } from '../json-body.ts'
import { systemText } from '../output-form.ts'
import { ownCall } from '../own-material.ts'
import type { ChatRules } from '../profile.ts'
import { sentPart } from '../sent-part.ts'
import { partReplaced, standIn } from '../stand-in.ts'
import { wireToolName } from '../tool-definition.ts'
import { turnsOf } from '../turns.ts'
import { isObject, text } from '../wire-value.ts'
import { replayedReasoning } from './reasoning-fields.ts'

export interface ChatMessages {
  readonly messages: readonly JsonObject[]
  readonly warnings: readonly Warning[]
}

export function chatMessages(call: DialectCall): ChatMessages {
  const { ask, profile } = call
  const turns = turnsOf(ask.messages)
  const ids = wireIds(turns, profile)
  const warnings: Warning[] = []
  const messages: JsonObject[] = []
  const add = (message: JsonObject | null): void => append(messages, message, profile.chat)
  const system = systemText(call, 'response_format')
  if (system.trim() !== '') add({ role: profile.chat.systemRole, content: system })
  for (const turn of turns) {
    if (turn.kind === 'user') {
      add(userMessage(turn.message, turn.index, call, warnings))
      continue
    }
    add(assistantMessage(turn.message, ids, call))
    for (const { call: part, text: content } of turn.results)
      add({ role: 'tool', tool_call_id: ids.get(part) ?? part.call_id, content })
  }
  if (ask.note !== null && ask.note.trim() !== '') add({ role: 'user', content: ask.note })
  return { messages, warnings }
}

function append(messages: JsonObject[], message: JsonObject | null, { afterTools, alternates }: ChatRules): void {
  if (message === null) return
  const last = messages.at(-1)
  if (afterTools !== null && last?.['role'] === 'tool' && message['role'] === 'user') {
    messages.push({ role: 'assistant', content: afterTools }, message)
    return
  }
  const merged = alternates && last !== undefined && last['role'] === message['role'] ? merge(last, message) : null
  if (merged === null) messages.push(message)
  else messages[messages.length - 1] = merged
}

/** null: these two stay apart. What calls tools already has its results between. */
function merge(before: JsonObject, after: JsonObject): JsonObject | null {
  if (before['role'] === 'tool') return null
  return { ...before, ...after, content: mergedContent(before['content'] ?? '', after['content'] ?? '') }
}

type Content = NonNullable<JsonObject[string]>

function mergedContent(before: Content, after: Content): Content {
  if (typeof before === 'string' && typeof after === 'string')
    return [before, after].filter((text) => text !== '').join('\n\n')
  return [...parts(before), ...parts(after)]
}

function parts(content: Content): readonly JsonObject[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content as readonly JsonObject[]
}

function userMessage(message: UserMessage, index: number, call: DialectCall, warnings: Warning[]): JsonObject | null {
  const content = message.content.flatMap((part, place): JsonObject[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text }]
    const sent = sentPart(part, call)
    const media = sent === null ? null : mediaPart(sent)
    if (media !== null) return [media]
    warnings.push(partReplaced(part, call, index, place))
    return [{ type: 'text', text: standIn(part, call) }]
  })
  if (content.length === 0) return null
  const plain = content.every((part) => part['type'] === 'text')
  return { role: 'user', content: plain ? content.map((part) => text(part['text'])).join('\n') : content }
}

/** null: there is nothing to read it from in a form that the API takes. */
function mediaPart(part: ImagePart | FilePart): JsonObject | null {
  const dataUrl = typeof part.data === 'string' ? `data:${part.mime_type};base64,${part.data}` : null
  if (part.type === 'image' || part.mime_type.startsWith('image/')) {
    const url = dataUrl ?? part.url
    return typeof url === 'string' ? { type: 'image_url', image_url: { url } } : null
  }
  if (dataUrl === null) return null
  return { type: 'file', file: { filename: part.name ?? 'file', file_data: dataUrl } }
}

/** null: nothing of it may go back, and a message without content and calls is refused. */
function assistantMessage(message: AssistantMessage, ids: WireIds, call: DialectCall): JsonObject | null {
  const { chat } = call.profile
  const said = textOf(message)
  const calls = message.content.flatMap((part): JsonObject[] => {
    if (part.type !== 'tool_call') return []
    const extra = ownCall(part, call.profile)?.['extra_content']
    return [
      {
        id: ids.get(part) ?? part.call_id,
        type: 'function',
        function: { name: wireToolName(part.tool), arguments: jsonBody(part.args) },
        ...(isObject(extra) ? { extra_content: extra } : {}),
      },
    ]
  })
  if (said.trim() === '' && calls.length === 0) return null
  const { fields, parts } = replayedReasoning(message, calls.length > 0, call)
  const spoken: JsonObject[] = said === '' ? [] : [{ type: 'text', text: said }]
  const content = parts.length === 0 ? said : [...parts, ...spoken]
  return {
    role: 'assistant',
    ...(content !== '' ? { content } : chat.emptyContent === 'omit' ? {} : { content: chat.emptyContent }),
    ...fields,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
