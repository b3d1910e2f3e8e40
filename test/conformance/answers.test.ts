/** SPEC §2 and §3.5: every answer that POST /runs gives, and what the other endpoints say to callers, right and wrong. */
import assert from 'node:assert/strict'
import net from 'node:net'
import { test } from 'node:test'
import type { ErrorBody } from '../../src/contract/errors.ts'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { behind, says, silent, startProvider } from '../fakes/provider-server.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { gate } from './facts.ts'
import { type Accepted, EngineClient, errorOf, resultText, runBody, user } from './engine-client.ts'
import { send } from './http.ts'
import { sharedEngine } from './shared-engine.ts'

const SECOND_TOKEN = 'engine-SECRET-token-0002'
const engine = sharedEngine({
  ENGINE_TOKEN: `${ENGINE_TOKEN},${SECOND_TOKEN}`,
  MAX_RUNS: '3',
  MAX_BODY_BYTES: '20000',
  CALLBACK_SCHEDULE: '0',
})

test('§3.5 202: a run has begun, with its links and the moment when the safety net looks', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Hello.')])
  const before = Date.now()
  const answer = await client.post(runBody({ llm: provider.llm(), limits: { timeout_ms: 30_000 } }))
  const after = Date.now()
  assert.equal(answer.status, 202)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  assert.equal(answer.headers['cache-control'], 'no-store')
  const accepted = answer.json<Accepted>()
  const { run_id, deadline_at, cancel_url, stream_url, ...rest } = accepted
  assert.deepEqual(rest, { status: 'running', warnings: [] })
  assert.match(run_id, /^run_[0-9A-HJKMNP-TV-Z]{26}$/)
  assert.ok(stream_url.startsWith(`${client.address}/runs/${run_id}/stream?token=`))
  assert.ok(cancel_url.startsWith(`${client.address}/runs/${run_id}/cancel?token=`))
  assert.match(deadline_at, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
  const deadline = Date.parse(deadline_at)
  assert.ok(deadline >= before + 150_000 && deadline <= after + 150_000)
  assert.equal((await client.result(accepted)).text, 'Hello.')
})

test('§3.5 202: warnings name what was accepted but changed', async (t) => {
  const client = await engine.client()
  const headers = { 'X-Shop': '1', 'X-Engine-Secret': 'SECRET', Cookie: 'SECRET' }
  const tool = { name: 'a', url: 'http://127.0.0.1:9/a', headers }
  const receiver = await startReceiver(t)
  const callback = receiver.callback({ 'X-Deadline-Ms': '5', 'Content-Type': 'text/plain' })
  const accepted = await client.start(runBody({ tools: [tool], callback }))
  assert.deepEqual(
    accepted.warnings.map(({ code, path }) => [code, path]),
    [
      ['header_dropped', 'callback.headers.X-Deadline-Ms'],
      ['header_dropped', 'callback.headers.Content-Type'],
      ['header_dropped', 'tools[0].headers.X-Engine-Secret'],
      ['header_dropped', 'tools[0].headers.Cookie'],
    ].toSorted(byPath),
  )
  assert.ok(accepted.warnings.every(({ message }) => !message.includes('SECRET')))
  await receiver.nth(1)
})

const byPath = (left: readonly (string | undefined)[], right: readonly (string | undefined)[]) =>
  String(right[1]).localeCompare(String(left[1]))

test('§3.5 200 repeated: the same request is the same run, while it runs and after it has ended', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('Once.'))])
  const body = runBody({ llm: provider.llm() })
  const first = await client.start(body)
  const during = await client.post(body)
  assert.equal(during.status, 200)
  assert.deepEqual(during.json(), { ...first, repeated: true })
  hold.open()
  await client.result(first)
  const after = await client.post(body)
  assert.equal(after.status, 200)
  assert.deepEqual(after.json(), { ...first, status: 'completed', repeated: true })
  assert.equal(provider.received.length, 1)
})

test('§3.5 200 wait: the body is the result, byte for byte what GET and the callback carry', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Привет 🙂')])
  const receiver = await startReceiver(t)
  const body = runBody({ llm: provider.llm(), callback: receiver.callback() })
  const waited = await client.post({ ...body, wait: true })
  assert.equal(waited.status, 200)
  const result = waited.json<RunResult>()
  assert.equal(result.text, 'Привет 🙂')
  const delivery = await receiver.nth(1)
  assert.equal(delivery.text, `{"payload":${waited.text}}`)
  assert.equal(resultText(await client.send(`/runs/${result.run_id}`)), waited.text)
  // Waiting for a run that has ended is answered at once, and a repeat may begin to wait.
  assert.equal((await client.post({ ...body, wait: true })).text, waited.text)
})

test('§3.5 200 wait: a repeat waits for the run that is going, and each waiter gets the same bytes', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('For both.'))])
  const body = runBody({ llm: provider.llm() })
  const started = await client.start(body)
  const waiting = [client.post({ ...body, wait: true }), client.post({ ...body, wait: true })]
  await provider.nth(1)
  hold.open()
  const [one, other] = await Promise.all(waiting)
  assert.equal(one?.status, 200)
  assert.equal(one?.json<RunResult>().run_id, started.run_id)
  assert.equal(one?.text, other?.text)
})

test('§3.5 CA-07: if the waiting caller goes away, the run goes on', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('Nobody waited.'))])
  const body = runBody({ llm: provider.llm(), meta: { session_id: 'left-alone' } })
  const call = client.openPost({ ...body, wait: true })
  await provider.nth(1)
  const left = assert.rejects(call.answer)
  await call.leave()
  await left
  hold.open()
  const again = await client.post(body)
  const accepted = again.json<Accepted>()
  const result = await client.result(accepted)
  assert.equal(result.text, 'Nobody waited.')
  // It was not read to its end, so it does not count as stored.
  const next = await client.post(runBody({ meta: { session_id: 'left-alone' } }))
  assert.equal(errorOf(next, 409, 'result_pending').run_id, result.run_id)
  await client.ack(result.run_id)
})

test('§3.5 200 wait: without a callback, an answer that was read to its end counts as stored', async () => {
  const client = await engine.client()
  const meta = { session_id: 'read-to-its-end' }
  const first = await client.run(runBody({ meta }))
  assert.equal((await client.view(first.run_id)).delivery.state, 'delivered')
  const second = await client.run(runBody({ meta }))
  assert.notEqual(second.run_id, first.run_id)
})

test('§2.3 400: every fault of a request is told at once, from all its parts', async () => {
  const client = await engine.client()
  const answer = await client.post({
    ...runBody(),
    contract_version: '2',
    history_revision: 'seven',
    llm: { provider: 'acme', model: 'm' },
    limits: { max_steps: 'ten' },
    meta: { timezone: '+05:00' },
    stream: { everything: true },
    messages: [{ role: 'tool', call_id: 'c', tool: 't', result: 1 }],
    tools: [
      { name: 'a', url: 'ftp://x', headers: { 'X-A': 'a\r\nb' }, input_schema: { $ref: 'https://evil.example/s' } },
    ],
  })
  const { details, message } = errorOf(answer, 400, 'invalid_request')
  assert.match(message, /^the request has 10 faults: /)
  assert.deepEqual(details?.map(({ path }) => path).toSorted(), [
    'contract_version',
    'history_revision',
    'limits.max_steps',
    'llm.provider',
    'messages[0].call_id',
    'meta.timezone',
    'stream.everything',
    'tools[0].headers.X-A',
    'tools[0].input_schema/$ref',
    'tools[0].url',
  ])
  assert.equal(answer.json<ErrorBody>().error.run_id, undefined)
})

test('§2.3 400: at most fifty faults are told, and what stands behind them is still only a wrong request', async () => {
  const client = await engine.client()
  const messages = Array.from({ length: 80 }, () => ({ role: 'user', content: 5, created_at: 'never' }))
  const behind: readonly JsonObject[] = [
    {},
    { tools: 5 },
    { tools: [null, 'x', { headers: { 'X-A': 1 }, url: 7, input_schema: 'x' }] },
    { callback: { url: 1, headers: { 'X-A': {} } } },
    { limits: 'x', output: 7, stream: [], system: {} },
    { meta: 'm', wait: 5 },
  ]
  for (const parts of behind) {
    const { details } = errorOf(await client.post({ ...runBody({ messages }), ...parts }), 400, 'invalid_request')
    assert.equal(details?.length, 50)
  }
  const llm = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`unknown${n}`, 1]))
  for (const rest of [{ provider: 7 }, { provider: 'scripted', params: 5, fallbacks: 'x' }, { fallbacks: [null] }]) {
    const { details } = errorOf(await client.post(runBody({ llm: { ...llm, ...rest } })), 400, 'invalid_request')
    assert.equal(details?.length, 50)
  }
})

test('§2.2 401: no token, a wrong one, or another scheme; each accepted token opens the same runs', async () => {
  const client = await engine.client()
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify(runBody())
  const refused = [
    {},
    { authorization: `Bearer ${ENGINE_TOKEN.slice(0, -1)}2x` },
    { authorization: `Bearer ${ENGINE_TOKEN.slice(0, -1)}` },
    { authorization: 'Bearer ' },
    { authorization: ENGINE_TOKEN },
    { authorization: `Basic ${Buffer.from(`:${ENGINE_TOKEN}`).toString('base64')}` },
    { authorization: `Bearer ${ENGINE_TOKEN},${SECOND_TOKEN}` },
  ]
  for (const headers of refused) {
    const url = `${client.address}/runs`
    const answer = await send({ method: 'POST', url, headers: { ...json, ...headers }, body })
    const { message } = errorOf(answer, 401, 'unauthorized')
    assert.doesNotMatch(message, /SECRET/)
    assert.match(String(answer.headers['www-authenticate']), /^Bearer /)
  }
  const unread = await send({ method: 'POST', url: `${client.address}/runs`, headers: json, body: 'x'.repeat(30_000) })
  assert.equal(unread.status, 401)

  const rotated = new EngineClient(client, SECOND_TOKEN)
  const accepted = await rotated.start(runBody())
  assert.equal((await client.result(accepted)).status, 'completed')
  assert.equal((await client.view(accepted.run_id)).run_id, accepted.run_id)
})

test('§2.2 the engine token in a query is none, and a run token opens nothing but its own run’s stream and cancel', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent, silent])
  const one = await client.start(runBody({ llm: provider.llm() }))
  const other = await client.start(runBody({ llm: provider.llm() }))
  const token = new URL(one.stream_url).searchParams.get('token') ?? ''
  const bare = (path: string, method = 'GET') => send({ method, url: `${client.address}${path}` })

  errorOf(await bare(`/runs/${one.run_id}?token=${ENGINE_TOKEN}`), 401, 'unauthorized')
  errorOf(await bare(`/runs/${one.run_id}/stream?token=${ENGINE_TOKEN}`), 403, 'forbidden')
  errorOf(await bare(`/runs/${one.run_id}?token=${token}`), 401, 'unauthorized')
  errorOf(await bare(`/runs/${one.run_id}/ack?token=${token}`, 'POST'), 401, 'unauthorized')
  errorOf(await bare(`/runs/${other.run_id}/stream?token=${token}`), 403, 'forbidden')
  errorOf(await bare(`/runs/${other.run_id}/cancel?token=${token}`, 'POST'), 403, 'forbidden')
  errorOf(await bare(`/runs/${other.run_id}/stream`), 401, 'unauthorized')
  // An unknown run goes before a wrong token.
  errorOf(await bare(`/runs/run_01M8NVRYK2NQ8QRWHDSXEDPFH8/cancel?token=${token}`, 'POST'), 404, 'run_not_found')
  for (const { run_id } of [one, other]) await client.cancel(run_id)
})

test('§2.1 404 and 405: what is not there, and methods that a path does not have', async () => {
  const client = await engine.client()
  for (const path of ['/', '/run', '/runs/', '/v1/runs', '/log', '/provider', '/metric', '/runs/a/b/c', '/%zz']) {
    const { status } = await client.send(path)
    assert.ok(status === 404 || (path === '/%zz' && status === 400), `${path}: ${status}`)
  }
  errorOf(await client.send('/runs/run_1/deliver', { method: 'POST' }), 404, 'not_found')
  for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
    const answer = await client.send('/runs', { method })
    errorOf(answer, 405, 'method_not_allowed')
    assert.equal(answer.headers.allow, 'POST, OPTIONS')
  }
  errorOf(await client.send('/runs/run_1/ack'), 405, 'method_not_allowed')
  errorOf(await client.send('/runs/run_1', { method: 'DELETE' }), 405, 'method_not_allowed')
  for (const path of ['/runs/run_1', '/runs/run_01M8NVRYK2NQ8QRWHDSXEDPFH8', '/runs/..%2F..%2Fetc']) {
    errorOf(await client.send(path), 404, 'run_not_found')
  }
  errorOf(await client.cancel('run_1'), 404, 'run_not_found')
  errorOf(await client.ack('run_1'), 404, 'run_not_found')
})

test('§3.5 409 run_active: a session has one run at a time, and sessions of two tenants are two', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent, silent])
  const meta = { session_id: 'busy', tenant_id: 'shop_1' }
  const going = await client.start(runBody({ llm: provider.llm(), meta }))
  const refused = await client.post(runBody({ meta }))
  assert.equal(errorOf(refused, 409, 'run_active').run_id, going.run_id)
  errorOf(await client.post(runBody({ meta, wait: true })), 409, 'run_active')
  const other = await client.start(runBody({ llm: provider.llm(), meta: { ...meta, tenant_id: 'shop_2' } }))
  await client.cancel(other.run_id)
  await client.cancel(going.run_id)
})

test('§3.5 409 result_pending: the last result must be stored first', async () => {
  const client = await engine.client()
  const meta = { session_id: 'pending' }
  const first = await client.start(runBody({ meta }))
  await client.result(first)
  const refused = await client.post(runBody({ meta }))
  assert.equal(errorOf(refused, 409, 'result_pending').run_id, first.run_id)
  assert.deepEqual((await client.ack(first.run_id)).json(), { run_id: first.run_id, acked: true })
  assert.equal((await client.post(runBody({ meta }))).status, 202)
})

test('§3.5 409 idempotency_conflict: the same key with another body starts nothing', async () => {
  const client = await engine.client()
  const body = runBody()
  const first = await client.start(body)
  const refused = await client.post({ ...body, messages: [user('Something else?')] })
  assert.equal(errorOf(refused, 409, 'idempotency_conflict').run_id, first.run_id)
})

test('§2.3 413: a body beyond MAX_BODY_BYTES, told while it is still being sent', async () => {
  const client = await engine.client()
  const body = JSON.stringify(runBody({ system: 'x'.repeat(30_000) }))
  errorOf(await client.post(body), 413, 'too_large')
  // Far too much of it, in a body that does not say how long it is.
  const chunked = client.openPost('x'.repeat(2_000_000), { 'transfer-encoding': 'chunked' })
  errorOf(await chunked.answer, 413, 'too_large')
})

test('§2.3 415: anything that is not uncompressed JSON in UTF-8', async () => {
  const client = await engine.client()
  const body = JSON.stringify(runBody())
  const headers = [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/json; charset=windows-1251' },
    { 'content-type': 'nonsense' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  ]
  for (const one of headers) errorOf(await client.post(body, one), 415, 'unsupported_media_type')
  const bare = await client.send('/runs', { method: 'POST', body })
  errorOf(bare, 415, 'unsupported_media_type')
  assert.equal((await client.post(body, { 'content-type': 'Application/JSON; charset="UTF-8"' })).status, 202)
})

test('§2.3 JS-04: what is not JSON at all is a 400, also where it nests a hundred thousand deep', async () => {
  const client = await engine.client()
  const bodies = ['', '{', '[1,]', '{"a":1}}', 'null x', '{"a":01}', "{'a':1}", '{"a":NaN}', '"\u0001"']
  for (const body of [...bodies, '['.repeat(19_000), `${'['.repeat(9000)}${']'.repeat(9000)}`]) {
    const answer = await client.post(body)
    const { details } = errorOf(answer, 400, 'invalid_request')
    assert.deepEqual(details ?? [], [], body.slice(0, 20))
  }
  const notUtf8 = client.send('/runs', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: Buffer.from([0x22, 0xff, 0xfe, 0x22]),
  })
  errorOf(await notUtf8, 400, 'invalid_request')
})

test('§2.3 bytes that are no HTTP request are answered like any other wrong request', async () => {
  const client = await engine.client()
  const { port } = new URL(client.address)
  const exchange = async (bytes: string) => {
    const socket = net.connect(Number(port), '127.0.0.1')
    socket.end(bytes)
    let received = ''
    for await (const chunk of socket.setEncoding('utf8')) received += String(chunk)
    const [head = '', body = ''] = received.split('\r\n\r\n')
    const { error } = JSON.parse(body) as ErrorBody
    return [/^HTTP\/1\.1 (\d+)/.exec(head)?.[1], error.code]
  }
  assert.deepEqual(await exchange('rubbish\r\n\r\n'), ['400', 'invalid_request'])
  assert.deepEqual(await exchange(`GET /health HTTP/1.1\r\nhost: a\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`), [
    '431',
    'too_large',
  ])
})

test('§3.5 429 overloaded: with MAX_RUNS runs going nothing is started, and the key is not burnt', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent, silent, silent, says('Now.')])
  const llm = provider.llm()
  const going = await Promise.all([1, 2, 3].map(() => client.start(runBody({ llm }))))
  await provider.nth(3)
  const body = runBody({ llm, meta: { session_id: 'turned-away' } })
  const refused = await client.post(body)
  errorOf(refused, 429, 'overloaded')
  assert.match(String(refused.headers['retry-after']), /^\d+$/)
  errorOf(await client.send('/ready'), 503, 'overloaded')
  const health = (await client.send('/health')).json<{ runs: { running: number } }>()
  assert.equal(health.runs.running, 3)
  assert.equal(provider.received.length, 3)
  for (const { run_id } of going) await client.cancel(run_id)
  assert.equal((await client.run(body)).text, 'Now.')
  assert.equal((await client.send('/ready')).status, 200)
})

test('§12.2 health and ready answer anybody, and say nothing secret', async () => {
  const client = await engine.client()
  const health = await send({ url: `${client.address}/health` })
  const { runs, version, ...rest } = health.json<{ runs: object; version: string }>()
  assert.deepEqual(rest, { status: 'ok', contract_version: '1' })
  assert.match(version, /^\d+\.\d+\.\d+$/)
  assert.deepEqual(Object.keys(runs), ['running', 'queued', 'undelivered'])
  const ready = await send({ url: `${client.address}/ready` })
  assert.deepEqual([ready.status, ready.json()], [200, { status: 'ready' }])
  const document = await send({ url: `${client.address}/openapi.json` })
  const { openapi, paths } = document.json<{ openapi: string; paths: object }>()
  assert.match(openapi, /^3\.1\./)
  assert.deepEqual(Object.keys(paths).toSorted(), [
    '/health',
    '/logs',
    '/metrics',
    '/openapi.json',
    '/providers',
    '/ready',
    '/runs',
    '/runs/{run_id}',
    '/runs/{run_id}/ack',
    '/runs/{run_id}/calls/{call_id}/result',
    '/runs/{run_id}/cancel',
    '/runs/{run_id}/redeliver',
    '/runs/{run_id}/stream',
    '/validate',
  ])
})

test('the engine of this file ended in peace', () => engine.finish())
