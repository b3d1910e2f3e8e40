/** GET /runs/{id}/stream and clients that are odd, old, hostile or careless, over real sockets. */
import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { Agent, EventSource } from 'undici'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { HEARTBEAT_MS } from '../../src/server/stream-writer.ts'
import { ID, OTHER_ID, type FakeRuns } from './fake-runs.ts'
import {
  admitted,
  call,
  ENGINE,
  errorOf,
  eventually,
  ORIGIN,
  post,
  rawExchange,
  readStream,
  RUN_TOKEN,
  startServer,
} from './start-server.ts'

const PATH = `/runs/${ID}/stream?token=${RUN_TOKEN}`
const FORMATS = ['', '&format=ai-sdk', '&format=ag-ui']
const delta = (offset: number, text: string): StreamEvent => ({ event: 'delta', data: { step: 1, offset, text } })

function story(runs: FakeRuns): void {
  runs.add()
  runs.append(
    { event: 'start', data: { run_id: ID } },
    { event: 'step', data: { step: 1, final: false } },
    delta(0, 'Here.'),
  )
  runs.end('{}')
}

/** A real EventSource, with a connection pool of its own. */
function openEventSource(t: TestContext, url: string): EventSource {
  const dispatcher = new Agent()
  t.after(() => dispatcher.close())
  // The first of a process warns that it is new.
  const warning = t.mock.method(process, 'emitWarning', () => {})
  const source = new EventSource(url, { node: { dispatcher } })
  warning.mock.restore()
  t.after(() => source.close())
  return source
}

/** Counts readings that are open. */
async function startCounted(t: TestContext) {
  const open = { now: 0, ever: 0 }
  const started = await startServer(t, {
    events: {
      read: async (id, after, signal) => {
        const reading = await started.runs.events.read(id, after, signal)
        if (reading === null) return null
        const events = (async function* () {
          open.now += 1
          open.ever += 1
          try {
            yield* reading.events
          } finally {
            open.now -= 1
          }
        })()
        return { ...reading, events }
      },
    },
  })
  return { ...started, open }
}

test('whatever stands in Last-Event-ID, a reader gets everything from the start, once, opened by resync', async (t) => {
  const { port, runs, logged } = await startServer(t)
  story(runs)
  const odd = [
    '0',
    '-',
    '0-',
    '-1',
    '00-1',
    '0-01',
    '+0-1',
    '0-1.0',
    '0x0-1',
    '1e0-1',
    '0-1-1',
    '0-1,0-1',
    '0 - 1',
    '2-9',
    '3-2',
    '999999999999999-1',
    `${'9'.repeat(400)}-1`,
    'NaN-NaN',
    'r0-1',
    '{"id":"0-1"}',
    '../../etc/passwd',
    '\u00ff\u00fe',
    'x'.repeat(7_000),
  ]
  for (const id of odd) {
    const reader = await readStream(port, { path: PATH, headers: { 'last-event-id': id } })
    await reader.ended
    assert.deepEqual(
      reader.messages.map(({ event }) => event),
      ['resync', 'start', 'step', 'delta', 'done'],
      id,
    )
    for (const format of FORMATS.slice(1)) {
      const foreign = await readStream(port, { path: `${PATH}${format}`, headers: { 'last-event-id': id } })
      await foreign.ended
      assert.match(foreign.messages[0]?.data ?? '', /"type":"(start|RUN_STARTED)"/)
      assert.match(foreign.raw, /Here\./)
    }
  }
  // Sent twice it is one header of two values, which no reader was ever given.
  const twice = await rawExchange(
    port,
    `GET ${PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nlast-event-id: 3-1\r\nlast-event-id: 3-1\r\n\r\n`,
  )
  assert.match(twice, /event: resync/)
  // Twice in the query it is none at all.
  const query = await readStream(port, { path: `${PATH}&last_event_id=3-1&last_event_id=3-1` })
  await query.ended
  assert.equal(query.messages[0]?.event, 'start')
  assert.deepEqual(logged, [])
})

test('two readers with the same token, one of them before the run has said a word, get the same', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const readers = await Promise.all([readStream(port, { path: PATH }), readStream(port, { path: PATH })])
  for (const reader of readers) await reader.until(({ retries }) => retries.length === 1)
  runs.append({ event: 'start', data: { run_id: ID } }, delta(0, 'Here.'))
  runs.end('{}')
  await Promise.all(readers.map(({ ended }) => ended))
  assert.deepEqual(readers[0]?.messages, readers[1]?.messages)
  assert.equal(readers[0]?.messages.length, 3)
})

test('a stream is got and nothing else; every other method is told which', async (t) => {
  const { port, runs, open } = await startCounted(t)
  runs.add()
  for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH']) {
    const answer = await call(port, { method, path: PATH })
    assert.equal(answer.status, 405, method)
    assert.equal(answer.headers.allow, 'GET, OPTIONS')
    if (method !== 'HEAD') assert.equal(errorOf(answer).code, 'method_not_allowed')
  }
  const options = await call(port, { method: 'OPTIONS', path: PATH })
  assert.deepEqual([options.status, options.headers.allow, options.text], [204, 'GET, OPTIONS', ''])
  assert.equal(open.ever, 0)
})

test('an EventSource with credentials is shown no more than one without', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const reader = await readStream(port, { path: PATH, headers: { origin: ORIGIN, cookie: 'session=1' } })
  await reader.ended
  assert.equal(reader.response.headers['access-control-allow-origin'], ORIGIN)
  assert.equal(reader.response.headers['access-control-allow-credentials'], undefined)
  assert.equal(reader.response.headers['set-cookie'], undefined)
})

test('a client of HTTP/1.0 gets the stream as it is, without chunks around it, to its end', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  for (const keep of ['', 'connection: keep-alive\r\n']) {
    const answer = await rawExchange(port, `GET ${PATH} HTTP/1.0\r\n${keep}\r\n`)
    const [head = '', ...rest] = answer.split('\r\n\r\n')
    assert.match(head, /^HTTP\/1\.1 200 OK\r\n/)
    assert.doesNotMatch(head, /transfer-encoding/i)
    const body = rest.join('\r\n\r\n')
    assert.match(body, /^: keep-alive\nretry: 1000\nid: 0-1\n/)
    assert.match(body, /event: done\ndata: \{.*\}\n\n$/)
  }
})

test('what a reader accepts changes nothing: it is told a stream', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  for (const accept of ['application/json', 'text/html', 'text/event-stream;q=0', 'image/*', 'nonsense']) {
    const reader = await readStream(port, { path: PATH, headers: { accept } })
    await reader.ended
    assert.equal(reader.response.headers['content-type'], 'text/event-stream; charset=utf-8')
    assert.equal(reader.messages.length, 4)
  }
})

test('pipelined requests are answered in their order, a stream among them', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
  const answer = await new Promise<string>((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    socket.on('close', () => resolve(text))
    socket.write(get(PATH) + get('/health') + get(`${PATH}&format=ai-sdk`) + get('/ready', 'connection: close\r\n'))
  })
  const heads = [...answer.matchAll(/HTTP\/1\.1 (\d+) [^]*?content-type: ([a-z/-]+)/g)].map(([, ...parts]) =>
    parts.join(' '),
  )
  const stream = '200 text/event-stream'
  assert.deepEqual(heads, [stream, '200 application/json', stream, '200 application/json'])
  assert.ok(answer.indexOf('event: done') < answer.indexOf('contract_version'))
})

test('streams that wait behind another on one connection are let go of with it', async (t) => {
  const { port, runs, open, server } = await startCounted(t)
  runs.add()
  runs.append({ event: 'start', data: { run_id: ID } })
  const socket = net.connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.resume()
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\n\r\n`.repeat(20))
  await eventually(() => open.now === 20)
  socket.destroy()
  await eventually(() => open.now === 0)
  assert.equal(runs.runs.get(ID)?.view.status, 'running')
  await server.closeStreams(new AbortController().signal)
})

test('tokens: which opens, which does not, and none of them in a log or an answer', async (t) => {
  const { port, runs, logged } = await startServer(t)
  story(runs)
  const bare = `/runs/${ID}/stream`
  const engine = ENGINE.authorization
  const asks: readonly (readonly [status: number, path: string, authorization?: string])[] = [
    [200, PATH],
    [200, bare, engine],
    [200, bare, engine.replace('Bearer', 'bearer')],
    [200, PATH, 'Bearer wrong'],
    [200, `${bare}?token=wrong`, engine],
    [401, bare],
    [401, bare, 'Bearer wrong'],
    [401, bare, `Bearer ${RUN_TOKEN}`],
    [401, bare, `Basic ${btoa('engine-token-1:')}`],
    [401, `${PATH}&token=${RUN_TOKEN}`],
    [401, `${bare}?Token=${RUN_TOKEN}`],
    [403, `${bare}?token=`],
    [403, `${bare}?token=engine-token-1`],
    [403, `${bare}?token=${RUN_TOKEN.slice(0, -1)}`],
    [403, `${bare}?token=${RUN_TOKEN}x`],
    [403, `${bare}?token=${RUN_TOKEN.toLowerCase()}`],
    [404, `/runs/${OTHER_ID}/stream?token=${RUN_TOKEN}`],
    [404, `/runs/${OTHER_ID}/stream`, engine],
  ]
  for (const [status, path, authorization] of asks) {
    const answer = await call(port, { path, headers: authorization === undefined ? {} : { authorization } })
    assert.equal(answer.status, status, `${path} ${authorization}`)
    assert.ok(!answer.text.includes(RUN_TOKEN) && !answer.text.includes('engine-token-1'), path)
    if (status === 401) assert.match(String(answer.headers['www-authenticate']), /^Bearer /)
  }
  assert.deepEqual(logged, [])
})

test('SS-07: a plain EventSource that closes nothing reads once, comes back once, and stops', async (t) => {
  const { port, runs, server } = await startServer(t)
  const asked: (string | undefined)[] = []
  server.app.server.on('request', ({ headers }: http.IncomingMessage) => {
    asked.push(headers['last-event-id'] as string | undefined)
  })
  story(runs)
  const source = openEventSource(t, `http://127.0.0.1:${port}${PATH}`)
  const heard: string[] = []
  for (const name of ['start', 'step', 'delta', 'resync', 'done', 'message']) {
    source.addEventListener(name, (event) => void heard.push(`${name} ${(event as MessageEvent).lastEventId}`))
  }
  await new Promise<void>((resolve) => {
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) resolve()
    })
  })
  assert.deepEqual(heard, ['start 0-1', 'step 1-1', 'delta 2-5', 'done 3-1'])
  assert.deepEqual(asked, [undefined, '3-1'])
})

test('SS-07: an EventSource gives up at once on a wrong token, an unknown run and an unknown format', async (t) => {
  const { port, runs, server } = await startServer(t)
  const asked: string[] = []
  server.app.server.on('request', ({ url = '' }: http.IncomingMessage) => asked.push(url))
  story(runs)
  const wrong = [`/runs/${ID}/stream?token=x`, `/runs/${OTHER_ID}/stream?token=x`, `${PATH}&format=x`]
  for (const path of wrong) {
    const source = openEventSource(t, `http://127.0.0.1:${port}${path}`)
    await once(source, 'error')
    assert.equal(source.readyState, EventSource.CLOSED, path)
  }
  assert.deepEqual(asked, wrong)
})

test('SS-02: readers that split at blank lines, and EventSource, hear nothing of heartbeats', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { port, runs } = await startServer(t)
  runs.add()
  const source = openEventSource(t, `http://127.0.0.1:${port}${PATH}`)
  const heard: string[] = []
  for (const name of ['delta', 'message', 'error']) source.addEventListener(name, () => void heard.push(name))
  const readers = await Promise.all(FORMATS.map((format) => readStream(port, { path: `${PATH}${format}` })))
  for (const reader of readers) await reader.until(({ comments }) => comments.length === 1)
  for (let beats = 2; beats <= 5; beats += 1) {
    t.mock.timers.tick(HEARTBEAT_MS)
    for (const reader of readers) await reader.until(({ comments }) => comments.length === beats)
  }
  runs.append(delta(0, 'Here.'))
  for (const reader of readers) await reader.until(({ raw }) => raw.includes('Here.'))
  t.mock.timers.tick(HEARTBEAT_MS)
  for (const reader of readers) await reader.until(({ comments }) => comments.length === 6)
  await eventually(() => heard.length > 0)
  assert.deepEqual(heard, ['delta'])
  for (const { raw } of readers) {
    for (const block of raw.split('\n\n').slice(0, -1)) assert.match(block, /^data: /m)
  }
  source.close()
  runs.end('{}')
  for (const reader of readers) await reader.ended
})

test('SS-09: however a run ends in the middle of text, its end comes once and nothing comes behind it, in every form', async (t) => {
  const ends = {
    failed: { code: 'provider_unavailable', message: 'Sorry.' },
    cancelled: null,
    stopped_limit: null,
  } as const
  for (const [status, error] of Object.entries(ends)) {
    const { port, runs } = await startServer(t)
    runs.add()
    const readers = await Promise.all(FORMATS.map((format) => readStream(port, { path: `${PATH}${format}` })))
    runs.append(
      { event: 'start', data: { run_id: ID } },
      { event: 'step', data: { step: 1, final: false } },
      delta(0, 'Half of'),
    )
    const log = runs.runs.get(ID)?.log
    const done = { status: status as keyof typeof ends, stop_reason: null, limit_reached: null, error, pending: 0 }
    log?.append({ event: 'done', data: done })
    // What comes late is not told: neither words nor another end.
    log?.append(delta(7, ' the answer.'))
    log?.append({ event: 'done', data: { ...done, status: 'completed' } })
    for (const reader of readers) await reader.ended
    const [own, aiSdk, agUi] = readers.map(({ messages }) => messages)
    assert.deepEqual(
      own?.map(({ event }) => event),
      ['start', 'step', 'delta', 'done'],
    )
    assert.equal(aiSdk?.at(-1)?.data, '[DONE]')
    const types = [aiSdk, agUi].map((messages) =>
      messages?.flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data).type as string])),
    )
    assert.equal(types[0]?.filter((type) => type === 'finish').length, 1)
    assert.equal(types[0]?.at(-1), 'finish')
    assert.equal(types[1]?.filter((type) => /^RUN_(FINISHED|ERROR)$/.test(type)).length, 1)
    assert.equal(types[1]?.at(-1), error === null ? 'RUN_FINISHED' : 'RUN_ERROR')
    for (const { raw } of readers) assert.ok(!raw.includes('the answer'))
  }
})

test('SS-10: a stream that is silent for ten minutes lives on heartbeats and is told the rest', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { port, runs } = await startServer(t)
  runs.add()
  runs.append({ event: 'start', data: { run_id: ID } })
  const reader = await readStream(port, { path: PATH })
  await reader.until(({ messages }) => messages.length === 1)
  for (let beats = 2; beats <= 41; beats += 1) {
    t.mock.timers.tick(HEARTBEAT_MS)
    await reader.until(({ comments }) => comments.length === beats)
  }
  runs.append(delta(0, 'At last.'))
  runs.end('{}')
  await reader.ended
  assert.deepEqual(
    reader.messages.map(({ event }) => event),
    ['start', 'delta', 'done'],
  )
  assert.equal(reader.response.complete, true)
})

test('SS-10: what limits the arrival of a request cuts neither a stream nor a waited answer that is older', async (t) => {
  const { port, runs, flags } = await startServer(t, {}, ({ app }) => {
    Object.assign(app.server, { headersTimeout: 60, requestTimeout: 120, connectionsCheckingInterval: 20 })
  })
  runs.add()
  flags.answer = admitted({ wait: true })
  const reader = await readStream(port, { path: PATH })
  await reader.until(({ retries }) => retries.length === 1)
  const waited = post(port, '/runs', {})
  await eventually(() => runs.waits.size === 1)
  // A request that began after both and never ends is turned down: both limits are over for them as well.
  const slow = net.connect(port, '127.0.0.1')
  slow.write('GET / HTTP/1.1\r\nhos')
  let answer = ''
  for await (const chunk of slow.setEncoding('utf8')) answer += chunk
  assert.match(answer, /^HTTP\/1\.1 408 /)
  runs.append(delta(0, 'Still here.'))
  await reader.until(({ raw }) => raw.includes('Still here.'))
  runs.end('{"text":"Still here."}')
  await reader.ended
  assert.equal(reader.response.complete, true)
  assert.deepEqual([(await waited).status, (await waited).text], [200, '{"text":"Still here."}'])
})
