/**
 * What a vendor of the Messages API refuses, as rules over one request: `model`, fields, blocks, pairs, thinking. Pure but
 * for what `Issued` remembers. What differs between vendors and models is `MessagesRules`; sentences are the vendors' own as
 * far as they are known.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { CHAIN_START, chained, type Chain, type Issued } from './issued.ts'
import type { Judge } from './judge.ts'
import { judgeMessagesParams } from './messages-params.ts'

export interface MessagesModel {
  /** `thinking.type` words that are taken. */
  readonly thinking: readonly string[]
  /** It thinks where `thinking` says nothing. */
  readonly thinksUnasked: boolean
  /** It thinks whatever is said. */
  readonly alwaysThinks: boolean
  /** `output_config.effort` words that are taken; empty: the field is refused. */
  readonly efforts: readonly string[]
  /** `one`: temperature or top_p. */
  readonly sampling: 'none' | 'one' | 'free'
  readonly forcedChoice: boolean
  /** Thinking is bound to everything before it: changed words make it worthless, and a 400 without the opt-in. */
  readonly bound: boolean
  readonly maxTokens: number
  /** What a thinking block holds where `display` says nothing. */
  readonly display: 'summarized' | 'omitted'
}

export interface MessagesRules {
  readonly models: Readonly<Record<string, MessagesModel>>
  readonly fields: readonly string[]
  /** Taken and without effect: sending them promises a caller what does not happen. */
  readonly ignoredFields: readonly string[]
  /** `verified`: a signature must be the very one that came with the very text. `unread`: anything passes. */
  readonly signatures: 'verified' | 'unread'
  /** Every message with calls must hold thinking that is not blank. */
  readonly callsNeedThinking: boolean
  readonly cacheMarks: number
  /** Temperatures that are taken. */
  readonly temperature: { readonly above: number; readonly most: number }
  readonly callIds: RegExp
  /** `output_config.format` is taken. */
  readonly forms: boolean
  /** Names that a tool's argument may have. */
  readonly propertyNames: RegExp
  /** Every node of a tool's schema needs a type. */
  readonly typedSchemas: boolean
  /** The model knows the tool of a result by the id alone: made ids must name it. */
  readonly idsNameTools: boolean
  readonly says: MessagesSentences
}

/** What is said of broken pairs. */
export interface MessagesSentences {
  readonly noResult: (index: number, ids: readonly string[]) => string
  readonly noCall: (place: string, id: string) => string
  readonly thinkingMissing: (index: number) => string
}

/** What an answer to this request goes by. */
export interface MessagesFacts {
  readonly model: string
  readonly thinks: boolean
  /** Thinking is shown, not only signed. */
  readonly shown: boolean
  /** Everything that was sent. */
  readonly chain: Chain
}

interface Walk {
  readonly body: WireObject
  readonly model: MessagesModel
  readonly rules: MessagesRules
  readonly issued: Issued
  readonly judge: Judge
  /** Ids of all calls so far. */
  readonly ids: Set<string>
  /** How many there were. */
  calls: number
  chain: Chain
}

export function judgeMessages(body: WireObject, rules: MessagesRules, issued: Issued, judge: Judge): MessagesFacts {
  const name = text(body['model'])
  const model = Object.hasOwn(rules.models, name) ? rules.models[name] : undefined
  if (model === undefined) {
    judge.refuse(`model: ${name}`, { status: 404 })
    return { model: name, thinks: false, shown: false, chain: CHAIN_START }
  }
  const { thinks, shown } = judgeMessagesParams(body, model, rules, judge)
  const walk: Walk = { body, model, rules, issued, judge, ids: new Set(), calls: 0, chain: CHAIN_START }
  walk.chain = chained(walk.chain, [unmarked(body['system']), unmarked(body['tools'])])
  judgeTurns(walk)
  judgeCacheMarks(walk)
  return { model: name, thinks, shown, chain: walk.chain }
}

function judgeTurns(walk: Walk): void {
  const { body, judge } = walk
  const messages = list(body['messages'])
  if (messages.length === 0) judge.refuse('messages: at least one message is required')
  if (isObject(messages[0]) && messages[0]['role'] !== 'user') {
    judge.refuse('messages: first message must use the "user" role')
  }
  let before: WireObject | null = null
  for (const [index, message] of messages.entries()) {
    if (!isObject(message)) return judge.refuse(`messages.${index}: Input should be a valid dictionary`)
    const role = message['role']
    if (role !== 'user' && role !== 'assistant') {
      judge.refuse(`messages: Unexpected role "${text(role)}". Allowed roles are "user" or "assistant".`)
    }
    if (before?.['role'] === role) judge.note(`messages.${index}: two messages of one role in a row`)
    if (role === 'assistant') judgeAssistant(message, index, messages, walk)
    else judgeUser(message, index, before, walk)
    before = message
  }
  if (before?.['role'] === 'assistant') {
    judge.refuse(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    )
  }
}

/** A string is one text block. */
export function blocksOf(message: WireObject): WireObject[] {
  const { content } = message
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return list(content).filter(isObject)
}

function judgeText(block: WireObject, judge: Judge): void {
  const words = text(block['text'])
  if (words === '') judge.refuse('messages: text content blocks must be non-empty')
  else if (words.trim() === '') judge.refuse('messages: text content blocks must contain non-whitespace text')
}

function judgeAssistant(message: WireObject, index: number, messages: readonly unknown[], walk: Walk): void {
  const { judge, rules } = walk
  const blocks = blocksOf(message)
  if (blocks.length === 0) judge.refuse(`messages.${index}: all messages must have non-empty content`)
  const calls: string[] = []
  for (const [at, block] of blocks.entries()) {
    const place = `messages.${index}.content.${at}`
    switch (block['type']) {
      case 'text':
        judgeText(block, judge)
        break
      case 'tool_use':
        calls.push(judgeCall(block, place, walk))
        break
      case 'thinking':
      case 'redacted_thinking':
        judgeThought(block, place, walk)
        break
      default:
        judge.refuse(`${place}.type: Input tag '${text(block['type'])}' found using 'type' does not match`)
    }
    walk.chain = chained(walk.chain, ['assistant', unmarked(block)])
  }
  if (isThought(blocks.at(-1))) {
    judge.refuse(`messages.${index}: The final block in an assistant message cannot be \`thinking\`.`)
  }
  judgeResults(calls, index, messages[index + 1], walk)
  const thoughts = blocks.filter(isThought)
  const spoken = thoughts.some((block) => text(block['thinking']).trim() !== '')
  if (rules.callsNeedThinking && calls.length > 0 && !spoken) judge.refuse(rules.says.thinkingMissing(index))
  judgeKept({ calls, words: blocks.map((block) => text(block['text'])).join(''), thoughts, index }, walk)
  judgeBudgetLoop({ calls, first: blocks[0], isLast: index === messages.length - 2, index }, walk)
}

function isThought(block: WireObject | undefined): boolean {
  return block?.['type'] === 'thinking' || block?.['type'] === 'redacted_thinking'
}

function judgeCall(block: WireObject, place: string, walk: Walk): string {
  const { ids, issued, judge, rules } = walk
  const id = text(block['id'])
  const name = text(block['name'])
  if (!rules.callIds.test(id)) {
    judge.refuse(`${place}.tool_use.id: String should match pattern '${rules.callIds.source}'`)
  }
  if (ids.has(id)) judge.refuse('messages: `tool_use` ids must be unique')
  ids.add(id)
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
    judge.refuse(`${place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`)
  }
  if (!isObject(block['input'])) judge.refuse(`${place}.tool_use.input: Input should be a valid dictionary`)
  // The number may be a higher one where it was taken.
  const [, named, number] = /^functions\.(.*):(\d+)$/.exec(id) ?? []
  if (rules.idsNameTools && !issued.isOwnCall(id) && !(named === name && Number(number) >= walk.calls)) {
    judge.note(`${place}: id ${id} does not name the call functions.${name}:${walk.calls}`)
  }
  walk.calls += 1
  return id
}

function judgeThought(block: WireObject, place: string, walk: Walk): void {
  const { body, issued, judge, model, rules } = walk
  const isOpen = block['type'] === 'thinking'
  const signature = block[isOpen ? 'signature' : 'data']
  if (isOpen && typeof signature !== 'string') judge.refuse(`${place}.thinking.signature: Field required`)
  if (isOpen && block['cache_control'] !== undefined) {
    judge.refuse(`${place}.thinking.cache_control: Extra inputs are not permitted`)
  }
  if (rules.signatures === 'unread') return
  const thought = issued.thoughts.get(text(signature))
  if (thought === undefined) return judge.refuse(`${place}: Invalid \`signature\` in \`thinking\` block`)
  if (isOpen && thought.words !== block['thinking']) {
    judge.refuse(
      `${place}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
    )
  }
  if (thought.model !== body['model']) {
    return judge.note(`${place}: thinking of ${thought.model} is sent to ${text(body['model'])}`)
  }
  if (!model.bound || thought.before === walk.chain) return
  judge.dropped += 1
  if (!dropsMismatches(body)) {
    judge.refuse(
      `${place}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different conversation. Remove the block, or set \`thinking.block_binding.prefix_mismatch_behavior\` to "drop_block".`,
    )
  }
}

function dropsMismatches({ thinking }: WireObject): boolean {
  const binding = isObject(thinking) ? thinking['block_binding'] : undefined
  return isObject(binding) && binding['prefix_mismatch_behavior'] === 'drop_block'
}

/** What an answer of this model was thought with belongs to it for as long as it is sent. */
function judgeKept(
  { calls, words, thoughts, index }: { calls: readonly string[]; words: string; thoughts: WireObject[]; index: number },
  { body, issued, judge }: Walk,
): void {
  const answers = issued.answersOf(text(body['model']), calls, words)
  const sent = thoughts.map(unmarked)
  // Where it was not thought about at all, words may stand in.
  const fits = answers.some(({ reasoning }) => reasoning.length === 0 || isDeepStrictEqual(sent, reasoning))
  if (answers.length === 0 || fits) return
  judge.note(`messages.${index}: ${sent.length} thoughts where its answer had ${answers[0]?.reasoning.length}`)
}

/** A thinking budget is set: the loop that goes on must have begun with a thought. */
function judgeBudgetLoop(
  { calls, first, isLast, index }: { calls: readonly string[]; first: unknown; isLast: boolean; index: number },
  { body: { thinking }, judge }: Walk,
): void {
  if (!isLast || calls.length === 0 || !isObject(thinking) || thinking['type'] !== 'enabled') return
  if (!isObject(first) || isThought(first)) return
  judge.refuse(
    `messages.${index}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${text(first['type'])}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`,
  )
}

/** Every call has one result in the very next message, in the order of the calls, before anything else there. */
function judgeResults(calls: readonly string[], index: number, next: unknown, { judge, rules }: Walk): void {
  if (calls.length === 0) return
  const blocks = isObject(next) && next['role'] === 'user' ? blocksOf(next) : []
  const results = blocks.slice(0, calls.length).map((block) => text(block['tool_use_id']))
  const missing = calls.filter((id) => !results.includes(id))
  if (missing.length > 0) judge.refuse(rules.says.noResult(index, missing))
  else if (calls.some((id, at) => results[at] !== id)) judge.note(`messages.${index + 1}: results not in call order`)
}

function judgeUser(message: WireObject, index: number, before: WireObject | null, walk: Walk): void {
  const { judge, rules } = walk
  const blocks = blocksOf(message)
  if (blocks.length === 0) judge.refuse(`messages.${index}: all messages must have non-empty content`)
  const open = new Set(
    before?.['role'] === 'assistant'
      ? blocksOf(before).flatMap((block) => (block['type'] === 'tool_use' ? [text(block['id'])] : []))
      : [],
  )
  for (const [at, block] of blocks.entries()) {
    const place = `messages.${index}.content.${at}`
    switch (block['type']) {
      case 'text':
        judgeText(block, judge)
        break
      case 'tool_result': {
        const id = text(block['tool_use_id'])
        if (!open.delete(id)) judge.refuse(rules.says.noCall(place, id))
        for (const part of list(block['content'])) if (isObject(part) && part['type'] === 'text') judgeText(part, judge)
        break
      }
      case 'image':
      case 'document':
        judgeMedia(block, place, judge)
        break
      default:
        judge.refuse(`${place}.type: Input tag '${text(block['type'])}' found using 'type' does not match`)
    }
    walk.chain = chained(walk.chain, ['user', unmarked(block)])
  }
}

const IMAGES: readonly unknown[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

function judgeMedia(block: WireObject, place: string, judge: Judge): void {
  const source = isObject(block['source']) ? block['source'] : {}
  const { data, media_type: type } = source
  if (source['type'] === 'url') return
  if (block['type'] === 'image' && !IMAGES.includes(type)) {
    judge.refuse(
      `${place}.image.source.base64.media_type: Input should be ${IMAGES.map((one) => `'${text(one)}'`).join(', ')}`,
    )
  }
  if (typeof data !== 'string' || data === '')
    judge.refuse(`${place}.${text(block['type'])}.source.data: Field required`)
}

function judgeCacheMarks({ body, judge, rules }: Walk): void {
  const places = [
    ...list(body['system']),
    ...list(body['tools']),
    ...list(body['messages']).flatMap((message) => (isObject(message) ? blocksOf(message) : [])),
    body,
  ]
  const marked = places.filter((place) => isObject(place) && place['cache_control'] !== undefined)
  if (marked.length > rules.cacheMarks) {
    judge.refuse(`A maximum of ${rules.cacheMarks} blocks with cache_control may be provided. Found ${marked.length}.`)
  }
}

/** Cache marks are not part of what is compared. */
function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked)
  if (!isObject(value)) return value
  const { cache_control: _, ...rest } = value
  return rest
}
