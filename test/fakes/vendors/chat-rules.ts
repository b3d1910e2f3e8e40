/**
 * What a vendor of chat completions refuses, as rules over one request. Pure but for what `Issued` remembers. What differs
 * between vendors and models is `ChatRules`; sentences are the vendors' own as far as they are known.
 */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import type { Issued } from './issued.ts'
import type { Judge } from './judge.ts'
import { judgeChatParams } from './chat-params.ts'

export interface ChatModel {
  readonly vision: boolean
  readonly maxTokens: number
  /** `thinking.type` words that are taken; empty: the field is refused. */
  readonly thinking: readonly string[]
  readonly thinksUnasked: boolean
  /** `reasoning_effort` words that are taken; empty: the field is refused. */
  readonly efforts: readonly string[]
}

export interface ChatRules {
  /** By id; `*` stands for every other one. */
  readonly models: Readonly<Record<string, ChatModel>>
  readonly fields: readonly string[]
  /** `above` itself is refused. */
  readonly temperature: { readonly above: number; readonly most: number }
  readonly topP: { readonly least: number; readonly most: number }
  /** False: without effect while the model thinks. */
  readonly temperatureWhileThinking: boolean
  readonly stops: number
  /** `response_format.type` words that are taken, where the field is known. */
  readonly forms: readonly string[]
  readonly tools: number
  readonly toolChoices: readonly string[]
  /** While the model thinks no tool_choice may be sent. */
  readonly toolChoiceWhileThinking: boolean
  /** Ids that were not given out here. */
  readonly callIds: RegExp
  /** Roles must take turns: neither two of one side in a row nor a user directly behind a tool. */
  readonly strictRoles: boolean
  /** A message that only calls tools may say `content: null`, or leave it out. */
  readonly nullContent: boolean
  /**
   * `reasoning_content` on its way back. `demanded`: the field must stand on every message with calls while the model thinks.
   * `in_loop`: on the answers of the loop that goes on. `kept`: on every answer that had it. All but `demanded` only cost quality.
   */
  readonly reasoning: 'demanded' | 'in_loop' | 'kept'
  readonly says: ChatSentences
}

export interface ChatSentences {
  readonly unknownField: (field: string) => string
  readonly role: (index: number, role: string, allowed: readonly string[]) => string
  readonly image: (index: number) => string
  readonly badParam: (field: string, allowed: string) => string
  readonly forcedChoice: string
  readonly reasoningMissing: (index: number) => string
  readonly empty: string
  readonly noResults: (ids: readonly string[]) => string
  readonly noCall: (id: string) => string
  readonly badArguments: (id: string) => string
  readonly badId: (id: string) => string
}

/** What an answer to this request goes by. */
export interface ChatFacts {
  readonly model: string
  readonly thinks: boolean
  /** Calls are to be written piece by piece. */
  readonly streamsCalls: boolean
}

const ROLES: readonly string[] = ['system', 'user', 'assistant', 'tool']

interface Walk {
  readonly model: ChatModel
  readonly name: string
  readonly thinks: boolean
  readonly rules: ChatRules
  readonly issued: Issued
  readonly judge: Judge
  readonly messages: readonly unknown[]
  readonly ids: Set<string>
}

export function judgeChat(body: WireObject, rules: ChatRules, issued: Issued, judge: Judge): ChatFacts {
  const name = text(body['model'])
  const model = Object.hasOwn(rules.models, name) ? rules.models[name] : rules.models['*']
  if (model === undefined) {
    judge.refuse(`The model \`${name}\` does not exist.`, { status: 404, code: 'model_not_found' })
    return { model: name, thinks: false, streamsCalls: false }
  }
  const thinks = judgeChatParams(body, model, rules, judge)
  const facts = { model: name, thinks, streamsCalls: body['tool_stream'] === true }
  const messages = list(body['messages'])
  const walk: Walk = { model, name, thinks, rules, issued, judge, messages, ids: new Set() }
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) return facts
    judgeMessage(message, index, walk)
  }
  const last = messages.at(-1)
  const role = isObject(last) ? last['role'] : undefined
  if (role !== 'user' && role !== 'tool') {
    judge.refuse(`Expected last role User or Tool (or Assistant with prefix True) for serving but got ${text(role)}`)
  }
  return facts
}

function judgeMessage(message: WireObject, index: number, walk: Walk): void {
  const { judge, messages, rules } = walk
  const role = text(message['role'])
  if (!ROLES.includes(role)) judge.refuse(rules.says.role(index, role, ROLES))
  if (message['name'] !== undefined) judge.note(`messages[${index}].name is sent`)
  const before = messages[index - 1]
  const last = isObject(before) ? text(before['role']) : ''
  const turns = role !== last || role === 'tool'
  if (rules.strictRoles && !(turns && !(last === 'tool' && role === 'user'))) {
    judge.refuse(`Unexpected role '${role}' after role '${last}'`)
  }
  switch (role) {
    case 'system':
      if (index > 0) judge.refuse('System message must be at the beginning.')
      judgeWords(message['content'], index, walk)
      return
    case 'user':
      judgeUser(message, index, walk)
      return
    case 'assistant':
      judgeAssistant(message, index, walk)
      return
    case 'tool': {
      const before = callsBefore(messages, index)
      const id = text(message['tool_call_id'])
      if (!before.includes(id)) judge.refuse(rules.says.noCall(id))
      judgeWords(message['content'], index, walk)
    }
  }
}

/** Ids of the assistant message that this tool message stands directly behind, other tool messages between. */
function callsBefore(messages: readonly unknown[], index: number): string[] {
  for (let at = index - 1; at >= 0; at -= 1) {
    const message = messages[at]
    if (!isObject(message)) return []
    if (message['role'] === 'assistant') return callIds(message)
    if (message['role'] !== 'tool') return []
  }
  return []
}

function callIds(message: WireObject): string[] {
  return list(message['tool_calls']).map((call) => (isObject(call) ? text(call['id']) : ''))
}

function judgeWords(content: unknown, index: number, { judge, rules }: Walk): void {
  if (typeof content !== 'string') return judge.refuse(rules.says.badParam(`messages[${index}].content`, 'a string'))
  if (content.trim() === '') judge.refuse(rules.says.empty)
}

function judgeUser({ content }: WireObject, index: number, walk: Walk): void {
  const { judge, model, rules } = walk
  if (!Array.isArray(content)) return judgeWords(content, index, walk)
  if (content.length === 0) judge.refuse(rules.says.empty)
  for (const part of list(content)) {
    const type = isObject(part) ? part['type'] : undefined
    if (isObject(part) && type === 'text') judgeWords(part['text'], index, walk)
    else if (isObject(part) && type === 'image_url' && model.vision) {
      const url = isObject(part['image_url']) ? text(part['image_url']['url']) : ''
      if (!/^(?:https?:|data:image\/[a-z+]+;base64,.)/.test(url)) judge.refuse(rules.says.image(index))
    } else judge.refuse(rules.says.image(index))
  }
}

function judgeAssistant(message: WireObject, index: number, walk: Walk): void {
  const { judge, rules } = walk
  const { content } = message
  const ids = callIds(message)
  if (Array.isArray(message['tool_calls']) && ids.length === 0) judge.refuse("[] is too short - 'tool_calls'")
  if (typeof content !== 'string' && !(ids.length > 0 && rules.nullContent && content == null)) {
    judge.refuse(rules.says.badParam(`messages[${index}].content`, 'a string'))
  }
  if (ids.length === 0 && text(content).trim() === '') judge.refuse(rules.says.empty)
  for (const call of list(message['tool_calls'])) if (isObject(call)) judgeCall(call, walk)
  judgeResults(ids, index, walk)
  judgeReasoning(message, ids, index, walk)
}

function judgeCall(call: WireObject, { ids, issued, judge, rules }: Walk): void {
  const id = text(call['id'])
  const called = isObject(call['function']) ? call['function'] : {}
  if (call['type'] !== 'function') judge.refuse(rules.says.badParam('tool_calls.type', '`function`'))
  if (id === '' || !(rules.callIds.test(id) || issued.isOwnCall(id))) judge.refuse(rules.says.badId(id))
  if (ids.has(id)) judge.refuse(`Duplicate value for 'tool_call_id' of '${id}'`)
  ids.add(id)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(text(called['name']))) {
    judge.refuse("Invalid 'tool_calls.function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.")
  }
  if (!isArguments(called['arguments'])) judge.refuse(rules.says.badArguments(id))
}

/** A JSON object, as a string. */
function isArguments(value: unknown): boolean {
  if (typeof value !== 'string') return false
  try {
    return isObject(JSON.parse(value) as unknown)
  } catch {
    return false
  }
}

/** Every call has one tool message, directly behind, in the order of the calls. */
function judgeResults(ids: readonly string[], index: number, { judge, messages, rules }: Walk): void {
  const results: string[] = []
  for (let at = index + 1; at < messages.length; at += 1) {
    const message = messages[at]
    if (!isObject(message) || message['role'] !== 'tool') break
    results.push(text(message['tool_call_id']))
  }
  const missing = ids.filter((id) => !results.includes(id))
  if (missing.length > 0) judge.refuse(rules.says.noResults(missing))
  else if (results.length > ids.length) judge.refuse(rules.says.noCall(results[ids.length] ?? ''))
  else if (ids.some((id, at) => results[at] !== id)) judge.note(`messages[${index}]: results not in call order`)
}

function judgeReasoning(message: WireObject, ids: readonly string[], index: number, walk: Walk): void {
  const { issued, judge, messages, name, rules, thinks } = walk
  const sent = message['reasoning_content']
  if (rules.reasoning === 'demanded' && thinks && ids.length > 0 && typeof sent !== 'string') {
    judge.refuse(rules.says.reasoningMissing(index))
  }
  const answers = issued.answersOf(name, ids, text(message['content'])).map(({ reasoning: [words] }) => text(words))
  const later = messages.slice(index + 1)
  const inLoop = !later.some((one) => isObject(one) && one['role'] === 'user')
  if (answers.length === 0 || answers.includes('') || answers.includes(text(sent))) return
  const harmless = rules.reasoning === 'demanded' ? ids.length === 0 : rules.reasoning === 'in_loop' && !inLoop
  if (text(sent) === '' && harmless) return
  judge.note(`messages[${index}]: its reasoning_content is ${text(sent) === '' ? 'not there' : 'changed'}`)
}
