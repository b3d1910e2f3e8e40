/** Answers of providers made wrong, read through the feed of an attempt into every dialect, and sent on as history. */
import assert from 'node:assert/strict'
import type { AssistantMessage, AssistantPart } from '../../src/contract/message.ts'
import { messageOf } from '../../src/providers/answer-message.ts'
import type { FaultClass, Reading } from '../../src/providers/dialect.ts'
import { user } from '../providers/dialect-call.ts'
import { sized } from '../recordings/cuts.ts'
import { dialectOf, readChunks, type Read } from '../recordings/reading.ts'
import { callOf, type Api } from '../recordings/recordings.ts'
import { corpus, type Sample } from './corpus.ts'
import { leftOut, type Quarry } from './hunt.ts'
import { mutatedBytes, mutatedJson, type Value } from './mutate.ts'
import type { Random } from './random.ts'

export interface WrongAnswer {
  /** Of the dialect that reads it. */
  readonly api: Api
  readonly kind: 'stream' | 'json' | 'error'
  readonly bytes: Buffer
  readonly sizes: readonly number[]
  /** The sender ended it. */
  readonly whole: boolean
  readonly status: number
}

const APIS: readonly Api[] = ['anthropic-messages', 'openai-chat', 'openai-responses', 'gigachat-v1']
/** Events of one input: enough for every kind that a protocol has. */
const MOST_EVENTS = 12
const STATUSES = [300, 400, 401, 402, 403, 404, 408, 413, 422, 429, 498, 500, 503, 529, 599]

type Event = Sample['events'][number]

/** The first events, some from the middle, and the last. */
function someOf(random: Random, events: readonly Event[]): readonly Event[] {
  if (events.length <= MOST_EVENTS) return events
  const from = 3 + random.int(events.length - 10)
  return [...events.slice(0, 3), ...events.slice(from, from + MOST_EVENTS - 7), ...events.slice(-4)]
}

function wrongEvents(random: Random, sample: Sample): Event[] {
  const events = [...someOf(random, sample.events)]
  for (let left = random.int(3); left > 0; left -= 1) {
    const at = random.int(events.length + 1)
    const found = events[at] ?? random.pick(random.pick(corpus).events)
    const change = random.int(4)
    if (change === 0) events.splice(at, 1)
    else if (change === 1) events.splice(at, 0, found)
    else if (change === 2) events.splice(at, 0, random.pick(random.pick(corpus).events))
    else events.splice(random.int(events.length + 1), 0, ...events.splice(at, 1))
  }
  for (let left = random.int(4); left > 0 && events.length > 0; left -= 1) {
    const at = random.int(events.length)
    const { data, name } = events[at] as Event
    events[at] = { name: random.chance(0.1) ? 'error' : name, data: mutatedJson(random, data) }
  }
  return events
}

function written(kind: WrongAnswer['kind'], events: readonly Event[]): Buffer {
  const text = (data: Value) => (typeof data === 'string' ? data : JSON.stringify(data))
  if (kind !== 'stream') return Buffer.from(text(events[0]?.data ?? null))
  const blocks = events.map(
    ({ data, name }) => `${name === undefined ? '' : `event: ${name}\n`}data: ${text(data)}\n\n`,
  )
  return Buffer.from(blocks.join(''))
}

function make(random: Random): WrongAnswer {
  const sample = random.pick(corpus)
  const isError = random.chance(0.12)
  const kind = isError ? 'error' : sample.kind
  const data = random.pick(random.pick(corpus).events).data
  const events = isError
    ? [{ name: undefined, data: mutatedJson(random, { error: data }) }]
    : wrongEvents(random, sample)
  const bytes = written(kind, events)
  return {
    api: random.chance(0.8) ? sample.api : random.pick(APIS),
    kind,
    bytes: random.chance(0.3) ? mutatedBytes(random, bytes) : bytes,
    sizes: random.chance(0.5) ? [bytes.length + 1] : [1 + random.int(200), 1 + random.int(40)],
    whole: random.chance(0.8),
    status: random.pick(STATUSES),
  }
}

function bear({ api, bytes, kind, sizes, status, whole }: WrongAnswer): void {
  const call = callOf({ api })
  if (kind === 'error') {
    const fault = dialectOf(call).fault(status, { 'retry-after': '1' }, bytes.toString('utf8'), 0)
    assert.ok(CLASSES.has(fault.class), fault.class)
    assert.equal(fault.status, status)
    assertDetail(fault.detail)
    return
  }
  const recording = { api, kind, file: '', provider: '', http_status: 200, headers: null, expected: {} }
  const read = readChunks(recording, sized(bytes, sizes), whole)
  assertSound(read)
  if (read.reading.complete) sendOn(api, read.reading)
}

const CLASSES: ReadonlySet<FaultClass> = new Set<FaultClass>([
  'rate',
  'overloaded',
  'quota',
  'auth',
  'not_found',
  'bad_request',
  'context_overflow',
  'content',
  'server',
  'network',
  'timeout',
  'malformed',
])
const STOPS = new Set(['end_turn', 'tool_calls', 'length', 'stop_sequence', 'refusal', 'paused', 'other'])

function assertDetail(detail: string): void {
  assert.ok(detail.length > 0 && detail.length <= 500 && detail.isWellFormed(), `detail: ${detail.length}`)
}

/** What holds of every reading, whatever was read. */
function assertSound({ fault: unreadable, reading, shown, thought, reader }: Read): void {
  const { complete, fault, parts, rawStop, refusal, responseId, stop, usage } = reading
  assert.ok(!complete || fault === null, 'complete, and a fault')
  assert.ok(STOPS.has(stop), stop)
  if (fault !== null) {
    assert.ok(CLASSES.has(fault.class), fault.class)
    assertDetail(fault.detail)
  }
  if (unreadable !== null) assertDetail(unreadable)
  for (const told of [rawStop, responseId, refusal]) assert.ok(told === null || typeof told === 'string')
  let text = ''
  let reasoning = ''
  for (const part of parts) {
    if (part.type === 'text') text += part.text
    else if (part.type === 'reasoning') reasoning += part.text
    else {
      assert.ok(part.tool !== '' || part.fault !== null || part.args !== null)
      assert.equal(part.args === null, part.fault !== null, `${part.tool}: ${part.fault}`)
      assert.ok(part.args === null || (typeof part.args === 'object' && !Array.isArray(part.args)))
    }
  }
  // An answer that cannot be put in order is none.
  assert.ok(fault !== null || shown() === text, 'what was shown is not the text')
  assert.ok(fault !== null || thought() === reasoning, 'what was shown is not the reasoning')
  assert.ok(text.isWellFormed() && reasoning.isWellFormed())
  assert.equal(reader.progress, 'closed')
  assert.ok(Number.isSafeInteger(reader.outputLength) && reader.outputLength >= text.length, 'outputLength')
  assert.ok(parts.every((part) => part.type === 'reasoning') || reader.started, 'an answer that never began')
  if (usage !== null) {
    const { total_tokens: total, ...counts } = usage.tokens
    assert.ok(
      Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0),
      JSON.stringify(counts),
    )
    assert.ok(counts.reasoning_tokens <= counts.output_tokens)
    assert.equal(
      total,
      counts.input_tokens + counts.cache_read_tokens + counts.cache_write_tokens + counts.output_tokens,
    )
  }
}

/** An answer that is whole becomes a message of a history, which the next request holds: to its own family, and to others. */
function sendOn(api: Api, reading: Reading): void {
  const { message } = messageOf(reading, 0)
  const content = message.parts.map((part, at): AssistantPart =>
    part.type === 'tool_call'
      ? {
          type: 'tool_call',
          call_id: `call_${at}`,
          tool: part.tool,
          args: part.args ?? {},
          provider_data: part.provider_data,
        }
      : part,
  )
  const call = callOf({ api })
  const said: AssistantMessage = {
    role: 'assistant',
    content,
    provider: call.target.provider,
    model: call.target.model,
    provider_data: message.provider_data,
  }
  const results = content.flatMap((part) =>
    part.type === 'tool_call'
      ? [{ role: 'tool' as const, call_id: part.call_id, tool: part.tool, result: { a: 1 } }]
      : [],
  )
  // Stored by a harness and sent back: what is not JSON would be lost here.
  const stored = JSON.parse(JSON.stringify(said)) as AssistantMessage
  const messages = [user('hi'), stored, ...results, user('go on')]
  const other = callOf({ api: APIS[(APIS.indexOf(api) + 1) % APIS.length] ?? api })
  for (const next of [call, other]) {
    const { body } = dialectOf(next).request({ ...next, ask: { ...next.ask, messages } })
    assert.ok(body.isWellFormed())
    JSON.parse(body)
  }
}

export const answers: Quarry<WrongAnswer> = {
  name: 'answers of providers',
  make,
  bear,
  *smaller(input) {
    const { bytes } = input
    yield* leftOut(bytes.length, (from, to) => ({
      ...input,
      sizes: [bytes.length],
      bytes: Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]),
    }))
  },
  show: ({ bytes, ...input }) => `${JSON.stringify(input)}\n${JSON.stringify(bytes.toString('latin1'))} (latin1)`,
}
