/**
 * What GigaChat's v1 API refuses, as rules over one request. Pure but for what `Issued` remembers. Sentences are the vendor's
 * own as far as they are known; 422 is its status for what is well-formed and wrong.
 */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { gigachatFault } from './answer-form.ts'
import type { Issued } from './issued.ts'
import type { Judge } from './judge.ts'

export interface FunctionsModel {
  readonly maxTokens: number
}

/** What an answer to this request goes by. */
export interface FunctionsFacts {
  readonly model: string
  readonly thinks: boolean
}

const FIELDS: readonly string[] = [
  'model',
  'messages',
  'functions',
  'function_call',
  'temperature',
  'top_p',
  'max_tokens',
  'repetition_penalty',
  'stream',
  'update_interval',
  'reasoning_effort',
  'response_format',
  'profanity_check',
  'attachments',
]

export function judgeFunctions(
  body: WireObject,
  models: Readonly<Record<string, FunctionsModel>>,
  issued: Issued,
  judge: Judge,
): FunctionsFacts {
  const name = text(body['model'])
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (model === undefined) judge.refuse('No such model', { status: 404 })
  // Fields of other APIs are passed over in silence, with whatever they were to bring about.
  for (const field of Object.keys(body)) if (!FIELDS.includes(field)) judge.note(`${field} is sent and ignored`)
  if (body['stream'] !== true) judge.note('no stream is asked for')
  judgeNumbers(body, model, judge)
  judgeDeclared(body, judge)
  judgeForm(body['response_format'], judge)
  judgeConversation(body, issued, judge)
  const effort = body['reasoning_effort']
  if (effort !== undefined && !['low', 'medium', 'high'].includes(text(effort))) {
    judge.refuse('Invalid params: reasoning_effort')
  }
  return { model: name, thinks: effort !== undefined }
}

function judgeForm(format: unknown, judge: Judge): void {
  if (format === undefined) return
  if (!isObject(format) || format['type'] !== 'json_schema') return judge.refuse('Invalid params: response_format.type')
  const fault = gigachatFault(format['schema'])
  if (fault !== null) judge.refuse(fault)
}

function judgeNumbers(body: WireObject, model: FunctionsModel | undefined, judge: Judge): void {
  const { max_tokens: most, temperature, top_p: topP } = body
  if (temperature !== undefined && !((temperature as number) > 0 && (temperature as number) <= 2)) {
    judge.refuse('Invalid params: temperature must be positive')
  }
  if (topP !== undefined && !((topP as number) >= 0 && (topP as number) <= 1)) judge.refuse('Invalid params: top_p')
  if (most !== undefined && !(Number.isInteger(most) && (most as number) >= 1))
    judge.refuse('Invalid params: max_tokens')
  if (model !== undefined && (most as number) > model.maxTokens) judge.refuse('Invalid params: max_tokens is too large')
}

const BUILT_IN: readonly string[] = ['web_search', 'text2image', 'text2model3d', 'get_file_content']

function judgeDeclared(body: WireObject, judge: Judge): void {
  const functions = list(body['functions'])
  if (body['functions'] !== undefined && functions.length === 0) judge.note('an empty list of functions')
  if (body['function_call'] !== undefined && functions.length === 0) {
    judge.note('a function_call without functions calls built-in ones')
  }
  const names = new Set<string>()
  for (const declared of functions) {
    if (!isObject(declared)) continue
    const name = text(declared['name'])
    if (!/^[a-zA-Z][a-zA-Z0-9_.-]*$/.test(name)) judge.refuse(`Invalid params: function name ${name} is invalid`)
    if (BUILT_IN.includes(name)) judge.note(`function ${name} is taken for the built-in one`)
    if (names.has(name)) judge.refuse(`Invalid params: function name ${name} is not unique`)
    names.add(name)
    judgeNode(declared['parameters'], 'parameters', judge)
  }
}

const TYPES: readonly unknown[] = ['object', 'array', 'string', 'integer', 'number', 'boolean']
const FORMATS: readonly unknown[] = ['date', 'date-time', 'time']

function judgeNode(node: unknown, place: string, judge: Judge): void {
  if (!isObject(node)) return judge.refuse(`Invalid params: Field '${place}' is missing`)
  for (const union of ['$ref', '$defs', 'definitions', 'anyOf', 'oneOf', 'allOf', 'not']) {
    if (node[union] !== undefined) judge.refuse(`Invalid params: Field '${place}.${union}' is not supported`)
  }
  const { enum: values, format, items, properties, type } = node
  if (!TYPES.includes(type)) judge.refuse(`Invalid params: Field '${place}.type' is missing`)
  if (type === 'object' && !isObject(properties)) {
    judge.refuse(`Invalid params: Field '${place}.properties' is missing`)
  }
  if (type === 'array') judgeNode(items, `${place}.items`, judge)
  if (values !== undefined && list(values).some((value) => typeof value !== 'string')) {
    judge.refuse(`Invalid params: Field '${place}.enum' must hold strings`)
  }
  if (format !== undefined && !FORMATS.includes(format)) judge.refuse(`Invalid params: Field '${place}.format'`)
  if (!isObject(properties)) return
  for (const [name, child] of Object.entries(properties)) judgeNode(child, `${place}.properties.${name}`, judge)
}

function judgeConversation(body: WireObject, issued: Issued, judge: Judge): void {
  const messages = list(body['messages'])
  let before: WireObject | null = null
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) return judge.refuse('Your request contains invalid JSON syntax.', { status: 400 })
    judgeMessage(message, before, index, issued, judge)
    const next = messages[index + 1]
    const answered = isObject(next) && next['role'] === 'function'
    if (isObject(message['function_call']) && !answered) {
      judge.refuse('Invalid params: every assistant function call must have a result in history')
    }
    before = message
  }
  const last = before?.['role']
  if (last !== 'user' && last !== 'function') {
    judge.refuse(
      'Invalid params: functions or thinking_functions should only appeal in user, function messages or random role messages',
    )
  }
}

function judgeMessage(
  message: WireObject,
  before: WireObject | null,
  index: number,
  issued: Issued,
  judge: Judge,
): void {
  const { content, role } = message
  if (role === 'system' && index > 0) judge.refuse('Invalid params: system message must be the first message')
  if (!['system', 'user', 'assistant', 'function'].includes(text(role))) {
    judge.refuse(`Invalid params: unknown role ${text(role)}`)
  }
  if (typeof content !== 'string') judge.refuse('Your request contains invalid JSON syntax.', { status: 400 })
  if (role === before?.['role'] && role !== 'function')
    judge.refuse(`Invalid params: two ${text(role)} messages in a row`)
  for (const field of ['tool_calls', 'tool_call_id', 'id']) {
    if (message[field] !== undefined) judge.note(`messages[${index}].${field} is sent and ignored`)
  }
  if (role === 'function') judgeResult(message, before, judge)
  else if (role === 'assistant') judgeAnswer(message, index, issued, judge)
  else if (text(content).trim() === '') judge.refuse('Invalid params: message content is empty')
  if (role !== 'assistant' && message['functions_state_id'] !== undefined) {
    judge.note(`messages[${index}]: a state id on a message of ${text(role)}`)
  }
}

/** Results belong to the call directly before them, by their place and its name; there are no ids. */
function judgeResult(message: WireObject, before: WireObject | null, judge: Judge): void {
  const called = before?.['function_call']
  if (!isObject(called) || called['name'] !== message['name']) {
    judge.refuse('Invalid params: every assistant function result must have an assistant function call in history')
  }
  try {
    JSON.parse(text(message['content']))
  } catch {
    judge.refuse(`Invalid params: invalid function result for function json string ${text(message['name'])}`)
  }
}

function judgeAnswer(message: WireObject, index: number, issued: Issued, judge: Judge): void {
  const called = message['function_call']
  const state = text(message['functions_state_id'])
  if (isObject(called) && !isObject(called['arguments'])) {
    judge.refuse('Your request contains invalid JSON syntax.', { status: 400 })
  }
  if (called === undefined && text(message['content']).trim() === '') {
    judge.refuse('Invalid params: message content is empty')
  }
  if (state !== '' && !issued.isOwnCall(state)) judge.note(`messages[${index}]: a state id that was never given out`)
}
