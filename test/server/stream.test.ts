/** GET /runs/{id}/stream over real sockets. */
import assert from 'node:assert/strict'
import http from 'node:http'
import net from 'node:net'
import { once } from 'node:events'
import { test } from 'node:test'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { HEARTBEAT_MS } from '../../src/server/stream-writer.ts'
import { ID, type FakeRuns } from './fake-runs.ts'
import { call, ENGINE, errorOf, eventually, readStream, type Reader, RUN_TOKEN, startServer } from './start-server.ts'

const PATH = `/runs/${ID}/stream?token=${RUN_TOKEN}`
const start: StreamEvent = { event: 'start', data: { run_id: ID } }
const step = (number: number): StreamEvent => ({ event: 'step', data: { step: number, final: false } })
const delta = (offset: number, text: string): StreamEvent => ({ event: 'delta', data: { step: 1, offset, text } })
const toolCall: StreamEvent = { event: 'tool_call', data: { step: 1, n: 1, label: 'Looking…' } }

const names = (reader: Reader) => reader.messages.map(({ event }) => event)
const has = (name: string) => (reader: Reader) => names(reader).includes(name)

/** The text a browser shows: `text.slice(0, offset) + delta`. */
function shown(messages: Reader['messages'], before = ''): string {
  let text = before
  for (const { event, data } of messages) {
    const facts = JSON.parse(data)
    if (event === 'resync' || event === 'reset') text = ''
    if (event === 'delta') text = text.slice(0, facts.offset) + facts.text
  }
  return text
}

function story(runs: FakeRuns): void {
  runs.add()
  runs.append(start, step(1), delta(0, 'Where '), delta(6, 'is it'), toolCall, delta(11, '? 🙂'))
  runs.end('{}')
}

test('SS-01: head and first bytes come at once, before any event, uncompressed and unbuffered', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const reader = await readStream(port, { headers: { 'accept-encoding': 'gzip, br' } })
  await reader.until(({ retries }) => retries.length === 1)
  const { statusCode, headers } = reader.response
  assert.equal(statusCode, 200)
  assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(headers['cache-control'], 'no-cache, no-transform')
  assert.equal(headers['x-accel-buffering'], 'no')
  assert.equal(headers['content-encoding'], undefined)
  assert.equal(headers['content-length'], undefined)
  assert.deepEqual([reader.comments.length, reader.retries, reader.messages], [1, [1000], []])
  reader.close()
})

test('SS-02: a comment comes each 15 s, before the first event too, and no reader sees an event from it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { port, runs } = await startServer(t)
  runs.add()
  const reader = await readStream(port)
  await reader.until(({ comments }) => comments.length === 1)
  for (let beats = 2; beats <= 4; beats += 1) {
    t.mock.timers.tick(HEARTBEAT_MS - 1)
    assert.equal(reader.comments.length, beats - 1)
    t.mock.timers.tick(1)
    await reader.until(({ comments }) => comments.length === beats)
  }
  runs.append(start)
  await reader.until(has('start'))
  t.mock.timers.tick(HEARTBEAT_MS)
  runs.append(delta(0, 'a'))
  await reader.until(has('delta'))
  assert.deepEqual(names(reader), ['start', 'delta'])
  // A reader that splits at blank lines must not find a block without data.
  const blocks = reader.raw.split('\n\n').slice(0, -1)
  for (const block of blocks) assert.match(block, /^data: /m)
  runs.end('{}')
  await reader.ended
})

test('every event has an id, its name and its data as one line of JSON', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const reader = await readStream(port)
  await reader.ended
  assert.deepEqual(names(reader), ['start', 'step', 'delta', 'tool_call', 'delta', 'done'])
  assert.deepEqual(JSON.parse(reader.messages[0]?.data ?? ''), { run_id: ID })
  assert.deepEqual(JSON.parse(reader.messages[2]?.data ?? ''), { step: 1, offset: 0, text: 'Where is it' })
  assert.equal(new Set(reader.messages.map(({ id }) => id)).size, 6)
  assert.equal(shown(reader.messages), 'Where is it? 🙂')
})

test('SS-04: readers that come early, late and after the end, two at once, all get the same', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const early = await readStream(port)
  runs.append(start, step(1), delta(0, 'Wh'))
  await early.until(has('delta'))
  const late = await Promise.all([readStream(port), readStream(port)])
  await late[0].until(has('delta'))
  runs.append(delta(2, 'ere'), toolCall)
  runs.end('{}')
  const after = await readStream(port)
  for (const reader of [early, ...late, after]) {
    await reader.ended
    assert.equal(shown(reader.messages), 'Where')
    assert.deepEqual(
      names(reader).filter((name) => name !== 'delta'),
      ['start', 'step', 'tool_call', 'done'],
    )
    assert.equal(names(reader).at(-1), 'done')
  }
})

test('a reader with an engine token needs no run token', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const reader = await readStream(port, { path: `/runs/${ID}/stream`, headers: ENGINE })
  await reader.ended
  assert.equal(names(reader).at(-1), 'done')
})

test('a reader that resumes at any id it was given, by header or query, gets exactly the rest', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const whole = await readStream(port)
  await whole.ended
  for (const [index, { id = '' }] of whole.messages.entries()) {
    const had = whole.messages.slice(0, index + 1)
    const rest = whole.messages.slice(index + 1)
    for (const way of [{ headers: { 'last-event-id': id } }, { path: `${PATH}&last_event_id=${id}` }]) {
      if (rest.length === 0) continue
      const reader = await readStream(port, way)
      await reader.ended
      assert.deepEqual(reader.messages, rest)
      assert.equal(shown(reader.messages, shown(had)), shown(whole.messages))
    }
  }
})

test('a reader that resumes in the middle of a text gets it from there on', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.append(start, delta(0, 'Where'))
  const first = await readStream(port)
  await first.until(has('delta'))
  const { id = '' } = first.messages[1] ?? {}
  first.close()
  runs.append(delta(5, ' is it'))
  const second = await readStream(port, { headers: { 'last-event-id': id } })
  await second.until(has('delta'))
  assert.deepEqual(JSON.parse(second.messages[0]?.data ?? ''), { step: 1, offset: 5, text: ' is it' })
  second.close()
})

test('SS-07: a reconnect with the last id is 204, so that a plain EventSource stops; with an earlier one the rest comes', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const reader = await readStream(port)
  await reader.ended
  const id = reader.messages.at(-1)?.id ?? ''
  for (const ask of [{ path: PATH, headers: { 'last-event-id': id } }, { path: `${PATH}&last_event_id=${id}` }]) {
    const answer = await call(port, ask)
    assert.deepEqual([answer.status, answer.text, answer.headers['content-type']], [204, '', undefined])
  }
  // The header is what the browser saw last; the query is where its page began.
  const stale = await call(port, { path: `${PATH}&last_event_id=0-1`, headers: { 'last-event-id': id } })
  assert.equal(stale.status, 204)
  const empty = await readStream(port, { headers: { 'last-event-id': '' } })
  await empty.ended
  assert.equal(names(empty)[0], 'start')
  const addressed = await readStream(port, { path: `${PATH}&last_event_id=0-1`, headers: { 'last-event-id': '' } })
  await addressed.ended
  assert.equal(names(addressed)[0], 'step')
})

test('SS-07: a stream that ends sends its end once and closes properly', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  const reader = await readStream(port)
  await reader.ended
  assert.equal(reader.response.complete, true)
  assert.equal(names(reader).filter((name) => name === 'done').length, 1)
})

test('an id the run does not know starts over, opened by resync with the text of the current step', async (t) => {
  const { port, runs } = await startServer(t)
  story(runs)
  for (const id of ['77-1', 'x', '1-1%0aevent:%20x']) {
    const reader = await readStream(port, { path: `${PATH}&last_event_id=${id}` })
    await reader.ended
    assert.deepEqual(names(reader), ['resync', 'start', 'step', 'delta', 'tool_call', 'delta', 'done'])
    assert.deepEqual(JSON.parse(reader.messages[0]?.data ?? ''), { step: 1, text: 'Where is it? 🙂' })
  }
})

test('SS-06: no text of a model, a tool or a client forges an event or breaks a line', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const text = 'a\r\nevent: done\ndata: {}\n\nb\r\u2028c\u0000\ud83d'
  runs.append(start, delta(0, text), {
    event: 'tool_call',
    data: { step: 1, n: 1, label: text, tool: text, args: { [text]: text } },
  })
  runs.end('{}')
  const reader = await readStream(port)
  await reader.ended
  assert.deepEqual(names(reader), ['start', 'delta', 'tool_call', 'done'])
  assert.equal(shown(reader.messages), text)
  assert.deepEqual(JSON.parse(reader.messages[2]?.data ?? '').args, { [text]: text })
  assert.ok(!reader.raw.includes('\r'))
  assert.ok(reader.raw.split('\n').every((line) => /^$|^:|^(id|event|data|retry): /.test(line)))

  const socket = net.connect(port, '127.0.0.1')
  socket.write(`GET ${PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nlast-event-id: 1\r\nevent: x\r\n\r\n`)
  let answer = ''
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk
  assert.doesNotMatch(answer, /event: x/)
  assert.match(answer, /event: resync/)
})

test('numbers keep their digits in the stream', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const raw = (JSON as unknown as { rawJSON(text: string): never }).rawJSON('12345678901234567890')
  runs.append({ event: 'tool_result', data: { step: 1, n: 1, ok: true, result: { n: raw } } })
  runs.end('{}')
  const reader = await readStream(port)
  await reader.ended
  assert.match(reader.raw, /"n":12345678901234567890\}/)
})

test('CA-07: a reader that goes away changes nothing for the run, and is forgotten', async (t) => {
  const signals: AbortSignal[] = []
  const { port, runs } = await startServer(t, {
    events: {
      read: async (runId, after, signal) => {
        signals.push(signal)
        return runs.events.read(runId, after, signal)
      },
    },
  })
  runs.add()
  const reader = await readStream(port)
  for (let index = 0; index < 3; index += 1) {
    runs.append(delta(index, 'x'))
    await reader.until(({ messages }) => shown(messages).length === index + 1)
  }
  reader.close()
  await eventually(() => signals[0]?.aborted === true)
  runs.append(delta(3, 'y'))
  assert.deepEqual(runs.calls, [])
  assert.equal(runs.runs.get(ID)?.view.status, 'running')
  runs.end('{}')
  const late = await readStream(port)
  await late.ended
  assert.equal(shown(late.messages), 'xxxy')
})

test('a hundred readers of one run, coming and going, cause no warning', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  runs.append(start)
  const readers = await Promise.all(Array.from({ length: 100 }, () => readStream(port)))
  for (const reader of readers.slice(0, 50)) reader.close()
  runs.append(delta(0, 'x'))
  runs.end('{}')
  for (const reader of readers.slice(50)) {
    await reader.ended
    assert.equal(names(reader).at(-1), 'done')
  }
})

/** A reader that asks and then takes nothing off its socket. */
async function stuckReader(port: number): Promise<http.IncomingMessage> {
  const request = http.request({ host: '127.0.0.1', port, path: PATH, agent: false })
  request.on('error', () => {})
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  response.on('error', () => {})
  response.pause()
  return response
}

/** What the server's side of its answers comes to: how much each write left waiting, and which connections it closed. */
function watchAnswers(app: http.Server) {
  const held: number[] = []
  const closed: boolean[] = []
  app.on('request', (_request, response: http.ServerResponse) => {
    const index = closed.push(false) - 1
    response.once('close', () => (closed[index] = true))
    const write = response.write.bind(response)
    response.write = ((...parts: Parameters<typeof write>) => {
      const taken = write(...parts)
      held.push(response.writableLength)
      return taken
    }) as typeof response.write
  })
  return { held, closed }
}

test('a reader that takes nothing delays nobody, holds one event, and is dropped; it reconnects and loses nothing', async (t) => {
  const watch = { answered: () => {}, streamDropped: () => void (dropped += 1) }
  const { port, runs, server } = await startServer(t, { stalledMs: 100, watch })
  let dropped = 0
  runs.add()
  const { held, closed } = watchAnswers(server.app.server)
  const stuck = await stuckReader(port)
  const quick = await readStream(port)

  // More than sockets buffer, in many small events.
  const text = 'x'.repeat(10_000)
  const whole = text.repeat(3_000)
  for (let index = 0; index < 3_000; index += 1) {
    runs.append(delta(index * text.length, text))
    if (index % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  runs.append(toolCall)
  await quick.until(has('tool_call'))
  assert.equal(shown(quick.messages), whole)
  await eventually(() => closed[0] === true)
  assert.equal(closed[1], false)
  assert.deepEqual([dropped, server.openStreams()], [1, 1])
  assert.ok(Math.max(...held) < 200_000, String(Math.max(...held)))

  let raw = ''
  stuck.setEncoding('utf8').on('data', (chunk: string) => (raw += chunk))
  stuck.resume()
  await new Promise((resolve) => stuck.once('close', resolve))
  assert.equal(stuck.complete, false)
  // The last event that came whole.
  const id = [...raw.slice(0, raw.lastIndexOf('\n\n')).matchAll(/^id: (\S+)$/gm)].at(-1)?.[1] ?? ''
  const again = await readStream(port, { headers: { 'last-event-id': id } })
  runs.end('{}')
  await again.ended
  const offset = JSON.parse(again.messages[0]?.data ?? '').offset
  assert.ok(offset > 0)
  assert.equal(shown(again.messages, whole.slice(0, offset)), whole)
  await quick.ended
})

test('a reader that is stuck at the very end of its stream is dropped as well', async (t) => {
  const { port, runs, server } = await startServer(t, { stalledMs: 100 })
  runs.add()
  const { closed } = watchAnswers(server.app.server)
  const stuck = await stuckReader(port)
  // Large enough to block, and behind it the end.
  runs.append({ event: 'tool_result', data: { step: 1, n: 1, ok: true, result: 'x'.repeat(32_000_000) } })
  runs.end('{}')
  await eventually(() => closed[0] === true)
  stuck.resume()
  await new Promise((resolve) => stuck.once('close', resolve))
  assert.equal(stuck.complete, false)
})

test('a reader whose socket does not take even the end is dropped', async (t) => {
  const watch = { answered: () => {}, streamDropped: () => void (dropped += 1) }
  const { port, runs, server } = await startServer(t, { stalledMs: 100, watch })
  let dropped = 0
  story(runs)
  const { closed } = watchAnswers(server.app.server)
  // An end that never gets through; a real one needs a socket that is full to the byte.
  server.app.server.prependListener('request', (_request, response: http.ServerResponse) => {
    response.end = () => response
  })
  const reader = await readStream(port)
  await reader.until(has('done'))
  await reader.ended
  assert.equal(reader.response.complete, false)
  await eventually(() => closed[0] === true)
  assert.equal(dropped, 1)
})

test('a reader that is stuck does not hold up a server that closes', async (t) => {
  const { port, runs, server } = await startServer(t)
  runs.add()
  const { held, closed } = watchAnswers(server.app.server)
  await stuckReader(port)
  runs.append({ event: 'tool_result', data: { step: 1, n: 1, ok: true, result: 'x'.repeat(32_000_000) } })
  await eventually(() => (held.at(-1) ?? 0) > 1_000_000)
  await server.app.close()
  await eventually(() => closed[0] === true)
})

test('a run whose events are gone is 404', async (t) => {
  const { port, runs } = await startServer(t, { events: { read: async () => null } })
  runs.add()
  const answer = await call(port, { path: PATH })
  assert.deepEqual([answer.status, errorOf(answer).code], [404, 'run_not_found'])
})

test('a log that breaks under a stream is a bug: logged, and the stream is cut without done', async (t) => {
  const { port, runs, logged } = await startServer(t, {
    events: {
      read: async () => ({
        atEnd: false,
        had: (async function* () {})(),
        events: (async function* () {
          yield { id: '0-1', event: start }
          await new Promise((resolve) => setImmediate(resolve))
          throw new Error('broken')
        })(),
      }),
    },
  })
  runs.add()
  const reader = await readStream(port)
  await reader.ended
  assert.equal(reader.response.complete, false)
  assert.match(String(logged[0]?.facts['stack']), /broken/)
})
