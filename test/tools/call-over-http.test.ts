/** Calls over real sockets on 127.0.0.1, through the real gate: what hostile and broken tools do. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import zlib from 'node:zlib'
import type { Tool } from '../../src/contract/run-request.ts'
import { createEgress } from '../../src/egress/open.ts'
import type { CallOrder, CallOutcome } from '../../src/engine/ports.ts'
import { createLateResults, type LateResults } from '../../src/tools/late-results.ts'
import { createTools } from '../../src/tools/tools.ts'
import { CALL, callOrder, RUN, settled } from './tool-order.ts'

interface Received {
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

interface ToolServer {
  readonly url: string
  readonly received: readonly Received[]
  readonly sockets: readonly Socket[]
}

type Answer = (response: http.ServerResponse, attempt: number) => void

async function startTool(t: TestContext, answer: Answer): Promise<ToolServer> {
  const received: Received[] = []
  const sockets: Socket[] = []
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    response.on('error', () => {})
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString('utf8') })
      answer(response, received.length)
    })
  })
  server.on('connection', (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tool?token=SECRET`, received, sockets }
}

interface Caller {
  readonly late: LateResults
  call(tool: Partial<Tool>, order?: Partial<CallOrder>, signal?: AbortSignal): Promise<CallOutcome>
}

function openTools(t: TestContext): Caller {
  const egress = createEgress({
    allowlist: [],
    providerAllowlist: [],
    devInsecure: true,
    proxies: { all: null, byProvider: {} },
  })
  t.after(() => egress.close())
  const late = createLateResults({ now: Date.now })
  const tools = createTools({
    egress,
    lateResults: late,
    resultUrl: () => 'https://engine.example/r',
    now: Date.now,
    random: () => 0,
  })
  return {
    late,
    call: (tool, order = {}, signal = new AbortController().signal) =>
      tools.call(callOrder(order, tool), async () => {}, signal),
  }
}

function answerWith(status: number, body: string | Buffer = '', headers: http.OutgoingHttpHeaders = {}): Answer {
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

/** Resolves when the connection is closed; a reset is a way to close one. */
function closed(socket: Socket | undefined): Promise<void> {
  assert.ok(socket !== undefined)
  return new Promise((resolve) => (socket.closed ? resolve() : socket.once('close', () => resolve())))
}

/** Moves mocked time on, in small steps, until something has happened. */
async function passTime<T>(t: TestContext, awaited: Promise<T>): Promise<T> {
  const state = { done: false }
  const watch = awaited.finally(() => (state.done = true))
  while (!state.done) {
    await settled()
    t.mock.timers.tick(10)
  }
  return watch
}

test('a call arrives as the contract says, and its answer comes back', async (t) => {
  const server = await startTool(t, answerWith(200, '{"status":"ok","result":{"id":12345678901234567890}}'))
  const outcome = await openTools(t).call({
    url: server.url,
    headers: { Authorization: 'Bearer T', 'X-Engine-Secret': 'S' },
  })
  assert.equal(outcome.kind, 'ok')
  assert.ok(outcome.kind === 'ok')
  assert.equal(JSON.stringify(outcome.result), '{"id":12345678901234567890}')
  const [request] = server.received
  assert.equal(request?.headers.authorization, 'Bearer T')
  assert.equal(request?.headers['content-type'], 'application/json')
  assert.equal(request?.headers['accept-encoding'], 'identity')
  assert.match(String(request?.headers['idempotency-key']), /^ck_[0-9a-f]{64}$/)
  assert.match(String(request?.headers['traceparent']), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
  assert.equal(request?.headers['x-engine-secret'], undefined)
  assert.equal((JSON.parse(request?.body ?? '') as { tool: string }).tool, 'getOrders')
})

test('TH-03: 502 with a JSON content type and a broken body is tried again, then told by its status', async (t) => {
  const server = await startTool(t, answerWith(502, '{bad'))
  const tools = openTools(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const outcome = await passTime(t, tools.call({ url: server.url }))
  assert.ok(outcome.kind === 'error')
  assert.deepEqual([outcome.error, outcome.attempts, server.received.length], ['the tool answered HTTP 502', 3, 3])
})

test('TH-04: the error of a 422 reaches the model, and nothing is tried again', async (t) => {
  const server = await startTool(t, answerWith(422, '{"status":"error","error":"orderId must be a number"}'))
  const outcome = await openTools(t).call({ url: server.url })
  assert.ok(outcome.kind === 'error')
  assert.deepEqual([outcome.error, outcome.attempts], ['orderId must be a number', 1])
})

test('TH-05: 204 and an empty 200 are an empty answer', async (t) => {
  for (const answer of [answerWith(204), answerWith(200, '', { 'content-length': 0 })]) {
    const server = await startTool(t, answer)
    const outcome = await openTools(t).call({ url: server.url })
    assert.ok(outcome.kind === 'error')
    assert.match(outcome.error, /empty answer/)
    assert.equal(outcome.attempts, 1)
  }
})

test('TH-06: a tool that never answers is unknown at its deadline, its socket is closed, and its sibling is not held up', async (t) => {
  const silent = await startTool(t, () => {})
  const quick = await startTool(t, answerWith(200, '{"status":"ok","result":1}'))
  const tools = openTools(t)
  const hung = tools.call({ url: silent.url, timeout_ms: 300 })
  assert.equal((await tools.call({ url: quick.url })).kind, 'ok')
  const outcome = await hung
  assert.ok(outcome.kind === 'unknown')
  assert.deepEqual([outcome.reason, outcome.attempts], ['timeout', 1])
  await closed(silent.sockets[0])
  assert.equal(tools.late.record(RUN, CALL, { status: 'ok', result: 1 }), 'closed')
})

test('TH-07: a slow drip ends at the call’s deadline, however often a byte comes', async (t) => {
  const server = await startTool(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.write('{')
    const drip = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(drip))
  })
  const started = Date.now()
  const outcome = await openTools(t).call({ url: server.url, timeout_ms: 300 })
  assert.ok(outcome.kind === 'unknown')
  assert.equal(outcome.reason, 'timeout')
  assert.ok(Date.now() - started < 3000)
})

test('TH-08: a compression bomb stops at the cap; nested encodings are refused', async (t) => {
  const spaces = Buffer.alloc(20_000_000, 0x20)
  const cases: [Buffer, string, RegExp][] = [
    [zlib.gzipSync(spaces), 'gzip', /larger than 1048576 bytes/],
    [
      zlib.brotliCompressSync(spaces, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
      'br',
      /larger than 1048576 bytes/,
    ],
    [zlib.gzipSync(zlib.gzipSync(spaces)), 'gzip, gzip', /compressed in a way/],
  ]
  const tools = openTools(t)
  for (const [body, encoding, error] of cases) {
    const server = await startTool(t, answerWith(200, body, { 'content-encoding': encoding }))
    const outcome = await tools.call({ url: server.url })
    assert.ok(outcome.kind === 'error')
    assert.match(outcome.error, error)
  }
})

test('TH-08: an honest gzip body is read', async (t) => {
  const server = await startTool(
    t,
    answerWith(200, zlib.gzipSync('{"status":"ok","result":1}'), { 'content-encoding': 'gzip' }),
  )
  assert.equal((await openTools(t).call({ url: server.url })).kind, 'ok')
})

test('TH-09: an endless body is left at the cap, and its socket is closed', async (t) => {
  let sent = 0
  const server = await startTool(t, (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const chunk = Buffer.alloc(65_536, 0x20)
    const write = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length
      if (!response.destroyed) response.once('drain', write)
    }
    write()
  })
  const outcome = await openTools(t).call({ url: server.url })
  assert.ok(outcome.kind === 'error')
  assert.match(outcome.error, /larger than 1048576 bytes/)
  await closed(server.sockets[0])
  assert.ok(sent < 50_000_000, `${sent} bytes were sent`)
})

test('a redirect is not followed', async (t) => {
  const elsewhere = await startTool(t, answerWith(200, '{"status":"ok","result":1}'))
  const server = await startTool(t, answerWith(307, '', { location: elsewhere.url }))
  const outcome = await openTools(t).call({ url: server.url })
  assert.ok(outcome.kind === 'error')
  assert.match(outcome.error, /redirect \(HTTP 307\)/)
  assert.equal(elsewhere.received.length, 0)
})

test('LC-06: a connection that is reset is tried again with the same call, then unknown', async (t) => {
  const server = await startTool(t, (response) => response.destroy())
  const tools = openTools(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const outcome = await passTime(t, tools.call({ url: server.url }))
  assert.deepEqual([outcome.kind, outcome.attempts], ['unknown', 3])
  const bodies = server.received.map(({ body }) => JSON.parse(body) as { attempt: number; call_id: string })
  assert.deepEqual(
    bodies.map(({ attempt, call_id }) => [attempt, call_id]),
    [
      [1, CALL],
      [2, CALL],
      [3, CALL],
    ],
  )
})

test('a body cut off in the middle is tried again', async (t) => {
  const server = await startTool(t, (response, attempt) => {
    if (attempt > 1) return answerWith(200, '{"status":"ok","result":1}')(response, attempt)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    response.write('{"status":"ok",', () => response.destroy())
  })
  const tools = openTools(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const outcome = await passTime(t, tools.call({ url: server.url }))
  assert.deepEqual([outcome.kind, outcome.attempts], ['ok', 2])
})

test('SE-02: no error shows the address, its query, a header or a body', async (t) => {
  const unused = net.createServer()
  unused.listen(0, '127.0.0.1')
  await once(unused, 'listening')
  const { port } = unused.address() as AddressInfo
  unused.close()
  await once(unused, 'close')
  const bad = await startTool(
    t,
    answerWith(200, 'SECRET', { 'x-key': 'SECRET', 'content-type': 'text/html; key=SECRET' }),
  )
  const teapot = await startTool(t, answerWith(418, '{"error":"SECRET"}'))
  const moved = await startTool(t, answerWith(302, 'SECRET', { location: 'https://h.example/?SECRET' }))
  const tools = openTools(t)
  const urls = [
    `http://127.0.0.1:${port}/x?token=SECRET`,
    'https://h.example/x?token=SECRET',
    bad.url,
    teapot.url,
    moved.url,
  ]
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (const url of urls) {
    const outcome = await passTime(t, tools.call({ url, headers: { Authorization: 'Bearer SECRET' } }))
    assert.ok(outcome.kind === 'error', url)
    assert.ok(!/SECRET|127\.0\.0\.1|h\.example/.test(outcome.error), outcome.error)
  }
})

test('an address the gate refuses is an error, and nothing is sent', async (t) => {
  const outcome = await openTools(t).call({ url: 'https://h.example/x' })
  assert.ok(outcome.kind === 'error')
  assert.deepEqual([outcome.error, outcome.attempts], ["this tool's address is not allowed", 1])
})

test('JS-02, JS-05: args and meta leave as they were checked, and a result with odd keys comes back as data', async (t) => {
  const odd = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}'
  const server = await startTool(t, answerWith(200, `{"status":"ok","result":${odd}}`))
  const args = JSON.parse(odd) as CallOrder['args']
  const outcome = await openTools(t).call({ url: server.url }, { args, meta: args })
  assert.ok(outcome.kind === 'ok')
  assert.equal(JSON.stringify(outcome.result), odd)
  assert.equal(server.received[0]?.body.split(odd).length, 3)
  assert.equal(Object.hasOwn(Object.prototype, 'x'), false)
})

test('JS-04: an answer nested twenty thousand deep is an error', async (t) => {
  const server = await startTool(
    t,
    answerWith(200, `{"status":"ok","result":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
  )
  const outcome = await openTools(t).call({ url: server.url })
  assert.ok(outcome.kind === 'error')
  assert.match(outcome.error, /nested/)
})

test('CA-02: a cancel closes the socket at once', async (t) => {
  const reached = Promise.withResolvers<void>()
  const server = await startTool(t, () => reached.resolve())
  const stop = new AbortController()
  const called = openTools(t).call({ url: server.url }, {}, stop.signal)
  await reached.promise
  stop.abort('cancelled')
  const outcome = await called
  assert.ok(outcome.kind === 'unknown')
  assert.equal(outcome.reason, 'cancelled')
  await closed(server.sockets[0])
})

test('a tool posts its result before its accepted is out', async (t) => {
  const tools = openTools(t)
  const server = await startTool(t, (response) => {
    assert.equal(tools.late.record(RUN, CALL, { status: 'ok', result: 'early' }), 'recorded')
    answerWith(202, '{"status":"accepted"}')(response, 1)
  })
  const outcome = await tools.call({ url: server.url })
  assert.ok(outcome.kind === 'ok')
  assert.equal(outcome.result, 'early')
})
