/** CORS on the two browser routes, on every status, and nowhere else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Route, routes } from '../../src/server/routes.ts'
import { ID, OTHER_ID } from './fake-runs.ts'
import { type Answer, call, ENGINE, eventually, ORIGIN, readStream, RUN_TOKEN, startServer } from './start-server.ts'

const FOREIGN = [
  'https://evil.example',
  'null',
  'https://APP.example',
  'https://app.example:8443',
  'http://app.example',
  'https://app.example/',
  'https://xapp.example',
  '',
]

function assertCors(answer: Answer, allowed: boolean, what: string): void {
  assert.equal(answer.headers['access-control-allow-origin'], allowed ? ORIGIN : undefined, what)
  assert.equal(answer.headers.vary, allowed ? 'Origin' : undefined, what)
  assert.equal(answer.headers['access-control-allow-credentials'], undefined, what)
}

test('SS-08: an allowed origin is echoed exactly on every status of stream and cancel, any other never', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.append({ event: 'start', data: { run_id: ID } })
  runs.end('{}')
  const big = 'x'.repeat(70_000)
  const asks = [
    [200, { path: `/runs/${ID}/stream?token=${RUN_TOKEN}` }],
    [204, { path: `/runs/${ID}/stream?token=${RUN_TOKEN}&last_event_id=1-1` }],
    [400, { path: `/runs/${ID}/stream?token=${RUN_TOKEN}&format=sse` }],
    [401, { path: `/runs/${ID}/stream` }],
    [403, { path: `/runs/${ID}/stream?token=x` }],
    [404, { path: `/runs/${OTHER_ID}/stream?token=x` }],
    [405, { method: 'DELETE', path: `/runs/${ID}/stream` }],
    [204, { method: 'OPTIONS', path: `/runs/${ID}/stream` }],
    [200, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}` }],
    [401, { method: 'POST', path: `/runs/${ID}/cancel` }],
    [403, { method: 'POST', path: `/runs/${ID}/cancel?token=x` }],
    [404, { method: 'POST', path: `/runs/${OTHER_ID}/cancel?token=x` }],
    [405, { path: `/runs/${ID}/cancel` }],
    [413, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}`, body: big }],
    [204, { method: 'OPTIONS', path: `/runs/${ID}/cancel` }],
    [404, { path: `/runs/${'r'.repeat(2_000)}/stream?token=x` }],
    [400, { path: '/runs/%zz/stream?token=x' }],
    [400, { method: 'POST', path: '/runs/%/cancel?token=x' }],
  ] as const
  for (const [status, ask] of asks) {
    for (const origin of [ORIGIN, ...FOREIGN]) {
      const answer = await call(port, { ...ask, headers: { origin } })
      const what = `${'method' in ask ? ask.method : 'GET'} ${ask.path} from ${origin}`
      assert.equal(answer.status, status, what)
      assert.match(String(answer.headers['cache-control']), /no-store|no-cache/, what)
      assert.equal(answer.headers['x-content-type-options'], 'nosniff', what)
      assertCors(answer, origin === ORIGIN, what)
    }
    assertCors(await call(port, ask), false, 'no origin')
  }
})

test('SS-08: a live stream and a bug carry the headers as well', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const reader = await readStream(port, { headers: { origin: ORIGIN } })
  assert.equal(reader.response.headers['access-control-allow-origin'], ORIGIN)
  assert.equal(reader.response.headers.vary, 'Origin')
  reader.close()
  runs.store.requestCancel = async () => {
    throw new Error('a bug')
  }
  const answer = await call(port, {
    method: 'POST',
    path: `/runs/${ID}/cancel`,
    headers: { ...ENGINE, origin: ORIGIN },
  })
  assert.equal(answer.status, 500)
  assertCors(answer, true, '500')
})

test('SS-08: a cancel that a closing server gives up carries the headers as well', async (t) => {
  for (const origin of [ORIGIN, 'https://evil.example']) {
    const { port, runs, server } = await startServer(t)
    runs.add()
    const answer = call(port, {
      method: 'POST',
      path: `/runs/${ID}/cancel?token=${RUN_TOKEN}`,
      headers: { origin, connection: 'close' },
    })
    await eventually(() => runs.waits.size === 1)
    const closed = server.app.close()
    assert.equal((await answer).status, 503)
    assertCors(await answer, origin === ORIGIN, origin)
    await closed
  }
})

test('a preflight from an allowed origin learns the method and that Last-Event-ID may be sent', async (t) => {
  const { port } = await startServer(t)
  for (const [path, method] of [
    [`/runs/${ID}/stream`, 'GET'],
    [`/runs/${ID}/cancel`, 'POST'],
  ] as const) {
    const headers = {
      origin: ORIGIN,
      'access-control-request-method': method,
      'access-control-request-headers': 'last-event-id',
    }
    const answer = await call(port, { method: 'OPTIONS', path, headers })
    assert.equal(answer.status, 204)
    assert.equal(answer.headers['access-control-allow-methods'], method)
    assert.match(String(answer.headers['access-control-allow-headers']), /last-event-id/)
    const foreign = await call(port, {
      method: 'OPTIONS',
      path,
      headers: { ...headers, origin: 'https://evil.example' },
    })
    assert.equal(foreign.headers['access-control-allow-methods'], undefined)
    assert.equal(foreign.headers['access-control-allow-headers'], undefined)
  }
})

test('the other routes tell no origin anything', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  for (const route of (Object.values(routes) as Route[]).filter(({ browser }) => !browser)) {
    const path = route.path.replace(':run_id', ID).replace(':call_id', 'call_1')
    for (const method of [route.method, 'OPTIONS', 'DELETE']) {
      const answer = await call(port, { method, path, headers: { ...ENGINE, origin: ORIGIN } })
      assertCors(answer, false, `${method} ${path}`)
      assert.equal(answer.headers['access-control-allow-methods'], undefined)
    }
  }
})

test('"null" cannot be allowed, even where a list names it', async (t) => {
  const { port, runs } = await startServer(t, { allowedOrigins: ['null', '*'] })
  runs.add()
  for (const origin of ['null', ORIGIN]) {
    const answer = await call(port, { method: 'OPTIONS', path: `/runs/${ID}/stream`, headers: { origin } })
    assertCors(answer, false, origin)
  }
})
