/** A process with too much to do (SPEC §12.2): POST /runs is turned down before its body is read, everything else goes on. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test, type TestContext } from 'node:test'
import { ID } from './fake-runs.ts'
import { call, ENGINE, errorOf, JSON_HEADERS, post, startServer, type Answer } from './start-server.ts'

type Reason = 'memory' | 'event_loop' | null

async function overloaded(t: TestContext) {
  const load: { reason: Reason } = { reason: null }
  const started = await startServer(t, { maxRuns: 100, overload: () => load.reason })
  started.runs.add()
  started.runs.running = 1
  return { ...started, load }
}

function assertTurnedDown(answer: Answer, status: number, says: RegExp): void {
  assert.equal(answer.status, status)
  assert.equal(errorOf(answer).code, 'overloaded')
  assert.match(errorOf(answer).message, says)
  assert.match(String(answer.headers['retry-after']), /^[1-9]\d*$/)
}

for (const [reason, says] of [
  ['memory', /short of memory/],
  ['event_loop', /too much to do/],
] as const) {
  test(`an overload of ${reason} is a 429 for POST /runs and a 503 of /ready, and ends with it`, async (t) => {
    const { port, load, bodies, runs } = await overloaded(t)
    assert.equal((await post(port, '/runs', {})).status, 202)
    load.reason = reason
    assertTurnedDown(await post(port, '/runs', {}), 429, says)
    assertTurnedDown(await call(port, { path: '/ready' }), 503, says)
    assert.equal(bodies.length, 1)
    // With no run going one is taken all the same.
    runs.running = 0
    assert.equal((await call(port, { path: '/ready' })).status, 200)
    assert.equal((await post(port, '/runs', {})).status, 202)
    runs.running = 1
    load.reason = null
    assert.equal((await post(port, '/runs', {})).status, 202)
    assert.equal((await call(port, { path: '/ready' })).status, 200)
  })
}

test('reads, acks, cancels and the rest are answered while overloaded', async (t) => {
  const { port, load, runs } = await overloaded(t)
  runs.end('{}')
  load.reason = 'memory'
  const path = `/runs/${ID}`
  for (const [method, at] of [
    ['GET', path],
    ['POST', `${path}/ack`],
    ['POST', `${path}/cancel`],
    ['GET', '/health'],
    ['GET', '/logs'],
    ['GET', '/providers'],
  ] as const) {
    const answer = await call(port, { method, path: at, headers: ENGINE })
    assert.ok(answer.status < 300, `${method} ${at}: ${answer.status} ${answer.text}`)
  }
  assert.equal((await post(port, '/validate', {})).status, 200)
  // Who may not come in at all is told that first.
  assert.equal((await post(port, '/runs', {}, { ...JSON_HEADERS, authorization: 'Bearer wrong' })).status, 401)
})

test('a large body is not read to be turned down', async (t) => {
  const { port, load } = await overloaded(t)
  load.reason = 'memory'
  const socket = net.connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  const head = ['POST /runs HTTP/1.1', 'host: engine', `authorization: ${ENGINE.authorization}`]
  socket.write(`${[...head, 'content-type: application/json', 'content-length: 1000000'].join('\r\n')}\r\n\r\n{`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  assert.match(answer.toString('utf8'), /^HTTP\/1\.1 429 /)
})
