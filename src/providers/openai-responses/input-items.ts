/**
 * A conversation as input items of the Responses API. Pure; the same conversation gives the same items on every turn, and a
 * longer one only adds at its end: newer models drop their own reasoning where anything before it has changed.
 *
 * Nothing is stored at the provider, so no item has an id.
 */
import type { EasyInputMessage, ResponseInputContent } from 'openai/resources/responses/responses'
import type { AssistantMessage, FilePart, ImagePart, UserMessage } from '../../contract/message.ts'
import type { Warning } from '../../contract/result.ts'
import { wireIds, type WireIds } from '../call-id.ts'
import type { DialectCall } from '../dialect.ts'
import { systemText } from '../output-form.ts'
import { isOwnAnswer, ownCall, ownMessage, ownReasoning } from '../own-material.ts'
import { sentPart } from '../sent-part.ts'
import { partReplaced, standIn } from '../stand-in.ts'
import { wireToolName } from '../tool-definition.ts'
import { turnsOf, type CallResult } from '../turns.ts'
import { isObject, list, text } from '../wire-value.ts'
import { sentArguments } from './call-arguments.ts'
import { callGroups, outputOf, type CallGroup } from './parallel-call.ts'
import { replayedItem } from './reasoning-item.ts'

export interface InputItems {
  readonly items: readonly object[]
  readonly warnings: readonly Warning[]
}

export function inputItems(call: DialectCall): InputItems {
  const { ask, profile } = call
  const turns = turnsOf(ask.messages)
  const ids = wireIds(turns, profile)
  const warnings: Warning[] = []
  const items: object[] = []
  // Not `instructions`: newer models put those behind the input, where no cache holds them.
  const system = systemText(call, 'text')
  if (system.trim() !== '') items.push({ role: 'developer', content: system } satisfies EasyInputMessage)
  for (const turn of turns) {
    const made =
      turn.kind === 'user'
        ? userItems(turn.message, turn.index, call, warnings)
        : assistantItems(turn.message, turn.results, ids, call)
    // Not spread: a message can hold more parts than a call takes arguments.
    for (const item of made) items.push(item)
  }
  if (ask.note !== null && ask.note.trim() !== '') items.push(userItem([inputText(ask.note)]))
  return { items, warnings }
}

function userItem(content: ResponseInputContent[]): EasyInputMessage {
  return { role: 'user', content }
}

function inputText(words: string): ResponseInputContent {
  return { type: 'input_text', text: words }
}

function userItems(message: UserMessage, index: number, call: DialectCall, warnings: Warning[]): EasyInputMessage[] {
  const content = message.content.flatMap((part, place): ResponseInputContent[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [inputText(part.text)]
    const sent = sentPart(part, call)
    const media = sent === null ? null : mediaContent(sent)
    if (media !== null) return [media]
    warnings.push(partReplaced(part, call, index, place))
    return [inputText(standIn(part, call))]
  })
  return content.length === 0 ? [] : [userItem(content)]
}

/** null: there is nothing to read it from. */
function mediaContent(part: ImagePart | FilePart): ResponseInputContent | null {
  const dataUrl = typeof part.data === 'string' ? `data:${part.mime_type};base64,${part.data}` : null
  const url = dataUrl ?? part.url
  if (typeof url !== 'string') return null
  if (part.mime_type.startsWith('image/')) return { type: 'input_image', image_url: url, detail: 'auto' }
  if (dataUrl === null) return { type: 'input_file', file_url: url }
  const name = part.type === 'file' ? part.name : null
  return { type: 'input_file', filename: name ?? 'file.pdf', file_data: dataUrl }
}

function assistantItems(
  message: AssistantMessage,
  results: readonly CallResult[],
  ids: WireIds,
  call: DialectCall,
): object[] {
  const groups = callGroups(results, call.profile)
  const byFirst = new Map(groups.map((group) => [group.first, group]))
  const phases = phasesOf(message, call)
  let spoken = 0
  const items = orderedParts(message, call).flatMap((part): object[] => {
    switch (part.type) {
      case 'text': {
        if (part.text.trim() === '') return []
        const phase = text(phases[spoken])
        spoken += 1
        return [outputMessage(part.text, phase)]
      }
      case 'tool_call': {
        const group = byFirst.get(part)
        return group === undefined ? [] : [functionCall(group, ids, call)]
      }
      case 'reasoning': {
        const item = ownReasoning(part, message, call)?.['item']
        return isObject(item) ? [replayedItem(item)] : []
      }
      default:
        return []
    }
  })
  // Reasoning that leads to nothing is refused.
  while (isReasoning(items.at(-1))) items.pop()
  return [...items, ...groups.map((group) => callOutput(group, ids))]
}

/** As the model wrote them; of a message from elsewhere calls come last, so that nothing stands between them and their outputs. */
function orderedParts(message: AssistantMessage, { profile }: DialectCall): AssistantMessage['content'] {
  const { content } = message
  const isCall = ({ type }: (typeof content)[number]) => type === 'tool_call'
  if (isOwnAnswer(message, profile) || content.findLastIndex((part) => !isCall(part)) < content.findIndex(isCall))
    return content
  return [...content.filter((part) => !isCall(part)), ...content.filter(isCall)]
}

/** Own phases of the texts; a model that gets its texts back without them stops too early. */
function phasesOf(message: AssistantMessage, { profile }: DialectCall): readonly unknown[] {
  return list(ownMessage(message, profile)?.['phases'])
}

function outputMessage(words: string, phase: string): object {
  const content = [{ type: 'output_text', text: words }]
  return { type: 'message', role: 'assistant', content, ...(phase === '' ? {} : { phase }) }
}

function functionCall({ first, wrapper }: CallGroup, ids: WireIds, { profile }: DialectCall): object {
  return {
    type: 'function_call',
    call_id: ids.get(first) ?? first.call_id,
    name: wireToolName(wrapper?.name ?? first.tool),
    arguments: wrapper?.arguments ?? sentArguments(ownCall(first, profile), first.args),
  }
}

function callOutput(group: CallGroup, ids: WireIds): object {
  return {
    type: 'function_call_output',
    call_id: ids.get(group.first) ?? group.first.call_id,
    output: outputOf(group),
  }
}

function isReasoning(item: object | undefined): boolean {
  return isObject(item) && item['type'] === 'reasoning'
}
