/**
 * What makes a history one that any provider accepts (SPEC §4.4). Checked before anything is sent: a provider's 400 about a
 * history would come back on every later turn. All faults are told, by path and call id.
 */
import type { Faults } from '../contract/check.ts'
import {
  callsOf,
  type AssistantMessage,
  type FilePart,
  type ImagePart,
  type StoredMessage,
  type ToolMessage,
  type UserMessage,
} from '../contract/message.ts'
import { isBlank } from './blank.ts'

/**
 * Calls of the newest assistant message that are not answered yet. Pairing is by position: an id may come again in a
 * later turn.
 */
interface OpenCall {
  readonly tool: string
  readonly path: string
}

/**
 * @param faults those of form, which are there already: a message that has one in what calls, answers or says is read no further,
 * and a turn of which a call or an answer is not known is not judged. All others are.
 */
export function checkHistory(messages: readonly StoredMessage[], faults: Faults): void {
  const torn = tornMessages(faults)
  const open = new Map<string, OpenCall>()
  let answered = new Set<string>()
  let known = true
  for (const [index, message] of messages.entries()) {
    if (faults.full) return
    const path = `messages[${index}]`
    const tear = torn.get(index)
    if (tear === 'all' || (tear !== undefined && message.role !== 'user')) {
      open.clear()
      known = false
      continue
    }
    if (message.role === 'tool') {
      if (known) checkAnswer(message, path, open, answered, faults)
      continue
    }
    closeTurn(open, `before ${path}`, faults)
    answered = new Set()
    known = true
    if (message.role === 'assistant') openCalls(message, path, open, faults)
    else checkUser(message, path, tear !== undefined, faults)
  }
  closeTurn(open, 'by the end of the history', faults)
  const last = messages.at(-1)
  if (last?.role === 'assistant' && open.size === 0) {
    const path = `messages[${messages.length - 1}].role`
    faults.add(
      path,
      'the last message must be "user" or "tool": a model cannot be asked to continue its own answer; got "assistant"',
    )
  }
}

/** By index: whether anything is known of a message (`all`: nothing), or a part of it is wrong. */
function tornMessages(faults: Faults): ReadonlyMap<number, 'all' | 'part'> {
  const torn = new Map<number, 'all' | 'part'>()
  for (const { path } of faults.list) {
    const found = /^messages\[(\d+)\](?:\.(role|call_id|tool|content).*)?$/.exec(path)
    if (found === null) continue
    const index = Number(found[1])
    if (found[2] === undefined || found[2] === 'role') torn.set(index, 'all')
    else if (!torn.has(index)) torn.set(index, 'part')
  }
  return torn
}

function checkAnswer(
  message: ToolMessage,
  path: string,
  open: Map<string, OpenCall>,
  answered: Set<string>,
  faults: Faults,
): void {
  const call = open.get(message.call_id)
  const id = JSON.stringify(message.call_id)
  if (call === undefined) {
    const why = answered.has(message.call_id)
      ? `answers call ${id} a second time`
      : `answers call ${id}, which the assistant message before it does not make`
    return faults.add(`${path}.call_id`, why)
  }
  open.delete(message.call_id)
  answered.add(message.call_id)
  if (call.tool !== message.tool) {
    faults.add(
      `${path}.tool`,
      `must be ${JSON.stringify(call.tool)}, the tool of call ${id}; got ${JSON.stringify(message.tool)}`,
    )
  }
  if (message.is_error === true) {
    if (message.error == null) faults.add(`${path}.error`, `is required where is_error is true (call ${id})`)
  } else if (message.result === undefined) {
    faults.add(`${path}.result`, `is required unless is_error is true (call ${id})`)
  } else if (message.error != null) {
    // The model would be shown the result alone: a declined call would pass for one that was carried out.
    faults.add(`${path}.error`, `needs "is_error": true beside it, or must be left out (call ${id})`)
  }
}

function closeTurn(open: Map<string, OpenCall>, when: string, faults: Faults): void {
  for (const [callId, call] of open) {
    faults.add(
      call.path,
      `call ${JSON.stringify(callId)} of tool ${JSON.stringify(call.tool)} has no tool message ${when}: ` +
        'add its result, or close it with "is_error": true, "error": "superseded"',
    )
  }
  open.clear()
}

function openCalls(message: AssistantMessage, path: string, open: Map<string, OpenCall>, faults: Faults): void {
  for (const [index, part] of message.content.entries()) {
    if (part.type !== 'tool_call') continue
    const place = `${path}.content[${index}]`
    if (open.has(part.call_id))
      faults.add(`${place}.call_id`, `call id ${JSON.stringify(part.call_id)} stands twice in one message`)
    else open.set(part.call_id, { tool: part.tool, path: place })
  }
  const says = message.content.some(
    (part) => part.type === 'reasoning' || (part.type === 'text' && !isBlank(part.text)),
  )
  if (!says && callsOf(message).length === 0)
    faults.add(`${path}.content`, 'must hold something: all its text is empty')
}

function checkUser(message: UserMessage, path: string, isTorn: boolean, faults: Faults): void {
  for (const [index, part] of message.content.entries()) {
    const place = `${path}.content[${index}]`
    if (part.type !== 'text' && !(isTorn && faults.under(place))) checkSource(part, place, faults)
  }
  if (isTorn) return
  const says = message.content.some((part) => part.type !== 'text' || !isBlank(part.text))
  if (!says) faults.add(`${path}.content`, 'must hold something: all its text is empty')
}

/** A provider's 400 about what no model can read would come back on every later turn. Neither is quoted: it is the user's. */
function checkSource({ data, url }: ImagePart | FilePart, path: string, faults: Faults): void {
  if ((url == null) === (data == null)) {
    faults.add(path, `must have either url or data; got ${url == null ? 'neither' : 'both'}`)
  } else if (url != null && !isWebAddress(url)) {
    faults.add(`${path}.url`, 'must be an https address; what a "data:" address holds as base64 belongs into data')
  } else if (data != null && !isBase64(data)) {
    const got = data.startsWith('data:') ? 'a "data:" address: leave out all before its comma' : 'something else'
    faults.add(`${path}.data`, `must be base64 in its standard alphabet, padded, without line breaks; got ${got}`)
  }
}

function isWebAddress(url: string): boolean {
  return /^https?:\/\//i.test(url) && URL.canParse(url)
}

function isBase64(data: string): boolean {
  return data.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(data)
}
