/** SPEC §3.7, failures ID: one key, one run, however often and however close together its request comes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { asksFor, behind, inHalves, refuses, says, silent, startProvider } from '../fakes/provider-server.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { startTools } from '../fakes/tool-server.ts'
import { EngineClient, errorOf, runBody, user, type Accepted } from './engine-client.ts'
import { gate } from './facts.ts'
import { endInPeace, ownEngine, sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

test('§3.7 fifty equal requests at once start one run', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('Once.'))])
  const body = runBody({ llm: provider.llm(), meta: { session_id: 'fifty' } })
  const answers = await Promise.all(Array.from({ length: 50 }, () => client.post(body)))
  assert.equal(answers.filter(({ status }) => status === 202).length, 1)
  assert.equal(answers.filter(({ status }) => status === 200).length, 49)
  const accepted = answers.map((answer) => answer.json<Accepted>())
  assert.equal(new Set(accepted.map(({ run_id }) => run_id)).size, 1)
  assert.equal(accepted.filter(({ repeated }) => repeated === true).length, 49)
  hold.open()
  const waited = await Promise.all(Array.from({ length: 10 }, () => client.post({ ...body, wait: true })))
  assert.equal(new Set(waited.map(({ text }) => text)).size, 1)
  assert.equal(provider.received.length, 1)
})

/** The same value with the keys of every object the other way round. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => turned(item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value as JsonObject).map(([key, item]): [string, Json] => [key, turned(item)])
  return Object.fromEntries(entries.toReversed())
}

test('ID-02 the order of keys, white space and the way numbers are written make no difference', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const body = runBody({ llm: provider.llm(), meta: { price: 1.5, n: 100, text: 'ä' } })
  const first = await client.start(body)
  const text = JSON.stringify(body, null, 2)
  for (const same of [
    text,
    JSON.stringify(turned(body)),
    // By their names: a port or a key made at random may hold the same digits.
    text.replace('"price": 1.5', '"price": 1.50').replace('"n": 100', '"n": 1e2'),
    text.replace('ä', '\\u00e4'),
  ]) {
    const answer = await client.post(same)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json<Accepted>().run_id, first.run_id)
  }
  await client.cancel(first.run_id)
})

test('§3.7 wait, keys and header values may differ; everything else makes a conflict', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const tools = await startTools(t, { a: 1 })
  const tool = tools.tool('a', { headers: { Authorization: 'Bearer one' } })
  const fallbacks = [provider.llm({ api_key: 'sk-SECRET-1' })]
  const receiver = await startReceiver(t)
  const callback = receiver.callback({ 'X-A': '1' })
  const llm = provider.llm({ fallbacks })
  const body = runBody({ llm, tools: [tool], callback, meta: { tenant_id: 'shop_1' } })
  const first = await client.start(body)

  const same: JsonObject[] = [
    { wait: false },
    { llm: { ...llm, api_key: 'sk-SECRET-rotated' } },
    { llm: { ...llm, fallbacks: [provider.llm({ api_key: 'sk-SECRET-2' })] } },
    { tools: [{ ...tool, headers: { Authorization: 'Bearer two', 'X-New': '1' } }] },
    { callback: { ...callback, headers: {} } },
  ]
  for (const parts of same) {
    const answer = await client.post({ ...body, ...parts })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json<Accepted>().run_id, first.run_id)
  }
  const other: JsonObject[] = [
    { messages: [user('Another question?')] },
    { llm: { ...llm, model: 'another' } },
    { tools: [tools.tool('b', { ...tool, url: `${client.address}/b` })] },
    { tools: [] },
    { system: '' },
    { origin_request_id: null },
    { history_revision: 1 },
    { callback: null },
    { meta: { tenant_id: 'shop_1', user_id: null } },
  ]
  for (const parts of other) {
    const answer = await client.post({ ...body, ...parts })
    assert.equal(errorOf(answer, 409, 'idempotency_conflict').run_id, first.run_id)
  }
  await client.cancel(first.run_id)
  assert.equal(provider.received.length, 1)
})

test('ID-02 the scope of a key is its tenant, not its session', async () => {
  const client = await engine.client()
  const body = runBody({ meta: { tenant_id: 'shop_1', session_id: 's' } })
  const first = await client.start(body)
  const second = await client.start({ ...body, meta: { tenant_id: 'shop_2', session_id: 's' } })
  const third = await client.start({ ...body, meta: { session_id: 's' } })
  assert.equal(new Set([first, second, third].map(({ run_id }) => run_id)).size, 3)
  errorOf(
    await client.post({ ...body, meta: { tenant_id: 'shop_1', session_id: 'other' } }),
    409,
    'idempotency_conflict',
  )
})

test('ID-03 a key after the end, after a failure and after an ack gives the run it began, with its status', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Done.'), refuses(401)])
  for (const status of ['completed', 'failed']) {
    const body = runBody({ llm: provider.llm(), meta: { session_id: `after-${status}` } })
    const accepted = await client.start(body)
    const result = await client.result(accepted)
    assert.equal(result.status, status)
    const repeat = await client.post(body)
    assert.deepEqual([repeat.status, repeat.json<Accepted>().status], [200, status])
    await client.ack(accepted.run_id)
    const acked = await client.post(body)
    assert.deepEqual(acked.json(), { ...accepted, status, repeated: true })
    const waited = await client.post({ ...body, wait: true })
    assert.deepEqual(waited.json(), result)
  }
  assert.equal(provider.received.length, 2)
})

test('ID-03 a request that was refused has not burnt its key', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Now.')])
  const body = runBody({ llm: provider.llm(), meta: { session_id: 'refused-first' } })
  errorOf(await client.post({ ...body, limits: { max_steps: -1 } }), 400, 'invalid_request')
  errorOf(await client.post({ ...body, messages: [] }), 400, 'invalid_request')
  errorOf(await client.post(JSON.stringify(body), { 'content-type': 'text/plain' }), 415, 'unsupported_media_type')
  const holder = await client.start(runBody({ meta: { session_id: 'refused-first' } }))
  await client.result(holder)
  errorOf(await client.post(body), 409, 'result_pending')
  await client.ack(holder.run_id)
  assert.equal((await client.run(body)).text, 'Now.')
})

test('ID-05 however a run ends, its session is locked until it is stored, and free then; a late provider takes nothing back', async (t) => {
  const client = await engine.client()
  const late = gate()
  const provider = await startProvider(t, [inHalves('Half of', late.opened, ' it.')])
  const refusing = await startProvider(t, [refuses(401)])
  const asking = await startProvider(t, [asksFor(['later', {}])])
  const tools = await startTools(t, { later: { status: 'deferred', operation_id: 'op_1' } })
  const ways: readonly (readonly [string, JsonObject])[] = [
    ['completed', {}],
    ['failed', { llm: refusing.llm() }],
    ['awaiting_tool', { llm: asking.llm(), tools: [tools.tool('later')] }],
    ['stopped_limit', { llm: provider.llm(), limits: { timeout_ms: 200 } }],
  ]
  for (const [status, parts] of ways) {
    const meta = { session_id: `ends-${status}` }
    const accepted = await client.start(runBody({ ...parts, meta }))
    assert.equal((await client.result(accepted)).status, status)
    assert.equal(errorOf(await client.post(runBody({ meta })), 409, 'result_pending').run_id, accepted.run_id)
    assert.equal((await client.ack(accepted.run_id)).status, 200)
    const next = await client.start(runBody({ llm: (await startProvider(t, [silent])).llm(), meta }))
    // What the provider of the first still says is nobody's business.
    if (status === 'stopped_limit') late.open()
    assert.equal(errorOf(await client.post(runBody({ meta })), 409, 'run_active').run_id, next.run_id)
    await client.cancel(next.run_id)
    await client.ack(next.run_id)
    await client.run(runBody({ meta }))
  }
})

test('ID-04 ten different requests of one session at once: one run, nine are told which', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const meta = { session_id: 'ten-at-once' }
  const bodies = Array.from({ length: 10 }, () => runBody({ llm: provider.llm(), meta }))
  const answers = await Promise.all(bodies.map((body) => client.post(body)))
  const [started, ...more] = answers.filter(({ status }) => status === 202)
  assert.ok(started !== undefined && more.length === 0)
  const { run_id } = started.json<Accepted>()
  for (const answer of answers) {
    if (answer.status !== 202) assert.equal(errorOf(answer, 409, 'run_active').run_id, run_id)
  }
  assert.equal((await client.view(run_id)).status, 'running')
  await client.cancel(run_id)
  assert.equal(provider.received.length, 1)
})

test('§3.7 a repeat is looked at before the session’s lock', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const body = runBody({ llm: provider.llm(), meta: { session_id: 'repeat-while-locked' } })
  const first = await client.start(body)
  assert.equal((await client.post(body)).status, 200)
  errorOf(await client.post({ ...body, system: 'other' }), 409, 'idempotency_conflict')
  await client.cancel(first.run_id)
})

test('§7.3 a key outlives its result: 404, and no second run', async (t) => {
  const own = await ownEngine(t, { MAX_RESULTS: '2' })
  const client = new EngineClient(own)
  const provider = await startProvider(t, [says('Forgotten.')])
  const body = runBody({ llm: provider.llm() })
  const first = await client.run(body)
  // Beyond MAX_RESULTS the oldest stored result goes first.
  for (let n = 0; n < 3; n += 1) await client.run(runBody())
  errorOf(await client.send(`/runs/${first.run_id}`), 404, 'run_not_found')
  errorOf(await client.post(body), 404, 'run_not_found')
  errorOf(await client.post({ ...body, wait: true }), 404, 'run_not_found')
  errorOf(await client.ack(first.run_id), 404, 'run_not_found')
  assert.equal(provider.received.length, 1)
  await endInPeace(own)
})

test('§7.3 also with the smallest MAX_RESULTS a result that nobody has is not the one that goes', async (t) => {
  const own = await ownEngine(t, { MAX_RESULTS: '1' })
  const client = new EngineClient(own)
  const stored = await client.run(runBody())
  const kept = await client.start(runBody())
  assert.equal((await client.result(kept)).status, 'completed')
  errorOf(await client.send(`/runs/${stored.run_id}`), 404, 'run_not_found')
  await endInPeace(own)
})

test('the engine of this file ended in peace', () => engine.finish())
