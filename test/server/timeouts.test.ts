/** How long a connection may keep the server waiting: slow headers, slow bodies, mute and idle connections. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test, type TestContext } from 'node:test'
import { ENGINE, startServer } from './start-server.ts'

const SHORT = { keepAliveMs: 100, headersMs: 200, requestMs: 400, checkMs: 20 }

/** What a connection is told until it is closed; `drip` is written byte by byte for ever. */
async function toldTo(t: TestContext, port: number, first: string, drip: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let told = ''
  socket.on('data', (bytes) => (told += bytes.toString('utf8')))
  socket.on('error', () => {})
  socket.write(first)
  const dripping = setInterval(() => socket.write(drip), 10)
  t.after(() => socket.destroy())
  if (drip === '') clearInterval(dripping)
  // The server's side of it: what we write ourselves keeps our own side open.
  await Promise.race([once(socket, 'end'), once(socket, 'close')])
  clearInterval(dripping)
  return told
}

const POST = `POST /runs HTTP/1.1\r\nhost: engine\r\nauthorization: ${ENGINE.authorization}\r\ncontent-type: application/json\r\n`

const slow: [what: string, first: string, drip: string][] = [
  ['headers that never end', 'GET /health HTTP/1.1\r\nhost: engine\r\nx-slow: ', 'a'],
  ['a header a time', 'GET /health HTTP/1.1\r\nhost: engine\r\n', 'x-a: b\r\n'],
  ['a body that trickles', `${POST}content-length: 1000000\r\n\r\n{`, ' '],
  ['a chunked body that trickles', `${POST}transfer-encoding: chunked\r\n\r\n`, '1\r\n \r\n'],
  ['a body that stops', `${POST}content-length: 10\r\n\r\n{`, ''],
]

for (const [what, first, drip] of slow) {
  test(`${what}: cut, with 408`, async (t) => {
    const { port, bodies } = await startServer(t, { timeouts: SHORT })
    assert.match(await toldTo(t, port, first, drip), /^HTTP\/1\.1 408 Request Timeout\r\n[^]*"invalid_request"/)
    assert.deepEqual(bodies, [])
  })
}

test('a connection on which nobody speaks is closed', async (t) => {
  const { port } = await startServer(t, { timeouts: SHORT })
  await toldTo(t, port, '', '')
})

test('an idle connection is kept for the next request and then closed without a word', async (t) => {
  const { port } = await startServer(t, { timeouts: SHORT })
  const told = await toldTo(t, port, 'GET /health HTTP/1.1\r\nhost: engine\r\n\r\n', '')
  assert.match(told, /^HTTP\/1\.1 200 OK\r\n/)
  assert.equal(told.match(/HTTP\/1\.1/g)?.length, 1)
})

test('load balancers close first: an idle connection outlasts their minute, and headers outlast it', async (t) => {
  const { server } = await startServer(t)
  const { keepAliveTimeout, headersTimeout, requestTimeout } = server.app.server
  assert.ok(keepAliveTimeout > 60_000)
  assert.ok(headersTimeout > keepAliveTimeout)
  assert.ok(requestTimeout > headersTimeout)
  // A stream and a waited run may take as long as they take.
  assert.equal(server.app.server.timeout, 0)
})
