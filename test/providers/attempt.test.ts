/** One attempt against real sockets: what ends it, what is kept of it, and what becomes of its connection. */
import assert from 'node:assert/strict'
import events, { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import zlib from 'node:zlib'
import * as fc from 'fast-check'
import type { Egress } from '../../src/egress/egress.ts'
import { type Exchange, runAttempt } from '../../src/providers/attempt.ts'
import type { AttemptOutcome } from '../../src/providers/attempt-outcome.ts'
import type { Dialect, DialectCall } from '../../src/providers/dialect.ts'
import { openaiChat } from '../../src/providers/openai-chat/dialect.ts'
import { profileFor } from '../../src/providers/profile.ts'
import { openEgress } from '../egress/test-egress.ts'
import {
  askOf,
  CALL,
  data,
  DONE,
  error,
  FIN,
  type Provider,
  RE,
  startProvider,
  stream,
  TX,
  target,
  USAGE,
  whole,
} from './chain.ts'
import { plainEgress } from './plain-egress.ts'
import { cpuMs } from '../cpu-time.ts'

interface Run {
  readonly shown: string[]
  readonly outcome: Promise<AttemptOutcome>
}

interface Given {
  readonly egress?: Egress
  readonly limits?: Partial<Exchange['limits']>
  readonly signal?: AbortSignal
  readonly dialect?: Dialect
}

function begin(t: TestContext, url: string, given: Given = {}): Run {
  const egress = given.egress ?? openEgress(t)
  const dialect = given.dialect ?? openaiChat
  const wanted = target({ base_url: url })
  const ask = askOf([wanted])
  const call: DialectCall = {
    ask,
    target: wanted,
    profile: profileFor(wanted),
    apiKey: null,
    baseUrl: url,
    repairs: new Set(),
  }
  const shown: string[] = []
  const outcome = runAttempt({
    send: (request) => egress.request(request),
    dialect,
    call,
    request: dialect.request(call),
    ownHosts: [],
    limits: { firstTokenMs: 120_000, stallMs: 60_000, deadlineAt: ask.deadlineAt, giveUpAt: Infinity, ...given.limits },
    sink: { text: (text) => shown.push(text), reasoning: () => {} },
    signal: given.signal ?? new AbortController().signal,
    now: Date.now,
  })
  return { shown, outcome }
}

/** Plays one answer and reads it. */
async function read(t: TestContext, text: string, more: { end?: boolean; type?: string } = {}, given: Given = {}) {
  const provider = await startProvider(t, (response) => stream(response, text, more))
  const run = begin(t, provider.url, given)
  return { outcome: await run.outcome, shown: run.shown.join(''), provider }
}

/** A server that sends raw bytes after the request's headers, and leaves the connection open. */
async function startRaw(
  t: TestContext,
  send: (socket: net.Socket) => void,
): Promise<{ url: string; closed: Promise<unknown> }> {
  const { promise: closed, resolve } = Promise.withResolvers<unknown>()
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('close', resolve)
    socket.once('data', () => send(socket))
  })
  const sockets = new Set<net.Socket>()
  server.on('connection', (socket) => sockets.add(socket))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    sockets.forEach((socket) => socket.destroy())
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, closed }
}

const HEADERS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'

function partsText(outcome: AttemptOutcome): string {
  return (outcome.reading?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}

// ------------------------------------------------------------------------------------------------ how an answer ends

test('a stream with its end mark is an answer, with usage, request id and times', async (t) => {
  const provider = await startProvider(t, (response) => {
    response.setHeader('x-request-id', 'req_1')
    stream(response, TX('Hi') + FIN() + USAGE(7, 2) + DONE)
  })
  const { outcome, shown } = begin(t, provider.url)
  const { durationMs, end, fault, firstTokenMs, httpStatus, reading, requestId, sent, started } = await outcome
  assert.deepEqual([end, fault, httpStatus, requestId, sent, started], ['answer', null, 200, 'req_1', true, true])
  assert.equal(reading?.usage?.tokens.input_tokens, 7)
  assert.ok(firstTokenMs !== null && firstTokenMs <= durationMs)
  assert.deepEqual(shown, ['Hi'])
})

test('without a header the id inside the answer names the exchange', async (t) => {
  const { outcome } = await read(t, data({ id: 'chatcmpl-9', choices: [] }) + whole('Hi'))
  assert.equal(outcome.requestId, 'chatcmpl-9')
})

test('PS-13: after [DONE] the answer is there although the server holds the connection, which is closed', async (t) => {
  const { outcome, provider, shown } = await read(t, whole('Hi') + TX(' and more'), { end: false })
  assert.equal(outcome.end, 'answer')
  assert.equal(shown, 'Hi')
  await provider.until(({ closed }) => closed() === 1)
})

test('a connection that ends soon after its end mark is used again for the next request', async (t) => {
  const endings: (() => void)[] = []
  // A socket that is closed has forgotten its port.
  const ports = new Set<number | undefined>()
  const provider = await startProvider(t, (response) => {
    ports.add(response.socket?.remotePort)
    stream(response, whole('Hi'), { end: false })
    endings.push(() => response.end())
  })
  const egress = openEgress(t)
  for (let index = 0; index < 8; index += 1) {
    assert.equal((await begin(t, provider.url, { egress }).outcome).end, 'answer')
    endings[index]?.()
    await provider.until(({ busy }) => busy() === 0)
  }
  // The next request may be begun before the end of the last one has been read, and on a busy machine that end may be read too
  // late; but not each of them has a connection of its own.
  assert.ok(ports.size < provider.seen.length, `${ports.size} connections`)
})

test('PS-45: a finish reason and a clean end without [DONE] is a whole answer', async (t) => {
  const { outcome } = await read(t, TX('Hi') + FIN())
  assert.equal(outcome.end, 'answer')
  assert.equal(outcome.reading?.usage, null)
})

test('PS-45: a finish reason and then silence ends after two seconds, which pings do not lengthen', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const { promise: server, resolve } = Promise.withResolvers<NodeJS.WritableStream>()
  const provider = await startProvider(t, (response) => {
    stream(response, TX('Hi') + FIN(), { end: false })
    resolve(response)
  })
  const run = begin(t, provider.url, { egress: plainEgress(t) })
  const response = await server
  let ended = false
  const outcome = run.outcome.finally(() => (ended = true))
  while (run.shown.length === 0) await turn()
  t.mock.timers.tick(1_500)
  response.write(': ping\n\n')
  await turn()
  assert.equal(ended, false)
  t.mock.timers.tick(500)
  assert.equal((await outcome).end, 'answer')
  await provider.until(({ closed }) => closed() === 1)
})

test('usage that comes after the finish reason is kept', async (t) => {
  const { outcome } = await read(t, TX('Hi') + FIN() + USAGE(5, 1) + DONE)
  assert.equal(outcome.reading?.usage?.tokens.total_tokens, 6)
})

test('a stream that ends without an end mark is interrupted, and nothing of it is lost', async (t) => {
  const { outcome, shown } = await read(t, USAGE(5) + TX('Half an ans'))
  assert.equal(outcome.fault?.class, 'interrupted')
  assert.equal(shown, 'Half an ans')
  assert.deepEqual(outcome.reading?.usage, {
    tokens: { ...outcome.reading?.usage?.tokens, input_tokens: 5 },
    known: 'input',
  })
})

test('PS-15: a connection that breaks inside a call is interrupted, and the call is cut', async (t) => {
  const provider = await startProvider(t, (response) => {
    stream(response, TX('Let me') + CALL('getOrders', '{"city":"Ro'), { end: false })
    setImmediate(() => response.destroy())
  })
  const outcome = await begin(t, provider.url).outcome
  assert.equal(outcome.fault?.class, 'interrupted')
  const [, call] = outcome.reading?.parts ?? []
  assert.ok(call?.type === 'tool_call' && call.fault === 'cut')
})

test('a finish reason and then a reset is a whole answer', async (t) => {
  const provider = await startProvider(t, (response) => {
    stream(response, TX('Hi') + FIN(), { end: false })
    setImmediate(() => response.destroy())
  })
  const outcome = await begin(t, provider.url).outcome
  assert.equal(outcome.end, 'answer')
})

test('PS-17, PS-18: an error inside a 200 stream is a fault of its own class, and the socket is closed', async (t) => {
  const failing = data({ error: { message: 'Rate limit exceeded', code: 429 } })
  const { outcome, provider } = await read(t, failing, { end: false })
  assert.deepEqual([outcome.fault?.class, outcome.httpStatus], ['rate', 200])
  await provider.until(({ closed }) => closed() === 1)
  const late = await read(t, TX('Half an ans') + data({ error: { message: 'gone', code: 502 } }))
  assert.equal(late.outcome.fault?.class, 'server')
  assert.equal(late.shown, 'Half an ans')
})

// ------------------------------------------------------------------------------------------------ what is no stream

test('PS-19: a 200 with no byte is an empty stream, not an empty answer', async (t) => {
  for (const body of ['', '\n\n \n']) {
    const { outcome } = await read(t, body)
    assert.equal(outcome.fault?.class, 'malformed')
    assert.match(outcome.fault?.detail ?? '', /empty stream/)
  }
})

test('only comments and then the end is interrupted', async (t) => {
  const { outcome } = await read(t, ': keep-alive\n\n'.repeat(3))
  assert.equal(outcome.fault?.class, 'interrupted')
})

const DOCUMENT = {
  choices: [
    {
      finish_reason: 'tool_calls',
      message: {
        content: 'Let me look.',
        tool_calls: [{ id: 'c1', function: { name: 'getOrders', arguments: '{"id":1}' } }],
      },
    },
  ],
  usage: { prompt_tokens: 9, completion_tokens: 3 },
}

test('PS-20: one JSON document instead of a stream is the same answer, whatever it is called', async (t) => {
  for (const type of ['application/json', 'text/event-stream', 'text/plain']) {
    const { outcome, shown } = await read(t, JSON.stringify(DOCUMENT), { type })
    assert.equal(outcome.end, 'answer', type)
    assert.equal(shown, 'Let me look.')
    assert.equal(outcome.reading?.parts[1]?.type, 'tool_call')
    assert.notEqual(outcome.firstTokenMs, null)
  }
})

test('PS-18: a stream whose first line lost its field is read as a stream, for what it says', async (t) => {
  const error =
    '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}\n\ndata: [DONE]\n\n'
  const { outcome } = await read(t, error)
  assert.equal(outcome.fault?.class, 'quota')
  const { outcome: answer, shown } = await read(t, (TX('Hi') + FIN() + DONE).slice('data: '.length))
  assert.deepEqual([answer.end, shown], ['answer', 'Hi'])
  const { outcome: cut } = await read(t, '{"choices": [secret-words\n\ndata: {"choi')
  assert.match(cut.fault?.detail ?? '', /no whole JSON document/)
})

test('PS-23: blank lines before a document mean nothing', async (t) => {
  const { outcome } = await read(t, `\n\n\r\n ${JSON.stringify(DOCUMENT)}`, { type: 'application/json' })
  assert.equal(outcome.end, 'answer')
})

test('a document that is no JSON, or cut, is a fault without a word of it', async (t) => {
  const { outcome } = await read(t, '{"choices": [secret-words', { type: 'application/json' })
  assert.equal(outcome.fault?.class, 'malformed')
  assert.doesNotMatch(outcome.fault?.detail ?? '', /secret-words/)
})

test('PS-21: an HTML page with 200 is a fault that names status and content type only', async (t) => {
  for (const type of ['text/html; charset=utf-8', 'text/event-stream']) {
    const { outcome, provider } = await read(t, '<!doctype html><title>Sign in</title>', { type, end: false })
    assert.equal(outcome.fault?.class, 'malformed')
    assert.match(outcome.fault?.detail ?? '', /^HTTP 200 with content type text\/(html|event-stream) where/)
    await provider.until(({ closed }) => closed() === 1)
  }
})

test('an answer that is compressed unasked is a fault that says so', async (t) => {
  const provider = await startProvider(t, (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
    response.end(zlib.gzipSync(whole('Hi')))
  })
  const outcome = await begin(t, provider.url).outcome
  assert.deepEqual(
    [outcome.fault?.class, outcome.fault?.detail],
    ['malformed', 'HTTP 200 with content type text/event-stream is compressed, which was not asked for'],
  )
})

test('a stream without its content type is read by its first field', async (t) => {
  for (const type of ['text/plain', 'application/octet-stream']) {
    assert.equal((await read(t, whole('Hi'), { type })).outcome.end, 'answer')
    assert.equal((await read(t, `: ping\n\n${whole('Hi')}`, { type })).outcome.end, 'answer')
    assert.equal((await read(t, `datum: 1\n\n${whole('Hi')}`, { type })).outcome.fault?.class, 'malformed')
  }
})

// ------------------------------------------------------------------------------------------------ bytes

const LONG = '北京🙂 «ёж»'

/** The stream in the pieces that cuts make of it. */
function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % bytes.length).toSorted((left, right) => left - right), bytes.length]
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

function egressOf(chunks: readonly Uint8Array[], status = 200, type = 'text/event-stream'): Egress {
  return {
    request: async () => ({
      kind: 'response',
      response: {
        status,
        headers: { 'content-type': type },
        body: (async function* () {
          yield* chunks
        })(),
        destroy: () => {},
      },
    }),
    judge: () => null,
    close: async () => {},
  }
}

test('PS-24, PS-25, PS-26, PS-28: any cut, line end or byte order mark gives the same answer', async (t) => {
  const lines =
    TX(LONG) + data({ choices: [{ delta: { content: LONG } }] }).replace('data: ', 'data:') + FIN() + 'data: [DONE]'
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.boolean(),
      fc.array(fc.nat(2000), { maxLength: 40 }),
      async (lineEnd, mark, cuts) => {
        const bytes = Buffer.from((mark ? '\uFEFF' : '') + lines.replaceAll('\n', lineEnd))
        const { outcome, shown } = begin(t, 'http://127.0.0.1:1/v1', { egress: egressOf(cutAt(bytes, cuts)) })
        assert.equal((await outcome).end, 'answer')
        assert.equal(shown.join(''), LONG + LONG)
      },
    ),
    { numRuns: 200 },
  )
})

test('PS-24: a stream flushed after every single byte', async (t) => {
  const bytes = Buffer.from(whole(LONG))
  const chunks = [...bytes].map((byte) => Uint8Array.of(byte))
  const { outcome, shown } = begin(t, 'http://127.0.0.1:1/v1', { egress: egressOf(chunks) })
  assert.equal((await outcome).end, 'answer')
  assert.equal(shown.join(''), LONG)
})

test('PS-28: several data lines are joined; a last event without its blank line is read if it is whole', async (t) => {
  const joined = 'data: {"choices":[{"delta":\ndata: {"content":"x"}}]}\n\n'
  const { outcome, shown } = await read(t, `${joined}${TX('y')}data: [DONE]`)
  assert.deepEqual([outcome.end, shown], ['answer', 'xy'])
  const cut = await read(t, `${TX('y')}data: {"choices":[{"del`)
  assert.equal(cut.outcome.fault?.class, 'interrupted')
  const cutUsage = await read(t, `${TX('y')}${FIN()}data: {"choices":[],"usage":{"prom`)
  assert.equal(cutUsage.outcome.end, 'answer')
})

test('PS-29: one event of 8 MiB in pieces of 1 KiB takes linear time', async (t) => {
  const big = 'x'.repeat(8 * 1024 * 1024)
  const bytes = Buffer.from(TX(big) + FIN() + DONE)
  const chunks = cutAt(
    bytes,
    Array.from({ length: Math.floor(bytes.length / 1024) }, (_, index) => index * 1024),
  )
  const startedAt = cpuMs()
  const { outcome, shown } = begin(t, 'http://127.0.0.1:1/v1', { egress: egressOf(chunks) })
  assert.equal((await outcome).end, 'answer')
  assert.equal(shown.join('').length, big.length)
  assert.ok(cpuMs() - startedAt < 3_000)
})

test('PS-29: an event, a document or an answer without end is given up at its bound', async (t) => {
  const piece = Buffer.alloc(1024 * 1024, 'x')
  const endless = (first: string, more: Uint8Array): Egress => ({
    ...egressOf([]),
    request: async () => ({
      kind: 'response',
      response: {
        status: 200,
        headers: { 'content-type': 'text/event-stream' },
        body: (async function* () {
          yield Buffer.from(first)
          for (;;) yield more
        })(),
        destroy: () => {},
      },
    }),
  })
  const comment = Buffer.from(`: ${'x'.repeat(4 * 1024 * 1024)}\n\n`)
  for (const [egress, what] of [
    [endless('data: ', piece), /one event is larger/],
    [endless('{"a":"', piece), /the JSON body is larger/],
    [endless(TX('Hi'), comment), /the answer is larger/],
    [endless(TX('Hi'), Buffer.from(TX('x'.repeat(512 * 1024)))), /the model said more than 16777216 characters/],
    [endless(RE('Hm'), Buffer.from(RE('x'.repeat(512 * 1024)))), /the model said more than/],
  ] as const) {
    const outcome = await begin(t, 'http://127.0.0.1:1/v1', { egress }).outcome
    assert.equal(outcome.fault?.class, 'malformed')
    assert.match(outcome.fault?.detail ?? '', what)
  }
})

// ------------------------------------------------------------------------------------------------ HTTP errors

test('an HTTP error is read by the dialect, a redirect is one and is not followed', async (t) => {
  const provider = await startProvider(t, (response, _seen, index) =>
    index === 0
      ? error(response, 429, null, { 'retry-after': '3' })
      : response.writeHead(307, { location: '/x' }).end(),
  )
  const limited = await begin(t, provider.url).outcome
  assert.deepEqual([limited.fault?.class, limited.fault?.retryAfterMs, limited.httpStatus], ['rate', 3000, 429])
  const moved = await begin(t, provider.url).outcome
  assert.deepEqual([moved.fault?.class, moved.httpStatus], ['bad_request', 307])
  assert.equal(provider.seen.length, 2)
})

test('the body of an HTTP error is read to 64 KiB and for five seconds', async (t) => {
  const lengths: number[] = []
  const dialect: Dialect = {
    ...openaiChat,
    fault(status, headers, body, now) {
      lengths.push(body.length)
      return openaiChat.fault(status, headers, body, now)
    },
  }
  const endless = await startRaw(t, (socket) => {
    socket.write('HTTP/1.1 500 no\r\n\r\n')
    const more = () => {
      while (!socket.destroyed && socket.write('x'.repeat(10_000)));
    }
    socket.on('drain', more)
    more()
  })
  assert.equal((await begin(t, endless.url, { dialect }).outcome).fault?.class, 'server')
  await endless.closed

  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const slow = await startProvider(t, (response) => response.writeHead(503).write('{"error":'))
  const egress = plainEgress(t)
  const { promise: headers, resolve } = Promise.withResolvers<void>()
  const run = begin(t, slow.url, {
    dialect,
    egress: {
      ...egress,
      async request(request) {
        const answer = await egress.request(request)
        resolve()
        return answer
      },
    },
  })
  await headers
  await turn()
  t.mock.timers.tick(5_000)
  assert.equal((await run.outcome).fault?.class, 'overloaded')
  await slow.until(({ closed }) => closed() === 1)
  assert.equal(lengths[0], 65_536)
  assert.equal(lengths[1], '{"error":'.length)
})

// ------------------------------------------------------------------------------------------------ deadlines

interface Clock {
  readonly provider: Provider
  readonly run: Run
  readonly response: NodeJS.WritableStream
  readonly ended: () => boolean
  /** Moves the clock, then lets everything that follows happen. */
  readonly pass: (ms: number) => Promise<void>
}

async function withClock(t: TestContext, first: string | null, given: Given = {}): Promise<Clock> {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const { promise, resolve } = Promise.withResolvers<NodeJS.WritableStream>()
  const provider = await startProvider(t, (response) => {
    if (first !== null) stream(response, first, { end: false })
    resolve(response)
  })
  const run = begin(t, provider.url, { egress: plainEgress(t), ...given })
  let ended = false
  void run.outcome.then(() => (ended = true))
  const response = await promise
  return {
    provider,
    run,
    response,
    ended: () => ended,
    async pass(ms) {
      t.mock.timers.tick(ms)
      for (let turns = 0; turns < 20; turns += 1) await turn()
    },
  }
}

/** Resolves once the attempt has read what was written. */
async function shows(run: Run, count: number): Promise<void> {
  while (run.shown.length < count) await turn()
}

test('RF-09: silence before headers ends at the first-token deadline, and the socket is closed', async (t) => {
  const { ended, pass, provider, run } = await withClock(t, null)
  await pass(119_999)
  assert.equal(ended(), false)
  await pass(1)
  const outcome = await run.outcome
  assert.deepEqual([outcome.fault?.class, outcome.httpStatus], ['timeout', null])
  await provider.until(({ closed }) => closed() === 1)
})

test('PS-23: comments, pings and empty events do not extend the first-token deadline', async (t) => {
  const { ended, pass, response, run } = await withClock(t, ': hello\n\n')
  for (let index = 0; index < 3; index += 1) {
    await pass(39_000)
    response.write(`: keep-alive\n\n${data({ choices: [] })}`)
    await pass(0)
    assert.equal(ended(), false)
  }
  await pass(3_000)
  assert.equal((await run.outcome).fault?.detail, 'nothing of an answer within 120000 ms')
})

test('PS-22: silence within an answer is a stall; comments keep it alive', async (t) => {
  const { ended, pass, provider, response, run } = await withClock(t, TX('Let me'))
  await shows(run, 1)
  for (let index = 0; index < 5; index += 1) {
    await pass(59_000)
    response.write(': keep-alive\n\n')
    await pass(0)
  }
  assert.equal(ended(), false)
  await pass(59_999)
  assert.equal(ended(), false)
  await pass(1)
  const outcome = await run.outcome
  assert.deepEqual([outcome.fault?.class, outcome.fault?.detail], ['timeout', 'no byte for 60000 ms'])
  assert.equal(partsText(outcome), 'Let me')
  await provider.until(({ closed }) => closed() === 1)
})

test('the step is given up while nothing is shown, and not after', async (t) => {
  const quiet = await withClock(t, RE('hm'), { limits: { giveUpAt: 1_005_000 } })
  await quiet.pass(5_000)
  assert.equal((await quiet.run.outcome).end, 'given_up')
  await quiet.provider.until(({ closed }) => closed() === 1)
  t.mock.timers.reset()
  const speaking = await withClock(t, TX('Hi'), { limits: { giveUpAt: 1_005_000, deadlineAt: 1_020_000 } })
  await shows(speaking.run, 1)
  await speaking.pass(19_999)
  assert.equal(speaking.ended(), false)
  await speaking.pass(1)
  assert.equal((await speaking.run.outcome).end, 'deadline')
})

test('a time that is over before the request keeps it from being sent', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, whole('Hi')))
  const late = await begin(t, provider.url, { limits: { giveUpAt: Date.now() - 1 } }).outcome
  assert.deepEqual([late.end, late.sent], ['given_up', false])
  const gone = AbortSignal.abort('cancelled')
  const aborted = await begin(t, provider.url, { signal: gone }).outcome
  assert.deepEqual([aborted.end, aborted.sent], ['aborted', false])
  assert.equal(provider.seen.length, 0)
})

// ------------------------------------------------------------------------------------------------ aborting

test('CA-06: an abort closes the socket at once, before headers, before the first token and within the answer', async (t) => {
  for (const begun of [null, ': ping\n\n', RE('hm'), TX('Let me')]) {
    const provider = await startProvider(t, (response) => begun !== null && stream(response, begun, { end: false }))
    const cancel = new AbortController()
    const run = begin(t, provider.url, { signal: cancel.signal })
    await provider.until(({ seen }) => seen.length === 1)
    if (begun?.includes('"content"') === true) await shows(run, 1)
    cancel.abort('cancelled')
    assert.equal((await run.outcome).end, 'aborted')
    await provider.until(({ closed }) => closed() === 1)
  }
})

test('CA-06: an abort while the connection is made or an error is read closes it too', async (t) => {
  const provider = await startProvider(t, (response) => response.writeHead(500).write('{"err'))
  for (const wait of [false, true]) {
    const cancel = new AbortController()
    const run = begin(t, provider.url, { signal: cancel.signal })
    if (wait) await provider.until(({ seen }) => seen.length > 0)
    cancel.abort('cancelled')
    assert.equal((await run.outcome).end, 'aborted')
  }
  await provider.until(({ busy }) => busy() === 0)
})

test('CA-08: an egress that ignores the abort does not hold the outcome up, and its late answer is dropped', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { promise: destroyed, resolve: destroy } = Promise.withResolvers<void>()
  const deaf: Egress = {
    ...egressOf([]),
    async request(request) {
      await promise
      const answer = await egressOf([Buffer.from(whole('late'))]).request(request)
      if (answer.kind !== 'response') return answer
      return { kind: 'response', response: { ...answer.response, destroy } }
    },
  }
  const cancel = new AbortController()
  const run = begin(t, 'http://127.0.0.1:1/v1', { egress: deaf, signal: cancel.signal })
  cancel.abort('cancelled')
  assert.equal((await run.outcome).end, 'aborted')
  resolve()
  await destroyed
  assert.deepEqual(run.shown, [])
})

test('an answer that only waits for late usage survives an abort', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, TX('Hi') + FIN(), { end: false }))
  const cancel = new AbortController()
  const run = begin(t, provider.url, { signal: cancel.signal })
  await shows(run, 1)
  await turn()
  cancel.abort('deadline')
  assert.equal((await run.outcome).end, 'answer')
  await provider.until(({ closed }) => closed() === 1)
})

test('nothing is shown once the outcome is told, though the reader still holds something back', async (t) => {
  const provider = await startProvider(t, (response) => stream(response, TX('Let me'), { end: false }))
  const cancel = new AbortController()
  const dialect: Dialect = {
    ...openaiChat,
    reader(sink, call) {
      const reader = openaiChat.reader(sink, call)
      const end = reader.end.bind(reader)
      reader.end = () => {
        sink.text('held back')
        return end()
      }
      return reader
    },
  }
  const run = begin(t, provider.url, { signal: cancel.signal, dialect })
  await shows(run, 1)
  cancel.abort('cancelled')
  await run.outcome
  assert.deepEqual(run.shown, ['Let me'])
})

test('a reader that throws is a fault, not a hanging run', async (t) => {
  const dialect: Dialect = {
    ...openaiChat,
    reader(sink, call) {
      const reader = openaiChat.reader(sink, call)
      reader.event = () => {
        throw new TypeError('secret-words')
      }
      return reader
    },
  }
  const { outcome, provider } = await read(t, whole('Hi'), { end: false }, { dialect })
  assert.deepEqual([outcome.fault?.class, outcome.fault?.detail], ['malformed', 'reading the answer threw TypeError'])
  await provider.until(({ closed }) => closed() === 1)
})

test('what egress refuses or cannot connect was not sent', async (t) => {
  const refused = await begin(t, 'https://elsewhere.example/v1').outcome
  assert.deepEqual([refused.fault?.class, refused.sent], ['egress_denied', false])
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  const closed = await begin(t, `http://127.0.0.1:${port}/v1`).outcome
  assert.deepEqual([closed.fault?.class, closed.sent], ['network', false])
  const broken = await startRaw(t, (socket) => socket.destroy())
  const reset = await begin(t, broken.url).outcome
  assert.deepEqual([reset.fault?.class, reset.sent], ['network', true])
  // A server that ends the connection before it stands: the request, with all its tokens, is still here.
  const rude = await startRaw(t, (socket) => socket.resetAndDestroy())
  const handshake = await begin(t, rude.url.replace('http:', 'https:')).outcome
  assert.deepEqual([handshake.fault?.class, handshake.sent], ['network', false])
})

test('a raw HTTP/1.1 answer that ends with its connection is read to its end', async (t) => {
  const { url } = await startRaw(t, (socket) => socket.end(HEADERS + whole('Hi')))
  const run = begin(t, url)
  assert.equal((await run.outcome).end, 'answer')
  assert.equal(run.shown.join(''), 'Hi')
})

test('SD-03: no listener and no timer stays on a signal after a thousand attempts', async (t) => {
  const { signal } = new AbortController()
  const egress = egressOf([Buffer.from(whole('Hi'))])
  for (let index = 0; index < 1000; index += 1) {
    assert.equal((await begin(t, 'http://127.0.0.1:1/v1', { egress, signal }).outcome).end, 'answer')
  }
  assert.equal(events.getEventListeners(signal, 'abort').length, 0)
})
