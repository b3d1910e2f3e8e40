/** The request for a token, before a server of its own on 127.0.0.1, and what its answers mean. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { fetchToken, TOKEN_TIMEOUT_MS, type TokenAnswer } from '../../../src/providers/gigachat/access-token.ts'
import { openEgress } from '../../egress/test-egress.ts'
import { startProvider, type Provider } from '../chain.ts'
import { plainEgress } from '../plain-egress.ts'

const KEY = 'bm9ib2R5OlNFQ1JFVA=='
const EXPIRES = 1_796_001_800_000

type Serve = (response: ServerResponse) => void

function json(status: number, body: unknown, headers: Record<string, string> = {}): Serve {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
}

async function openAuth(t: TestContext, serve: Serve, egress = openEgress(t)) {
  const server = await startProvider(t, (response) => serve(response))
  const authUrl = `http://127.0.0.1:${server.port}/api/v2/oauth`
  const source = {
    send: egress.request.bind(egress),
    authUrl,
    scope: 'GIGACHAT_API_B2B',
    now: () => 1_796_000_000_000,
  } as const
  const fetch = (signal = new AbortController().signal) => fetchToken(source, KEY, signal)
  return { server, authUrl, source, fetch }
}

function seen(server: Provider): { readonly [name: string]: unknown } {
  const [first] = server.seen
  assert.ok(first)
  return { method: first.request.method, url: first.request.url, body: first.body, ...first.request.headers }
}

function faultIn(answer: TokenAnswer): { readonly class: string; readonly detail: string; readonly status: unknown } {
  assert.ok(!answer.ok)
  assert.ok(!answer.fault.detail.includes(KEY) && !answer.fault.detail.includes('/api/v2'))
  return answer.fault
}

test('a token is asked for as the vendor describes it', async (t) => {
  const { server, fetch } = await openAuth(t, json(200, { access_token: 'eyJ.token', expires_at: EXPIRES }))
  assert.deepEqual(await fetch(), { ok: true, token: { value: 'eyJ.token', expiresAt: EXPIRES } })
  const { authorization, body, method, rquid, url, ...headers } = seen(server)
  assert.deepEqual([method, url, body], ['POST', '/api/v2/oauth', 'scope=GIGACHAT_API_B2B'])
  assert.equal(authorization, `Basic ${KEY}`)
  assert.match(String(rquid), /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.deepEqual(
    [headers['content-type'], headers['accept'], headers['user-agent']],
    ['application/x-www-form-urlencoded', 'application/json', 'theloop'],
  )
})

test('the other spelling of a token tells its end in seconds', async (t) => {
  const { fetch } = await openAuth(t, json(200, { tok: 'T', exp: EXPIRES / 1000 }))
  assert.deepEqual(await fetch(), { ok: true, token: { value: 'T', expiresAt: EXPIRES } })
})

test('every refusal of key, scope or address is an auth fault; what may pass by itself is not', async (t) => {
  const cases: [number, unknown, string][] = [
    [400, { code: 5, message: 'scope is empty' }, 'auth'],
    [400, { code: 7, message: 'scope from db not fully includes consumed scope' }, 'auth'],
    [401, { code: 6, message: "credentials doesn't match db data" }, 'auth'],
    [403, '', 'auth'],
    [404, 'nothing here', 'auth'],
    [302, '', 'auth'],
    [408, '', 'timeout'],
    [429, { code: 1, message: 'Too many requests' }, 'rate'],
    [500, { message: 'Internal Server Error' }, 'server'],
    [503, '', 'overloaded'],
  ]
  for (const [status, body, expected] of cases) {
    const { authUrl, fetch } = await openAuth(t, json(status, body, { 'retry-after': '3', location: '/elsewhere' }))
    const answer = await fetch()
    const fault = faultIn(answer)
    assert.deepEqual([fault.class, fault.status], [expected, status])
    assert.ok(fault.detail.startsWith(`no access token from ${new URL(authUrl).host}: `), fault.detail)
    assert.ok(!answer.ok && answer.fault.repair === null && answer.fault.retryAfterMs === 3000)
  }
})

test('an answer that holds no token is malformed', async (t) => {
  const whole = { access_token: 'T', expires_at: EXPIRES }
  for (const body of [
    '',
    '<html>',
    '[]',
    {},
    { ...whole, access_token: '' },
    { ...whole, access_token: 'line\nbreak' },
    { ...whole, access_token: 'токен' },
    { ...whole, expires_at: 'soon' },
    { ...whole, expires_at: -1 },
    { access_token: 'T' },
  ]) {
    const { fetch } = await openAuth(t, json(200, body))
    assert.equal(faultIn(await fetch()).class, 'malformed', JSON.stringify(body))
  }
})

test('an answer that breaks off, or is far too long, is a network fault', async (t) => {
  const broken = await openAuth(t, (response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('{"access_token":"T"')
    setImmediate(() => response.destroy())
  })
  assert.equal(faultIn(await broken.fetch()).class, 'network')
  const long = await openAuth(t, (response) => void response.writeHead(200).write(' '.repeat(100_000)))
  assert.equal(faultIn(await long.fetch()).class, 'network')
  await long.server.until((server) => server.closed() === 1)
})

test('a server that is not there is a network fault, and an address that is not allowed is egress_denied', async (t) => {
  const { source } = await openAuth(t, json(200, ''))
  const { signal } = new AbortController()
  const gone = await fetchToken({ ...source, authUrl: 'http://127.0.0.1:1/oauth' }, KEY, signal)
  assert.equal(faultIn(gone).class, 'network')
  const inside = await fetchToken({ ...source, authUrl: 'https://10.0.0.1/oauth' }, KEY, signal)
  assert.equal(faultIn(inside).class, 'egress_denied')
})

test('the address of the tokens is the provider’s own host, with its port', async () => {
  const asked: unknown[] = []
  const source = {
    send: async ({ ownHosts, provider, purpose }: { ownHosts?: unknown; provider?: unknown; purpose: unknown }) => {
      asked.push({ ownHosts, provider, purpose })
      return { kind: 'fault', fault: { kind: 'dns', message: 'm' } } as const
    },
    authUrl: 'https://ngw.devices.sberbank.ru:9443/api/v2/oauth',
    scope: 'GIGACHAT_API_PERS',
    now: Date.now,
  } as const
  await fetchToken(source, KEY, new AbortController().signal)
  assert.deepEqual(asked, [{ ownHosts: ['ngw.devices.sberbank.ru:9443'], provider: 'gigachat', purpose: 'provider' }])
})

test('CA-05: an abort closes the socket at once and leaves nothing behind', async (t) => {
  const { server, fetch } = await openAuth(t, () => {})
  const controller = new AbortController()
  const answer = fetch(controller.signal)
  await server.until(({ seen }) => seen.length === 1)
  controller.abort()
  assert.equal((await answer).ok, false)
  await server.until((server) => server.closed() === 1)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  assert.equal((await fetch(controller.signal)).ok, false)
  assert.equal(server.seen.length, 1)
})

test('a server that says nothing is a timeout', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_796_000_000_000 })
  const { server, fetch } = await openAuth(t, () => {}, plainEgress(t))
  const answer = fetch()
  await server.until(({ seen }) => seen.length === 1)
  t.mock.timers.tick(TOKEN_TIMEOUT_MS)
  assert.equal(faultIn(await answer).class, 'timeout')
})
