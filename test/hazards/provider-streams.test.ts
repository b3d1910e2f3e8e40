/**
 * Odd answers of providers, byte for byte as servers were seen to send them, through the whole engine: what a reader of the
 * stream sees, what the result says, what the tools and the next request get, and what is counted. Single fields are looked at
 * more closely in the tests of the dialects.
 */
import assert from 'node:assert/strict'
import timers from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { runBody } from '../conformance/engine-client.ts'
import { landmarks, screenOf, type ReadEvent } from '../conformance/event-stream.ts'
import { recordingServer, type RecordingServer } from '../conformance/recording-server.ts'
import { sharedEngine } from '../conformance/shared-engine.ts'
import { ok, startTools, type ToolServer } from '../fakes/tool-server.ts'

const engine = sharedEngine({})

/** The bytes of an answer, in pieces that are sent one by one. */
interface Answer {
  readonly pieces: readonly (string | Uint8Array)[]
  readonly type?: string
}

interface Seen {
  readonly result: RunResult
  readonly events: readonly ReadEvent[]
  readonly provider: RecordingServer
  readonly tools: ToolServer
}

const TOOLS = { get_weather: ok('sun'), list_orders: ok([7]), search: ok('found') }

/** A run at a provider that answers this, one answer a request. */
async function run(
  t: TestContext,
  dialect: 'chat' | 'messages',
  answers: readonly (string | Answer)[],
  { llm = {}, ...parts }: JsonObject & { readonly llm?: JsonObject } = {},
): Promise<Seen> {
  const client = await engine.client()
  const provider = await recordingServer(t, `the ${dialect} provider`, async ({ number }, response) => {
    const answer = answers[number - 1] ?? ''
    const { pieces, type = 'text/event-stream' } = typeof answer === 'string' ? { pieces: [answer] } : answer
    response.writeHead(200, { 'content-type': type })
    for (const piece of pieces) {
      response.write(piece)
      if (pieces.length > 1) await timers.setImmediate()
    }
    response.end()
  })
  const tools = await startTools(t, TOOLS)
  const target =
    dialect === 'chat'
      ? { provider: 'openai-compatible', model: 'fake-model', base_url: `${provider.url}/v1` }
      : { provider: 'anthropic', model: 'claude-sonnet-4-5', base_url: provider.url }
  const accepted = await client.start(
    runBody({
      llm: { ...target, api_key: 'sk-SECRET-provider-key', ...llm },
      tools: Object.keys(TOOLS).map((name) => tools.tool(name)),
      ...parts,
    }),
  )
  const events = await (await client.stream(accepted)).ended()
  const { result } = await client.view(accepted.run_id)
  assert.ok(result !== null)
  return { result, events, provider, tools }
}

/** Whatever came: one start, one end that says the same as the result, and the last text shown is the text of the result. */
function assertTold({ events, result }: Seen): void {
  const names = events.map(({ event }) => event)
  assert.deepEqual([names[0], names.filter((name) => name === 'start').length], ['start', 1])
  assert.deepEqual([names.at(-1), names.filter((name) => name === 'done').length], ['done', 1])
  const done = events.at(-1)
  assert.ok(done?.event === 'done')
  assert.deepEqual([done.data.status, done.data.stop_reason], [result.status, result.stop_reason])
  assert.equal([...screenOf(events).values()].at(-1), result.text ?? '')
  const { usage } = result
  const sum = (field: 'input_tokens' | 'output_tokens' | 'total_tokens') =>
    usage.attempts.reduce((total, attempt) => total + attempt[field], 0)
  for (const field of ['input_tokens', 'output_tokens', 'total_tokens'] as const) assert.equal(usage[field], sum(field))
}

/** Status, text, stop reason, requests, and of each attempt its status, error, input and output. */
function facts({ provider, result }: Seen) {
  const attempts = result.usage.attempts.map((attempt) => [
    attempt.status,
    attempt.error_code,
    ...(attempt.estimated ? [] : [attempt.input_tokens, attempt.output_tokens]),
  ])
  return [result.status, result.text, result.stop_reason, provider.received.length, attempts]
}

const sent = ({ tools }: Seen) => tools.calls.map(({ body, tool }) => [tool, body.args])

// ------------------------------------------------------------------------------------------------- chat completions

const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const delta = (value: object, more: object = {}) => event({ choices: [{ index: 0, delta: value, ...more }] })
const TX = (content: unknown) => delta({ content })
const FIN = (finish_reason: string) => delta({}, { finish_reason })
const entry = (index?: number, id?: string, name?: string, args?: string) => ({
  index,
  id,
  type: 'function',
  function: { name, arguments: args },
})
const TC = (...[index, id, name, args]: Parameters<typeof entry>) =>
  delta({ tool_calls: [entry(index, id, name, args)] })
const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
})
const USAGE = event({ choices: [], usage: usage(5, 1) })
const DONE = 'data: [DONE]\n\n'
const FINE = `${TX('Fine.')}${FIN('stop')}${event({ choices: [], usage: usage(20, 2) })}${DONE}`
const ends = (reason: string) => `${FIN(reason)}${USAGE}${DONE}`

for (const [what, bytes, calls] of [
  [
    'PS-02: the same index twice inside one chunk',
    delta({ tool_calls: [entry(0, 'c1', 'get_weather', ''), entry(0, undefined, undefined, '{"ci')] }) +
      TC(0, undefined, undefined, 'ty":"Rome"}'),
    [['get_weather', { city: 'Rome' }]],
  ],
  [
    'PS-03: an id that is empty later, then missing',
    TC(0, 'c1', 'get_weather', '') + TC(0, '', undefined, '{"city":') + TC(0, undefined, undefined, '"Rome"}'),
    [['get_weather', { city: 'Rome' }]],
  ],
  [
    'PS-04: a tail on another index',
    TC(0, 'c1', 'get_weather', '{"ci') + TC(1, undefined, undefined, 'ty":"Rome"}'),
    [['get_weather', { city: 'Rome' }]],
  ],
  [
    'PS-05: an index first, only the id then',
    TC(0, 'c1', 'get_weather', '{"city":') +
      event({ choices: [{ delta: { tool_calls: [{ id: 'c1', function: { arguments: '"Rome"}' } }] } }] }),
    [['get_weather', { city: 'Rome' }]],
  ],
  [
    'PS-06: the name again in every delta',
    TC(0, 'c1', 'get_weather', '{"a"') + TC(0, undefined, 'get_weather', ':1}'),
    [['get_weather', { a: 1 }]],
  ],
  ['PS-06: a name in two deltas', TC(0, 'c1', 'get_', '') + TC(0, undefined, 'weather', '{}'), [['get_weather', {}]]],
  ['PS-07: arguments that are empty', TC(0, 'c1', 'list_orders', ''), [['list_orders', {}]]],
  ['PS-07: arguments that are blank', TC(0, 'c1', 'list_orders', ' \n'), [['list_orders', {}]]],
  [
    'HI-12: one id on two indexes',
    TC(0, 'x', 'get_weather', '{"n":1}') + TC(1, 'x', 'get_weather', '{"n":2}'),
    [
      ['get_weather', { n: 1 }],
      ['get_weather', { n: 2 }],
    ],
  ],
] as const) {
  test(`${what}: each call is sent once, with all its arguments, and goes back as JSON`, async (t) => {
    const seen = await run(t, 'chat', [bytes + ends('tool_calls'), FINE])
    assertTold(seen)
    assert.deepEqual(
      sent(seen).toSorted((one, other) => JSON.stringify(one).localeCompare(JSON.stringify(other))),
      calls,
    )
    assert.deepEqual(facts(seen), [
      'completed',
      'Fine.',
      'end_turn',
      2,
      [
        ['ok', null, 5, 1],
        ['ok', null, 20, 2],
      ],
    ])
    assert.deepEqual(
      seen.result.tool_calls.map(({ status, tool }) => [tool, status]),
      calls.map(([tool]) => [tool, 'ok']),
    )
    const { messages } = JSON.parse((await seen.provider.nth(2)).text)
    const back = messages.flatMap((message: JsonObject) => (message['tool_calls'] as JsonObject[] | undefined) ?? [])
    assert.deepEqual(
      back.map((call: JsonObject) => {
        const { arguments: text, name } = call['function'] as { arguments: string; name: string }
        return [name, JSON.parse(text)]
      }),
      calls,
    )
    assert.equal(new Set(back.map(({ id }: JsonObject) => id)).size, calls.length)
  })
}

test('PS-04: with two open calls a stray tail spoils the last: nothing is sent, the model is told, the run goes on', async (t) => {
  const bytes = TC(0, 'a', 'search', '{"x') + TC(1, 'b', 'get_weather', '{}') + TC(2, undefined, undefined, '":1}')
  const seen = await run(t, 'chat', [bytes + ends('tool_calls'), FINE])
  assertTold(seen)
  assert.deepEqual(sent(seen), [])
  assert.deepEqual(
    seen.result.tool_calls.map(({ status }) => status),
    ['invalid', 'invalid'],
  )
  assert.deepEqual([seen.result.status, seen.result.text], ['completed', 'Fine.'])
  const { messages } = JSON.parse((await seen.provider.nth(2)).text)
  const told = messages.filter(({ role }: JsonObject) => role === 'tool')
  assert.equal(told.length, 2)
  for (const { content } of told) assert.match(content, /not valid JSON; nothing was executed/)
})

for (const [what, bytes, text, reason] of [
  [
    'PS-09: chunks whose choices are null, absent or empty',
    'data: {"choices":null}\n\ndata: {"usage":null}\n\ndata: {"choices":[],"prompt_filter_results":[]}\n\n' +
      TX('Hi') +
      ends('stop'),
    'Hi',
    'end_turn',
  ],
  ['PS-10: usage behind the finish reason', TX('ok') + ends('length'), 'ok', 'length'],
  [
    'PS-11: an empty finish reason on every chunk',
    delta({ content: 'a' }, { finish_reason: '' }) + delta({ content: 'b' }, { finish_reason: '' }) + ends('stop'),
    'ab',
    'end_turn',
  ],
  ['PS-31: a finish reason for calls, and none', TX('Done.') + ends('tool_calls'), 'Done.', 'end_turn'],
  [
    'PS-33: the last text with the finish reason, and that twice',
    TX('Hello ') + delta({ content: 'world' }, { finish_reason: 'stop' }) + ends('stop'),
    'Hello world',
    'end_turn',
  ],
  ['PS-34: a refusal in its own field', delta({ refusal: 'I cannot.' }) + ends('stop'), 'I cannot.', 'refusal'],
  ['PS-34: a filter behind words', TX('Half') + ends('content_filter'), 'Half', 'refusal'],
  ['PS-34: a filter before any word', ends('content_filter'), 'I cannot help with this request.', 'refusal'],
  ['PS-35: a finish reason that nobody knows', TX('Hi') + ends('zzz_new'), 'Hi', 'other'],
  [
    'PS-40: content in parts',
    TX([
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'Hi' },
    ]) + ends('stop'),
    'Hi',
    'end_turn',
  ],
  [
    'PS-28: two data lines in one event, and an end mark that lost its blank line',
    `data: {"choices":[{"delta":\ndata: {"content":"x"}}]}\n\n${FIN('stop')}${USAGE}data: [DONE]`,
    'x',
    'end_turn',
  ],
  [
    'PS-28: a last event that lost its blank line',
    `data: {"choices":[{"delta":\ndata: {"content":"x"}}]}\n\n${FIN('stop')}${USAGE.trimEnd()}`,
    'x',
    'end_turn',
  ],
  ['PS-26: a byte order mark', `\uFEFF${TX('Hi')}${ends('stop')}`, 'Hi', 'end_turn'],
  ['PS-25: CR as the end of lines', (TX('Hi') + ends('stop')).replaceAll('\n', '\r'), 'Hi', 'end_turn'],
  [
    'PS-25: CRLF, and no space behind the colon',
    (TX('Hi') + ends('stop')).replaceAll('data: ', 'data:').replaceAll('\n', '\r\n'),
    'Hi',
    'end_turn',
  ],
] as const) {
  test(`${what}: one request, the words, their end and their usage`, async (t) => {
    const seen = await run(t, 'chat', [bytes])
    assertTold(seen)
    assert.deepEqual(facts(seen), ['completed', text, reason, 1, [['ok', null, 5, 1]]])
    assert.equal(seen.result.answer_source, reason === 'refusal' && text.endsWith('request.') ? 'fallback' : 'model')
    assert.deepEqual([seen.result.usage.complete, seen.result.error], [true, null])
  })
}

test('PS-40: thinking in the parts of a content is reasoning, in the stream and in the message', async (t) => {
  const parts = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
    { type: 'text', text: 'Hi' },
  ]
  const seen = await run(t, 'chat', [TX(parts) + ends('stop')], { stream: { reasoning: true } })
  const thoughts = seen.events.flatMap((one) => (one.event === 'reasoning' ? [one.data.text] : []))
  assert.deepEqual(thoughts, ['hm'])
  const [message] = seen.result.messages
  assert.deepEqual(
    message?.role === 'assistant' && message.content.map((part) => part.type !== 'tool_call' && [part.type, part.text]),
    [
      ['reasoning', 'hm'],
      ['text', 'Hi'],
    ],
  )
})

for (const size of [1, 2, 3, 7]) {
  test(`PS-24: characters cut every ${size} bytes are whole, in the stream and in the result`, async (t) => {
    const bytes = Buffer.from(TX('北京🙂') + ends('stop'))
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.subarray(at * size, (at + 1) * size),
    )
    const seen = await run(t, 'chat', [{ pieces }])
    assertTold(seen)
    assert.deepEqual(facts(seen), ['completed', '北京🙂', 'end_turn', 1, [['ok', null, 5, 1]]])
  })
}

test('PS-25: CRLF cut between its two characters is one end of a line', async (t) => {
  const lines = (TX('a') + TX('b') + ends('stop')).replaceAll('\n', '\r\n')
  const seen = await run(t, 'chat', [{ pieces: lines.split(/(?<=\r)/) }])
  assert.deepEqual(facts(seen), ['completed', 'ab', 'end_turn', 1, [['ok', null, 5, 1]]])
})

test('PS-18: an error of code 429 as the only event is a rate limit: tried again, and no answer', async (t) => {
  const limited = event({ error: { message: 'Rate limit exceeded: free-models-per-day', code: 429 } })
  const seen = await run(t, 'chat', [limited, FINE])
  assertTold(seen)
  assert.deepEqual(facts(seen), [
    'completed',
    'Fine.',
    'end_turn',
    2,
    [
      ['failed', 'rate', 0, 0],
      ['ok', null, 20, 2],
    ],
  ])
  const waits = seen.events.flatMap((one) => (one.event === 'wait' ? [one.data.reason] : []))
  assert.deepEqual(waits, ['retry'])
})

test('PS-20: one JSON completion instead of a stream is the same answer: its call is sent, its text shown in one delta', async (t) => {
  const message = (more: object, finish_reason: string, told: object) => ({
    pieces: [
      JSON.stringify({
        id: 'c',
        choices: [{ index: 0, message: { role: 'assistant', ...more }, finish_reason }],
        usage: told,
      }),
    ],
    type: 'application/json',
  })
  const call = { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }
  const seen = await run(t, 'chat', [
    message({ content: null, tool_calls: [call] }, 'tool_calls', usage(5, 1)),
    message({ content: 'It is sunny.' }, 'stop', usage(20, 2)),
  ])
  assertTold(seen)
  assert.deepEqual(sent(seen), [['get_weather', { city: 'Rome' }]])
  assert.deepEqual(facts(seen), [
    'completed',
    'It is sunny.',
    'end_turn',
    2,
    [
      ['ok', null, 5, 1],
      ['ok', null, 20, 2],
    ],
  ])
  const deltas = seen.events.flatMap((one) => (one.event === 'delta' ? [one.data.text] : []))
  assert.deepEqual(deltas, ['It is sunny.'])
})

test('PS-37: only thoughts and a stop are an empty answer: asked once more, and its reported zero is kept', async (t) => {
  const thoughts = Array.from({ length: 1000 }, () => delta({ reasoning_content: 'hm ' })).join('')
  const zero = event({ choices: [], usage: usage(9, 0) })
  const seen = await run(t, 'chat', [thoughts + FIN('stop') + zero + DONE, FINE])
  assertTold(seen)
  assert.deepEqual(facts(seen), [
    'completed',
    'Fine.',
    'end_turn',
    2,
    [
      ['ok', null, 9, 0],
      ['ok', null, 20, 2],
    ],
  ])
  assert.equal(seen.result.messages.length, 1)
})

test('PS-41: markup of a call in the text is never sent, and is no answer', async (t) => {
  const leak = '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}'
  const seen = await run(t, 'chat', [TX(leak) + ends('stop'), FINE])
  assertTold(seen)
  assert.deepEqual([sent(seen), seen.result.tool_calls], [[], []])
  assert.deepEqual(facts(seen).slice(0, 4), ['completed', 'Fine.', 'end_turn', 2])
  assert.deepEqual(
    seen.result.messages.map(({ role }) => role),
    ['assistant'],
  )
})

for (const [number, code, requests] of [
  [1002, 'provider_rate_limited', 3],
  [1004, 'provider_auth', 1],
  [1008, 'provider_quota', 1],
  [2013, 'provider_rejected', 1],
] as const) {
  test(`PS-42: ${number} in base_resp of a 200 ends as ${code}`, async (t) => {
    const refused = event({ choices: null, base_resp: { status_code: number, status_msg: 'words' } })
    const seen = await run(t, 'chat', [refused, refused, refused, FINE])
    assertTold(seen)
    assert.deepEqual(
      [seen.result.status, seen.result.error?.code, seen.provider.received.length],
      ['failed', code, requests],
    )
    for (const { estimated, status, total_tokens: total } of seen.result.usage.attempts)
      assert.deepEqual([status, estimated, total], ['failed', false, 0])
  })
}

test('AC-02: of running totals the last of each step counts, and the steps are added up', async (t) => {
  const running = (text: string, output: number) =>
    event({ choices: [{ index: 0, delta: { content: text } }], usage: usage(10, output) })
  const told = (last: string) => last + event({ choices: [], usage: usage(10, 3) }) + DONE
  const seen = await run(t, 'chat', [
    running('a', 1) +
      running('b', 2) +
      TC(0, 'c', 'list_orders', '{}') +
      told(delta({}, { finish_reason: 'tool_calls', usage: usage(10, 3) })),
    running('c', 1) + running('d', 2) + running('e', 3) + told(FIN('stop')),
  ])
  assertTold(seen)
  assert.deepEqual(facts(seen), [
    'completed',
    'cde',
    'end_turn',
    2,
    [
      ['ok', null, 10, 3],
      ['ok', null, 10, 3],
    ],
  ])
  assert.deepEqual([seen.result.usage.total_tokens, seen.result.usage.complete], [26, true])
})

test('AC-08: usage inside the choice and beside it is counted once', async (t) => {
  const told = usage(7, 2)
  const last = (beside: object) => event({ choices: [{ delta: {}, finish_reason: 'stop', usage: told }], ...beside })
  for (const beside of [{}, { usage: told }]) {
    const seen = await run(t, 'chat', [TX('Hi') + last(beside) + DONE])
    assert.deepEqual(facts(seen), ['completed', 'Hi', 'end_turn', 1, [['ok', null, 7, 2]]])
  }
})

// --------------------------------------------------------------------------------------------------- Messages API

const A = (value: { readonly type: string; readonly [field: string]: unknown }) =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
const START = A({
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 12, output_tokens: 1 },
  },
})
const block = (index: number, content_block: object, ...deltas: readonly object[]) =>
  A({ type: 'content_block_start', index, content_block }) +
  deltas.map((one) => A({ type: 'content_block_delta', index, delta: one })).join('') +
  A({ type: 'content_block_stop', index })
const words = (index: number, text: string) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text })
const tool = (index: number, name: string, ...pieces: readonly string[]) =>
  block(
    index,
    { type: 'tool_use', id: `toolu_${index}`, name, input: {} },
    ...pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  )
const stops = (stop_reason: string, output_tokens = 4) =>
  A({ type: 'message_delta', delta: { stop_reason }, usage: { output_tokens } }) + A({ type: 'message_stop' })
const A_FINE = START + words(0, 'Fine.') + stops('end_turn')

test('PS-07: a block of a call without any delta is a call without arguments, and goes back as an object', async (t) => {
  const seen = await run(t, 'messages', [START + tool(0, 'list_orders') + stops('tool_use'), A_FINE])
  assertTold(seen)
  assert.deepEqual(sent(seen), [['list_orders', {}]])
  const { messages } = JSON.parse((await seen.provider.nth(2)).text)
  assert.deepEqual(messages.at(-2).content.at(-1).input, {})
})

test('PS-15: a stream cut inside arguments sends nothing, and the attempt keeps the input that was told', async (t) => {
  const cut =
    START +
    A({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 't', name: 'get_weather', input: {} },
    }) +
    A({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"city":"Ro' } })
  const seen = await run(t, 'messages', [cut, A_FINE])
  assertTold(seen)
  assert.deepEqual([sent(seen), seen.result.tool_calls], [[], []])
  const [broken] = seen.result.usage.attempts
  assert.deepEqual(
    [broken?.status, broken?.error_code, broken?.estimated, broken?.input_tokens],
    ['unknown', 'interrupted', true, 12],
  )
  assert.ok((broken?.output_tokens ?? 0) > 0)
  assert.deepEqual([seen.result.text, seen.result.usage.complete], ['Fine.', false])
})

test('PS-27: events without their names are told apart by their type, and unknown ones are passed over', async (t) => {
  const odd =
    A({ type: 'unheard_of', x: 1 }) +
    A({ type: 'content_block_delta', index: 0, delta: { type: 'unheard_of_delta', text: 'no' } })
  const bare = (START + odd + words(0, 'Hi') + stops('end_turn')).replaceAll(/^event: .*\n/gm, '')
  const seen = await run(t, 'messages', [bare])
  assertTold(seen)
  assert.deepEqual(facts(seen), ['completed', 'Hi', 'end_turn', 1, [['ok', null, 12, 4]]])
})

test('PS-31, PS-36: a stop for a call that is not there is an empty answer: asked once more, then a fixed sentence', async (t) => {
  const seen = await run(t, 'messages', [START + stops('tool_use', 2), START + stops('tool_use', 2), A_FINE])
  assertTold(seen)
  assert.deepEqual(facts(seen).slice(2), [
    'end_turn',
    2,
    [
      ['ok', null, 12, 2],
      ['ok', null, 12, 2],
    ],
  ])
  assert.deepEqual([seen.result.status, seen.result.answer_source, seen.result.messages], ['completed', 'fallback', []])
})

test('PS-34: a refusal with a block that stops and never began is one, without another request', async (t) => {
  const refused = START + A({ type: 'content_block_stop', index: 0 }) + stops('refusal')
  const seen = await run(t, 'messages', [refused, A_FINE])
  assertTold(seen)
  assert.deepEqual(facts(seen), ['completed', 'I cannot help with this request.', 'refusal', 1, [['ok', null, 12, 4]]])
  assert.equal(seen.result.answer_source, 'fallback')
})

test('PS-35: a paused turn goes on in another step; a word that nobody knows keeps the text', async (t) => {
  const paused = await run(t, 'messages', [START + words(0, 'Searching…') + stops('pause_turn'), A_FINE])
  assertTold(paused)
  assert.deepEqual([paused.result.text, paused.result.steps, paused.provider.received.length], ['Fine.', 2, 2])
  const odd = await run(t, 'messages', [START + words(0, 'Searching…') + stops('zzz_new')])
  assertTold(odd)
  assert.deepEqual(facts(odd), ['completed', 'Searching…', 'other', 1, [['ok', null, 12, 4]]])
})

test('PS-35: a window that is full before a word is a failure of its own name', async (t) => {
  const seen = await run(t, 'messages', [START + stops('model_context_window_exceeded')])
  assertTold(seen)
  assert.deepEqual([seen.result.status, seen.result.error?.code], ['failed', 'context_overflow'])
  assert.equal(seen.provider.received.length, 1)
})

test('PS-36: nothing after the results of tools is asked for once more, and no empty message is kept', async (t) => {
  const asks = START + words(0, 'Let me look.') + tool(1, 'list_orders', '{}') + stops('tool_use')
  const nothing = START + stops('end_turn', 2)
  const seen = await run(t, 'messages', [asks, nothing, nothing, A_FINE])
  assertTold(seen)
  assert.deepEqual(
    [seen.result.status, seen.result.answer_source, seen.provider.received.length],
    ['completed', 'fallback', 3],
  )
  assert.ok((seen.result.text ?? '') !== '')
  assert.deepEqual(
    seen.result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  const nudged = await run(t, 'messages', [asks, nothing, A_FINE])
  assert.deepEqual([nudged.result.text, nudged.result.answer_source], ['Fine.', 'model'])
})

test('AC-03, AC-04: what was cached stands beside the input, and thoughts are a part of the output', async (t) => {
  const start = START.replace(
    '"input_tokens":12',
    '"input_tokens":3,"cache_creation_input_tokens":12304,"cache_read_input_tokens":0',
  )
  const end =
    A({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 136, output_tokens_details: { thinking_tokens: 31 } },
    }) + A({ type: 'message_stop' })
  const pricing = { currency: 'USD', input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 }
  const seen = await run(t, 'messages', [start + words(0, 'Hi') + end], { llm: { pricing } })
  const { cache_read_tokens, cache_write_tokens, cost, input_tokens, output_tokens, reasoning_tokens, total_tokens } =
    seen.result.usage
  assert.deepEqual(
    [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens],
    [3, 0, 12_304, 136, 31, 12_443],
  )
  assert.equal(cost, (3 * 3 + 12_304 * 3.75 + 136 * 15) / 1e6)
})

// ------------------------------------------------------------------------------------- from one model to the next

test('RF-05: thoughts and then an error go to the next model: one start, one text, one end, and the thoughts are nowhere', async (t) => {
  const client = await engine.client()
  const first = await recordingServer(t, 'the first model', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const thought = delta({ role: 'assistant' }) + delta({ reasoning_content: 'secret thought' })
    response.end(thought + event({ error: { code: 402, message: 'no money' } }))
  })
  const second = await recordingServer(t, 'the second model', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(FINE)
  })
  const at = ({ url }: RecordingServer) => ({
    provider: 'openai-compatible',
    model: 'm',
    base_url: `${url}/v1`,
    api_key: 'k',
  })
  const accepted = await client.start(
    runBody({ llm: { ...at(first), fallbacks: [at(second)] }, stream: { reasoning: true } }),
  )
  const events = await (await client.stream(accepted)).ended()
  const { result } = await client.view(accepted.run_id)
  assert.ok(result !== null)
  assert.equal(screenOf(events).get(1), 'Fine.')
  assert.deepEqual(
    landmarks(events).map(({ event: name }) => name),
    ['start', 'step', 'reset', 'done'],
  )
  assert.deepEqual(
    result.usage.attempts.map(({ error_code, status }) => [status, error_code]),
    [
      ['unknown', 'quota'],
      ['ok', null],
    ],
  )
  assert.doesNotMatch(JSON.stringify(result), /secret thought/)
})

for (const [what, status, body, code, requests] of [
  [
    'RF-03: a quota dressed as a rate limit',
    429,
    '{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}',
    'provider_quota',
    1,
  ],
  [
    'RF-03: a balance dressed as a bad request',
    400,
    '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}',
    'provider_quota',
    1,
  ],
  ['RF-07: an error of the server', 500, '{"error":{"message":"no"}}', 'provider_unavailable', 3],
  ['RF-08: a bad request', 400, '{"error":{"message":"no"}}', 'provider_rejected', 1],
  ['RF-08: no such key', 401, '{"error":{"message":"no"}}', 'provider_auth', 1],
  ['RF-08: no permission', 403, '{"error":{"message":"no"}}', 'provider_auth', 1],
  ['RF-08: no such model', 404, '{"error":{"message":"no"}}', 'model_not_found', 1],
  ['RF-08: too large', 413, '', 'context_overflow', 1],
  [
    'RF-14: overloaded',
    529,
    '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
    'provider_overloaded',
    3,
  ],
] as const) {
  test(`${what} gets ${requests} requests, its own code, and no charge`, async (t) => {
    const client = await engine.client()
    const provider = await recordingServer(t, 'the provider', (_, response) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body)
    })
    const llm = { provider: 'openai-compatible', model: 'm', base_url: `${provider.url}/v1`, api_key: 'k' }
    const result = await client.run(runBody({ llm }))
    assert.deepEqual([result.status, result.error?.code, provider.received.length], ['failed', code, requests])
    assert.deepEqual(
      result.usage.attempts.map((attempt) => [attempt.status, attempt.http_status, attempt.total_tokens]),
      Array.from({ length: requests }, () => ['failed', status, 0]),
    )
    assert.notEqual(result.error?.message ?? '', '')
  })
}

test('RF-16: a fallback has its own address, path and key, and nothing of the first', async (t) => {
  const client = await engine.client()
  const first = await recordingServer(t, 'the first model', (_, response) => {
    response.writeHead(529, { 'content-type': 'application/json' }).end('{"error":{"message":"Overloaded"}}')
  })
  const second = await recordingServer(t, 'the second model', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(A_FINE)
  })
  const primary = {
    provider: 'openai-compatible',
    model: 'a',
    base_url: `${first.url}/only-a`,
    api_key: 'sk-SECRET-of-A',
  }
  const fallback = {
    provider: 'anthropic',
    model: 'claude-b',
    base_url: `${second.url}/coding`,
    api_key: 'sk-SECRET-of-B',
  }
  const params = { extra: { mark_of_a: 1 }, max_output_tokens: 77 }
  const result = await client.run(runBody({ llm: { ...primary, params, fallbacks: [fallback] } }))
  assert.deepEqual([result.status, result.text], ['completed', 'Fine.'])
  assert.deepEqual(
    first.received.map(({ path }) => path),
    Array.from({ length: 3 }, () => '/only-a/chat/completions'),
  )
  const [asked, ...more] = second.received
  assert.deepEqual([asked?.path, asked?.headers['x-api-key'], more], ['/coding/v1/messages', 'sk-SECRET-of-B', []])
  assert.doesNotMatch(JSON.stringify([asked?.headers, asked?.text]), /of-A|only-a|mark_of_a|"max_tokens":77/)
})

test('RF-02: a wait of two hours fails at once, or goes to the next model at once', async (t) => {
  const client = await engine.client()
  const limited = await recordingServer(t, 'the limited model', (_, response) => {
    response.writeHead(429, { 'retry-after': '7200' }).end()
  })
  const free = await recordingServer(t, 'the free model', (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(FINE)
  })
  const at = ({ url }: RecordingServer) => ({
    provider: 'openai-compatible',
    model: 'm',
    base_url: `${url}/v1`,
    api_key: 'k-two-hours',
  })
  const limits = { timeout_ms: 60_000 }
  const alone = await client.run(runBody({ llm: at(limited), limits }))
  assert.deepEqual(
    [alone.status, alone.error?.code, alone.usage.attempts.length],
    ['failed', 'provider_rate_limited', 1],
  )
  const other = { ...at(limited), api_key: 'k-two-hours-2' }
  const chained = await client.run(runBody({ llm: { ...other, fallbacks: [at(free)] }, limits }))
  assert.deepEqual([chained.status, chained.text, chained.usage.attempts.length], ['completed', 'Fine.', 2])
  assert.equal(limited.received.length, 2)
})

test('the engine ends in peace', () => engine.finish())
