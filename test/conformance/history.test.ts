/** SPEC §4: what one run returned, the next one takes, whichever provider answers; and what a provider is shown of a history. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { asksFor, says, silent, startProvider, type Dialect, type Play } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { runBody, user, type EngineClient } from './engine-client.ts'
import { chatRequest, contentText, messagesRequest, type Block } from './provider-request.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

/** As a harness stores it: through a database, so through JSON. */
const stored = ({ messages }: RunResult) => JSON.parse(JSON.stringify(messages)) as JsonObject[]

/** One turn with reasoning, words beside two calls, and an answer. */
const toolTurn = (answer: string): Play[] => [
  (model) => {
    model.reasoning('Two orders.')
    model.text('I will look. ')
    model.call('getOrders', { id: 1 })
    model.call('getOrders', { id: 2 })
    model.finish()
  },
  says(answer),
]

test('§4 a conversation of four turns, each run given what the runs before returned', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ({ body }) => ok({ id: body.args['id'] ?? null }) })
  const provider = await startProvider(t, [...toolTurn('One.'), says('Two.'), ...toolTurn('Three.'), says('Four.')])
  const given = { llm: provider.llm(), tools: [tools.tool('getOrders')], meta: { session_id: 'four-turns' } }
  let history: JsonObject[] = []
  for (const [turn, words] of ['One.', 'Two.', 'Three.', 'Four.'].entries()) {
    history = [...history, user(`Question ${turn + 1}`)]
    const result = await client.run(runBody({ ...given, messages: history }))
    assert.deepEqual([result.status, result.text], ['completed', words])
    assert.deepEqual(
      result.messages.map(({ run_id, seq }) => [run_id, seq]),
      result.messages.map((_, seq) => [result.run_id, seq]),
    )
    history = [...history, ...stored(result)]
  }
  // §8.7: what was sent once is sent again, byte for byte, and only added to.
  const prefixes = provider.received.map((request) => JSON.stringify(chatRequest(request).messages).slice(0, -1))
  for (const [n, longer] of prefixes.slice(1).entries())
    assert.ok(longer.startsWith(prefixes[n] ?? '?'), `request ${n + 2}`)
  const tooled = provider.received.map((request) => JSON.stringify(chatRequest(request).tools))
  assert.equal(new Set(tooled).size, 1)
})

const SHAPE = { 'openai-chat': 'anthropic', anthropic: 'openai-chat' } as const

async function turnsWith(
  client: EngineClient,
  runs: readonly [llm: JsonObject, question: string][],
  tools: JsonObject[],
) {
  let history: JsonObject[] = []
  const results: RunResult[] = []
  for (const [llm, question] of runs) {
    history = [...history, user(question)]
    const result = await client.run(runBody({ llm, tools, messages: history }))
    assert.equal(result.status, 'completed', JSON.stringify(result.error))
    results.push(result)
    history = [...history, ...stored(result)]
  }
  return results
}

for (const first of ['openai-chat', 'anthropic'] satisfies Dialect[]) {
  test(`§4.2 a conversation goes from ${first} to ${SHAPE[first]} and back: own reasoning and ids return, foreign ones never do`, async (t) => {
    const client = await engine.client()
    const tools = await startTools(t, { getOrders: ok({ state: 'shipped' }) })
    const home = await startProvider(t, [...toolTurn('At home.'), says('Home again.')], first)
    const away = await startProvider(t, toolTurn('Away.'), SHAPE[first])
    const results = await turnsWith(
      client,
      [
        [home.llm(), 'First?'],
        [away.llm(), 'Second?'],
        [home.llm(), 'Third?'],
      ],
      [tools.tool('getOrders')],
    )
    assert.deepEqual(
      results.map(({ text }) => text),
      ['At home.', 'Away.', 'Home again.'],
    )

    const [abroad, returned] = [(await away.nth(1)).text, (await home.nth(3)).text]
    for (const text of [abroad, returned]) {
      assert.ok(text.includes('I will look. ') && text.includes('At home.'))
      assert.ok(!text.includes('provider_data') && !text.includes('run_id'))
    }
    assert.ok(!abroad.includes('Two orders.'), 'foreign reasoning is never sent, not even as text')
    assert.ok(!abroad.includes('-own') && !abroad.includes('_own_'), 'foreign ids are replaced')
    // Back at home its own reasoning and ids are there once, those of the other are not.
    assert.equal(returned.split('Two orders.').length - 1, 1)
    assert.ok(returned.includes('Away.'))
    const own = first === 'anthropic' ? 'toolu_own_0' : 'tool-0-own'
    const foreign = first === 'anthropic' ? 'tool-0-own' : 'toolu_own_0'
    assert.ok(returned.includes(own) && !returned.includes(foreign))
    if (first === 'anthropic') assert.ok(returned.includes('"signature":"c2lnbmVk"'))
  })
}

test('§4.4 HI-03, HI-14: results stand in the order of their calls, and in one message where a provider wants that', async (t) => {
  const client = await engine.client()
  const call = (n: number) => ({ type: 'tool_call', call_id: `c${n}`, tool: 'getOrders', args: { n } })
  const result = (n: number) => ({ role: 'tool', call_id: `c${n}`, tool: 'getOrders', result: n })
  const messages = [
    user('Three?'),
    { role: 'assistant', content: [call(1), call(2), call(3)] },
    result(3),
    { role: 'tool', call_id: 'c1', tool: 'getOrders', is_error: true, error: 'superseded' },
    result(2),
    user('And now?'),
  ]
  const chat = await startProvider(t, [says('Yes.')])
  await client.run(runBody({ llm: chat.llm(), messages }))
  const shown = chatRequest(await chat.nth(1)).messages
  assert.deepEqual(
    shown.map(({ role }) => role),
    ['system', 'user', 'assistant', 'tool', 'tool', 'tool', 'user'],
  )
  assert.deepEqual(
    shown.filter(({ role }) => role === 'tool').map(({ content }) => content),
    ['{"error":"superseded"}', '{"result":2}', '{"result":3}'],
  )
  const calls = shown[2]?.tool_calls?.map(({ id }) => id)
  assert.deepEqual(
    shown.filter(({ role }) => role === 'tool').map(({ tool_call_id }) => tool_call_id),
    calls,
  )

  const claude = await startProvider(t, [says('Yes.')], 'anthropic')
  await client.run(runBody({ llm: claude.llm(), messages }))
  const [, asked, answered, ...rest] = messagesRequest(await claude.nth(1)).messages
  assert.deepEqual(rest, [])
  const uses = asked?.content.map(({ id }) => id)
  const types = (blocks: readonly Block[] | undefined) => blocks?.map(({ type }) => type)
  assert.deepEqual(types(answered?.content), ['tool_result', 'tool_result', 'tool_result', 'text'])
  assert.deepEqual(
    answered?.content.slice(0, 3).map(({ tool_use_id }) => tool_use_id),
    uses,
  )
})

test('§4.2 HI-06: thoughts between calls go back whole, in their places and byte for byte, and stand so in the result', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const thinks = { type: 'thinking', thinking: 'Zuerst – 🙂\n', signature: 'RXFRQkNn+/part one==' }
  const blocks: readonly (readonly [block: JsonObject, deltas: readonly JsonObject[]])[] = [
    [
      { type: 'thinking', thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking: 'Zuerst ' },
        { type: 'thinking_delta', thinking: '– 🙂\n' },
        { type: 'signature_delta', signature: 'RXFRQkNn' },
        { type: 'signature_delta', signature: '+/part one==' },
      ],
    ],
    [{ type: 'redacted_thinking', data: 'ZW5jcnlwdGVk/+==' }, []],
    [
      { type: 'tool_use', id: 'toolu_1', name: 'getOrders', input: {} },
      [{ type: 'input_json_delta', partial_json: '{"n":1}' }],
    ],
    [{ type: 'thinking', thinking: '', signature: '' }, [{ type: 'signature_delta', signature: 'b25seSBzaWduZWQ=' }]],
    [
      { type: 'tool_use', id: 'toolu_2', name: 'getOrders', input: {} },
      [{ type: 'input_json_delta', partial_json: '{"n":2}' }],
    ],
  ]
  const event = (type: string, data: JsonObject) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
  const provider = await startProvider(
    t,
    [
      (answer) => {
        for (const [index, [content_block, deltas]] of blocks.entries()) {
          answer.raw(event('content_block_start', { index, content_block }))
          for (const delta of deltas) answer.raw(event('content_block_delta', { index, delta }))
          answer.raw(event('content_block_stop', { index }))
        }
        answer.raw(event('message_delta', { delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }))
        answer.raw(event('message_stop', {}))
      },
      says('Two.'),
      says('Still two.'),
    ],
    'anthropic',
  )
  const given = { llm: provider.llm(), tools: [tools.tool('getOrders')] }
  const first = await client.run(runBody({ ...given, messages: [user('How many?')] }))
  const whole = [
    thinks,
    { type: 'redacted_thinking', data: 'ZW5jcnlwdGVk/+==' },
    { type: 'tool_use', id: 'toolu_1', name: 'getOrders', input: { n: 1 } },
    { type: 'thinking', thinking: '', signature: 'b25seSBzaWduZWQ=' },
    { type: 'tool_use', id: 'toolu_2', name: 'getOrders', input: { n: 2 } },
  ]
  const sentBack = async (n: number) =>
    messagesRequest(await provider.nth(n)).messages.find(({ role }) => role === 'assistant')?.content
  assert.deepEqual(await sentBack(2), whole)
  // And so does what the harness has stored of it, on its next turn.
  await client.run(runBody({ ...given, messages: [user('How many?'), ...stored(first), user('Sure?')] }))
  assert.deepEqual(await sentBack(3), whole)
})

test('§4.5 a user message is shown with its own time in meta.timezone, the same on every turn', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('a'), says('b')])
  const at = (text: string, created_at: string) => ({ ...user(text), created_at })
  const messages = [
    at('Winter?', '2026-03-29T00:30:00.000Z'),
    { role: 'assistant', content: [{ type: 'text', text: 'So.' }] },
  ]
  const later = [...messages, at('Summer?', '2026-03-29T03:30:00+02:00')]
  await client.run(
    runBody({ llm: provider.llm(), messages: later, meta: { timezone: 'Europe/London' }, system: 'Be brief.' }),
  )
  await client.run(runBody({ llm: provider.llm(), messages: later }))
  const [london, utc] = provider.received.map((request) => chatRequest(request).messages)
  assert.deepEqual(
    london?.filter(({ role }) => role === 'user').map(({ content }) => content),
    ['[Sun 2026-03-29 00:30 +00:00] Winter?', '[Sun 2026-03-29 02:30 +01:00] Summer?'],
  )
  assert.equal(contentText(utc?.at(-1)), '[Sun 2026-03-29 01:30 +00:00] Summer?')
  assert.match(contentText(london?.[0]), /^Be brief\.\n\n.*Europe\/London/s)
})

test('§4.5 TZ-01: midnight is 00, the day is that of the zone, and both are the same on the next turn', async (t) => {
  const client = await engine.client()
  const zones: Readonly<Record<string, readonly [midnight: string, before: string, after: string]>> = {
    'Europe/London': ['Sun 2026-03-29 23:05 +01:00', 'Sun 2026-03-29 00:59 +00:00', 'Sun 2026-03-29 02:00 +01:00'],
    'Europe/Berlin': ['Mon 2026-03-30 00:05 +02:00', 'Sun 2026-03-29 01:59 +01:00', 'Sun 2026-03-29 03:00 +02:00'],
    'Asia/Kathmandu': ['Mon 2026-03-30 03:50 +05:45', 'Sun 2026-03-29 06:44 +05:45', 'Sun 2026-03-29 06:45 +05:45'],
    'Pacific/Apia': ['Mon 2026-03-30 11:05 +13:00', 'Sun 2026-03-29 13:59 +13:00', 'Sun 2026-03-29 14:00 +13:00'],
    'Australia/Lord_Howe': [
      'Mon 2026-03-30 09:05 +11:00',
      'Sun 2026-03-29 11:59 +11:00',
      'Sun 2026-03-29 12:00 +11:00',
    ],
  }
  const at = (text: string, created_at: string) => ({ ...user(text), created_at })
  const reply = { role: 'assistant', content: [{ type: 'text', text: 'So.' }] }
  const first = [at('b', '2026-03-29T00:59:59.999Z'), reply, at('a', '2026-03-29T01:00:00Z'), reply]
  const turns = [[...first, at('m', '2026-03-29T22:05:00Z')]]
  turns.push([...(turns[0] ?? []), reply, at('later', '2026-11-30T12:00:00Z')])
  for (const [timezone, [midnight, before, after]] of Object.entries(zones)) {
    const provider = await startProvider(t, [says('a'), says('b')])
    for (const messages of turns) await client.run(runBody({ llm: provider.llm(), messages, meta: { timezone } }))
    const seen = provider.received.map((request) => chatRequest(request).messages.slice(0, 6))
    const users = seen[0]?.filter(({ role }) => role === 'user').map(({ content }) => content)
    assert.deepEqual(users, [`[${before}] b`, `[${after}] a`, `[${midnight}] m`], timezone)
    assert.deepEqual(seen[1], seen[0], timezone)
  }
})

test('§4.4 HI-13: a part that a model cannot take becomes a short text, with a warning', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('I cannot see.')])
  const file = { type: 'file', data: 'JVBERi0xLjQ=', mime_type: 'application/pdf', name: 'label.pdf' }
  const image = { type: 'image', url: 'https://shop.example/label.png', mime_type: 'image/png' }
  const content = [{ type: 'text', text: 'Read these.' }, file, image]
  const result = await client.run(runBody({ llm: provider.llm(), messages: [{ ...user(''), content }] }))
  assert.deepEqual(
    result.warnings.map(({ code, path }) => [code, path]),
    [['part_replaced', 'messages[0].content[1]']],
  )
  const { text } = await provider.nth(1)
  assert.ok(
    !text.includes('JVBERi0xLjQ=') &&
      text.includes('application/pdf') &&
      text.includes('https://shop.example/label.png'),
  )
})

test('§4.4 HI-09: blank parts are left out and lone surrogates replaced, on the way only', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Yes.')], 'anthropic')
  const content = [
    { type: 'text', text: '  ' },
    { type: 'text', text: 'half \ud83d of it' },
    { type: 'text', text: '' },
  ]
  const result = await client.run(runBody({ llm: provider.llm(), messages: [{ ...user(''), content }] }))
  assert.equal(result.status, 'completed')
  const request = await provider.nth(1)
  const [message] = messagesRequest(request).messages
  assert.ok(JSON.stringify(message).includes('half \ufffd of it'))
  assert.ok(message?.content.every(({ text }) => text?.trim() !== ''))
})

test('§4.1 HI-15: a call whose arguments were no JSON stays in history as {} with its text, and goes on', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', '{"id": 1,,}']), says('Sorry.'), says('Better.')])
  const given = { llm: provider.llm(), tools: [tools.tool('getOrders')] }
  const first = await client.run(runBody({ ...given, messages: [user('One?')] }))
  const [message] = first.messages
  const part = message?.role === 'assistant' ? message.content[0] : undefined
  assert.deepEqual(part?.type === 'tool_call' && [part.args, part.args_text], [{}, '{"id": 1,,}'])
  const next = await client.run(runBody({ ...given, messages: [user('One?'), ...stored(first), user('Two?')] }))
  assert.equal(next.text, 'Better.')
  assert.equal(tools.calls.length, 0)
})

test('§4.4 however a run ends, its messages and the next question are a history again', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, {
    getOrders: ok(1),
    slow: () => {},
    later: { status: 'deferred', operation_id: 'op' },
  })
  const offered = ['getOrders', 'slow', 'later'].map((name) => tools.tool(name, { timeout_ms: 60_000 }))
  const ends: readonly [string, Play[], JsonObject, boolean][] = [
    ['stopped_limit', [asksFor(['getOrders', {}]), says('Enough.')], { limits: { max_steps: 1 } }, false],
    [
      'stopped_limit',
      [asksFor(['getOrders', { n: 1 }], ['getOrders', { n: 2 }])],
      { limits: { max_tool_calls: 1, final_answer: false } },
      false,
    ],
    ['stopped_limit', [(answer) => answer.text('Half')], { limits: { timeout_ms: 150 } }, false],
    ['stopped_limit', [asksFor(['slow', {}], ['getOrders', {}]), silent], { limits: { timeout_ms: 400 } }, false],
    ['failed', [asksFor(['getOrders', {}], ['nothing', {}]), (answer) => answer.status(401)], {}, false],
    ['completed', [says(), says()], {}, false],
    ['cancelled', [asksFor(['slow', {}], ['getOrders', {}])], {}, true],
    ['awaiting_tool', [asksFor(['later', {}], ['getOrders', {}], ['nothing', {}])], {}, false],
  ]
  for (const [status, plays, parts, cancel] of ends) {
    const provider = await startProvider(t, plays)
    const question = user('Well?')
    const before = tools.calls.length
    const accepted = await client.start(
      runBody({ llm: provider.llm(), tools: offered, messages: [question], ...parts }),
    )
    if (cancel) {
      await tools.nth(before + 2)
      await client.cancel(accepted.run_id)
    }
    const result = await client.result(accepted)
    assert.equal(result.status, status)
    const closing = result.pending.map(({ call_id, tool }) => ({
      role: 'tool',
      call_id,
      tool,
      is_error: true,
      error: 'superseded',
    }))
    const messages = [question, ...stored(result), ...closing, user('And now?')]
    for (const dialect of ['openai-chat', 'anthropic'] satisfies Dialect[]) {
      const next = await startProvider(t, [says('Go on.')], dialect)
      const going = await client.run(runBody({ llm: next.llm(), tools: offered, messages }))
      assert.equal(going.text, 'Go on.', `${status} → ${dialect}`)
    }
  }
})

test('the engine of this file ended in peace', () => engine.finish())
