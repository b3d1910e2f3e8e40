/**
 * A conversation in the words of GigaChat's functions API. Pure; the same conversation gives the same messages on every turn.
 *
 * One call a message, with its result directly behind it: calls that stood side by side, in the answer of another provider,
 * become pairs one after the other. There are no call ids; a result belongs to the call before it. Content is a string and is
 * always there. Neighbours of one role are merged, for the API takes no two of them.
 */
import type { JsonObject } from '../../contract/json.ts'
import { textOf, type AssistantMessage, type UserMessage } from '../../contract/message.ts'
import type { Warning } from '../../contract/result.ts'
import type { DialectCall } from '../dialect.ts'
import { systemText } from '../output-form.ts'
import { ownMessage } from '../own-material.ts'
import { partReplaced, standIn } from '../stand-in.ts'
import { type CallResult, turnsOf } from '../turns.ts'
import { text } from '../wire-value.ts'
import { functionName } from './function-name.ts'

export interface FunctionMessages {
  readonly messages: readonly JsonObject[]
  readonly warnings: readonly Warning[]
}

/** A message in the making; its words are joined once, however many neighbours it takes in. */
interface Draft {
  readonly role: 'system' | 'user' | 'assistant' | 'function'
  readonly words: string[]
  more: JsonObject
}

export function functionMessages(call: DialectCall): FunctionMessages {
  const { ask } = call
  const warnings: Warning[] = []
  const drafts: Draft[] = []
  const system = systemText(call, 'response_format')
  if (system.trim() !== '') drafts.push({ role: 'system', words: [system], more: {} })
  for (const turn of turnsOf(ask.messages)) {
    if (turn.kind === 'user') append(drafts, 'user', userContent(turn.message, turn.index, call, warnings), {})
    else addAnswer(drafts, turn.message, turn.results, stateOf(turn.message, call))
  }
  if (ask.note !== null) append(drafts, 'user', ask.note, {})
  const messages = drafts.map(({ role, words, more }) => ({ role, content: words.join('\n\n'), ...more }))
  return { messages, warnings }
}

/** Adds words of one side, to its last message where that is the last one. What is blank and carries nothing is left out. */
function append(drafts: Draft[], role: 'user' | 'assistant', content: string, more: JsonObject): void {
  const isBlank = content.trim() === ''
  if (isBlank && Object.keys(more).length === 0) return
  const last = drafts.at(-1)
  const draft = last?.role === role ? last : { role, words: [], more: {} }
  if (draft !== last) drafts.push(draft)
  if (!isBlank) draft.words.push(content)
  draft.more = { ...draft.more, ...more }
}

/** Files are taken by the id of an upload only: every part but text is a stand-in. */
function userContent(message: UserMessage, index: number, call: DialectCall, warnings: Warning[]): string {
  const words = message.content.flatMap((part, place) => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [part.text]
    warnings.push(partReplaced(part, call, index, place))
    return [standIn(part, call)]
  })
  return words.join('\n')
}

function addAnswer(
  drafts: Draft[],
  message: AssistantMessage,
  results: readonly CallResult[],
  state: JsonObject,
): void {
  const said = textOf(message)
  if (results.length === 0) {
    append(drafts, 'assistant', said, said.trim() === '' ? {} : state)
    return
  }
  for (const [place, { call, text: content }] of results.entries()) {
    const name = functionName(call.tool)
    const first = place === 0
    append(drafts, 'assistant', first ? said : '', {
      function_call: { name, arguments: call.args },
      ...(first ? state : {}),
    })
    drafts.push({ role: 'function', words: [content], more: { name } })
  }
}

/** The id under which the service keeps the state of its functions: it improves the answers that follow. */
function stateOf(message: AssistantMessage, call: DialectCall): JsonObject {
  const id = call.repairs.has('no_state_id') ? '' : text(ownMessage(message, call.profile)?.['functions_state_id'])
  return id === '' ? {} : { functions_state_id: id }
}
