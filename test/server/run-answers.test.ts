/** GET /runs/{id}, cancel and ack: who learns what, when, and in which bytes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ID, OTHER_ID } from './fake-runs.ts'
import { call, ENGINE, errorOf, eventually, post, RUN_TOKEN, startServer } from './start-server.ts'

// No serializer of today would write it so: it can only be passed on.
const RESULT = '{ "text" : "Привет 🙂", "n": 12345678901234567890, "half": "\\ud83d", "__proto__": 1 }'

test('GET tells state, deliveries and the result in its own bytes', async (t) => {
  const { port, runs } = await startServer(t)
  const run = runs.add()
  const running = await call(port, { path: `/runs/${ID}`, headers: ENGINE })
  assert.deepEqual(JSON.parse(running.text), {
    run_id: ID,
    status: 'running',
    started_at: '2026-11-30T12:00:00.000Z',
    deadline_at: '2026-11-30T12:05:00.000Z',
    delivery: { state: 'none', attempts: [], attempts_left_off: 0 },
    result: null,
  })

  runs.end(RESULT, 'failed')
  const attempt = {
    at: '2026-11-30T12:00:01.000Z',
    status: 500,
    content_type: 'text/html',
    fault: 'status' as const,
    error: null,
    duration_ms: 3,
    next_at: null,
  }
  run.view.delivery = { state: 'undelivered', attempts: [attempt], attempts_left_off: 0 }
  const ended = await call(port, { path: `/runs/${ID}`, headers: ENGINE })
  assert.equal(ended.status, 200)
  assert.ok(ended.text.endsWith(`,"result":${RESULT}}`))
  const { status, delivery } = JSON.parse(ended.text)
  assert.deepEqual({ status, delivery }, { status: 'failed', delivery: run.view.delivery })
  assert.equal(ended.headers['content-length'], String(Buffer.byteLength(ended.text)))
})

for (const [method, path] of [
  ['GET', `/runs/${OTHER_ID}`],
  ['POST', `/runs/${OTHER_ID}/cancel`],
  ['POST', `/runs/${OTHER_ID}/ack`],
  ['GET', `/runs/${OTHER_ID}/stream`],
] as const) {
  test(`${method} of an unknown run, ${path.slice(36)}, is 404 run_not_found`, async (t) => {
    const { port } = await startServer(t)
    const answer = await call(port, { method, path, headers: ENGINE })
    assert.deepEqual([answer.status, errorOf(answer).code, errorOf(answer).run_id], [404, 'run_not_found', OTHER_ID])
  })
}

test('CA-09: cancel with an engine token answers when the run has ended, with the whole result', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  let answered = false
  const cancelled = call(port, { method: 'POST', path: `/runs/${ID}/cancel`, headers: ENGINE }).then((answer) => {
    answered = true
    return answer
  })
  await eventually(() => runs.waits.size === 1)
  assert.equal(answered, false)
  runs.end(RESULT, 'cancelled')
  const answer = await cancelled
  assert.deepEqual([answer.status, answer.text], [200, RESULT])
  const { result } = JSON.parse((await call(port, { path: `/runs/${ID}`, headers: ENGINE })).text)
  assert.deepEqual(result, JSON.parse(RESULT))
})

test('cancel with a run token learns the status and nothing of the result', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.onCancel = () => runs.end(RESULT, 'cancelled')
  const answer = await call(port, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}` })
  assert.equal(answer.text, `{"run_id":"${ID}","status":"cancelled"}`)
})

test('cancel of a run that has ended answers the same way', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.end(RESULT, 'completed')
  for (let times = 0; times < 2; times += 1) {
    assert.equal((await call(port, { method: 'POST', path: `/runs/${ID}/cancel`, headers: ENGINE })).text, RESULT)
    const { status } = JSON.parse(
      (await call(port, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}` })).text,
    )
    assert.equal(status, 'completed')
  }
})

const plainPosts = [
  ['no body', undefined, undefined],
  ['an empty text', 'text/plain;charset=UTF-8', ''],
  ['a text, as sendBeacon sends it', 'text/plain;charset=UTF-8', 'bye'],
  ['a form', 'application/x-www-form-urlencoded', 'a=1'],
  ['a multipart form', 'multipart/form-data; boundary=x', '--x--'],
  ['broken JSON', 'application/json', '{'],
  ['a content type that is none', 'nonsense', 'x'],
  ['a body without a type', undefined, 'x'],
] as const
for (const [name, type, body] of plainPosts) {
  test(`cancel and ack take a POST with ${name}`, async (t) => {
    const { port, runs } = await startServer(t)
    runs.add()
    runs.end(RESULT)
    const headers = type === undefined ? {} : { 'content-type': type }
    const cancel = {
      method: 'POST',
      path: `/runs/${ID}/cancel?token=${RUN_TOKEN}`,
      headers,
      ...(body === undefined ? {} : { body }),
    }
    assert.equal((await call(port, cancel)).status, 200)
    assert.equal(
      (await call(port, { ...cancel, path: `/runs/${ID}/ack`, headers: { ...headers, ...ENGINE } })).status,
      200,
    )
  })
}

test('a body that nobody reads is bounded as well', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const answer = await post(port, `/runs/${ID}/cancel`, 'x'.repeat(65_537), ENGINE)
  assert.deepEqual([answer.status, errorOf(answer).code], [413, 'too_large'])
  assert.deepEqual(runs.calls, [])
})

test('a canceller that goes away leaves no wait behind', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const stop = new AbortController()
  const asked = fetch(`http://127.0.0.1:${port}/runs/${ID}/cancel?token=${RUN_TOKEN}`, {
    method: 'POST',
    signal: stop.signal,
  })
  await eventually(() => runs.waits.size === 1)
  stop.abort()
  await assert.rejects(asked)
  await eventually(() => runs.waits.size === 0)
})

test('ID-06: ack of a result is 200, twice as well; of a running run 409', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const ack = () => call(port, { method: 'POST', path: `/runs/${ID}/ack`, headers: ENGINE })
  const early = await ack()
  assert.deepEqual([early.status, errorOf(early).code, errorOf(early).run_id], [409, 'run_active', ID])
  runs.end(RESULT)
  for (let times = 0; times < 2; times += 1) {
    const answer = await ack()
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [200, { run_id: ID, acked: true }])
  }
})
