/** Receivers that answer what no web framework would: byte by byte, too early, too much, in the wrong protocol, with a wrong name. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net, { type AddressInfo, type Server, type Socket } from 'node:net'
import tls from 'node:tls'
import { test, type TestContext } from 'node:test'
import type { DeliveryFault } from '../../src/contract/delivery.ts'
import { runId } from '../../src/contract/ids.ts'
import { createOutbox, type OutboxOptions } from '../../src/delivery/outbox.ts'
import { otherCertificate, trustTestCertificates } from '../egress/test-certificate.ts'
import { openEgress } from '../egress/test-egress.ts'
import { FakeRuns, ID } from '../server/fake-runs.ts'
import { eventually } from '../server/start-server.ts'
import { startReceiver, status } from './receiver.ts'

const never = () => new AbortController().signal

function open(t: TestContext, more: Partial<OutboxOptions> = {}) {
  const runs = new FakeRuns()
  const bugs: unknown[] = []
  const outbox = createOutbox({
    store: runs.store,
    egress: openEgress(t),
    secrets: ['callback-secret'],
    pausesMs: [],
    random: () => 0,
    onBug: (_id, error) => void bugs.push(error),
    ...more,
  })
  t.after(() => assert.deepEqual(bugs, []))
  return { runs, outbox }
}

/** One result, delivered once to this address; what came of it. */
async function delivered(t: TestContext, url: string, json = '{"a":1}', more: Partial<OutboxOptions> = {}) {
  const { runs, outbox } = open(t, more)
  runs.add(ID).callback = { url, headers: {} }
  runs.end(json)
  outbox.add(ID)
  await outbox.flush(never())
  const [attempt] = runs.runs.get(ID)?.attempts ?? []
  assert.ok(attempt !== undefined)
  return { attempt, state: runs.runs.get(ID)?.view.delivery.state }
}

/** Listens on 127.0.0.1 and closes with its test, whatever its sockets do. */
async function listening(t: TestContext, server: Server): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {})))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as AddressInfo).port
}

/** Speaks as soon as anything has come, before the request is whole. */
function blunt(t: TestContext, speak: (socket: Socket) => void): Promise<string> {
  const server = net.createServer((socket) => socket.once('data', () => speak(socket)))
  return listening(t, server).then((port) => `http://127.0.0.1:${port}/hook`)
}

/** Larger than what the kernel takes at once. */
const LARGE = JSON.stringify({ text: 'x'.repeat(8_000_000) })

test('a receiver that writes its head byte by byte has ten seconds for all of it, not for each byte', async (t) => {
  const drips: NodeJS.Timeout[] = []
  t.after(() => drips.forEach(clearInterval))
  const url = await blunt(t, (socket) => {
    drips.push(setInterval(() => socket.write('H'), 2))
    socket.write('HTTP/1.1 200 OK\r\nx-drip: ')
  })
  const { attempt, state } = await delivered(t, url, undefined, { attemptTimeoutMs: 60 })
  assert.deepEqual([attempt.status, attempt.fault, state], [null, 'timeout', 'undelivered'])
  assert.ok(attempt.duration_ms < 2000)
})

const answers: readonly (readonly [string, string, number | null, DeliveryFault | null])[] = [
  ['what is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', null, 'protocol'],
  ['half a head, then nothing', 'HTTP/1.1 200 OK\r\nconte', null, 'reset'],
  ['a head of a megabyte', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(1_000_000)}\r\n\r\n`, null, 'protocol'],
  ['nothing at all', '', null, 'reset'],
  ['a status that is none', 'HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n', 999, 'status'],
  [
    '103 before the real one',
    `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n`,
    200,
    null,
  ],
  ['100 though nobody asked', 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n', 204, null],
  ['a body shorter than it said', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort', 200, null],
  ['401 and a page', 'HTTP/1.1 401 Unauthorized\r\ncontent-length: 6\r\n\r\nsecret', 401, 'status'],
  ['404', 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n', 404, 'status'],
  ['429', 'HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n', 429, 'status'],
]
for (const [name, text, code, fault] of answers) {
  test(`a receiver that answers ${name}: one attempt, told for what it is`, async (t) => {
    const url = await blunt(t, (socket) => socket.end(text))
    const { attempt, state } = await delivered(t, url, undefined, { attemptTimeoutMs: 5000 })
    assert.deepEqual([attempt.status, attempt.fault], [code, fault])
    assert.equal(state, fault === null ? 'delivered' : 'undelivered')
    assert.doesNotMatch(JSON.stringify(attempt), /secret|hook/)
  })
}

test('a receiver that closes before it has read a large result is a failed attempt, with the status it managed to say', async (t) => {
  const silent = await blunt(t, (socket) => socket.destroy())
  const cut = await delivered(t, silent, LARGE)
  assert.deepEqual([cut.attempt.status, cut.attempt.fault, cut.state], [null, 'reset', 'undelivered'])
  const speaks = await blunt(t, (socket) => {
    socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
    socket.resume()
  })
  const refused = await delivered(t, speaks, LARGE)
  assert.deepEqual([refused.attempt.status, refused.state], [413, 'undelivered'])
})

test('a large result has its length said in advance and comes whole', async (t) => {
  const receiver = await startReceiver(t, status(200))
  const { state } = await delivered(t, receiver.url, LARGE)
  const [got] = receiver.got
  assert.equal(state, 'delivered')
  assert.equal(got?.headers['content-length'], String(got?.body.length))
  assert.equal(got?.headers['transfer-encoding'], undefined)
  assert.equal(got?.headers['content-encoding'], undefined)
  assert.equal(got?.body.toString(), `{"payload":${LARGE}}`)
})

test('TLS that cannot be trusted is a failed attempt of its own kind: a stranger, a wrong name, plain text, TLS where none is', async (t) => {
  const server = tls.createServer(otherCertificate, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'),
  )
  server.on('tlsClientError', () => {})
  const port = await listening(t, server)
  const stranger = await delivered(t, `https://127.0.0.1:${port}/hook`)
  assert.deepEqual([stranger.attempt.fault, stranger.state], ['tls', 'undelivered'])
  trustTestCertificates(t)
  const wrongName = await delivered(t, `https://127.0.0.1:${port}/hook`)
  assert.deepEqual([wrongName.attempt.fault, wrongName.state], ['tls', 'undelivered'])
  const plain = await startReceiver(t, status(200))
  const noTls = await delivered(t, plain.url.replace('http:', 'https:'))
  assert.deepEqual([noTls.attempt.fault, plain.got.length], ['tls', 0])
  const toTls = await delivered(t, `http://127.0.0.1:${port}/hook`)
  assert.equal(toTls.state, 'undelivered')
})

test('one dead receiver with three hundred deliveries delays nobody: every other one has its result at once', async (t) => {
  const { runs, outbox } = open(t, { attemptTimeoutMs: 600_000 })
  const dead = await listening(
    t,
    net.createServer(() => {}),
  )
  const quick = await startReceiver(t, status(200))
  const idOf = (index: number) => runId(`01J00000000000000000001${String(index).padStart(3, '0')}`)
  const add = (index: number, url: string) => {
    runs.add(idOf(index)).callback = { url, headers: {} }
    runs.end('{}', 'completed', idOf(index))
    outbox.add(idOf(index))
  }
  for (let index = 0; index < 300; index += 1) add(index, `http://127.0.0.1:${dead}/hook?run=${index}`)
  const startedAt = Date.now()
  for (let index = 300; index < 500; index += 1) add(index, quick.url)
  await quick.count(200)
  await eventually(() =>
    Array.from({ length: 200 }, (_, at) => idOf(300 + at)).every((id) => runs.runs.get(id)?.view.state === 'stored'),
  )
  // All of them in the time of less than one attempt to the dead one.
  assert.ok(Date.now() - startedAt < 8000)
  assert.equal(runs.runs.get(idOf(0))?.view.state, 'ended')
  await outbox.flush(AbortSignal.abort())
})
