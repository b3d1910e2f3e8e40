/** /health and /ready. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, errorOf, startServer } from './start-server.ts'

test('health tells versions and how many runs there are, to anybody', async (t) => {
  const { port, runs, flags } = await startServer(t)
  runs.running = 2
  const answer = await call(port, { path: '/health' })
  assert.equal(answer.status, 200)
  const expected = {
    status: 'ok',
    version: '9.9.9',
    contract_version: '1',
    runs: { running: 2, queued: 3, undelivered: 0 },
  }
  assert.deepEqual(JSON.parse(answer.text), expected)
  flags.draining = true
  const draining = await call(port, { path: '/health' })
  assert.deepEqual([draining.status, JSON.parse(draining.text).status], [200, 'draining'])
})

test('SE-03: health holds no secret', async (t) => {
  const { port } = await startServer(t)
  assert.doesNotMatch((await call(port, { path: '/health' })).text, /engine-token/)
})

test('ready is 200, and 503 with Retry-After while overloaded or draining', async (t) => {
  const { port, runs, flags } = await startServer(t, { maxRuns: 2 })
  runs.running = 1
  assert.deepEqual((await call(port, { path: '/ready' })).text, '{"status":"ready"}')
  runs.running = 2
  const overloaded = await call(port, { path: '/ready' })
  assert.deepEqual([overloaded.status, errorOf(overloaded).code], [503, 'overloaded'])
  flags.draining = true
  const draining = await call(port, { path: '/ready' })
  assert.deepEqual([draining.status, errorOf(draining).code], [503, 'draining'])
  assert.match(String(draining.headers['retry-after']), /^\d+$/)
})
