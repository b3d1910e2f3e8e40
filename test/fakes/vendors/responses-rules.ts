/**
 * What the Responses API refuses in a conversation, as rules over one request. Pure but for what `Issued` remembers. Sentences
 * are OpenAI's own as far as they are known. Nothing is stored here, so an item with an id is an item that cannot be found.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { CHAIN_START, chained, type Chain, type Issued } from './issued.ts'
import type { Judge } from './judge.ts'
import { judgeResponsesParams } from './responses-params.ts'

export interface ResponsesModel {
  /** `reasoning.effort` words that are taken; empty: it does not reason, and refuses the field. */
  readonly efforts: readonly string[]
  /** Sampling is taken with effort `none` only. */
  readonly sampling: 'never' | 'at_rest' | 'always'
  /** Reasoning is bound to everything before it: what does not fit any more is dropped in silence. */
  readonly bound: boolean
  readonly maxTokens: number
}

/** What an answer to this request goes by. */
export interface ResponsesFacts {
  readonly model: string
  readonly thinks: boolean
  /** Everything that was sent. */
  readonly chain: Chain
}

interface Walk {
  readonly body: WireObject
  readonly model: ResponsesModel
  readonly issued: Issued
  readonly judge: Judge
  /** Calls so far and whether they have their output. */
  readonly calls: Map<string, boolean>
  chain: Chain
}

export function judgeResponses(
  body: WireObject,
  models: Readonly<Record<string, ResponsesModel>>,
  issued: Issued,
  judge: Judge,
): ResponsesFacts {
  const name = text(body['model'])
  const model = Object.hasOwn(models, name) ? models[name] : undefined
  if (model === undefined) {
    judge.refuse(`The requested model '${name}' does not exist.`, { status: 404, code: 'model_not_found' })
    return { model: name, thinks: false, chain: CHAIN_START }
  }
  const thinks = judgeResponsesParams(body, model, judge)
  const walk: Walk = {
    body,
    model,
    issued,
    judge,
    calls: new Map(),
    chain: chained(chained(CHAIN_START, body['tools']), body['text']),
  }
  const items = list(body['input'])
  if (items.length === 0) judge.refuse("Missing required parameter: 'input'.", { param: 'input' })
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) return { model: name, thinks, chain: walk.chain }
    judgeItem(item, index, items, walk)
    walk.chain = chained(walk.chain, comparable(item))
  }
  for (const [id, answered] of walk.calls) {
    if (!answered) judge.refuse(`No tool output found for function call ${id}.`, { param: 'input' })
  }
  return { model: name, thinks, chain: walk.chain }
}

/** An item as the API compares it, whether it was answered by the API or sent to it. */
export function comparable(item: WireObject): unknown {
  switch (item['type']) {
    case 'reasoning':
      return ['reasoning', item['encrypted_content']]
    case 'function_call':
      return ['function_call', item['call_id'], item['name'], item['arguments']]
    case 'function_call_output':
      return ['function_call_output', item['call_id'], item['output']]
    default:
      return ['message', item['role'], wordsOf(item), item['phase'] ?? null]
  }
}

function wordsOf({ content }: WireObject): unknown {
  if (!Array.isArray(content)) return content
  return list(content).map((part) => (isObject(part) ? (part['text'] ?? part['image_url'] ?? part['file_data']) : part))
}

function judgeItem(item: WireObject, index: number, items: readonly unknown[], walk: Walk): void {
  const { judge } = walk
  if (item['id'] !== undefined) {
    judge.refuse(
      `Item with id '${text(item['id'])}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
      { param: 'input', status: 404 },
    )
  }
  switch (item['type'] ?? 'message') {
    case 'message':
      return judgeMessage(item, index, walk)
    case 'reasoning':
      return judgeReasoning(item, index, items, walk)
    case 'function_call':
      return judgeCall(item, index, walk)
    case 'function_call_output':
      return judgeOutput(item, index, items, walk)
    default:
      judge.refuse(`Invalid value: '${text(item['type'])}'.`, { param: `input[${index}]`, code: 'invalid_value' })
  }
}

const USER_PARTS: readonly unknown[] = ['input_text', 'input_image', 'input_file']

function judgeMessage(item: WireObject, index: number, walk: Walk): void {
  const { content, role } = item
  const { body, issued, judge } = walk
  const isOwn = role === 'assistant'
  if (role === 'system') judge.note(`input[${index}]: a system message beside a developer message`)
  if (role === 'developer' && index > 0) judge.note(`input[${index}]: a developer message that is not the first item`)
  const parts = typeof content === 'string' ? [] : list(content)
  if (typeof content !== 'string' && parts.length === 0) {
    judge.refuse(`Missing required parameter: 'input[${index}].content'.`, { param: `input[${index}].content` })
  }
  const allowed = isOwn ? ['output_text', 'refusal'] : USER_PARTS
  for (const [at, part] of parts.entries()) {
    const type = isObject(part) ? part['type'] : undefined
    if (!allowed.includes(type)) {
      const values = allowed.map((one) => `'${String(one)}'`).join(' and ')
      judge.refuse(`Invalid value: '${text(type)}'. Supported values are: ${values}.`, {
        param: `input[${index}].content[${at}]`,
        code: 'invalid_value',
      })
    }
    if (isObject(part) && type === 'input_image') judgeImage(part, index, judge)
  }
  if (!isOwn) return
  const words = parts.map((part) => (isObject(part) ? text(part['text']) : '')).join('')
  const phases = issued.answersOf(text(body['model']), [], words).map(({ reasoning }) => text(reasoning.at(-1)))
  if (phases.length === 0 || phases.includes(text(item['phase']))) return
  judge.note(`input[${index}]: its phase ${phases.join(' or ')} is not there`)
}

function judgeImage(part: WireObject, index: number, judge: Judge): void {
  if (/^(?:https?:|data:image\/(?:jpeg|png|gif|webp);base64,.)/.test(text(part['image_url']))) return
  judge.refuse("Invalid 'input[].content[].image_url'. Expected a valid URL or a base64-encoded data URL.", {
    param: `input[${index}].content`,
    code: 'invalid_value',
  })
}

/** What may stand directly behind a reasoning item. */
const FOLLOWERS: readonly unknown[] = ['function_call', 'reasoning', 'message']

function judgeReasoning(item: WireObject, index: number, items: readonly unknown[], walk: Walk): void {
  const { body, issued, judge, model } = walk
  if (!Array.isArray(item['summary'])) {
    judge.refuse(`Missing required parameter: 'input[${index}].summary'.`, { code: 'missing_required_parameter' })
  }
  const encrypted = text(item['encrypted_content'])
  const thought = issued.thoughts.get(encrypted)
  if (thought === undefined) {
    return judge.refuse(
      `The encrypted content ${encrypted.slice(0, 4)}...${encrypted.slice(-3)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
      { code: 'invalid_encrypted_content' },
    )
  }
  const next = items[index + 1]
  const follows = isObject(next) && FOLLOWERS.includes(next['type']) && next['role'] !== 'user'
  if (!follows) {
    judge.refuse(`Item 'rs_${index}' of type 'reasoning' was provided without its required following item.`)
  }
  if (thought.model !== body['model']) {
    judge.note(`input[${index}]: reasoning of ${thought.model} is sent to ${text(body['model'])}`)
  } else if (model.bound && thought.before !== walk.chain) judge.dropped += 1
}

function judgeCall(item: WireObject, index: number, walk: Walk): void {
  const { body, calls, issued, judge } = walk
  const id = text(item['call_id'])
  if (id === '' || id.length > 64) {
    judge.refuse(`Invalid 'input[${index}].call_id': string too long. Expected a string with maximum length 64.`, {
      code: 'string_above_max_length',
    })
  }
  if (calls.has(id)) judge.refuse(`Duplicate 'call_id' '${id}'.`)
  calls.set(id, false)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(text(item['name']))) {
    judge.refuse(
      `Invalid 'input[${index}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    )
  }
  if (typeof item['arguments'] !== 'string') {
    judge.refuse(`Invalid type for 'input[${index}].arguments': expected a string.`, { code: 'invalid_type' })
  }
  const [answer] = issued.answersOf(text(body['model']), [id], '')
  const missing = answer?.reasoning.some((encrypted) => !hasReasoning(body, encrypted)) === true
  if (missing) judge.note(`input[${index}]: the reasoning of its answer is not there`)
}

function hasReasoning(body: WireObject, encrypted: unknown): boolean {
  return list(body['input']).some((item) => isObject(item) && item['encrypted_content'] === encrypted)
}

/** Outputs stand behind all calls of their answer, in the order of the calls. */
function judgeOutput(item: WireObject, index: number, items: readonly unknown[], { calls, judge }: Walk): void {
  const id = text(item['call_id'])
  if (!calls.has(id)) {
    return judge.refuse(`No tool call found for function call output with call_id ${id}.`, { param: 'input' })
  }
  if (calls.get(id) === true) judge.refuse(`Duplicate output for call_id '${id}'.`)
  const open = [...calls].filter(([, answered]) => !answered)
  if (!isDeepStrictEqual(open[0]?.[0], id)) judge.note(`input[${index}]: outputs not in call order`)
  calls.set(id, true)
  const before = items[index - 1]
  if (!isObject(before) || (before['type'] !== 'function_call' && before['type'] !== 'function_call_output')) {
    judge.note(`input[${index}]: something stands between a call and its output`)
  }
  if (typeof item['output'] !== 'string' && !Array.isArray(item['output'])) {
    judge.refuse(`Invalid type for 'input[${index}].output': expected a string.`, { code: 'invalid_type' })
  }
}
