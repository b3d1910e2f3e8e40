/** POST /runs: every answer of SPEC §3.5, and a waited result. */
import assert from 'node:assert/strict'
import http from 'node:http'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  admitted,
  call,
  ENGINE,
  errorOf,
  eventually,
  JSON_HEADERS,
  post,
  RUN_TOKEN,
  startServer,
} from './start-server.ts'
import { ID } from './fake-runs.ts'

const BODY = { contract_version: '1' }

test('a new run is answered 202 with its addresses, its deadline and what was changed', async (t) => {
  const { port, runs } = await startServer(t)
  const run = runs.add()
  run.view.warnings = [{ code: 'header_dropped', message: 'm', path: 'tools[0]' }]
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 202)
  assert.equal(answer.headers['cache-control'], 'no-store')
  assert.deepEqual(JSON.parse(answer.text), {
    run_id: ID,
    status: 'running',
    stream_url: `https://engine.example/runs/${ID}/stream?token=${RUN_TOKEN}`,
    cancel_url: `https://engine.example/runs/${ID}/cancel?token=${RUN_TOKEN}`,
    deadline_at: '2026-11-30T12:05:00.000Z',
    warnings: run.view.warnings,
  })
})

test('a new run that has ended by the time of its answer is still answered as running', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.end('{}')
  assert.equal(JSON.parse((await post(port, '/runs', BODY)).text).status, 'running')
})

test('ID-03: a repeat is answered 200 with repeated and the final status', async (t) => {
  const { port, runs } = await startServer(t)
  runs.outcome = { kind: 'repeat', runId: ID }
  runs.add()
  assert.deepEqual(JSON.parse((await post(port, '/runs', BODY)).text).status, 'running')
  runs.end('{}', 'stopped_limit')
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 200)
  const { status, repeated } = JSON.parse(answer.text)
  assert.deepEqual({ status, repeated }, { status: 'stopped_limit', repeated: true })
})

test('ID-03: a repeat of a run that is not kept any more is 404 with its id', async (t) => {
  const { port, runs } = await startServer(t)
  runs.outcome = { kind: 'repeat', runId: ID }
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 404)
  assert.deepEqual([errorOf(answer).code, errorOf(answer).run_id], ['run_not_found', ID])
})

const refusals = [
  ['ID-02', 'conflict', 409, 'idempotency_conflict'],
  ['ID-04', 'run_active', 409, 'run_active'],
  ['CB-05', 'result_pending', 409, 'result_pending'],
] as const
for (const [name, kind, status, code] of refusals) {
  test(`${name}: ${kind} is ${status} ${code} with the run's id`, async (t) => {
    const { port, runs } = await startServer(t)
    runs.outcome = { kind, runId: ID }
    const answer = await post(port, '/runs', BODY)
    assert.equal(answer.status, status)
    assert.deepEqual([errorOf(answer).code, errorOf(answer).run_id], [code, ID])
  })
}

test('overloaded is 429 with Retry-After', async (t) => {
  const { port, runs } = await startServer(t)
  runs.outcome = { kind: 'overloaded' }
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 429)
  assert.equal(errorOf(answer).code, 'overloaded')
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
})

test('draining is 503 with Retry-After, before the body is judged', async (t) => {
  const { port, runs, bodies, flags } = await startServer(t)
  flags.draining = true
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 503)
  assert.equal(errorOf(answer).code, 'draining')
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
  assert.deepEqual([bodies, runs.admissions], [[], []])
})

test('a drain that begins while a body is judged starts nothing', async (t) => {
  const draining = { now: false }
  const { port, runs } = await startServer(t, {
    draining: () => draining.now,
    admit: async () => {
      draining.now = true
      return admitted()
    },
  })
  assert.equal((await post(port, '/runs', BODY)).status, 503)
  assert.equal(runs.admissions.length, 0)
})

test('faults are 400 invalid_request with each of them in details, and the first in the message', async (t) => {
  const { port, runs, flags } = await startServer(t)
  const faults = [
    { path: 'messages[3].content[0].text', message: 'must be a string' },
    { path: 'llm.model', message: 'is required' },
  ]
  flags.answer = { kind: 'refused', code: 'invalid_request', faults }
  const answer = await post(port, '/runs', BODY)
  assert.equal(answer.status, 400)
  assert.deepEqual(errorOf(answer).details, faults)
  assert.match(errorOf(answer).message, /2 faults: messages\[3\]\.content\[0\]\.text must be a string/)
  assert.equal(runs.admissions.length, 0)
})

for (const code of ['ticket_mismatch', 'ticket_expired'] as const) {
  test(`a ticket fault keeps its own code, ${code}`, async (t) => {
    const { port, flags } = await startServer(t)
    flags.answer = { kind: 'refused', code, faults: [{ path: 'messages[1].ticket', message: 'no' }] }
    const answer = await post(port, '/runs', BODY)
    assert.deepEqual([answer.status, errorOf(answer).code], [400, code])
  })
}

test('the body reaches admission with every digit of its numbers', async (t) => {
  const { port, bodies, runs } = await startServer(t)
  runs.add()
  await post(port, '/runs', '{"meta":{"n":12345678901234567890,"__proto__":{"x":1}}}')
  assert.equal(JSON.stringify(bodies[0]), '{"meta":{"n":12345678901234567890,"__proto__":{"x":1}}}')
  assert.equal(({} as { x?: number }).x, undefined)
})

const RESULT = '{"text":"Привет 🙂","n":12345678901234567890,"half":"\\ud83d"}'

for (const kind of ['new', 'repeat'] as const) {
  test(`wait: a ${kind} run is answered with the result's own bytes when it ends, and that is its delivery`, async (t) => {
    const { port, runs, flags } = await startServer(t)
    flags.answer = admitted({ wait: true })
    runs.outcome = { kind, runId: ID }
    runs.add()
    const answered = post(port, '/runs', BODY)
    await eventually(() => runs.waits.size === 1)
    runs.end(RESULT)
    const answer = await answered
    assert.equal(answer.status, 200)
    assert.equal(answer.text, RESULT)
    assert.equal(answer.headers['content-length'], String(Buffer.byteLength(RESULT)))
    await eventually(() => runs.calls.length > 0)
    assert.deepEqual(runs.calls, [`delivered ${ID}`])
  })
}

test('wait: with a callback, the written answer is not the delivery', async (t) => {
  const { port, runs, flags } = await startServer(t)
  flags.answer = admitted({ wait: true, callback: { url: 'https://x.example', headers: {} } })
  runs.add()
  runs.end(RESULT)
  assert.equal((await post(port, '/runs', BODY)).text, RESULT)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(runs.calls, [])
})

test('CA-07: a waiting caller that goes away ends neither the run nor counts as its delivery', async (t) => {
  const { port, runs, flags } = await startServer(t)
  flags.answer = admitted({ wait: true })
  runs.add()
  const request = http.request({
    host: '127.0.0.1',
    port,
    path: '/runs',
    method: 'POST',
    headers: JSON_HEADERS,
    agent: false,
  })
  request.on('error', () => {})
  request.end('{}')
  await eventually(() => runs.waits.size === 1)
  request.destroy()
  await eventually(() => runs.waits.size === 0)
  assert.equal(runs.runs.get(ID)?.view.status, 'running')
  runs.end(RESULT)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(runs.calls, [])
})

test('wait: an answer that breaks off half written is not a delivery', async (t) => {
  const { port, runs, flags, server } = await startServer(t)
  flags.answer = admitted({ wait: true })
  runs.add()
  // More than any socket takes at once.
  runs.end(`{"text":"${'x'.repeat(64 * 1024 * 1024)}"}`)
  const request = http.request({
    host: '127.0.0.1',
    port,
    path: '/runs',
    method: 'POST',
    headers: JSON_HEADERS,
    agent: false,
  })
  request.on('error', () => {})
  request.end('{}')
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.on('error', () => {})
  response.pause()
  request.destroy()
  await eventually(() => connections(server) === 0)
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(runs.calls, [])

  function connections(of: typeof server): number {
    return (of.app.server as unknown as { _connections: number })._connections
  }
})

test('wait: when the server closes under it, the caller is told where the run can be asked for', async (t) => {
  const { port, runs, flags, server } = await startServer(t)
  flags.answer = admitted({ wait: true })
  runs.add()
  const answered = post(port, '/runs', BODY)
  await eventually(() => runs.waits.size === 1)
  await server.app.close()
  const answer = await answered
  assert.equal(answer.status, 503)
  assert.deepEqual([errorOf(answer).code, errorOf(answer).run_id], ['draining', ID])
  assert.equal(runs.runs.get(ID)?.view.status, 'running')
})

test('JS-04: a nesting bomb is 400 and the server answers on', async (t) => {
  const { port, bodies } = await startServer(t)
  for (const bomb of [
    '['.repeat(100_000),
    `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`,
    '{"a":'.repeat(100_000),
  ]) {
    const answer = await post(port, '/runs', bomb)
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_request'])
  }
  assert.equal((await call(port, { path: '/health' })).status, 200)
  assert.deepEqual(bodies, [])
})

const badBodies = [
  ['empty', '', /empty/],
  ['not JSON', '{"a":', /not valid JSON/],
  ['no UTF-8', Uint8Array.of(0x22, 0xff, 0x22), /UTF-8/],
  ['a cut UTF-8 character', Buffer.from('"é"').subarray(0, 2), /UTF-8/],
] as const
for (const [name, body, message] of badBodies) {
  test(`a body that is ${name} is 400 and says so, without quoting it`, async (t) => {
    const { port, bodies } = await startServer(t)
    const answer = await call(port, { method: 'POST', path: '/runs', headers: JSON_HEADERS, body })
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_request'])
    assert.match(errorOf(answer).message, message)
    assert.deepEqual(bodies, [])
  })
}

test('a broken body never comes back in the message', async (t) => {
  const { port } = await startServer(t)
  const answer = await post(port, '/runs', '{"api_key":"sk-SECRET" oops')
  assert.ok(!answer.text.includes('SECRET'), answer.text)
})

test('a POST without any body is 400', async (t) => {
  const { port } = await startServer(t)
  assert.equal((await call(port, { method: 'POST', path: '/runs', headers: ENGINE })).status, 400)
})

for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"']) {
  test(`the content type ${type} is JSON`, async (t) => {
    const { port, runs, bodies } = await startServer(t)
    runs.add()
    assert.equal((await post(port, '/runs', '{"a":1}', { ...ENGINE, 'content-type': type })).status, 202)
    assert.deepEqual(bodies, [{ a: 1 }])
  })
}

const badTypes = [
  { 'content-type': 'text/plain' },
  { 'content-type': 'application/x-www-form-urlencoded' },
  { 'content-type': 'application/jsonp' },
  { 'content-type': 'application/vnd.x+json' },
  { 'content-type': 'text/json' },
  { 'content-type': 'application/json; charset=utf-16' },
  { 'content-type': 'application/json; charset=windows-1251' },
  { 'content-type': 'nonsense' },
  { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  {},
]
for (const headers of badTypes) {
  test(`a body with ${JSON.stringify(headers)} is 415`, async (t) => {
    const { port, bodies } = await startServer(t)
    const answer = await post(port, '/runs', '{"a":1}', { ...ENGINE, ...headers })
    assert.deepEqual([answer.status, errorOf(answer).code], [415, 'unsupported_media_type'])
    assert.deepEqual(bodies, [])
  })
}

test('a body beyond MAX_BODY_BYTES is 413, counted while it is read, and the caller gets to read that', async (t) => {
  const { port, runs, bodies } = await startServer(t, { maxBodyBytes: 1_000 })
  runs.add()
  const fits = `{"a":"${'x'.repeat(1_000 - 8)}"}`
  assert.equal((await post(port, '/runs', fits)).status, 202)
  bodies.length = 0
  const lengths = { ...JSON_HEADERS, 'content-length': 1_001 }
  const chunked = { ...JSON_HEADERS, 'transfer-encoding': 'chunked' }
  for (const [body, headers] of [
    [`${fits} `, lengths],
    [`${fits} `, chunked],
    ['x'.repeat(20_000_000), chunked],
  ] as const) {
    const answer = await call(port, { method: 'POST', path: '/runs', headers, body })
    assert.deepEqual([answer.status, errorOf(answer).code], [413, 'too_large'])
    assert.match(errorOf(answer).message, /1000 bytes/)
  }
  assert.deepEqual(bodies, [])
})

test('a bug is 500 without details, and logged with its stack and without the request', async (t) => {
  const { port, logged } = await startServer(t, {
    admit: async () => {
      throw new Error('the secret reason')
    },
  })
  const answer = await post(port, '/runs', { api_key: 'sk-1' })
  assert.deepEqual([answer.status, errorOf(answer).code], [500, 'internal'])
  assert.ok(!answer.text.includes('secret reason'))
  assert.equal(logged.length, 1)
  assert.match(String(logged[0]?.facts['stack']), /the secret reason[\s\S]*start-run\.test\.ts/)
  assert.ok(!JSON.stringify(logged).includes('engine-token'))
})
