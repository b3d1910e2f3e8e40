/** The model inside the engine: what it plays, that it passes the same machinery as any other, and how a script is judged. */
import assert from 'node:assert/strict'
import events from 'node:events'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import type { Target } from '../../src/contract/run-request.ts'
import type { Egress } from '../../src/egress/egress.ts'
import type { Ask } from '../../src/engine/ports.ts'
import { fillArgs, fillText } from '../../src/providers/scripted/placeholders.ts'
import { piecesOf } from '../../src/providers/scripted/chunks.ts'
import { playScript } from '../../src/providers/scripted/play.ts'
import { scriptFaults } from '../../src/providers/scripted/script-faults.ts'
import { askOf, failureOf, interruption, openChain, openTap, target, textOf, type TestTap } from './chain.ts'

/** A gate that lets nothing out: a scripted model needs none. */
const shut: Egress = {
  request: () => assert.fail('a scripted model opened a connection'),
  judge: () => assert.fail('a scripted model was judged'),
  close: async () => {},
}

function scripted(script?: Json): Target {
  const plain = target({ provider: 'scripted', model: 'demo' })
  return { ...plain, params: { ...plain.params, extra: script === undefined ? {} : { script } } }
}

const user = (text: string): StoredMessage => ({
  role: 'user',
  content: [{ type: 'text', text }],
  created_at: '2026-11-30T12:00:00.000Z',
})

const result = (tool: string, value: Json, more: JsonObject = {}): StoredMessage => ({
  role: 'tool',
  call_id: `call_${tool}`,
  tool,
  result: value,
  ...more,
})

interface Played {
  readonly answer: Awaited<ReturnType<ReturnType<typeof openChain>['ask']>>
  readonly tap: TestTap
}

async function play(
  t: Parameters<typeof openChain>[0],
  script: Json | undefined,
  more: Partial<Ask> = {},
): Promise<Played> {
  const { ask, tap } = openChain(t, { egress: shut })
  return { answer: await ask(askOf([scripted(script)], more)), tap }
}

test('without a script, and past its end, the last user message is echoed, streamed', async (t) => {
  const messages = [user('first'), user('[Mon 2026-11-30 12:00 +00:00] Where is my order 12345?')]
  for (const [script, step] of [
    [undefined, 1],
    [[[{ text: 'one' }]], 2],
  ] as const) {
    const { answer, tap } = await play(t, script, { messages, step })
    assert.equal(textOf(answer), 'You said: Where is my order 12345?')
    assert.ok(tap.told.filter(([name]) => name === 'text').length > 2)
    assert.equal(tap.inView(), textOf(answer))
  }
})

test('text, reasoning and calls come as from any provider, with usage', async (t) => {
  const script = [
    [
      { reasoning: 'hm' },
      { text: 'Let me look.' },
      { tool_call: { name: 'getOrders', args: { id: 7 } } },
      { tool_call: { name: 'broken', args_text: '{"a":', id: 'own_id' } },
    ],
  ]
  const { answer, tap } = await play(t, script)
  assert.ok(answer.kind === 'answer')
  const { parts, stop } = answer.message
  assert.deepEqual(
    parts.map((part) => (part.type === 'tool_call' ? [part.tool, part.args, part.fault] : part.text)),
    [
      'hm',
      'Let me look.',
      ['getOrders', { id: 7 }, null],
      ['broken', null, parts[3]?.type === 'tool_call' && parts[3].fault],
    ],
  )
  assert.notEqual(parts[3]?.type === 'tool_call' ? parts[3].fault : null, null)
  assert.equal(stop, 'tool_calls')
  const [attempt] = tap.attempts()
  assert.deepEqual([attempt?.status, attempt?.estimated, attempt?.provider], ['ok', false, 'scripted'])
  assert.ok((attempt?.input_tokens ?? 0) > 0 && (attempt?.output_tokens ?? 0) > 0)
})

test('finish and usage are told as written; usage null tells none', async (t) => {
  const told = {
    input_tokens: 100,
    cache_read_tokens: 40,
    cache_write_tokens: 7,
    output_tokens: 9,
    reasoning_tokens: 3,
  }
  const first = await play(t, [[{ text: 'cut sho' }, { finish: 'length' }, { usage: told }]])
  assert.ok(first.answer.kind === 'answer' && first.answer.message.stop === 'length')
  const [attempt] = first.tap.attempts()
  assert.deepEqual(
    [attempt?.input_tokens, attempt?.cache_read_tokens, attempt?.cache_write_tokens, attempt?.output_tokens],
    [100, 40, 7, 9],
  )
  assert.equal(attempt?.reasoning_tokens, 3)
  const second = await play(t, [[{ text: 'Hi' }, { usage: null }]])
  assert.deepEqual([second.tap.attempts()[0]?.status, second.tap.attempts()[0]?.estimated], ['unknown', true])
})

test('an empty list of moves is an empty answer', async (t) => {
  const { answer } = await play(t, [[]])
  assert.ok(answer.kind === 'answer')
  assert.deepEqual(answer.message.parts, [])
})

test('each request of a step plays its own moves, the last ones for all further requests', async (t) => {
  const script = [
    {
      attempts: [[{ status: 429, retry_after_s: 0.01 }], [{ text: 'Half' }, { cut: true }], [{ text: 'Whole.' }]],
    },
  ]
  const { answer, tap } = await play(t, script)
  assert.equal(textOf(answer), 'Whole.')
  assert.equal(tap.inView(), 'Whole.')
  assert.deepEqual(
    tap.attempts().map(({ error_code, http_status, status }) => [status, error_code, http_status]),
    [
      ['failed', 'rate', 429],
      ['unknown', 'interrupted', 200],
      ['ok', null, 200],
    ],
  )
  assert.deepEqual(
    tap.told.find(([name]) => name === 'wait'),
    ['wait', 'retry', 10],
  )
  const failing = await play(t, [[{ status: 401, body: { error: { message: 'no such key' } } }]])
  const failure = failureOf(failing.answer)
  assert.equal(failure.code, 'provider_auth')
  assert.match(failure.detail, /no such key/)
})

test('a fallback plays its own script', async (t) => {
  const { ask } = openChain(t, { egress: shut })
  const answer = await ask(askOf([scripted([[{ status: 400 }]]), scripted([[{ text: 'B' }]])]))
  assert.ok(answer.kind === 'answer' && answer.message.target === 1)
  assert.equal(textOf(answer), 'B')
})

test('a cut as the first move is a connection that never answered', async (t) => {
  const script = [{ attempts: [[{ cut: true }], [{ text: 'Hi' }]] }]
  const { tap } = await play(t, script)
  assert.deepEqual([tap.attempts()[0]?.error_code, tap.attempts()[0]?.http_status], ['network', null])
})

test('pauses are kept to the millisecond, between pieces, before the headers and within', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const { ask, tap } = openChain(t, { egress: shut })
  const script = [[{ wait_ms: 300 }, { text: 'abcdef', chunk: 2, pace_ms: 20 }, { wait_ms: 50 }, { text: 'g' }]]
  const answer = ask(askOf([scripted(script)]))
  const seen: [number, string][] = []
  const turns = async () => {
    for (let index = 0; index < 30; index += 1) await turn()
  }
  for (let ms = 0; ms <= 400; ms += 10) {
    await turns()
    const inView = tap.inView()
    if (seen.at(-1)?.[1] !== inView) seen.push([ms, inView])
    t.mock.timers.tick(10)
  }
  assert.equal(textOf(await answer), 'abcdefg')
  assert.deepEqual(seen, [
    [0, ''],
    [300, 'ab'],
    [320, 'abcd'],
    [340, 'abcdef'],
    [390, 'abcdefg'],
  ])
  assert.equal(tap.attempts()[0]?.first_token_ms, 300)
})

test('a long text without a pace lets others have their turn, and a cancel ends it', async (t) => {
  const { ask, tap } = openChain(t, { egress: shut })
  const { signal, stop } = interruption()
  const long = 'x'.repeat(2_000_000)
  const asked = ask(askOf([scripted([[{ text: long }]])]), signal)
  for (let turns = 0; turns < 20; turns += 1) await turn()
  stop('cancelled')
  const answer = await asked
  assert.equal(answer.kind, 'interrupted')
  assert.ok(tap.inView().length > 0 && tap.inView().length < long.length)
})

test('PS-22: a silent model meets the same deadlines as any other', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const { ask, tap } = openChain(t, { egress: shut })
  const script = [{ attempts: [[{ silence: true }], [{ text: 'Let me' }, { silence: true }], [{ text: 'Hi' }]] }]
  const answer = ask(askOf([scripted(script)]))
  const turns = async () => {
    for (let index = 0; index < 30; index += 1) await turn()
  }
  await turns()
  t.mock.timers.tick(120_000)
  await turns()
  t.mock.timers.tick(250)
  await turns()
  t.mock.timers.tick(120_000)
  await turns()
  t.mock.timers.tick(500)
  assert.equal(textOf(await answer), 'Hi')
  assert.deepEqual(
    tap.attempts().map(({ duration_ms, error_code, http_status }) => [error_code, http_status, duration_ms]),
    [
      ['timeout', null, 120_000],
      ['timeout', 200, 120_000],
      [null, 200, 0],
    ],
  )
})

test('CA-06: an abort ends every kind of wait at once and leaves nothing behind', async (t) => {
  const waits: Json[] = [
    [{ wait_ms: 3_600_000 }],
    [{ silence: true }],
    [{ text: 'Hi' }, { silence: true }],
    [{ text: 'Hi' }, { wait_ms: 3_600_000 }],
    [{ text: 'abcdef', chunk: 1, pace_ms: 60_000 }],
    [{ wait_ms: 3_600_000 }, { status: 500 }],
  ]
  for (const moves of waits) {
    const { signal, stop } = interruption()
    const { ask, tap } = openChain(t, { egress: shut })
    const answer = ask(askOf([scripted([moves])]), signal)
    await tap.until(({ told }) => told.some(([name]) => name === 'starting'))
    for (let index = 0; index < 5; index += 1) await turn()
    stop('cancelled')
    assert.equal((await answer).kind, 'interrupted')
    assert.equal(tap.attempts().length, 1)
    assert.equal(events.getEventListeners(signal, 'abort').length, 0)
  }
})

async function opened(moves: Json, signal = new AbortController().signal) {
  const ask = askOf([scripted([moves])])
  const send = playScript({ ask, target: ask.targets[0], tries: 1 })
  const url = 'https://scripted.invalid/v1'
  const answer = await send({ purpose: 'provider', method: 'POST', url, headers: {}, signal })
  assert.ok(answer.kind === 'response')
  return answer.response
}

test('what is destroyed plays no further, in a pause or between two moves', async () => {
  for (const moves of [[{ text: 'abcdef', chunk: 1, pace_ms: 60_000 }], [{ text: 'a' }, { finish: 'stop' }]]) {
    const response = await opened(moves)
    const chunks = response.body[Symbol.asyncIterator]()
    await chunks.next()
    await chunks.next()
    const third = moves.length === 1 ? chunks.next() : null
    response.destroy()
    await assert.rejects(third ?? chunks.next())
    assert.equal((await chunks.next()).done, true)
  }
})

test('the bytes are those of a chat completions server: one role, one finish, one usage, one end', async () => {
  const { signal } = new AbortController()
  for (const moves of [[{ text: 'Hi' }], [{ text: 'Hi' }, { finish: 'stop' }, { usage: { input_tokens: 1 } }]]) {
    const response = await opened(moves, signal)
    let body = ''
    for await (const chunk of response.body) body += Buffer.from(chunk).toString()
    const lines = body.split('\n\n').filter((line) => line !== '')
    assert.equal(lines.length, 5)
    assert.match(lines[0] ?? '', /"delta":\{"role":"assistant","content":""\}/)
    assert.match(
      lines[1] ?? '',
      /^data: \{"id":"chatcmpl-scripted-1-1","object":"chat.completion.chunk".*"delta":\{"content":"Hi"\}/,
    )
    assert.match(lines[2] ?? '', /"finish_reason":"stop"/)
    assert.match(lines[3] ?? '', /"choices":\[\],"usage":\{"prompt_tokens":\d+/)
    assert.equal(lines[4], 'data: [DONE]')
  }
  assert.equal(events.getEventListeners(signal, 'abort').length, 0)
})

test('a script is no part of the request that stands for it', async (t) => {
  const { tap } = await play(t, [[{ text: 'Hi' }, { usage: null }], [{ text: 'x'.repeat(100_000) }]])
  assert.ok((tap.attempts()[0]?.input_tokens ?? Infinity) < 1_000)
})

test('many scripted runs without a key do not wait for each other', async (t) => {
  const { port } = openChain(t, { egress: shut })
  const taps = Array.from({ length: 100 }, () => openTap())
  const moves = [{ text: 'Hi' }, { wait_ms: 20 }]
  const runs = taps.map((tap, index) => {
    const runId = `run_${String(index).padStart(26, '0')}` as Ask['runId']
    return port(askOf([scripted([moves])], { runId }), tap, new AbortController().signal)
  })
  await Promise.all(runs)
  assert.ok(taps.every((tap) => tap.told.every(([name]) => name !== 'wait')))
})

// ------------------------------------------------------------------------------------------------ placeholders

const messages: readonly StoredMessage[] = [
  user('[Mon 2026-11-30 12:00 +01:00] Where is 12345?'),
  result('getOrders', { orders: [{ id: 12345, status: 'old' }] }),
  result('getOrders', { orders: [{ id: 12345, status: 'shipped', tags: ['a', 'b'] }], __proto__x: 1 }),
  result('failing', null, { is_error: true, error: 'no', result: { a: 1 } }),
]

test('placeholders are filled from the last user message and the newest result', () => {
  const cases: [string, string][] = [
    ['{{last_user_message}}', 'Where is 12345?'],
    ['It is {{results.getOrders.orders.0.status}}.', 'It is shipped.'],
    ['{{ results.getOrders.orders.0.id }}', '12345'],
    ['{{results.getOrders.orders.0.tags}}', '["a","b"]'],
    [
      '[{{results.getOrders.orders.5.id}}|{{results.getOrders.nothing}}|{{results.unknown}}|{{results.failing.a}}]',
      '[|||]',
    ],
    ['{{results.getOrders.constructor}}{{results.getOrders.orders.length}}', ''],
    ['{{other}} {{ }} {', '{{other}} {{ }} {'],
  ]
  for (const [template, filled] of cases) assert.equal(fillText(template, messages), filled, template)
})

test('what is filled in is not filled again', () => {
  assert.equal(fillText('{{last_user_message}}', [user('{{results.getOrders}}')]), '{{results.getOrders}}')
})

test('an argument that is one placeholder becomes the value itself', () => {
  const args = {
    id: '{{results.getOrders.orders.0.id}}',
    note: 'for {{results.getOrders.orders.0.id}}',
    list: ['{{results.none}}'],
    n: 1,
  }
  assert.deepEqual(fillArgs(args, messages), { id: 12345, note: 'for 12345', list: [''], n: 1 })
})

test('a demo answers from what a tool told it', async (t) => {
  const script = [
    [{ tool_call: { name: 'getOrders', args: { q: '{{last_user_message}}' } } }],
    [{ text: 'It is {{results.getOrders.orders.0.status}}.' }],
  ]
  const first = await play(t, script, { messages: messages.slice(0, 1) })
  assert.ok(first.answer.kind === 'answer')
  const [part] = first.answer.message.parts
  assert.deepEqual(part?.type === 'tool_call' && part.args, { q: 'Where is 12345?' })
  assert.equal(textOf((await play(t, script, { messages, step: 2 })).answer), 'It is shipped.')
})

test('pieces never tear a surrogate pair and lose nothing', () => {
  assert.deepEqual(piecesOf('a🙂b🙂c', 2), ['a🙂', 'b🙂', 'c'])
  assert.deepEqual(piecesOf('', 2), [])
})

// ------------------------------------------------------------------------------------------------ faults

test('a good script has no fault', () => {
  const script: Json = [
    [],
    [{ wait_ms: 1 }, { status: 503, retry_after_s: 0.5, body: null }],
    { attempts: [[{ cut: true }], [{ reasoning: 'hm', chunk: 3, pace_ms: 0 }, { finish: 'stop' }, { silence: true }]] },
    [{ text: '', chunk: null }, { usage: null }, { usage: { input_tokens: 1 } }, { tool_call: { name: 'a' } }],
  ]
  assert.deepEqual(scriptFaults(script), [])
})

test('every fault of a script is told with its path', () => {
  const cases: [Json, string, RegExp][] = [
    ['x', 'script', /must be an array with one entry a step/],
    [[1], 'script[0]', /must be an array of moves, or \{"attempts"/],
    [[{ attempts: [] }], 'script[0]', /must be an array of moves, or/],
    [[{ attempts: [[]], more: 1 }], 'script[0].more', /unknown field/],
    [[{ attempts: ['x'] }], 'script[0].attempts[0]', /must be an array of moves/],
    [[[{}]], 'script[0][0]', /exactly one of "text", "reasoning"/],
    [[[{ text: 'a', cut: true }]], 'script[0][0]', /exactly one of/],
    [[[{ text: 1 }]], 'script[0][0].text', /must be a string; got 1/],
    [[[{ text: 'a', pace: 1 }]], 'script[0][0].pace', /unknown field/],
    [[[{ cut: false }]], 'script[0][0].cut', /must be true/],
    [[[{ status: 200 }]], 'script[0][0].status', /from 300 to 599/],
    [[[{ text: 'a' }, { status: 500 }]], 'script[0][1]', /only "wait_ms" may stand before it/],
    [[[{ cut: true }, { text: 'a' }]], 'script[0][1]', /is never played: "cut" ends the answer/],
    [
      [[{ tool_call: { name: 'a', args: {}, args_text: '{}' } }]],
      'script[0][0].tool_call.args_text',
      /instead of "args"/,
    ],
    [[{ attempts: [[], [{ wait_ms: -1 }]] }], 'script[0].attempts[1][0].wait_ms', /must be a whole number/],
  ]
  for (const [script, path, message] of cases) {
    const [fault, ...others] = scriptFaults(script)
    assert.equal(fault?.path, path, JSON.stringify(script))
    assert.match(fault?.message ?? '', message)
    assert.deepEqual(others, [])
  }
  assert.equal(scriptFaults(Array.from({ length: 200 }, () => 1)).length, 50)
})
