/**
 * Named ways for an agent loop to go wrong, each with the very bytes that a model or a tool sent: from the wire through the whole
 * engine to what the model is told next. What single parts make of them stands in their own tests.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { runBody, user } from '../conformance/engine-client.ts'
import { sharedEngine } from '../conformance/shared-engine.ts'
import { asksFor, says, startProvider, type Play, type ProviderServer } from '../fakes/provider-server.ts'
import { ok, startTools, type ToolAnswering, type ToolServer } from '../fakes/tool-server.ts'

const engine = sharedEngine({})

interface Seen {
  readonly result: RunResult
  readonly provider: ProviderServer
  readonly tools: ToolServer
}

/** A run at a model that plays this, with one tool for each answer. */
async function run(
  t: TestContext,
  plays: readonly Play[],
  answers: Readonly<Record<string, ToolAnswering>>,
  parts: JsonObject = {},
): Promise<Seen> {
  const client = await engine.client()
  const provider = await startProvider(t, plays)
  const tools = await startTools(t, answers)
  const declared = Object.keys(answers).map((name) => tools.tool(name))
  const result = await client.run(runBody({ llm: provider.llm(), tools: declared, ...parts }))
  return { result, provider, tools }
}

const statuses = ({ result }: Seen) => result.tool_calls.map(({ status }) => status)
const errors = ({ result }: Seen) =>
  result.messages.flatMap((message) => (message.role === 'tool' ? [message.error ?? ''] : []))

/** The last request is the one without tools; what the run says is its answer. */
async function assertTakenAway({ provider, result }: Seen, requests: number): Promise<void> {
  assert.equal(provider.received.length, requests)
  assert.equal(JSON.parse((await provider.nth(requests)).text).tool_choice, 'none')
  assert.deepEqual([result.status, result.text], ['completed', 'I stop here.'])
  assert.deepEqual(
    result.warnings.map(({ code }) => code),
    ['loop_protection'],
  )
}

const stop = says('I stop here.')

for (const [what, args] of [
  ['no JSON', 'file_path=foo'],
  ['half an object', '{"a":"b"'],
  ['two objects glued', '{"q":"A"}{"q":"B"}'],
  ['an object in braces of its own', '{{"a":1}}'],
] as const) {
  test(`LC-07, LC-09, PS-08: arguments that are ${what} reach no tool, and the model is told with a quote`, async (t) => {
    const seen = await run(t, [asksFor(['save', args]), says('Sorry.')], { save: ok(1) })
    assert.deepEqual(statuses(seen), ['invalid'])
    assert.equal(seen.tools.calls.length, 0)
    const [error = ''] = errors(seen)
    assert.match(error, /not valid JSON; nothing was executed/)
    assert.ok(error.includes(JSON.stringify(args)), error)
    // What goes back of the call is an object, whatever came.
    const { messages } = JSON.parse((await seen.provider.nth(2)).text)
    assert.equal(messages.at(-2).tool_calls[0].function.arguments, '{}')
  })
}

for (const [args, sent] of [
  ['"{\\"city\\":\\"Rome\\"}"', { city: 'Rome' }],
  ['', {}],
  [' \n', {}],
  ['{"city":"Rome"},', { city: 'Rome' }],
  ['{"city":"Rome"}<|im_end|>', { city: 'Rome' }],
] as const) {
  test(`LC-08, LC-09, PS-07: ${JSON.stringify(args)} loses nothing by being read as an object`, async (t) => {
    const seen = await run(t, [asksFor(['weather', args]), says('Fine.')], { weather: ok('sun') })
    assert.deepEqual(
      seen.tools.calls.map(({ body }) => body.args),
      [sent],
    )
  })
}

for (const args of ['[]', 'null', '42', '"Rome"', '"[1]"', '"\\"{}\\""']) {
  test(`LC-08: ${args} is no object and reaches no tool`, async (t) => {
    const seen = await run(t, [asksFor(['weather', args]), says('Sorry.')], { weather: ok('sun') })
    assert.deepEqual(statuses(seen), ['invalid'])
    assert.equal(seen.tools.calls.length, 0)
    assert.match(errors(seen)[0] ?? '', /must be one JSON object; nothing was executed/)
  })
}

test('LC-10: invalid calls of every kind are one kind: three steps of them in a row end it before max_steps', async (t) => {
  const plays = [asksFor(['weather', '{{"a":1}}']), asksFor(['wether', {}]), asksFor(['weather', { city: 1 }]), stop]
  const schema = { type: 'object', properties: { city: { type: 'string' } } }
  const client = await engine.client()
  const provider = await startProvider(t, plays)
  const tools = await startTools(t, { weather: ok('sun') })
  const weather = tools.tool('weather', { input_schema: schema })
  const result = await client.run(runBody({ llm: provider.llm(), tools: [weather] }))
  const seen = { result, provider, tools }
  assert.deepEqual(statuses(seen), ['invalid', 'invalid', 'invalid'])
  await assertTakenAway(seen, 4)
})

test('LC-10: calls that are refused and calls that are invalid, in turn, are no progress and end it before max_steps', async (t) => {
  const [orders, nobody] = [asksFor(['orders', {}]), asksFor(['nobody', {}])]
  const seen = await run(t, [orders, orders, nobody, orders, nobody, orders, stop], { orders: ok(1) })
  assert.deepEqual(statuses(seen), ['ok', 'ok', 'invalid', 'refused', 'invalid', 'refused'])
  await assertTakenAway(seen, 7)
})

test('LC-01, LC-18: the same call in other words, with an answer that always changes, is sent eight times and no more', async (t) => {
  const written = [
    '{"a":1,"b":2}',
    '{"b":2,"a":1}',
    ' { "b" : 2.0 , "a" : 1 } ',
    '{"a":1e0,"b":20e-1}',
    '{"a":9,"a":1,"b":2}',
  ]
  let now = 0
  const seen = await run(
    t,
    [...Array.from({ length: 10 }, (_, n) => asksFor(['orders', written[n % written.length] ?? ''])), stop],
    { orders: () => ok({ now: (now += 1) }) },
  )
  assert.deepEqual(statuses(seen), [...Array.from({ length: 8 }, () => 'ok'), 'refused', 'refused'])
  assert.equal(new Set(seen.tools.calls.map(({ headers }) => headers['idempotency-key'])).size, 1)
  await assertTakenAway(seen, 11)
})

for (const period of [2, 3]) {
  test(`LC-18: two rounds of the same ${period} calls with the same results take the tools away`, async (t) => {
    const plays = Array.from({ length: 2 * period }, (_, n) => asksFor(['orders', { of: n % period }]))
    const seen = await run(t, [...plays, stop], { orders: ({ body }) => ok(body.args['of'] ?? null) })
    await assertTakenAway(seen, 2 * period + 1)
  })
}

test('LC-18: pages with ever new arguments, and a poll until it is done, are let through', async (t) => {
  const pages = Array.from({ length: 5 }, (_, page) => asksFor(['list', { page }], ['poll', { id: 1 }]))
  let percent = 0
  const seen = await run(t, [...pages, stop], { list: ok(['the same row']), poll: () => ok(`${(percent += 20)}%`) })
  assert.deepEqual(new Set(statuses(seen)), new Set(['ok']))
  assert.deepEqual([seen.result.warnings, seen.result.text], [[], 'I stop here.'])
})

test('LC-14: of 200 calls in one answer 32 are sent, and each of the 200 is answered', async (t) => {
  const many = asksFor(...Array.from({ length: 200 }, (_, n): readonly [string, JsonObject] => ['orders', { n }]))
  const seen = await run(t, [many, says('Enough.')], { orders: ok(1) }, { limits: { max_tool_calls: 100 } })
  assert.equal(seen.tools.calls.length, 32)
  assert.deepEqual(statuses(seen).slice(31, 33), ['ok', 'refused'])
  const { messages } = JSON.parse((await seen.provider.nth(2)).text)
  const asked = messages.flatMap((one: JsonObject) => (one['tool_calls'] as JsonObject[] | undefined) ?? [])
  const answered = messages.filter((one: JsonObject) => one['role'] === 'tool')
  assert.equal(asked.length, 200)
  assert.deepEqual(
    answered.map((one: JsonObject) => one['tool_call_id']),
    asked.map(({ id }: JsonObject) => id),
  )
})

test('JS-05, JS-02: what was checked is what is sent, of two equal keys the last, and keys of prototypes as data', async (t) => {
  const args = '{"amount":10,"amount":9999,"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}'
  const seen = await run(t, [asksFor(['pay', args]), says('Done.')], {
    pay: '{"status":"ok","result":{"__proto__":{"z":1}}}',
  })
  const [call] = seen.tools.calls
  assert.ok(
    call?.text.includes('"args":{"amount":9999,"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}'),
  )
  assert.match((await seen.provider.nth(2)).text, /__proto__\\+":\{\\+"z\\+":1\}/)
  assert.equal(Object.hasOwn(Object.prototype, 'x') || Object.hasOwn(Object.prototype, 'z'), false)
})

test('JS-02: keys of prototypes are data in meta and params too, and a tool may have such a name', async (t) => {
  const client = await engine.client()
  const odd = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}'
  const provider = await startProvider(t, [asksFor(['__proto__', '{}'], ['constructor', odd]), says('Done.')])
  const tools = await startTools(t, { ['__proto__']: ok(1), constructor: ok(2) })
  const declared = ['__proto__', 'constructor'].map((name) => tools.tool(name))
  const body = JSON.stringify(runBody({ llm: provider.llm(), tools: declared, meta: {}, wait: true }))
    .replace('"meta":{}', `"meta":${odd}`)
    .replace('"api_key"', `"params":{"extra":${odd}},"api_key"`)
  const answer = await client.post(body)
  assert.equal(answer.status, 200, answer.text)
  const result = answer.json<RunResult>()
  assert.deepEqual([result.status, result.tool_calls.map(({ status }) => status)], ['completed', ['ok', 'ok']])
  assert.ok(answer.text.includes(`"meta":${odd}`))
  assert.deepEqual(tools.calls.map(({ tool }) => tool).toSorted(), ['__proto__', 'constructor'])
  assert.ok(tools.calls.every(({ text }) => text.includes(`"meta":${odd}`)))
  assert.ok(tools.calls.some(({ text }) => text.includes(`"args":${odd}`)))
  assert.ok((await provider.nth(1)).text.includes(odd.slice(1, -1)))
})

test('JS-02: a pattern that others take for ever over is judged at once', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [asksFor(['find', { id: `${'a'.repeat(40)}b` }]), says('No.')])
  const tools = await startTools(t, { find: ok(1) })
  const input_schema = { type: 'object', properties: { id: { type: 'string', pattern: '(a+)+$' } } }
  const started = performance.now()
  const tool = tools.tool('find', { input_schema })
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tool] }))
  assert.deepEqual(
    result.tool_calls.map(({ status }) => status),
    ['invalid'],
  )
  assert.ok(performance.now() - started < 5000)
})

test('JS-04: bombs of brackets, in bodies, arguments and results, keep no other run from its end', async (t) => {
  const client = await engine.client()
  const nested = (depth: number) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)
  const provider = await startProvider(t, [
    asksFor(['find', nested(20_000)], ['find', nested(101)], ['find', nested(90)], ['deep', {}]),
    says('Still here.'),
  ])
  const tools = await startTools(t, { find: ok(1), deep: `{"status":"ok","result":${nested(20_000)}}` })
  // It leads back into itself, as far as the arguments go.
  const input_schema = { type: 'object', properties: { a: { anyOf: [{ $ref: '#' }, { type: 'integer' }] } } }
  const bombs = ['['.repeat(100_000), '['.repeat(100_000) + ']'.repeat(100_000), '{"a":'.repeat(1_000_000)]
  const posts = bombs.map((bomb) => client.post(bomb))
  const declared = [tools.tool('find', { input_schema }), tools.tool('deep')]
  const result = await client.run(runBody({ llm: provider.llm(), tools: declared }))
  for (const post of posts) assert.equal((await post).status, 400)
  assert.deepEqual([result.status, result.text], ['completed', 'Still here.'])
  assert.deepEqual(
    result.tool_calls.map(({ status }) => status),
    ['invalid', 'invalid', 'ok', 'error'],
  )
})

test('JS-05: of a write tool too, what was checked is what is sent and what is asked approval for', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [asksFor(['pay', '{"amount":9999,"amount":10}'])])
  const tools = await startTools(t, { pay: { status: 'deferred', operation_id: 'op_1' } })
  const input_schema = { type: 'object', properties: { amount: { type: 'integer', maximum: 10 } } }
  const tool = tools.tool('pay', { effect: 'write', input_schema })
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tool] }))
  assert.equal(result.status, 'awaiting_tool')
  const [call] = tools.calls
  assert.ok(call !== undefined && call.text.includes('"args":{"amount":10},'))
  const hash = `sha256:${createHash('sha256').update('{"amount":10}').digest('hex')}`
  assert.deepEqual([call.body.args_hash, result.pending[0]?.args_hash], [hash, hash])
  assert.match(JSON.stringify(result.messages), /"args":\{"amount":10\}/)
})

test('CA-02, HI-16: of two calls that wait both must be answered, each once, whatever their order', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    asksFor(['save', { n: 1 }], ['fail', {}], ['save', { n: 2 }]),
    says('Both are done.'),
  ])
  const tools = await startTools(t, {
    save: { status: 'deferred', operation_id: 'op' },
    fail: { status: 'error', error: 'no' },
  })
  const given = { llm: provider.llm(), tools: [tools.tool('save', { effect: 'write' }), tools.tool('fail')] }
  const result = await client.run(runBody(given))
  assert.deepEqual([result.status, result.pending.length], ['awaiting_tool', 2])
  const [first, second] = result.pending.map(({ call_id, ticket, tool }) => ({
    role: 'tool',
    call_id,
    tool,
    result: 'approved',
    ticket,
  }))
  assert.ok(first !== undefined && second !== undefined)
  const history = [user('Where is order 12345?'), ...(result.messages as unknown as JsonObject[])]
  const post = (...more: readonly JsonObject[]) =>
    client.post({ ...runBody(given), messages: [...history, ...more], wait: true })
  assert.equal((await post(first)).status, 400)
  assert.equal((await post(first, second, first)).status, 400)
  assert.equal((await post(first, user('And?'), second)).status, 400)
  assert.equal(
    (await post({ ...first, ticket: second.ticket }, second)).json<{ error: JsonObject }>().error['code'],
    'ticket_mismatch',
  )
  const gone = await post(second, first)
  assert.equal(gone.status, 200, gone.text)
  const { messages } = JSON.parse((await provider.nth(2)).text)
  const ids = messages.flatMap((one: JsonObject) =>
    ((one['tool_calls'] as JsonObject[] | undefined) ?? []).map(({ id }) => id),
  )
  assert.deepEqual(
    messages.flatMap((one: JsonObject) => (one['role'] === 'tool' ? [one['tool_call_id']] : [])),
    ids,
  )
})
