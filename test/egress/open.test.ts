/** The gate from outside, on live sockets: what is sent, what comes back, and what every kind of end does to the socket. */
import assert from 'node:assert/strict'
import { getEventListeners, once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { BodyBroken } from '../../src/egress/body.ts'
import { bytesUntilClosed, startHttp, startHttps, startProxy, startTcp } from './local-servers.ts'
import { namedCertificate, trustTestCertificates } from './test-certificate.ts'
import { call, faultOf, openEgress, reasonOf, responseOf, scriptedLookup, textOf } from './test-egress.ts'

const PUBLIC = '93.184.216.34'

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

/** What a broken body says to its reader. */
async function breakOf(body: AsyncIterable<Uint8Array>): Promise<{ kind: string; message: string; text: string }> {
  let text = ''
  try {
    for await (const chunk of body) text += Buffer.from(chunk).toString('utf8')
  } catch (error) {
    assert.ok(error instanceof BodyBroken)
    assert.equal(error.message, error.fault.message)
    return { ...error.fault, text }
  }
  return assert.fail('the body ended well')
}

/** Fails unless the other end closes within what the event loop needs to pass a FIN on: no timer may be waited for. */
async function closesAtOnce(socket: Socket): Promise<void> {
  socket.resume()
  for (let turn = 0; turn < 5_000 && !socket.closed; turn += 1) await new Promise(setImmediate)
  assert.ok(socket.closed)
}

/** Timers that keep the process alive. */
function runningTimers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
}

// What is sent and what comes back.

test('a request arrives as it was given, and its answer comes back', async (t) => {
  const seen: unknown[] = []
  const server = await startHttp(t, async (request, response) => {
    const { method, url, headers } = request
    seen.push({ method, url, type: headers['content-type'], custom: headers['x-a'], body: await bodyOf(request) })
    response.writeHead(201, ['X-One', '1', 'Set-Cookie', 'a=1', 'set-cookie', 'b=2', 'X-Two', 'x', 'x-two', 'y'])
    response.end('Привет 🙂')
  })
  const response = responseOf(
    await openEgress(t).request(
      call(`http://127.0.0.1:${server.port}/pa%20th/ü?q=1&r=%2F#fragment`, {
        headers: { 'content-type': 'application/json', 'X-A': 'caf\xe9' },
        body: '{"a":"я"}',
      }),
    ),
  )
  assert.equal(response.status, 201)
  assert.equal(response.headers['x-one'], '1')
  assert.equal(response.headers['set-cookie'], 'a=1, b=2')
  assert.equal(response.headers['x-two'], 'x, y')
  assert.equal(await textOf(response), 'Привет 🙂')
  assert.deepEqual(seen, [
    {
      method: 'POST',
      url: '/pa%20th/%C3%BC?q=1&r=%2F',
      type: 'application/json',
      custom: 'caf\xe9',
      body: '{"a":"я"}',
    },
  ])
})

test('bytes are sent as they are, with their length, and GET has no body', async (t) => {
  const seen: unknown[] = []
  const server = await startHttp(t, async (request, response) => {
    seen.push([request.method, request.headers['content-length'], await bodyOf(request)])
    response.end()
  })
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}/`
  const text = 'Привет 🙂'
  for (const more of [{ body: text }, { body: Buffer.from(text) }, { body: '' }, {}, { method: 'GET' as const }]) {
    await textOf(responseOf(await egress.request(call(url, more))))
  }
  assert.deepEqual(seen, [
    ['POST', '17', text],
    ['POST', '17', text],
    ['POST', '0', ''],
    ['POST', '0', ''],
    ['GET', undefined, ''],
  ])
})

test('answers are asked for unencoded unless the caller says otherwise, and an encoded one is handed on as it came', async (t) => {
  const seen: unknown[] = []
  const server = await startHttp(t, (request, response) => {
    seen.push(request.headers['accept-encoding'])
    response.setHeader('content-encoding', 'gzip')
    response.end('not really gzip')
  })
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}/`
  const response = responseOf(await egress.request(call(url)))
  assert.equal(await textOf(response), 'not really gzip')
  await textOf(responseOf(await egress.request(call(url, { headers: { 'Accept-Encoding': 'gzip' } }))))
  assert.deepEqual(seen, ['identity', 'gzip'])
})

test('HTTPS works end to end', async (t) => {
  trustTestCertificates(t)
  const server = await startHttps(t, namedCertificate)
  const response = responseOf(await openEgress(t).request(call(`https://localhost:${server.port}/`)))
  assert.equal(await textOf(response), 'secure')
})

// Refused.

test('what the rules refuse is refused before a connection is made, by request and by judge alike', async (t) => {
  const server = await startTcp(t)
  const egress = openEgress(t, { devInsecure: false, allow: '*:*', lookup: scriptedLookup(['127.0.0.1']) })
  const cases: [url: string, reason: string][] = [
    [`https://127.0.0.1:${server.port}/`, 'address_blocked'],
    [`https://2130706433:${server.port}/`, 'address_blocked'],
    [`https://[::ffff:127.0.0.1]:${server.port}/`, 'address_blocked'],
    [`http://localhost:${server.port}/`, 'scheme'],
    [`https://u:p@tools.example:${server.port}/`, 'userinfo'],
    ['https://metadata.google.internal/', 'metadata_host'],
    ['nonsense', 'invalid_url'],
  ]
  for (const [url, reason] of cases) {
    assert.equal(reasonOf(await egress.request(call(url))), reason)
    assert.equal(egress.judge('tool', url)?.reason, reason)
  }
  assert.equal(server.sockets.length, 0)
})

test('EG-07: a listed name that points inside passes the judge and is refused at the socket', async (t) => {
  const server = await startTcp(t)
  for (const devInsecure of [false, true]) {
    const egress = openEgress(t, { devInsecure, allow: 'tools.example:*', lookup: scriptedLookup(['127.0.0.1']) })
    const url = `https://tools.example:${server.port}/path?token=SECRET`
    assert.equal(egress.judge('tool', url), null)
    assert.deepEqual(await egress.request(call(url)), {
      kind: 'refused',
      refusal: { reason: 'address_blocked', host: 'tools.example' },
    })
  }
  assert.equal(server.sockets.length, 0)
})

test('judge and request know own hosts', async (t) => {
  const lookup = scriptedLookup(['127.0.0.1'])
  const egress = openEgress(t, { devInsecure: false, lookup })
  const url = 'https://api.provider.example/v1'
  assert.equal(egress.judge('provider', url)?.reason, 'host_not_listed')
  assert.equal(egress.judge('provider', url, ['api.provider.example']), null)
  assert.equal(egress.judge('tool', url, ['api.provider.example'])?.reason, 'host_not_listed')
  assert.equal(reasonOf(await egress.request(call(url, { purpose: 'provider' }))), 'host_not_listed')
  const own = call(url, { purpose: 'provider', ownHosts: ['api.provider.example'] })
  assert.equal(reasonOf(await egress.request(own)), 'address_blocked')
  assert.deepEqual(lookup.asked, ['api.provider.example'])
})

test('a trailing dot and capitals do not reach resolver or server', async (t) => {
  const lookup = scriptedLookup(['127.0.0.1'])
  const server = await startHttp(t, (request, response) => void response.end(request.headers.host))
  const egress = openEgress(t, { lookup })
  const response = responseOf(await egress.request(call(`http://LocalHost.:${server.port}/`)))
  assert.equal(await textOf(response), `localhost:${server.port}`)
  assert.deepEqual(lookup.asked, ['localhost'])
})

// Headers that must not be sent.

test('TH-10: a header that cannot be one is a fault, and not a byte reaches the server', async (t) => {
  const server = await startTcp(t)
  const egress = openEgress(t)
  for (const headers of [
    { Authorization: 'Bearer ключ' },
    { 'X-A': 'a\r\nX-Evil: 1' },
    { 'X-A': 'a\nX-Evil: 1' },
    { 'X-A\r\nX-Evil': '1' },
    { Host: 'evil.example' },
  ]) {
    const fault = faultOf(await egress.request(call(`http://127.0.0.1:${server.port}/`, { headers })))
    assert.equal(fault.kind, 'protocol')
    assert.match(fault.message, /^the call to 127\.0\.0\.1 was not sent: /)
    assert.doesNotMatch(fault.message, /ключ|Evil|evil/)
  }
  assert.equal(server.sockets.length, 0)
})

test('a request that undici refuses to form is a fault too', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end())
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}/`
  const wrong = call(url, { headers: { 'content-length': '5' }, body: 'four' })
  assert.equal(faultOf(await egress.request(wrong)).kind, 'protocol')
  const broken = call(url, { headers: { 'content-length': 'many' }, body: 'four' })
  assert.equal(faultOf(await egress.request(broken)).kind, 'protocol')
})

// Redirects.

for (const status of [301, 302, 303, 307, 308]) {
  test(`EG-04, CB-03: a ${status} is an answer, not followed, and nothing is sent again`, async (t) => {
    const target = await startTcp(t)
    let requests = 0
    const server = await startHttp(t, async (request, response) => {
      requests += 1
      await bodyOf(request)
      const where = new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? ''
      response.writeHead(status, { location: where })
      response.end('elsewhere')
    })
    const egress = openEgress(t)
    const targets = [`http://127.0.0.1:${target.port}/`, 'https://169.254.169.254/', `http://127.0.0.1:${server.port}/`]
    for (const purpose of ['tool', 'callback', 'provider'] as const) {
      for (const to of targets) {
        const url = `http://127.0.0.1:${server.port}/?to=${encodeURIComponent(to)}`
        const headers = { 'x-engine-secret': 'SECRET' }
        const response = responseOf(await egress.request(call(url, { purpose, headers, body: 'once' })))
        assert.equal(response.status, status)
        assert.equal(response.headers['location'], to)
        assert.equal(await textOf(response), 'elsewhere')
      }
    }
    assert.equal(requests, 9)
    assert.equal(target.sockets.length, 0)
  })
}

// Nothing is sent twice.

test('a connection that breaks before the answer is a reset, and the request is not repeated', async (t) => {
  let requests = 0
  const server = await startHttp(t, (request) => {
    requests += 1
    request.socket.destroy()
  })
  const egress = openEgress(t)
  for (const method of ['GET', 'POST'] as const) {
    const answer = await egress.request(call(`http://127.0.0.1:${server.port}/path?token=SECRET`, { method }))
    assert.deepEqual(faultOf(answer), {
      kind: 'reset',
      message: 'the connection to 127.0.0.1 broke off (UND_ERR_SOCKET)',
    })
  }
  assert.equal(requests, 2)
})

test('an answer that is not HTTP is a protocol fault', async (t) => {
  const server = await startTcp(t, (socket) => socket.once('data', () => socket.end('HELO SECRET\r\n\r\n')))
  const fault = faultOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  assert.equal(fault.kind, 'protocol')
  assert.doesNotMatch(fault.message, /SECRET/)
})

test('headers without end are a protocol fault', async (t) => {
  const server = await startTcp(t, (socket) =>
    socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'x-long: value\r\n'.repeat(10_000)}`)),
  )
  assert.equal(faultOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`))).kind, 'protocol')
})

/** Answers every request with the pieces that it is given, each a write of its own. */
async function startAnswerer(t: TestContext) {
  const pieces: string[] = []
  const server = await startTcp(t, (socket) => {
    socket.setNoDelay(true)
    socket.on('data', (bytes) => bytes.includes('{}') && void sendPieces(socket, [...pieces]))
  })
  const egress = openEgress(t)
  const ask = () => egress.request(call(`http://127.0.0.1:${server.port}/`, { body: '{}' }))
  return { ask, pieces, server }
}

test('interim answers before the real one are passed over, 100 among them, however they are cut', async (t) => {
  const real = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const goOn = 'HTTP/1.1 100 Continue\r\n\r\n'
  const hints = 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'
  const { ask, pieces, server } = await startAnswerer(t)
  const answered = async (...cut: readonly string[]) => {
    pieces.splice(0, pieces.length, ...cut)
    const response = responseOf(await ask())
    assert.deepEqual([response.status, await textOf(response)], [200, 'ok'], JSON.stringify(cut))
    // For the pool to have it back.
    await new Promise(setImmediate)
  }
  for (const before of [goOn, hints, goOn + hints, hints + goOn + goOn, 'HTTP/1.0 100 Continue\r\nx: 1\r\n\r\n']) {
    await answered(before + real)
    await answered(before, real)
  }
  const whole = goOn + hints + real
  for (let cut = 1; cut < whole.length; cut += 1) await answered(whole.slice(0, cut), whole.slice(cut))
  await answered(...Array.from(whole))
  // All of it on one connection: none was broken off.
  assert.equal(server.sockets.length, 1)
})

test('what looks like an interim answer inside a body is the body’s, and 101 is no interim answer', async (t) => {
  const text = 'HTTP/1.1 100 Continue\r\n\r\n'
  const { ask, pieces, server } = await startAnswerer(t)
  pieces.push(`HTTP/1.1 200 OK\r\ncontent-length: ${2 * text.length}\r\n\r\n`, text, text)
  assert.equal(await textOf(responseOf(await ask())), text + text)
  assert.equal(server.sockets.length, 1)
  pieces.splice(0, 3, 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  assert.equal(faultOf(await ask()).kind, 'reset')
})

test('an interim answer over TLS is passed over as well', async (t) => {
  trustTestCertificates(t)
  const server = await startHttps(t, namedCertificate, (_request, response) => {
    response.writeContinue()
    response.writeProcessing()
    response.end('secure')
  })
  const egress = openEgress(t)
  for (let time = 0; time < 2; time += 1) {
    const response = responseOf(await egress.request(call(`https://localhost:${server.port}/`)))
    assert.equal(await textOf(response), 'secure')
    await new Promise(setImmediate)
  }
  assert.equal(server.sockets.length, 1)
})

/** One after another, so that each is read by itself. */
async function sendPieces(socket: Socket, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise(setImmediate)
    await new Promise(setImmediate)
  }
}

// The body and its socket.

test('a body read to its end gives the connection back to the pool', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('whole'))
  const egress = openEgress(t)
  for (let round = 0; round < 5; round += 1) {
    const response = responseOf(await egress.request(call(`http://127.0.0.1:${server.port}/`)))
    assert.equal(await textOf(response), 'whole')
    response.destroy()
    response.destroy()
    await new Promise(setImmediate)
  }
  assert.equal(server.sockets.length, 1)
})

const streaming = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200)
  response.write('first')
}

test('leaving the loop destroys the connection', async (t) => {
  const server = await startHttp(t, streaming)
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  for await (const chunk of response.body) {
    assert.equal(Buffer.from(chunk).toString(), 'first')
    break
  }
  await bytesUntilClosed(await server.connected())
  response.destroy()
})

test('an error thrown inside the loop destroys the connection and stays itself', async (t) => {
  const server = await startHttp(t, streaming)
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  const own = new Error('own')
  const read = async () => {
    for await (const chunk of response.body) throw chunk.length > 0 ? own : new Error('empty chunk')
  }
  await assert.rejects(read(), own)
  await bytesUntilClosed(await server.connected())
})

test('destroy closes the connection of a body that nobody reads, and may be called again', async (t) => {
  const server = await startHttp(t, streaming)
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  response.destroy()
  response.destroy()
  await bytesUntilClosed(await server.connected())
  assert.equal((await breakOf(response.body)).kind, 'aborted')
  response.destroy()
})

test('destroy of an unread body that has come whole harms nobody, and the connection is used again', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('whole'))
  const egress = openEgress(t)
  for (let round = 0; round < 3; round += 1) {
    const response = responseOf(await egress.request(call(`http://127.0.0.1:${server.port}/`)))
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    response.destroy()
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
    assert.equal((await breakOf(response.body)).kind, 'aborted')
  }
  assert.equal(server.sockets.length, 1)
})

test('destroy ends a read that is waiting', async (t) => {
  const server = await startHttp(t, streaming)
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  const iterator = response.body[Symbol.asyncIterator]()
  await iterator.next()
  const waiting = assert.rejects(Promise.resolve(iterator.next()), BodyBroken)
  response.destroy()
  await waiting
  await bytesUntilClosed(await server.connected())
})

const cuts: [what: string, head: string][] = [
  ['before its announced length', 'content-length: 100\r\n\r\nfirst'],
  ['before its last chunk', 'transfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n'],
  [
    'before its last chunk on a closing connection',
    'connection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n',
  ],
]

for (const [what, head] of cuts) {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    test(`a body cut ${what} (${how}) gives what came and then throws a reset`, async (t) => {
      const server = await startTcp(t, (socket) =>
        socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${head}`)),
      )
      const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/x?SECRET`)))
      let text = ''
      const read = async () => {
        for await (const chunk of response.body) {
          text += Buffer.from(chunk).toString()
          server.sockets[0]?.[how]()
        }
      }
      await assert.rejects(read(), (error) => {
        assert.ok(error instanceof BodyBroken)
        assert.equal(error.fault.kind, 'reset')
        assert.match(error.message, /^the connection to 127\.0\.0\.1 broke off \([A-Z_]+\)$/)
        return true
      })
      assert.equal(text, 'first')
    })
  }
}

test('a body whose chunks are nonsense throws a protocol fault', async (t) => {
  const server = await startTcp(t, (socket) =>
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n')),
  )
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  const broken = breakOf(response.body)
  server.sockets[0]?.write('SECRET\r\n')
  const { kind, message } = await broken
  assert.equal(kind, 'protocol')
  assert.doesNotMatch(message, /SECRET/)
})

test('a body that breaks while nobody reads harms nobody, and tells its late reader', async (t) => {
  const server = await startHttp(t, streaming)
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  const socket = await server.connected()
  socket.resetAndDestroy()
  await once(socket, 'close')
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  assert.equal((await breakOf(response.body)).kind, 'reset')
})

test('a body without length that ends with its connection is whole', async (t) => {
  const server = await startTcp(t, (socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it')),
  )
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  assert.equal(await textOf(response), 'all of it')
})

test('an unread body holds the sender back: memory is bounded', async (t) => {
  const chunk = Buffer.alloc(65_536)
  let written = 0
  const server = await startHttp(t, (_request, response) => {
    response.writeHead(200)
    const push = () => {
      while (written < 200_000_000) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', push)
      }
    }
    push()
  })
  const response = responseOf(await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`)))
  for (let still = 0, before = written; still < 2_000; still += 1) {
    await new Promise(setImmediate)
    if (written !== before) still = 0
    before = written
  }
  response.destroy()
  assert.ok(written < 50_000_000, `${written} bytes were taken`)
})

// Aborting.

for (const [name, reason] of [
  ['the default reason', undefined],
  ['null', null],
  ['a string', 'cancelled'],
  ['an empty string', ''],
  ['false', false],
  ['an error', new TypeError('SECRET')],
] as const) {
  test(`an aborted signal, with ${name}, is an aborted fault before, during and after the headers`, async (t) => {
    const server = await startHttp(t, (request, response) => {
      if (request.url === '/body') streaming(request, response)
    })
    const egress = openEgress(t)
    const url = `http://127.0.0.1:${server.port}/`
    const expected = { kind: 'aborted', message: 'the call to 127.0.0.1 was aborted' }

    assert.deepEqual(faultOf(await egress.request(call(url, { signal: AbortSignal.abort(reason) }))), {
      ...expected,
      unsent: true,
    })
    assert.equal(server.sockets.length, 0)

    const early = new AbortController()
    const waiting = egress.request(call(url, { signal: early.signal }))
    const first = await server.connected(1)
    early.abort(reason)
    const { unsent: _either, ...fell } = faultOf(await waiting)
    assert.deepEqual(fell, expected)
    await bytesUntilClosed(first)

    const late = new AbortController()
    const response = responseOf(await egress.request(call(`${url}body`, { signal: late.signal })))
    const broken = breakOf(response.body)
    late.abort(reason)
    const { text, ...fault } = await broken
    assert.deepEqual(fault, expected)
    await bytesUntilClosed(await server.connected(2))
    assert.match(text, /^(?:first)?$/)
  })
}

test('CA-05: aborting while the name is being resolved answers at once', async (t) => {
  const controller = new AbortController()
  const egress = openEgress(t, { allow: '*', lookup: () => controller.abort() })
  assert.equal(
    faultOf(await egress.request(call('https://tools.example/', { signal: controller.signal }))).kind,
    'aborted',
  )
})

test('CA-05: aborting during the TLS handshake closes the socket', async (t) => {
  const server = await startTcp(t)
  const controller = new AbortController()
  const answer = openEgress(t).request(call(`https://127.0.0.1:${server.port}/`, { signal: controller.signal }))
  const socket = await server.connected()
  await once(socket, 'data')
  controller.abort()
  assert.equal(faultOf(await answer).kind, 'aborted')
  await bytesUntilClosed(socket)
})

test('CA-05: aborting while the proxy is being asked closes the socket', async (t) => {
  const proxy = await startTcp(t)
  const controller = new AbortController()
  const egress = openEgress(t, {
    lookup: scriptedLookup([PUBLIC]),
    proxies: { all: `http://127.0.0.1:${proxy.port}`, byProvider: {} },
  })
  const ownHosts = ['api.provider.example']
  const answer = egress.request(
    call('https://api.provider.example/', { purpose: 'provider', ownHosts, signal: controller.signal }),
  )
  const socket = await proxy.connected()
  await once(socket, 'data')
  controller.abort()
  assert.equal(faultOf(await answer).kind, 'aborted')
  await bytesUntilClosed(socket)
})

test('CA-05: aborting while the body is being sent closes the socket', async (t) => {
  const server = await startTcp(t, (socket) => void socket.once('data', () => socket.pause()))
  const controller = new AbortController()
  const body = Buffer.alloc(64 * 1024 * 1024)
  const answer = openEgress(t).request(call(`http://127.0.0.1:${server.port}/`, { body, signal: controller.signal }))
  const socket = await server.connected()
  await once(socket, 'data')
  controller.abort()
  assert.equal(faultOf(await answer).kind, 'aborted')
  socket.resume()
  assert.ok((await bytesUntilClosed(socket)).length < body.length)
})

test('CA-05: aborting between the headers and the first read closes the socket', async (t) => {
  const server = await startHttp(t, streaming)
  const controller = new AbortController()
  const response = responseOf(
    await openEgress(t).request(call(`http://127.0.0.1:${server.port}/`, { signal: controller.signal })),
  )
  controller.abort()
  await bytesUntilClosed(await server.connected())
  assert.equal((await breakOf(response.body)).kind, 'aborted')
})

test('CA-08: aborting closes a socket whose other end ignores the close', async (t) => {
  const server = await startTcp(t, (socket) => {
    socket.allowHalfOpen = true
  })
  const controller = new AbortController()
  const answer = openEgress(t).request(call(`http://127.0.0.1:${server.port}/`, { signal: controller.signal }))
  const socket = await server.connected()
  await once(socket, 'data')
  const told = new Promise((resolve) => void socket.once('end', resolve).once('close', resolve))
  controller.abort()
  assert.equal(faultOf(await answer).kind, 'aborted')
  await told
})

test('aborting one call leaves its neighbours on the same host alone', async (t) => {
  const held: ServerResponse[] = []
  const server = await startHttp(t, (_request, response) => void held.push(response))
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}/`
  const controller = new AbortController()
  const cancelled = egress.request(call(url, { signal: controller.signal }))
  await server.connected(1)
  const kept = egress.request(call(url))
  await server.connected(2)
  controller.abort()
  assert.equal(faultOf(await cancelled).kind, 'aborted')
  while (held.length < 2) await new Promise(setImmediate)
  for (const response of held) response.end('kept')
  assert.equal(await textOf(responseOf(await kept)), 'kept')
})

test('aborting after the end changes nothing', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('done'))
  const controller = new AbortController()
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}/`
  const response = responseOf(await egress.request(call(url, { signal: controller.signal })))
  assert.equal(await textOf(response), 'done')
  controller.abort()
  await new Promise(setImmediate)
  assert.equal(await textOf(responseOf(await egress.request(call(url)))), 'done')
  assert.equal(server.sockets.length, 1)
})

test('SD-03: 500 calls on one signal, of every ending, leave no listener and no warning', async (t) => {
  const server = await startHttp(t, (request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    else if (request.url === '/stream') streaming(request, response)
    else response.end('whole')
  })
  const egress = openEgress(t)
  const { signal } = new AbortController()
  const url = `http://127.0.0.1:${server.port}`
  for (let round = 0; round < 100; round += 1) {
    const [whole, left, destroyed] = await Promise.all([
      egress.request(call(`${url}/`, { signal })),
      egress.request(call(`${url}/stream`, { signal })),
      egress.request(call(`${url}/stream`, { signal })),
      egress.request(call(`${url}/cut`, { signal })),
      egress.request(call('https://[::ffff:127.0.0.1]/', { signal })),
    ])
    await textOf(responseOf(whole))
    for await (const chunk of responseOf(left).body) {
      assert.equal(chunk.length, 5)
      break
    }
    responseOf(destroyed).destroy()
  }
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('SD-03: 500 calls side by side on one signal give no warning and all end with it', async (t) => {
  const server = await startHttp(t, () => {})
  const egress = openEgress(t)
  const controller = new AbortController()
  const { signal } = controller
  const calls = Array.from({ length: 500 }, () => egress.request(call(`http://127.0.0.1:${server.port}/`, { signal })))
  await server.connected(500)
  controller.abort()
  for (const answer of await Promise.all(calls)) assert.equal(faultOf(answer).kind, 'aborted')
  await Promise.all(server.sockets.map((socket) => bytesUntilClosed(socket)))
  assert.equal(getEventListeners(signal, 'abort').length, 0)
})

test('SD-03: a connection leaves no timer behind, whichever way its making ended', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('whole'))
  const silent = await startTcp(t)
  const rude = await startTcp(t, (socket) => socket.once('data', () => socket.destroy()))
  const egress = openEgress(t, { allow: '*', lookup: scriptedLookup(['10.0.0.5']) })
  const before = runningTimers()

  await textOf(responseOf(await egress.request(call(`http://127.0.0.1:${server.port}/`))))
  reasonOf(await egress.request(call('https://tools.example/')))
  faultOf(await egress.request(call(`https://127.0.0.1:${rude.port}/`)))
  const controller = new AbortController()
  const aborted = egress.request(call(`https://127.0.0.1:${silent.port}/`, { signal: controller.signal }))
  await once(await silent.connected(), 'data')
  controller.abort()
  faultOf(await aborted)
  await closesAtOnce(await silent.connected())
  assert.ok(runningTimers() <= before)
})

// Time.

test('TH-11: undici has no deadline of its own, before the headers or between two chunks', async (t) => {
  // undici keeps a coarse clock of its own, and this is its handle for tests: two hours pass in two steps.
  const clock = createRequire(import.meta.url)('undici/lib/util/timers.js') as { tick(ms: number): void }
  const hoursPass = async () => {
    clock.tick(1_000)
    clock.tick(7_200_000)
    await new Promise(setImmediate)
  }
  const held: ServerResponse[] = []
  const server = await startHttp(t, (_request, response) => void held.push(response))
  const answer = openEgress(t).request(call(`http://127.0.0.1:${server.port}/`))
  while (held.length === 0) await new Promise(setImmediate)
  await hoursPass()
  held[0]?.write('first')
  const response = responseOf(await answer)
  await hoursPass()
  held[0]?.end(' and last')
  assert.equal(await textOf(response), 'first and last')
})

test('the connect time-out is 10 s unless set otherwise, and ends a call with a timeout fault', async (t) => {
  const server = await startTcp(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const url = `https://127.0.0.1:${server.port}/?SECRET`
  for (const [index, limit] of [undefined, 50].entries()) {
    let answered = false
    const egress = openEgress(t, limit === undefined ? {} : { connectTimeoutMs: limit })
    const answer = egress.request(call(url)).finally(() => (answered = true))
    await once(await server.connected(index + 1), 'data')
    t.mock.timers.tick((limit ?? 10_000) - 1)
    await new Promise(setImmediate)
    assert.equal(answered, false)
    t.mock.timers.tick(1)
    assert.deepEqual(faultOf(await answer), {
      kind: 'timeout',
      message: 'the connection to 127.0.0.1 timed out (ETIMEDOUT)',
      unsent: true,
    })
  }
})

test('a fault says when nothing of the request has left: no connection stood, whatever ended the wait for one', async (t) => {
  // Takes the connection, and never answers the TLS hello.
  const mute = await startTcp(t)
  const egress = openEgress(t, { connectTimeoutMs: 5_000 })
  const stop = new AbortController()
  const handshake = egress.request(call(`https://127.0.0.1:${mute.port}/`, { signal: stop.signal }))
  await once(await mute.connected(1), 'data')
  stop.abort()
  const late = faultOf(await handshake)
  assert.deepEqual([late.kind, late.unsent], ['aborted', true])

  const rude = await startTcp(t)
  const broken = egress.request(call(`https://127.0.0.1:${rude.port}/`))
  const hello = await rude.connected(1)
  await once(hello, 'data')
  hello.resetAndDestroy()
  const cut = faultOf(await broken)
  assert.deepEqual([cut.kind, cut.unsent], ['reset', true])

  const nobody = faultOf(await egress.request(call('http://127.0.0.1:1/')))
  assert.deepEqual([nobody.kind, nobody.unsent], ['connect', true])
})

test('a fault behind a request that has begun to leave says nothing of the kind, on a new connection and on a used one', async (t) => {
  let heard = Promise.withResolvers<void>()
  const server = await startHttp(t, (request, response) => {
    if (request.url === '/cut') request.socket.destroy()
    else if (request.url === '/silent') heard.resolve()
    else response.end('ok')
  })
  const egress = openEgress(t)
  const url = `http://127.0.0.1:${server.port}`
  for (const used of [false, true]) {
    const cut = faultOf(await egress.request(call(`${url}/cut`)))
    assert.deepEqual([cut.kind, cut.unsent], ['reset', undefined], String(used))
    const stop = new AbortController()
    heard = Promise.withResolvers<void>()
    const silent = egress.request(call(`${url}/silent`, { signal: stop.signal }))
    await heard.promise
    stop.abort()
    const aborted = faultOf(await silent)
    assert.deepEqual([aborted.kind, aborted.unsent], ['aborted', undefined], String(used))
    // Its connection stays for the next one.
    for await (const _chunk of responseOf(await egress.request(call(`${url}/`))).body);
  }
})

// Proxies.

test('a proxy carries provider calls only, the own one of a provider before the common one', async (t) => {
  const backend = await startHttp(t, (_request, response) => void response.end('through'))
  const common = await startProxy(t, backend.port)
  const own = await startProxy(t, backend.port)
  const egress = openEgress(t, {
    proxies: {
      all: `http://127.0.0.1:${common.port}`,
      byProvider: { anthropic: `http://me:pa%20ss@127.0.0.1:${own.port}` },
    },
  })
  const send = async (more: Parameters<typeof call>[1]) => {
    const response = responseOf(await egress.request(call(`http://127.0.0.1:${backend.port}/`, more)))
    assert.equal(await textOf(response), 'through')
    return [common.requests.length, own.requests.length]
  }
  for (const purpose of ['tool', 'callback', 'image', 'error_webhook'] as const) {
    assert.deepEqual(await send({ purpose, provider: 'anthropic' }), [0, 0])
  }
  assert.deepEqual(await send({ purpose: 'provider', provider: 'anthropic' }), [0, 1])
  assert.deepEqual(await send({ purpose: 'provider', provider: 'openai' }), [1, 1])
  assert.match(own.requests[0] ?? '', new RegExp(`^CONNECT 127\\.0\\.0\\.1:${backend.port} `))
  assert.match(own.requests[0] ?? '', /\r\nProxy-Authorization: Basic bWU6cGEgc3M=\r\n/)
  assert.doesNotMatch(common.requests[0] ?? '', /Proxy-Authorization/)
})

test('a provider called like a member of Object has no proxy of its own', async (t) => {
  const backend = await startHttp(t, (_request, response) => void response.end('direct'))
  const egress = openEgress(t)
  for (const provider of ['constructor', '__proto__', 'toString']) {
    const direct = call(`http://127.0.0.1:${backend.port}/`, { purpose: 'provider', provider })
    assert.equal(await textOf(responseOf(await egress.request(direct))), 'direct')
  }
})

test('EG-05: behind a proxy the lists and the address rules still hold', async (t) => {
  const proxy = await startTcp(t)
  const egress = openEgress(t, {
    devInsecure: false,
    allowProviders: 'llm.example',
    lookup: scriptedLookup(['10.0.0.5']),
    proxies: { all: `http://127.0.0.1:${proxy.port}`, byProvider: {} },
  })
  const provider = { purpose: 'provider' as const }
  assert.equal(reasonOf(await egress.request(call('https://other.example/', provider))), 'host_not_listed')
  assert.equal(reasonOf(await egress.request(call('http://llm.example/', provider))), 'scheme')
  assert.equal(reasonOf(await egress.request(call('https://127.0.0.1/', provider))), 'address_blocked')
  assert.equal(reasonOf(await egress.request(call('https://llm.example/', provider))), 'address_blocked')
  assert.equal(proxy.sockets.length, 0)
})

test('a proxy URL that cannot be read closes its route and is not gone round', async (t) => {
  const backend = await startTcp(t)
  const egress = openEgress(t, { proxies: { all: null, byProvider: { openai: 'socks5://me:SECRET@127.0.0.1:1' } } })
  const answer = await egress.request(
    call(`http://127.0.0.1:${backend.port}/`, { purpose: 'provider', provider: 'openai' }),
  )
  assert.deepEqual(faultOf(answer), {
    kind: 'connect',
    message: 'could not connect to 127.0.0.1: its proxy URL is not valid',
    unsent: true,
  })
  assert.equal(backend.sockets.length, 0)
})

// Closing.

test('close ends connections in every phase, and what comes after it is a fault', async (t) => {
  const held = await startHttp(t, (request, response) => {
    if (request.url === '/stream') streaming(request, response)
    else if (request.url === '/idle') response.end('idle')
  })
  const silent = await startTcp(t)
  const egress = openEgress(t)
  const timers = runningTimers()
  const url = `http://127.0.0.1:${held.port}`
  await textOf(responseOf(await egress.request(call(`${url}/idle`))))
  const response = responseOf(await egress.request(call(`${url}/stream`)))
  const broken = breakOf(response.body)
  const waiting = egress.request(call(`${url}/wait`))
  const connecting = egress.request(call(`https://127.0.0.1:${silent.port}/`))
  await once(await silent.connected(), 'data')

  await egress.close()
  await egress.close()
  assert.equal(faultOf(await waiting).kind, 'aborted')
  assert.equal(faultOf(await connecting).kind, 'aborted')
  assert.equal((await broken).kind, 'aborted')
  for (const socket of [...held.sockets, ...silent.sockets]) await closesAtOnce(socket)
  assert.ok(runningTimers() <= timers)
  assert.equal(faultOf(await egress.request(call(`${url}/idle`))).kind, 'aborted')
})
