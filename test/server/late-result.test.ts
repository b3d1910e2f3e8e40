/** POST /runs/{id}/calls/{call_id}/result: the door for late results. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callToken, runToken } from '../../src/runs/run-token.ts'
import { resultUrl } from '../../src/runs/run-links.ts'
import { ID } from './fake-runs.ts'
import { call, ENGINE, errorOf, post, startServer, TOKENS } from './start-server.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const path = (token: string) => `/runs/${ID}/calls/call_1/result?token=${token}`
const TOKEN = callToken(TOKENS, ID, 'call_1')

test('a late result reaches its call as it was sent, through the address a tool was given', async (t) => {
  const { port, late } = await startServer(t)
  const url = new URL(resultUrl({ publicUrl: 'https://engine.example', tokens: TOKENS, runId: ID }, 'call_1'))
  for (const body of [
    '{"status":"ok","result":{"n":12345678901234567890}}',
    '{"status":"error","error":"no such order"}',
  ]) {
    const answer = await post(port, url.pathname + url.search, body, JSON_TYPE)
    assert.deepEqual([answer.status, answer.text], [200, '{"status":"recorded"}'])
    const [runId, callId, result] = late.recorded.at(-1) ?? []
    assert.deepEqual([runId, callId, JSON.stringify(result)], [ID, 'call_1', body])
  }
})

test('a result that a tool leaves out is null, late as well as at once', async (t) => {
  const { port, late } = await startServer(t)
  const answer = await post(port, path(TOKEN), '{"status":"ok"}', JSON_TYPE)
  assert.deepEqual([answer.status, answer.text], [200, '{"status":"recorded"}'])
  assert.deepEqual(late.recorded, [[ID, 'call_1', { status: 'ok', result: null }]])
})

for (const [outcome, status, code] of [
  ['already_recorded', 200, null],
  ['closed', 410, 'call_closed'],
  ['unknown', 410, 'call_closed'],
] as const) {
  test(`${outcome} is ${status}`, async (t) => {
    const { port, late } = await startServer(t)
    late.outcome = outcome
    const answer = await post(port, path(TOKEN), { status: 'ok', result: 1 }, JSON_TYPE)
    assert.equal(answer.status, status)
    if (code === null) assert.equal(answer.text, `{"status":"${outcome}"}`)
    else assert.equal(errorOf(answer).code, code)
  })
}

test('only the token of just this call opens the door, before the body is read', async (t) => {
  const { port, late } = await startServer(t)
  for (const token of [
    '',
    'x',
    runToken(TOKENS, ID),
    callToken(TOKENS, ID, 'call_2'),
    callToken(TOKENS, 'run_2', 'call_1'),
  ]) {
    const answer = await post(port, path(token), 'not JSON', JSON_TYPE)
    assert.deepEqual([answer.status, errorOf(answer).code], [403, 'forbidden'])
  }
  const engine = await call(port, {
    method: 'POST',
    path: `/runs/${ID}/calls/call_1/result`,
    headers: { ...ENGINE, ...JSON_TYPE },
    body: '{}',
  })
  assert.deepEqual([engine.status, errorOf(engine).code], [401, 'unauthorized'])
  assert.match(engine.text, /the token of its call alone/, 'and not that the engine token is none')
  assert.deepEqual(late.recorded, [])
})

for (const body of [
  '{}',
  '[]',
  '{"status":"deferred","operation_id":"o"}',
  '{"status":"accepted"}',
  '{"status":"OK","result":1}',
  '{"result":1}',
  '{"status":"error","error":""}',
  '{"status":"error","error":1}',
]) {
  test(`${body} is no late result: 400 with the path`, async (t) => {
    const { port, late } = await startServer(t)
    const answer = await post(port, path(TOKEN), body, JSON_TYPE)
    assert.deepEqual([answer.status, errorOf(answer).code], [400, 'invalid_request'])
    assert.ok((errorOf(answer).details?.length ?? 0) > 0)
    assert.deepEqual(late.recorded, [])
  })
}

test('a late result that is no JSON, too large or of another type is 400, 413, 415', async (t) => {
  const { port, late } = await startServer(t, { maxBodyBytes: 100 })
  assert.equal((await post(port, path(TOKEN), '{', JSON_TYPE)).status, 400)
  assert.equal((await post(port, path(TOKEN), 'x'.repeat(101), JSON_TYPE)).status, 413)
  assert.equal((await post(port, path(TOKEN), '{}', { 'content-type': 'text/plain' })).status, 415)
  assert.deepEqual(late.recorded, [])
})
