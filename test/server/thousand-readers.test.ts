/**
 * A thousand readers at once, of every slow and dead kind, over real sockets: the live ones get everything exactly, the dead
 * ones are let go of by the rule of SPEC §9, what waits for any of them is bounded, and nothing is left behind.
 */
import assert from 'node:assert/strict'
import type http from 'node:http'
import net from 'node:net'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { runId, type RunId } from '../../src/contract/ids.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { runToken } from '../../src/runs/run-token.ts'
import { MAX_EVENT_CHARS } from '../../src/runs/log-entries.ts'
import type { EventReading } from '../../src/runs/ports.ts'
import { FakeRuns } from './fake-runs.ts'
import { eventually, startServer, TOKENS } from './start-server.ts'

/** Runs of a few words, and one of more text than sockets hold. */
const SMALL = Array.from({ length: 4 }, (_, index) => runId(`01J0000000000000000000001${index}`))
const BIG = runId('01J00000000000000000000020')
const SMALL_PIECES = 40
const PIECE = 'Where is my order? 🚚 '
const BIG_PIECES = 600
const BIG_PIECE = 'x'.repeat(10_000)

interface Watched {
  readonly reading: { opened: number; ended: number }
  /** Most that was ever held for one reader beyond its socket, in bytes. */
  held: number
  /** Answers whose connection is gone. */
  closed: number
  dropped: number
}

async function startWatched(t: TestContext) {
  const runs = new FakeRuns()
  const watched: Watched = { reading: { opened: 0, ended: 0 }, held: 0, closed: 0, dropped: 0 }
  const started = await startServer(t, {
    // So long that a busy machine is not taken for a dead reader.
    stalledMs: 1_500,
    watch: { answered: () => {}, streamDropped: () => void (watched.dropped += 1) },
    store: runs.store,
    events: {
      read: async (id, after, signal) => {
        const reading = await runs.events.read(id, after, signal)
        return reading === null ? null : { ...reading, events: counted(reading, watched) }
      },
    },
  })
  started.server.app.server.on('request', (_request, response: http.ServerResponse) => {
    response.once('close', () => (watched.closed += 1))
    const write = response.write.bind(response)
    response.write = ((...parts: Parameters<typeof write>) => {
      const taken = write(...parts)
      watched.held = Math.max(watched.held, response.writableLength)
      return taken
    }) as typeof response.write
  })
  return { ...started, runs, watched }
}

async function* counted({ events }: EventReading, { reading }: Watched) {
  reading.opened += 1
  try {
    yield* events
  } finally {
    reading.ended += 1
  }
}

interface Client {
  readonly socket: net.Socket
  readonly closed: Promise<unknown>
  /** Everything that came, head included. */
  text(): string
}

/** Asks in HTTP/1.0, so that what comes is the stream and nothing around it. */
function ask(port: number, id: RunId, read: (socket: net.Socket) => () => Buffer = quickly, after?: string): Client {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const last = after === undefined ? '' : `last-event-id: ${after}\r\n`
  socket.write(`GET /runs/${id}/stream?token=${runToken(TOKENS, id)} HTTP/1.0\r\n${last}\r\n`)
  socket.on('error', () => {})
  socket.on('end', () => socket.end())
  const taken = read(socket)
  return { socket, closed: once(socket, 'close'), text: () => taken().toString('utf8') }
}

function quickly(socket: net.Socket): () => Buffer {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks)
}

/** One byte at a time, some of them in a turn of the event loop: a turn for each would only measure the loop. */
function byteByByte(socket: net.Socket): () => Buffer {
  const bytes: number[] = []
  socket.on('readable', () => {
    const next = () => {
      for (let count = 0; count < 64; count += 1) {
        const byte = socket.read(1) as Buffer | null
        if (byte === null) return
        bytes.push(byte[0] ?? 0)
      }
      setImmediate(next)
    }
    next()
  })
  return () => Buffer.from(bytes)
}

interface Got {
  readonly text: string
  readonly dones: number
  readonly lastId: string | undefined
}

/** What a reader makes of whole events; a gap or a repetition fails. `before`: the text it has. */
function gotBy(client: Client, before = ''): Got {
  const all = client.text()
  const body = all.slice(all.indexOf('\r\n\r\n') + 4)
  let text = before
  let dones = 0
  let lastId: string | undefined
  for (const block of body.slice(0, body.lastIndexOf('\n\n')).split('\n\n')) {
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data === undefined) continue
    lastId = /^id: (.*)$/m.exec(block)?.[1] ?? lastId
    const facts = JSON.parse(data)
    if (block.includes('event: done')) dones += 1
    else if (block.includes('event: delta')) {
      assert.equal(facts.offset, text.length)
      text += facts.text
    }
  }
  return { text, dones, lastId }
}

const delta = (offset: number, text: string): StreamEvent => ({ event: 'delta', data: { step: 1, offset, text } })
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a thousand readers of every kind: the live get everything, the dead are let go of, and what is held is bounded', async (t) => {
  const { port, runs, server, watched } = await startWatched(t)
  for (const id of [...SMALL, BIG]) runs.add(id)
  const small = (count: number, read?: Parameters<typeof ask>[2]) =>
    Array.from({ length: count }, (_, index) => ask(port, SMALL[index % SMALL.length] as RunId, read))
  const quick = small(675)
  const slow = small(100, byteByByte)
  const destroyed = small(100)
  const halfClosed = small(100)
  for (const { socket } of halfClosed) socket.end()
  const quickBig = Array.from({ length: 5 }, () => ask(port, BIG))
  const stuck = Array.from({ length: 20 }, () => {
    const client = ask(port, BIG)
    client.socket.pause()
    return client
  })
  await eventually(() => watched.reading.opened === 1000)
  // A reader that has closed its half has gone, whatever it would still take.
  await Promise.all(halfClosed.map(({ closed }) => closed))

  for (let piece = 0; piece < SMALL_PIECES; piece += 1) {
    for (const id of SMALL) runs.runs.get(id)?.log.append(delta(piece * PIECE.length, PIECE))
    if (piece === SMALL_PIECES / 2) {
      for (const [index, { socket }] of destroyed.entries()) {
        if (index % 2 === 0) socket.destroy()
        else socket.resetAndDestroy()
      }
    }
    if (piece % 8 === 0) await turn()
  }
  for (let piece = 0; piece < BIG_PIECES; piece += 1) {
    runs.runs.get(BIG)?.log.append(delta(piece * BIG_PIECE.length, BIG_PIECE))
    if (piece % 20 === 0) await turn()
  }
  // Those that take nothing are dropped while the run goes on; with them all the dead ones have gone.
  await eventually(() => watched.closed === halfClosed.length + destroyed.length + stuck.length)
  assert.equal(watched.reading.ended, 220)
  assert.equal(watched.dropped, stuck.length)

  for (const id of [...SMALL, BIG]) runs.end('{}', 'completed', id)
  await Promise.all([...quick, ...slow, ...quickBig].map(({ closed }) => closed))
  for (const client of [...quick, ...slow]) {
    const { text, dones } = gotBy(client)
    assert.equal(text, PIECE.repeat(SMALL_PIECES))
    assert.equal(dones, 1)
  }
  const whole = BIG_PIECE.repeat(BIG_PIECES)
  for (const client of quickBig)
    assert.deepEqual({ ...gotBy(client), lastId: '' }, { text: whole, dones: 1, lastId: '' })

  // What a socket's buffer takes at most, and one event in JSON, with its head.
  const bound = 65_536 + MAX_EVENT_CHARS + 200
  assert.ok(watched.held <= bound, `${watched.held} bytes were held for one reader`)

  // A dropped reader comes back with its last id and has lost nothing.
  for (const client of stuck.slice(0, 3)) {
    client.socket.resume()
    await client.closed
    const had = gotBy(client)
    assert.equal(had.dones, 0)
    assert.ok(had.text.length < whole.length)
    const again = ask(port, BIG, quickly, had.lastId)
    await again.closed
    assert.deepEqual({ ...gotBy(again, had.text), lastId: '' }, { text: whole, dones: 1, lastId: '' })
  }
  for (const { socket } of stuck) socket.destroy()
  await eventually(() => watched.closed === 1003)
  assert.deepEqual(watched.reading, { opened: 1003, ended: 1003 })
  const connections = await new Promise<number>((resolve) => {
    server.app.server.getConnections((_error, count) => resolve(count))
  })
  assert.equal(connections, 0)
})
