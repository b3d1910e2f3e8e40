/**
 * What makes a history one that any provider accepts (SPEC §4.4). Checked before anything is sent: a provider's 400 about a
 * history would come back on every later turn. All faults are told, by path and call id.
 */
import type { Faults } from '../contract/check.ts'
import {
  callsOf,
  type AssistantMessage,
  type StoredMessage,
  type ToolMessage,
  type UserMessage,
} from '../contract/message.ts'

/**
 * Calls of the newest assistant message that are not answered yet. Pairing is by position: an id may come again in a
 * later turn.
 */
interface OpenCall {
  readonly tool: string
  readonly path: string
}

export function checkHistory(messages: readonly StoredMessage[], faults: Faults): void {
  const open = new Map<string, OpenCall>()
  let answered = new Set<string>()
  for (const [index, message] of messages.entries()) {
    if (faults.full) return
    const path = `messages[${index}]`
    if (message.role === 'tool') {
      checkAnswer(message, path, open, answered, faults)
      continue
    }
    closeTurn(open, `before ${path}`, faults)
    answered = new Set()
    if (message.role === 'user') checkUser(message, path, faults)
    else openCalls(message, path, open, faults)
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
    (part) => part.type === 'reasoning' || (part.type === 'text' && part.text.trim() !== ''),
  )
  if (!says && callsOf(message).length === 0)
    faults.add(`${path}.content`, 'must hold something: all its text is empty')
}

function checkUser(message: UserMessage, path: string, faults: Faults): void {
  for (const [index, part] of message.content.entries()) {
    if (part.type === 'text') continue
    if ((part.url == null) === (part.data == null)) {
      faults.add(
        `${path}.content[${index}]`,
        `must have either url or data; got ${part.url == null ? 'neither' : 'both'}`,
      )
    }
  }
  const says = message.content.some((part) => part.type !== 'text' || part.text.trim() !== '')
  if (!says) faults.add(`${path}.content`, 'must hold something: all its text is empty')
}
