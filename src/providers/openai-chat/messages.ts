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
  const drafts: Draft[] = []
  const add = (message: JsonObject | null): void => append(drafts, message, profile.chat)
  const system = systemText(call, 'response_format')
  if (system.trim() !== '') add({ role: 'system', content: system })
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
  return { messages: drafts.map(written), warnings }
}

/** A message in the making; its content is put together once, however many neighbours it takes in. */
interface Draft {
  fields: JsonObject
  readonly contents: Content[]
}

function drafted(message: JsonObject): Draft {
  return { fields: message, contents: [message['content'] ?? ''] }
}

function written({ contents, fields }: Draft): JsonObject {
  return contents.length === 1 ? fields : { ...fields, content: mergedContent(contents) }
}

function append(drafts: Draft[], message: JsonObject | null, { afterTools, alternates }: ChatRules): void {
  if (message === null) return
  const last = drafts.at(-1)
  const role = last?.fields['role']
  if (afterTools !== null && role === 'tool' && message['role'] === 'user') {
    drafts.push(drafted({ role: 'assistant', content: afterTools }), drafted(message))
    return
  }
  // Results stay apart. What calls tools already has its results between.
  if (!alternates || last === undefined || role !== message['role'] || role === 'tool') {
    drafts.push(drafted(message))
    return
  }
  last.fields = { ...last.fields, ...message }
  last.contents.push(message['content'] ?? '')
}

type Content = NonNullable<JsonObject[string]>

/** Texts are one text up to the first content that is a list; from there on each is a part of its own. */
function mergedContent(contents: readonly Content[]): Content {
  const texts: string[] = []
  for (const content of contents) {
    if (typeof content !== 'string') break
    texts.push(content)
  }
  const text = texts.filter((content) => content !== '').join('\n\n')
  return texts.length === contents.length ? text : [...parts(text), ...contents.slice(texts.length).flatMap(parts)]
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
    content: content === '' ? chat.emptyContent : content,
    ...fields,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}
