/**
 * The three layers of the guard, TLS names and time limits, at the level of the connector. Public addresses cannot be
 * reached from a test: `detour` is a socket that goes to a local server instead and says it is somewhere else.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { test, type TestContext } from 'node:test'
import type { ConnectorOptions, Lookup } from '../../src/egress/connector.ts'
import { createDispatcher } from '../../src/egress/dispatcher.ts'
import { ConnectFailure } from '../../src/egress/faults.ts'
import { NOTHING_PRIVATE, parsePrivateAllow } from '../../src/egress/private-allow.ts'
import { bytesUntilClosed, startHttp, startHttps, startProxy, startTcp } from './local-servers.ts'
import { namedCertificate, otherCertificate, trustTestCertificates } from './test-certificate.ts'
import { scriptedLookup } from './test-egress.ts'

const PUBLIC = '93.184.216.34'
const PUBLIC_IPV6 = '2606:2800:220:1::1'

interface Dialled {
  readonly addresses: string[]
  readonly newSocket: () => net.Socket
}

/** Sockets that connect to a local port and report `peer`, by default the address they were told to dial. */
function detour(port: number, peer?: string | null): Dialled {
  const addresses: string[] = []
  const newSocket = () => {
    const socket = new net.Socket()
    const connect = socket.connect.bind(socket)
    let dialled = ''
    const dial = (address: string) => {
      addresses.push(address)
      dialled = address
      connect({ port, host: '127.0.0.1' })
    }
    const detoured = ({ host = '', lookup }: net.TcpNetConnectOpts): net.Socket => {
      if (net.isIP(host) !== 0) {
        dial(host)
        return socket
      }
      assert.ok(lookup !== undefined)
      lookup(host, { all: true }, (_error, list) => {
        assert.ok(Array.isArray(list), 'Node asks for all addresses and takes an array only')
        for (const { address, family } of list) assert.equal(family, net.isIP(address))
        dial(list[0]?.address ?? '')
      })
      return socket
    }
    Object.defineProperty(socket, 'connect', { value: detoured })
    Object.defineProperty(socket, 'remoteAddress', { get: () => (peer === null ? undefined : (peer ?? dialled)) })
    return socket
  }
  return { addresses, newSocket }
}

function open(t: TestContext, options: Partial<ConnectorOptions> & { lookup: Lookup }) {
  const dispatcher = createDispatcher({
    devInsecure: false,
    privateAllow: NOTHING_PRIVATE,
    timeoutMs: 10_000,
    proxy: null,
    ...options,
  })
  t.after(() => dispatcher.close())
  const get = async (origin: string) => {
    const { statusCode, body } = await dispatcher.agent.request({ origin, path: '/', method: 'GET' })
    return { status: statusCode, text: await body.text() }
  }
  return { ...dispatcher, get }
}

async function failureOf(promise: Promise<unknown>): Promise<ConnectFailure['answer']> {
  const error: unknown = await promise.then(
    () => assert.fail('it was let out'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof ConnectFailure, String(error))
  return error.answer
}

async function faultKindOf(promise: Promise<unknown>): Promise<string> {
  const answer = await failureOf(promise)
  return answer.kind === 'fault' ? answer.fault.kind : answer.refusal.reason
}

const unreachable: Lookup = () => assert.fail('the resolver was asked')

// Layer 1: names.

test('EG-07: a name that resolves to a private address is refused, and nothing is dialled', async (t) => {
  for (const address of [
    '10.0.0.5',
    '127.0.0.1',
    '169.254.169.254',
    '::1',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    '64:ff9b::a00:5',
  ]) {
    const dialled = detour(1)
    const { get } = open(t, { lookup: scriptedLookup([address]), newSocket: dialled.newSocket })
    assert.deepEqual(await failureOf(get('http://tools.example:8080')), {
      kind: 'refused',
      refusal: { reason: 'address_blocked', host: 'tools.example' },
    })
    assert.deepEqual(dialled.addresses, [])
  }
})

test('one private address in an answer refuses the whole answer, wherever it stands', async (t) => {
  for (const answer of [
    [PUBLIC, '10.0.0.5'],
    ['10.0.0.5', PUBLIC],
    [PUBLIC, PUBLIC_IPV6, '::ffff:10.0.0.5'],
  ]) {
    const dialled = detour(1)
    const { get } = open(t, { lookup: scriptedLookup(answer), newSocket: dialled.newSocket })
    assert.equal(await faultKindOf(get('http://mixed.example')), 'address_blocked')
    assert.deepEqual(dialled.addresses, [])
  }
})

test('a network the operator opened is reached by names that point there, and its metadata service is not', async (t) => {
  const parsed = parsePrivateAllow('10.20.0.0/16, 100.64.0.0/10, fd00::/8')
  assert.ok(parsed.ok)
  const { allow: privateAllow } = parsed
  const openAt = async (answer: string[]) => {
    const server = await startHttp(t, (_request, response) => void response.end('inside'))
    const dialled = detour(server.port)
    const { get } = open(t, { lookup: scriptedLookup(answer), newSocket: dialled.newSocket, privateAllow })
    return { dialled, get: () => get('http://tools.example') }
  }
  for (const address of ['10.20.0.5', 'fd12::7', PUBLIC]) {
    const { get, dialled } = await openAt([address])
    assert.equal((await get()).text, 'inside')
    assert.deepEqual(dialled.addresses, [address])
  }
  for (const answer of [
    ['10.21.0.5'],
    ['10.20.0.5', '10.21.0.5'],
    ['100.100.100.200'],
    ['fd00:ec2::254'],
    ['fd00:0ec2:0::0:254'],
    ['10.20.0.5', '169.254.169.254'],
    ['::ffff:10.20.0.5'],
    ['64:ff9b::a14:5'],
    ['fd12::7%eth0'],
  ]) {
    const { get, dialled } = await openAt(answer)
    assert.equal(await faultKindOf(get()), 'address_blocked', answer.join())
    assert.deepEqual(dialled.addresses, [])
  }
})

test('an opened network stays pinned: a name that moves on to another private address is refused', async (t) => {
  const parsed = parsePrivateAllow('10.20.0.0/16')
  assert.ok(parsed.ok)
  const server = await startHttp(t, (_request, response) => void response.end('inside'))
  const dialled = detour(server.port)
  const lookup = scriptedLookup(['10.20.0.5'], ['127.0.0.1'])
  const { get } = open(t, { lookup, newSocket: dialled.newSocket, privateAllow: parsed.allow })
  assert.equal((await get('http://tools.example:1')).text, 'inside')
  assert.equal(await faultKindOf(get('http://tools.example:2')), 'address_blocked')
  assert.deepEqual(dialled.addresses, ['10.20.0.5'])
  // The third layer: the socket says that it is somewhere else.
  const elsewhere = detour(server.port, '10.21.0.5')
  const second = open(t, {
    lookup: scriptedLookup(['10.20.0.5']),
    newSocket: elsewhere.newSocket,
    privateAllow: parsed.allow,
  })
  assert.equal(await faultKindOf(second.get('http://tools.example')), 'address_blocked')
})

test('an answer that is no address at all is refused', async (t) => {
  for (const address of ['', 'localhost', '127.1', '0x7f000001']) {
    const { get } = open(t, { lookup: scriptedLookup([address]), newSocket: detour(1).newSocket })
    assert.equal(await faultKindOf(get('http://odd.example')), 'address_blocked')
  }
})

test('an empty answer is a fault of name resolution', async (t) => {
  const { get } = open(t, { lookup: scriptedLookup([]), newSocket: detour(1).newSocket })
  assert.equal(await faultKindOf(get('http://empty.example')), 'dns')
})

test('a resolver that fails, by callback or by throwing, is a fault of name resolution', async (t) => {
  const byCallback = open(t, {
    lookup: (_name, _options, callback) => callback(Object.assign(new Error('no'), { code: 'ENOTFOUND' }), []),
  })
  assert.deepEqual(await failureOf(byCallback.get('http://gone.example')), {
    kind: 'fault',
    fault: { kind: 'dns', message: 'the name gone.example could not be resolved (ENOTFOUND)' },
  })
  const byThrowing = open(t, {
    lookup: () => {
      throw new TypeError('broken')
    },
  })
  assert.equal(await faultKindOf(byThrowing.get('http://gone.example')), 'dns')
})

test('a public answer is dialled as it was checked', async (t) => {
  const server = await startHttp(t, (request, response) => void response.end(request.headers.host))
  const dialled = detour(server.port)
  const lookup = scriptedLookup([PUBLIC, PUBLIC_IPV6])
  const { get } = open(t, { lookup, newSocket: dialled.newSocket })
  assert.deepEqual(await get('http://tools.example'), { status: 200, text: 'tools.example' })
  assert.deepEqual(dialled.addresses, [PUBLIC])
  assert.deepEqual(lookup.asked, ['tools.example'])
})

test('rebinding: the second connection of a name that has turned private is refused', async (t) => {
  const server = await startHttp(t, (_request, response) => {
    response.setHeader('connection', 'close')
    response.end('first')
  })
  const dialled = detour(server.port)
  const { get } = open(t, { lookup: scriptedLookup([PUBLIC], ['127.0.0.1']), newSocket: dialled.newSocket })
  assert.equal((await get('http://rebind.example')).text, 'first')
  assert.equal(await faultKindOf(get('http://rebind.example')), 'address_blocked')
  assert.deepEqual(dialled.addresses, [PUBLIC])
  assert.equal(server.sockets.length, 1)
})

test('a kept-alive connection stays on its checked address: five calls, one question to the resolver', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('again'))
  const dialled = detour(server.port)
  const lookup = scriptedLookup([PUBLIC], ['127.0.0.1'])
  const { get } = open(t, { lookup, newSocket: dialled.newSocket })
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await get('http://rebind.example')).text, 'again')
    // undici lends a connection again one turn of the event loop after its answer has ended.
    await new Promise(setImmediate)
  }
  assert.equal(lookup.asked.length, 1)
  assert.equal(server.sockets.length, 1)
})

// Layer 2: literals.

const literalOrigins = [
  'http://127.0.0.1',
  'http://[::1]',
  'http://0.0.0.0',
  'http://[::]',
  'http://[::ffff:127.0.0.1]',
  'http://[64:ff9b::7f00:1]',
  'http://10.0.0.5',
  'http://169.254.169.254',
]

for (const origin of literalOrigins) {
  test(`the literal ${origin} is refused without asking the resolver, and no connection is made`, async (t) => {
    const server = await startTcp(t)
    const { get } = open(t, { lookup: unreachable })
    assert.equal(await faultKindOf(get(`${origin}:${server.port}`)), 'address_blocked')
    assert.equal(server.sockets.length, 0)
  })
}

test('a public literal is dialled without asking the resolver', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('literal'))
  for (const [origin, address] of [
    [`http://${PUBLIC}`, PUBLIC],
    [`http://[${PUBLIC_IPV6}]`, PUBLIC_IPV6],
  ] as const) {
    const dialled = detour(server.port)
    const { get } = open(t, { lookup: unreachable, newSocket: dialled.newSocket })
    assert.equal((await get(origin)).text, 'literal')
    assert.deepEqual(dialled.addresses, [address])
  }
})

// Layer 3: the connected socket.

for (const protocol of ['http', 'https']) {
  test(`an ${protocol} socket that ended up at a private address is closed before a byte is written`, async (t) => {
    const server = await startTcp(t)
    const { get } = open(t, {
      lookup: scriptedLookup([PUBLIC]),
      newSocket: detour(server.port, '127.0.0.1').newSocket,
    })
    const answer = failureOf(get(`${protocol}://tools.example`))
    assert.equal(await bytesUntilClosed(await server.connected()), '')
    assert.deepEqual(await answer, {
      kind: 'refused',
      refusal: { reason: 'address_blocked', host: 'tools.example' },
    })
  })
}

test('a socket that cannot say where it is is not used', async (t) => {
  const server = await startTcp(t)
  const { get } = open(t, { lookup: scriptedLookup([PUBLIC]), newSocket: detour(server.port, null).newSocket })
  const answer = faultKindOf(get('http://tools.example'))
  assert.equal(await bytesUntilClosed(await server.connected()), '')
  assert.equal(await answer, 'reset')
})

// DEV_INSECURE.

test('DEV_INSECURE lets localhost and loopback literals reach loopback, and no other name', async (t) => {
  const server = await startHttp(t, (_request, response) => void response.end('local'))
  const local = open(t, { lookup: scriptedLookup(['127.0.0.1']), devInsecure: true })
  assert.equal((await local.get(`http://localhost:${server.port}`)).text, 'local')
  assert.equal((await local.get(`http://127.0.0.1:${server.port}`)).text, 'local')
  assert.equal(await faultKindOf(local.get(`http://tools.example:${server.port}`)), 'address_blocked')
  assert.equal(await faultKindOf(local.get(`http://localhost.example:${server.port}`)), 'address_blocked')
  assert.equal(await faultKindOf(local.get(`http://[::ffff:127.0.0.1]:${server.port}`)), 'address_blocked')
  assert.equal(await faultKindOf(local.get(`http://0.0.0.0:${server.port}`)), 'address_blocked')
})

test('DEV_INSECURE does not let localhost be somewhere else', async (t) => {
  for (const address of [PUBLIC, '10.0.0.5', '::ffff:127.0.0.1']) {
    const { get } = open(t, { lookup: scriptedLookup([address]), devInsecure: true, newSocket: detour(1).newSocket })
    assert.equal(await faultKindOf(get('http://localhost')), 'address_blocked')
  }
})

// TLS.

test('TLS goes by the host name though the address is pinned: SNI and certificate are for the name', async (t) => {
  trustTestCertificates(t)
  const server = await startHttps(t, namedCertificate)
  const { get } = open(t, { lookup: scriptedLookup([PUBLIC]), newSocket: detour(server.port).newSocket })
  assert.equal((await get('https://tools.example')).text, 'secure')
  assert.deepEqual(server.serverNames, ['tools.example'])
})

test('a certificate for another name is refused though its chain is trusted', async (t) => {
  trustTestCertificates(t)
  let requests = 0
  const server = await startHttps(t, otherCertificate, (_request, response) => {
    requests += 1
    response.end()
  })
  const { get } = open(t, { lookup: scriptedLookup([PUBLIC]), newSocket: detour(server.port).newSocket })
  assert.deepEqual(await failureOf(get('https://tools.example')), {
    kind: 'fault',
    fault: {
      kind: 'tls',
      message: 'no trusted TLS connection to tools.example (ERR_TLS_CERT_ALTNAME_INVALID)',
    },
  })
  assert.equal(requests, 0)
})

test('a certificate that nobody trusts is refused', async (t) => {
  const server = await startHttps(t, namedCertificate)
  const { get } = open(t, { lookup: scriptedLookup([PUBLIC]), newSocket: detour(server.port).newSocket })
  assert.equal(await faultKindOf(get('https://tools.example')), 'tls')
})

test('a literal sends no server name, and its certificate is checked for the address', async (t) => {
  trustTestCertificates(t)
  const named = await startHttps(t, namedCertificate)
  const { get } = open(t, { lookup: unreachable, devInsecure: true })
  assert.equal((await get(`https://127.0.0.1:${named.port}`)).text, 'secure')
  assert.deepEqual(named.serverNames, [false])
  const other = await startHttps(t, otherCertificate)
  assert.equal(await faultKindOf(get(`https://127.0.0.1:${other.port}`)), 'tls')
})

test('HTTP/2 is not offered', async (t) => {
  trustTestCertificates(t)
  const server = await startHttps(
    t,
    { ...namedCertificate, ALPNProtocols: ['h2', 'http/1.1'] } as never,
    (request, response) => void response.end(request.httpVersion),
  )
  const { get } = open(t, { lookup: unreachable, devInsecure: true })
  assert.equal((await get(`https://127.0.0.1:${server.port}`)).text, '1.1')
})

test('a server that speaks no TLS, or hangs up during the handshake, is a fault', async (t) => {
  const plain = await startTcp(t, (socket) => void socket.end('SSH-2.0-hello\r\n'))
  const rude = await startTcp(t, (socket) => socket.once('data', () => socket.destroy()))
  const { get } = open(t, { lookup: unreachable, devInsecure: true })
  assert.equal(await faultKindOf(get(`https://127.0.0.1:${plain.port}`)), 'tls')
  assert.equal(await faultKindOf(get(`https://127.0.0.1:${rude.port}`)), 'reset')
})

test('a port where nobody listens is a connect fault that names the host only', async (t) => {
  const server = net.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as net.AddressInfo
  server.close()
  await once(server, 'close')
  const { get } = open(t, { lookup: unreachable, devInsecure: true })
  assert.deepEqual(await failureOf(get(`http://127.0.0.1:${port}`)), {
    kind: 'fault',
    fault: { kind: 'connect', message: 'could not connect to 127.0.0.1 (ECONNREFUSED)' },
  })
})

// The time limit.

test('the connect time-out covers a resolver that never answers', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { get } = open(t, { lookup: () => {}, timeoutMs: 10_000 })
  const failure = failureOf(get('http://slow.example'))
  t.mock.timers.tick(9_999)
  await new Promise(setImmediate)
  t.mock.timers.tick(1)
  assert.deepEqual(await failure, {
    kind: 'fault',
    fault: { kind: 'timeout', message: 'the connection to slow.example timed out (ETIMEDOUT)' },
  })
})

test('the connect time-out covers the TLS handshake, and closes the socket', async (t) => {
  const server = await startTcp(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { get } = open(t, { lookup: unreachable, devInsecure: true })
  const failure = faultKindOf(get(`https://127.0.0.1:${server.port}`))
  const socket = await server.connected()
  await once(socket, 'data')
  t.mock.timers.tick(10_000)
  assert.equal(await failure, 'timeout')
  await bytesUntilClosed(socket)
})

test('the connect time-out covers the answer of the proxy, and closes the socket', async (t) => {
  const proxy = await startTcp(t)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC]),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: null },
  })
  const failure = faultKindOf(get('https://api.provider.example'))
  const socket = await proxy.connected()
  await once(socket, 'data')
  t.mock.timers.tick(10_000)
  assert.equal(await failure, 'timeout')
  await bytesUntilClosed(socket)
})

test('a late answer of the resolver brings no dead attempt back to life', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const answers: (() => void)[] = []
  const dialled = detour(1)
  const { get } = open(t, {
    lookup: (_name, _options, callback) => answers.push(() => callback(null, [{ address: PUBLIC, family: 4 }])),
    newSocket: dialled.newSocket,
  })
  const failure = faultKindOf(get('http://slow.example'))
  t.mock.timers.tick(10_000)
  assert.equal(await failure, 'timeout')
  for (const answer of answers) answer()
  await new Promise(setImmediate)
  assert.deepEqual(dialled.addresses, [])
})

// Through a proxy.

test('the proxy is asked for the checked address, IPv4 first, while TLS stays on the name', async (t) => {
  trustTestCertificates(t)
  const backend = await startHttps(t, namedCertificate)
  const proxy = await startProxy(t, backend.port)
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC_IPV6, PUBLIC]),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: 'Basic bWU6cGFzcw==' },
  })
  assert.equal((await get('https://api.provider.example')).text, 'secure')
  assert.deepEqual(proxy.requests, [
    `CONNECT ${PUBLIC}:443 HTTP/1.1\r\nHost: ${PUBLIC}:443\r\nProxy-Authorization: Basic bWU6cGFzcw==\r\n\r\n`,
  ])
  assert.deepEqual(backend.serverNames, ['api.provider.example'])
})

test('an IPv6 target stands in brackets, and plain http is tunnelled too', async (t) => {
  const backend = await startHttp(t, (request, response) => void response.end(request.headers.host))
  const proxy = await startProxy(t, backend.port)
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC_IPV6]),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: null },
  })
  assert.equal((await get('http://api.provider.example:8080')).text, 'api.provider.example:8080')
  assert.deepEqual(proxy.requests, [`CONNECT [${PUBLIC_IPV6}]:8080 HTTP/1.1\r\nHost: [${PUBLIC_IPV6}]:8080\r\n\r\n`])
})

test('a private target is refused before the proxy hears of it', async (t) => {
  const proxy = await startTcp(t)
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC, '10.0.0.5']),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: null },
  })
  assert.equal(await faultKindOf(get('https://api.provider.example')), 'address_blocked')
  assert.equal(await faultKindOf(get('https://10.0.0.5')), 'address_blocked')
  assert.equal(proxy.sockets.length, 0)
})

test("the proxy's own name is resolved by the same resolver and may be private", async (t) => {
  const backend = await startHttp(t, (_request, response) => void response.end('through'))
  const proxy = await startProxy(t, backend.port)
  const lookup = scriptedLookup([PUBLIC], ['127.0.0.1'])
  const { get } = open(t, { lookup, proxy: { host: 'proxy.internal', port: proxy.port, authorization: null } })
  assert.equal((await get('http://api.provider.example')).text, 'through')
  assert.deepEqual(lookup.asked, ['api.provider.example', 'proxy.internal'])
})

test('a certificate for another name is refused behind a proxy too', async (t) => {
  trustTestCertificates(t)
  const backend = await startHttps(t, otherCertificate)
  const proxy = await startProxy(t, backend.port)
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC]),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: null },
  })
  assert.equal(await faultKindOf(get('https://api.provider.example')), 'tls')
})

const badProxies: [what: string, answer: string, says: RegExp][] = [
  ['asks for credentials', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', /answered CONNECT with status 407/],
  ['cannot reach the target', 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 3\r\n\r\nbad', /status 502/],
  ['speaks something else', 'SSH-2.0-proxy\r\n\r\n', /did not answer CONNECT in HTTP/],
  ['sends bytes into the tunnel', 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n', /did not answer CONNECT in HTTP/],
  ['never ends its headers', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(20_000)}`, /did not answer CONNECT in HTTP/],
]

for (const [what, bytes, says] of badProxies) {
  test(`a proxy that ${what} is a connect fault, and its socket is closed`, async (t) => {
    const proxy = await startTcp(t, (socket) => socket.once('data', () => socket.write(bytes)))
    const { get } = open(t, {
      lookup: scriptedLookup([PUBLIC]),
      proxy: { host: '127.0.0.1', port: proxy.port, authorization: 'Basic SECRET' },
    })
    const answer = await failureOf(get('https://api.provider.example'))
    assert.ok(answer.kind === 'fault')
    assert.equal(answer.fault.kind, 'connect')
    assert.match(answer.fault.message, says)
    assert.match(answer.fault.message, /^could not connect to api\.provider\.example/)
    assert.doesNotMatch(answer.fault.message, /SECRET|127\.0\.0\.1/)
    await bytesUntilClosed(await proxy.connected())
  })
}

test('a proxy answer that comes byte by byte is understood', async (t) => {
  const backend = await startHttp(t, (_request, response) => void response.end('slow but sure'))
  const proxy = await startTcp(t, (client) => {
    const answer = 'HTTP/1.0 200 OK\r\nVia: x\r\n\r\n'.split('')
    const next = () => {
      const byte = answer.shift()
      if (byte !== undefined) {
        client.write(byte)
        setImmediate(next)
        return
      }
      const upstream = net.connect(backend.port, '127.0.0.1')
      upstream.on('error', () => client.destroy())
      client.on('close', () => upstream.destroy())
      client.pipe(upstream).pipe(client)
    }
    client.once('data', next)
  })
  const { get } = open(t, {
    lookup: scriptedLookup([PUBLIC]),
    proxy: { host: '127.0.0.1', port: proxy.port, authorization: null },
  })
  assert.equal((await get('http://api.provider.example')).text, 'slow but sure')
})

test('a proxy that hangs up or does not listen is a fault', async (t) => {
  const rude = await startTcp(t, (socket) => socket.once('data', () => socket.destroy()))
  const polite = await startTcp(t, (socket) => socket.once('data', () => socket.end()))
  const at = (port: number) =>
    open(t, { lookup: scriptedLookup([PUBLIC]), proxy: { host: '127.0.0.1', port, authorization: null } })
  assert.match(await faultKindOf(at(rude.port).get('https://api.provider.example')), /^(?:reset|connect)$/)
  assert.equal(await faultKindOf(at(polite.port).get('https://api.provider.example')), 'connect')
  const closed = net.createServer().listen(0, '127.0.0.1')
  await once(closed, 'listening')
  const { port } = closed.address() as net.AddressInfo
  closed.close()
  await once(closed, 'close')
  assert.deepEqual(await failureOf(at(port).get('https://api.provider.example')), {
    kind: 'fault',
    fault: {
      kind: 'connect',
      message: 'could not connect to api.provider.example through the configured proxy (ECONNREFUSED)',
    },
  })
})
