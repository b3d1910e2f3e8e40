/** What holds for every route: who gets in, wrong paths and methods, bad bytes, time limits, closing. */
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import http from 'node:http'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'
import { test, type TestContext } from 'node:test'
import { callToken, runToken } from '../../src/runs/run-token.ts'
import { bearerToken, engineTokenCheck } from '../../src/server/auth.ts'
import { methodsOf, type Route, routes } from '../../src/server/routes.ts'
import { ID, OTHER_ID } from './fake-runs.ts'
import {
  admitted,
  call,
  ENGINE,
  errorOf,
  eventually,
  post,
  rawExchange,
  readStream,
  RUN_TOKEN,
  startServer,
  TOKENS,
} from './start-server.ts'

const pathOf = (route: Route) => route.path.replace(':run_id', ID).replace(':call_id', 'call_1')
const all = Object.entries(routes) as [string, Route][]

for (const [name, route] of all.filter(([, { access }]) => access !== 'open')) {
  test(`${name} without a token, or with a wrong one, is 401 and says how to authenticate`, async (t) => {
    const { port, runs } = await startServer(t)
    runs.add()
    for (const authorization of [
      undefined,
      'Bearer wrong',
      'Bearer engine-token-',
      'Basic engine-token-1',
      'engine-token-1',
      'Bearer',
    ]) {
      const headers = { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }
      const answer = await call(port, {
        method: route.method,
        path: pathOf(route),
        headers,
        ...(route.method === 'POST' ? { body: '{}' } : {}),
      })
      assert.deepEqual([answer.status, errorOf(answer).code], [401, 'unauthorized'], String(authorization))
      const error = authorization?.startsWith('Bearer ') === true ? ', error="invalid_token"' : ''
      assert.equal(answer.headers['www-authenticate'], `Bearer realm="theloop"${error}`)
    }
    assert.deepEqual([runs.calls, runs.admissions], [[], []])
  })
}

test('every engine token is accepted, so that they can be rotated, and the scheme ignores case', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  for (const authorization of [
    'Bearer engine-token-1',
    'Bearer engine-token-2',
    'bearer engine-token-1',
    'BEARER  engine-token-2 ',
  ]) {
    assert.equal((await call(port, { path: `/runs/${ID}`, headers: { authorization } })).status, 200)
  }
})

test('a run token opens stream and cancel and nothing else', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.end('{}')
  for (const [, route] of all.filter(([, { access }]) => access !== 'open')) {
    const answer = await call(port, { method: route.method, path: `${pathOf(route)}?token=${RUN_TOKEN}` })
    const expected = route.access === 'run' ? 200 : route.access === 'call' ? 403 : 401
    assert.equal(answer.status, expected, route.path)
  }
})

for (const route of [routes.streamRun, routes.cancelRun] as const) {
  test(`${route.path}: a wrong run token is 403, an unknown run 404, whatever the token`, async (t) => {
    const { port, runs } = await startServer(t)
    runs.add()
    const ask = (id: string, token: string) => {
      return call(port, { method: route.method, path: `${route.path.replace(':run_id', id)}?token=${token}` })
    }
    for (const token of [
      'x',
      '',
      `${RUN_TOKEN}x`,
      runToken(TOKENS, OTHER_ID),
      runToken(['other'], ID),
      callToken(TOKENS, ID, 'call_1'),
    ]) {
      const answer = await ask(ID, token)
      assert.deepEqual([answer.status, errorOf(answer).code], [403, 'forbidden'], token)
    }
    for (const token of ['x', runToken(TOKENS, OTHER_ID)]) {
      const answer = await ask(OTHER_ID, token)
      assert.deepEqual([answer.status, errorOf(answer).code], [404, 'run_not_found'])
    }
    // Two tokens are none.
    assert.equal((await ask(ID, `${RUN_TOKEN}&token=${RUN_TOKEN}`)).status, 401)
    assert.deepEqual(runs.calls, [])
  })
}

test('SE-04: engine tokens are compared as hashes, in constant time, all of them every time', (t) => {
  const compare = t.mock.method(crypto, 'timingSafeEqual')
  syncBuiltinESMExports()
  t.after(() => {
    compare.mock.restore()
    syncBuiltinESMExports()
  })
  const isEngineToken = engineTokenCheck(['first', 'second', 'third'])
  for (const token of ['first', 'second', 'third', '', 'f', 'firs', 'first ', 'FIRST', 'fourth', 'x'.repeat(100_000)]) {
    compare.mock.resetCalls()
    assert.equal(isEngineToken(token), ['first', 'second', 'third'].includes(token))
    assert.equal(compare.mock.callCount(), 3)
    for (const { arguments: sides } of compare.mock.calls) for (const side of sides) assert.equal(side.byteLength, 32)
  }
})

test('a bearer token is what stands alone behind the scheme', () => {
  assert.equal(bearerToken('Bearer abc'), 'abc')
  for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Bearer a b', 'Bearerabc', ' Bearer abc', 'Token abc']) {
    assert.equal(bearerToken(header), null, header)
  }
})

test('SE-04, SE-02: no token, right or wrong, and no URL is logged, whatever the answer', async (t) => {
  const { port, runs, logged } = await startServer(t, {
    events: {
      read: async () => {
        throw new Error('a bug')
      },
    },
  })
  runs.add()
  const written: string[] = []
  t.mock.method(process.stdout, 'write', (text: string) => written.push(text) > 0)
  t.mock.method(process.stderr, 'write', (text: string) => written.push(text) > 0)
  await call(port, { path: `/runs/${ID}`, headers: { authorization: 'Bearer engine-token-X' } })
  await call(port, { path: `/runs/${ID}/stream?token=stale-token` })
  assert.equal((await call(port, { path: `/runs/${ID}/stream?token=${RUN_TOKEN}` })).status, 500)
  t.mock.restoreAll()
  assert.equal(logged.length, 1)
  for (const text of [JSON.stringify(logged), ...written]) {
    assert.doesNotMatch(text, new RegExp(`engine-token|stale-token|${RUN_TOKEN}`))
  }
})

test('a path nobody has is 404 not_found', async (t) => {
  const { port } = await startServer(t)
  for (const path of ['/', '/nothing', `/runs/${ID}/nothing`, `/runs/${ID}/calls/c`, '/metric']) {
    for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE']) {
      const answer = await call(port, { method, path, headers: ENGINE })
      assert.deepEqual([answer.status, errorOf(answer).code], [404, 'not_found'], `${method} ${path}`)
    }
  }
})

test('a run without an id is a run nobody knows', async (t) => {
  const { port } = await startServer(t)
  for (const [method, path] of [
    ['GET', '/runs/'],
    ['POST', '/runs//cancel'],
  ] as const) {
    const answer = await call(port, { method, path, headers: ENGINE })
    assert.deepEqual([answer.status, errorOf(answer).code], [404, 'run_not_found'])
  }
})

test('a method a path does not have is 405 with Allow, on every path', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  for (const [, route] of all) {
    const allow = methodsOf([route])
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'QUERY']) {
      if (allow.includes(method)) continue
      const answer = await call(port, {
        method,
        path: `${pathOf(route)}?token=x`,
        headers: { 'content-type': 'text/plain' },
      })
      assert.deepEqual([answer.status, errorOf(answer).code], [405, 'method_not_allowed'], `${method} ${route.path}`)
      assert.equal(answer.headers['allow'], allow.join(', '))
    }
  }
})

test('HEAD answers as GET does, without a body; a stream has none', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const answer = await call(port, { method: 'HEAD', path: `/runs/${ID}`, headers: ENGINE })
  assert.deepEqual([answer.status, answer.text], [200, ''])
  assert.equal((await call(port, { method: 'HEAD', path: `/runs/${ID}` })).status, 401)
  const stream = await call(port, { method: 'HEAD', path: `/runs/${ID}/stream?token=${RUN_TOKEN}` })
  assert.deepEqual([stream.status, stream.headers['allow']], [405, 'GET, OPTIONS'])
})

test('HTTP/1.0 needs no Host, and a caller that expects 100-continue is told to go on', async (t) => {
  const { port } = await startServer(t)
  assert.match(await rawExchange(port, 'GET /health HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 200 /)
  const head =
    'POST /runs/x/ack HTTP/1.1\r\nhost: x\r\nexpect: 100-Continue\r\ncontent-length: 2\r\nconnection: close\r\n'
  const told = await rawExchange(port, `${head}authorization: Bearer engine-token-1\r\n\r\n{}`)
  assert.match(told, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 404 /)
})

test('a caller that asks first is told to send only a body that will be read; else its answer comes at once, and no body', async (t) => {
  const { port, flags, runs } = await startServer(t, { overload: () => (flags.draining ? null : 'memory') })
  runs.store.counts = async () => ({ running: 1, undelivered: 0 })
  const known = 'authorization: Bearer engine-token-1\r\n'
  const large = 'content-length: 900000000\r\n'
  for (const [line, more, status] of [
    ['POST /runs', large, 401],
    ['POST /runs', `authorization: Bearer another\r\n${large}`, 401],
    ['POST /runs', `${known}content-length: 2\r\n`, 429],
    ['POST /validate', known + large, 413],
    ['POST /runs/x/ack', `${known}content-length: 65537\r\n`, 413],
    ['POST /nothing', large, 404],
    ['PUT /runs', large, 405],
  ] as const) {
    const from = performance.now()
    // Half closed by its caller, the connection would end whatever the engine does.
    const told = await exchangeOn(t, port, `${line} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n${more}\r\n`)
    assert.match(told, new RegExp(`^HTTP/1\\.1 ${status} [^]*\\r\\nconnection: close\\r\\n`, 'i'), `${line} ${more}`)
    assert.ok(performance.now() - from < 1500, line)
  }
  flags.draining = true
  const draining = await exchangeOn(
    t,
    port,
    `POST /runs HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n${known}${large}\r\n`,
  )
  assert.match(draining, /^HTTP\/1\.1 503 /)
})

test('a caller that was told to send, and sends more than is taken, hears so', async (t) => {
  const { port } = await startServer(t)
  const chunks = `4000\r\n${' '.repeat(0x4000)}\r\n`.repeat(100)
  const head = 'POST /runs HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n'
  const known = 'content-type: application/json\r\nauthorization: Bearer engine-token-1\r\n'
  for (let time = 0; time < 3; time += 1) {
    const told = await exchangeOn(t, port, `${head}${known}\r\n${chunks}0\r\n\r\n`)
    assert.match(told, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 413 [^]*"too_large"/)
  }
})

/** What comes back on a connection that its caller keeps open, until the server closes it. */
async function exchangeOn(t: TestContext, port: number, bytes: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.write(bytes)
  let received = ''
  for await (const chunk of socket.setEncoding('utf8')) received += chunk
  return received
}

test('an answer that comes before a large body was read arrives, though it closes the connection', async (t) => {
  const { port, flags, runs } = await startServer(t, { overload: () => (flags.draining ? null : 'memory') })
  runs.store.counts = async () => ({ running: 1, undelivered: 0 })
  const body = 'x'.repeat(20_000_000)
  const asks = async (expected: readonly (readonly [string, string, number, boolean])[]) => {
    for (const [method, path, status, known] of expected) {
      const headers = { connection: 'close', 'content-type': 'application/json', ...(known && ENGINE) }
      // Several times: what is lost is lost by chance.
      for (let time = 0; time < 3; time += 1) {
        const answer = await call(port, { method, path, headers, body })
        assert.equal(answer.status, status, `${method} ${path}`)
        errorOf(answer)
      }
    }
  }
  await asks([
    ['POST', '/runs', 401, false],
    ['POST', '/nothing', 404, false],
    ['PUT', '/runs', 405, false],
    ['POST', '/runs', 429, true],
  ])
  flags.draining = true
  await asks([['POST', '/runs', 503, true]])
})

test('a path that nobody has, and a method that a path has not, are answered before a body is read, whoever asks', async (t) => {
  const { port } = await startServer(t)
  for (const [line, status] of [
    ['POST /nothing', 404],
    ['PUT /runs', 405],
    ['OPTIONS /runs', 204],
  ] as const) {
    const socket = net.connect(port, '127.0.0.1')
    // Never sent whole, and much more than is ever read.
    socket.write(`${line} HTTP/1.1\r\nhost: x\r\ncontent-length: 900000000\r\n\r\n{`)
    let answer = ''
    for await (const chunk of socket.setEncoding('utf8')) {
      answer += chunk
      if (answer.includes('\r\n\r\n')) break
    }
    assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} `), line)
  }
})

test('bytes that are no HTTP, headers without end and a broken URL get the error body as well', async (t) => {
  const { port, logged } = await startServer(t)
  const cases = [
    ['nonsense\r\n\r\n', /^HTTP\/1\.1 400 /, 'invalid_request'],
    ['GET / HTTP/1.1\r\nbad header\r\n\r\n', /^HTTP\/1\.1 400 /, 'invalid_request'],
    ['GET /health HTTP/1.1\r\nconnection: close\r\n\r\n', /^HTTP\/1\.1 400 /, 'invalid_request'],
    ['GET /health HTTP/1.1\r\nhost: x\r\nHOST: y\r\nconnection: close\r\n\r\n', /^HTTP\/1\.1 400 /, 'invalid_request'],
    [
      'POST /runs HTTP/1.1\r\nhost: x\r\nexpect: miracles\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'invalid_request',
    ],
    [`GET / HTTP/1.1\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /, 'too_large'],
    [
      'GET /runs/%zz?token=secret HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n',
      /^HTTP\/1\.1 400 /,
      'invalid_request',
    ],
    [
      `GET /runs/${'x'.repeat(600)} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer engine-token-1\r\nconnection: close\r\n\r\n`,
      /^HTTP\/1\.1 404 /,
      'run_not_found',
    ],
    [
      'POST /runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer engine-token-1\r\ncontent-length: 10\r\n\r\n{}',
      /^HTTP\/1\.1 400 /,
      'invalid_request',
    ],
  ] as const
  for (const [bytes, status, code] of cases) {
    const answer = await rawExchange(port, bytes)
    if (code === 'invalid_request' && bytes.startsWith('POST') && answer === '') continue
    assert.match(answer, status)
    assert.match(answer, /\r\nx-content-type-options: nosniff\r\n/i)
    const body = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
    assert.equal(body.error.code, code, bytes.slice(0, 40))
    assert.ok(!answer.includes('secret'))
  }
  assert.deepEqual(logged, [])
})

test('bytes that are no HTTP behind a request leave its answer whole, and its connection is closed behind that', async (t) => {
  const { port, runs, flags } = await startServer(t)
  flags.answer = admitted({ wait: true })
  const nonsense = 'nonsense\r\n\r\n'
  const ask = (line: string) => `${line} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer engine-token-1\r\n`
  const post = `${ask('POST /runs')}content-type: application/json\r\ncontent-length: 2\r\n\r\n{}`
  const waiting = {
    first: post,
    last: `${ask('GET /health')}\r\n${post}`,
    stream: `${ask(`GET /runs/${ID}/stream`)}\r\n`,
  }
  for (const [name, head] of Object.entries(waiting)) {
    runs.add()
    const answer = exchangeOn(t, port, head + nonsense)
    await (name === 'stream'
      ? eventually(() => runs.runs.get(ID) !== undefined)
      : eventually(() => runs.waits.size > 0))
    // One request more is answered, so the nonsense has been read.
    assert.equal((await call(port, { path: '/health' })).status, 200)
    runs.end('{"the":"result"}')
    const told = await answer
    assert.doesNotMatch(told, /HTTP\/1\.1 400/, name)
    assert.match(
      told,
      name === 'stream' ? /event: done\n[^]*\r\n0\r\n\r\n$/ : /connection: close\r\n[^]*\{"the":"result"\}$/i,
      name,
    )
  }
  // Where the nonsense stands inside a body nothing else is owed.
  const chunked = `${ask('POST /runs')}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\nzz\r\n`
  assert.match(await exchangeOn(t, port, chunked), /^HTTP\/1\.1 400 /)
  // A length that was counted wrong: what is said of the body is not lost behind what is said of the rest.
  const short = `${ask('POST /runs')}content-type: application/json\r\ncontent-length: 3\r\n\r\n{"a":1}`
  assert.match(await exchangeOn(t, port, short), /^HTTP\/1\.1 400 [^]*not valid JSON/)
})

test('SS-10: idle connections outlive a load balancer, headers have their own limit above it, answers have none', async (t) => {
  const { server } = await startServer(t)
  const { keepAliveTimeout, headersTimeout, requestTimeout, timeout } = server.app.server
  assert.equal(keepAliveTimeout, 75_000)
  assert.ok(headersTimeout > keepAliveTimeout)
  assert.ok(requestTimeout > headersTimeout)
  assert.equal(timeout, 0)
})

test('SS-10: an idle connection is still good for another request after a minute', async (t) => {
  const { port, server } = await startServer(t)
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  for (const expected of [false, true]) {
    const request = http.request({ port, host: '127.0.0.1', path: '/health', agent })
    request.end()
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'end')
    assert.equal(request.reusedSocket, expected)
    assert.equal(response.headers['keep-alive'], `timeout=${server.app.server.keepAliveTimeout / 1000}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
})

test('closing ends open streams without done, and idle connections, so that the process can exit', async (t) => {
  const { port, runs, server } = await startServer(t)
  runs.add()
  runs.append({ event: 'start', data: { run_id: ID } })
  const agent = new http.Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const idle = http.request({ port, host: '127.0.0.1', path: '/health', agent })
  idle.end()
  const [response] = (await once(idle, 'response')) as [http.IncomingMessage]
  response.resume()
  const reader = await readStream(port)
  await reader.until(({ messages }) => messages.length === 1)
  await server.app.close()
  await reader.ended
  assert.equal(reader.response.complete, true)
  assert.deepEqual(
    reader.messages.map(({ event }) => event),
    ['start'],
  )
})

test('closeStreams ends streams and touches nothing else', async (t) => {
  const { port, runs, server } = await startServer(t)
  runs.add()
  const reader = await readStream(port)
  await server.closeStreams(AbortSignal.abort())
  await server.closeStreams(AbortSignal.abort())
  await reader.ended
  assert.equal(reader.response.complete, true)
  assert.equal((await call(port, { path: '/health' })).status, 200)
  assert.equal((await post(port, '/runs', {})).status, 202)
})

test('who never takes the answer holds up a closing server no longer than it is told to wait', async (t) => {
  const { port, runs, server } = await startServer(t)
  runs.add()
  runs.end(JSON.stringify({ text: 'x'.repeat(20_000_000) }))
  const nobody = net.connect(port, '127.0.0.1')
  t.after(() => nobody.destroy())
  const ended = once(server.app.server, 'request').then(([, response]) => {
    return eventually(() => (response as http.ServerResponse).writableEnded)
  })
  nobody.write(`GET /runs/${ID} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer engine-token-1\r\n\r\n`)
  await ended
  const enough = new AbortController()
  let over = false
  const waiting = server.lastBytes(enough.signal).then(() => (over = true))
  assert.equal((await call(port, { path: '/health' })).status, 200)
  assert.equal(over, false)
  enough.abort()
  await waiting
  await server.lastBytes(AbortSignal.abort())
  nobody.destroy()
  await server.lastBytes(new AbortController().signal)
})

test('nobody without a token holds up a closing server', async (t) => {
  const { port, server } = await startServer(t)
  const sockets: net.Socket[] = []
  server.app.server.on('connection', (socket: net.Socket) => void sockets.push(socket))
  const stranger = net.connect(port, '127.0.0.1')
  t.after(() => stranger.destroy())
  // Far more than the system takes off the server's hands, and nobody reads.
  stranger.write('GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1000))
  await eventually(() => sockets[0]?.writableNeedDrain === true)
  const signal = AbortSignal.timeout(5000)
  await server.lastBytes(signal)
  assert.equal(signal.aborted, false)
})

test('who left before the answer holds up no closing server', async (t) => {
  const { port, runs, server } = await startServer(t)
  runs.add()
  const waiting = net.connect(port, '127.0.0.1')
  waiting.write(`POST /runs/${ID}/cancel?token=${RUN_TOKEN} HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`)
  await eventually(() => runs.waits.size === 1)
  waiting.destroy()
  await eventually(() => runs.waits.size === 0)
  // What was said to nobody has been said.
  assert.equal((await call(port, { path: '/health' })).status, 200)
  await server.lastBytes(AbortSignal.timeout(60_000))
})

test('a hundred waiting callers at once cause no warning', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const answers = Array.from({ length: 100 }, () =>
    call(port, { method: 'POST', path: `/runs/${ID}/cancel?token=${RUN_TOKEN}` }),
  )
  while (runs.waits.size < 100) await new Promise((resolve) => setImmediate(resolve))
  runs.end('{}', 'cancelled')
  for (const answer of await Promise.all(answers)) assert.equal(answer.status, 200)
})
