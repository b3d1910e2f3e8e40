/** An authority and a client certificate for single hosts: who meets them, and that nobody else does. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { EgressAnswer, EgressRequest } from '../../src/egress/egress.ts'
import { type HostTls, pemProblem } from '../../src/egress/host-tls.ts'
import { startHttps, startProxy, type LocalServer } from './local-servers.ts'
import { namedCertificate, otherCertificate, trustTestCertificates } from './test-certificate.ts'
import { call, faultOf, openEgress, responseOf, scriptedLookup, textOf } from './test-egress.ts'

/** Asks for a client certificate and takes any. */
const ASKING = { ...namedCertificate, requestCert: true, rejectUnauthorized: false }

/** Says which client certificate it was shown. */
function startServer(t: TestContext): Promise<LocalServer> {
  return startHttps(t, ASKING, (request, response) => {
    const shown = (request.socket as TLSSocket).getPeerCertificate()
    response.end(shown.subject === undefined ? 'nobody' : String(shown.subject.CN))
  })
}

function own(port: number, more: Partial<HostTls> = {}): { readonly tls: Record<string, HostTls> } {
  return { tls: { gigachat: { hosts: [`127.0.0.1:${port}`], ca: namedCertificate.cert, identity: null, ...more } } }
}

const gigachat = { purpose: 'provider', provider: 'gigachat' } as const satisfies Partial<EgressRequest>

async function said(answer: EgressAnswer): Promise<string> {
  return textOf(responseOf(answer))
}

test('an authority is trusted for its hosts and its provider, and for no one else', async (t) => {
  const server = await startServer(t)
  const elsewhere = await startServer(t)
  const egress = openEgress(t, own(server.port))
  const url = `https://127.0.0.1:${server.port}/`
  assert.equal(await said(await egress.request(call(url, gigachat))), 'nobody')
  for (const [other, more] of [
    [url, { purpose: 'provider', provider: 'anthropic' }],
    [url, { purpose: 'provider' }],
    [url, { purpose: 'tool', provider: 'gigachat' }],
    [url, { purpose: 'callback' }],
    [`https://localhost:${server.port}/`, gigachat],
    [`https://127.0.0.1:${elsewhere.port}/`, gigachat],
  ] as const) {
    assert.equal(faultOf(await egress.request(call(other, more))).kind, 'tls', JSON.stringify([other, more]))
  }
})

test('an authority stands beside the default ones, and the name of a certificate still counts', async (t) => {
  const server = await startServer(t)
  const other = await startHttps(t, otherCertificate)
  const trusted = openEgress(t, own(server.port, { ca: otherCertificate.cert }))
  assert.equal(
    faultOf(await trusted.request(call(`https://127.0.0.1:${server.port}/`, gigachat))).kind,
    'tls',
    'another authority is none for this server',
  )
  const misnamed = openEgress(t, own(other.port, { ca: otherCertificate.cert }))
  assert.match(
    faultOf(await misnamed.request(call(`https://127.0.0.1:${other.port}/`, gigachat))).message,
    /ERR_TLS_CERT_ALTNAME_INVALID/,
  )
  trustTestCertificates(t)
  const defaults = openEgress(t, own(server.port, { ca: otherCertificate.cert }))
  assert.equal(await said(await defaults.request(call(`https://127.0.0.1:${server.port}/`, gigachat))), 'nobody')
})

test('a client certificate is shown to its hosts by its provider only', async (t) => {
  trustTestCertificates(t)
  const server = await startServer(t)
  const elsewhere = await startServer(t)
  const egress = openEgress(t, own(server.port, { ca: null, identity: otherCertificate }))
  const url = `https://127.0.0.1:${server.port}/`
  assert.equal(await said(await egress.request(call(url, gigachat))), 'theloop test other')
  assert.equal(await said(await egress.request(call(url))), 'nobody')
  assert.equal(await said(await egress.request(call(url, { purpose: 'provider', provider: 'anthropic' }))), 'nobody')
  assert.equal(await said(await egress.request(call(`https://127.0.0.1:${elsewhere.port}/`, gigachat))), 'nobody')
})

test('own TLS holds through a proxy, for a host on port 443 that is named without it', async (t) => {
  const server = await startServer(t)
  const proxy = await startProxy(t, server.port)
  const egress = openEgress(t, {
    allowProviders: 'api.provider.example',
    proxies: { all: `http://127.0.0.1:${proxy.port}`, byProvider: {} },
    lookup: (name, options, callback) =>
      scriptedLookup([name === '127.0.0.1' ? '127.0.0.1' : '93.184.216.34'])(name, options, callback),
    tls: {
      gigachat: { hosts: ['API.provider.example'], ca: namedCertificate.cert, identity: otherCertificate },
    },
  })
  const url = 'https://api.provider.example/'
  assert.equal(await said(await egress.request(call(url, gigachat))), 'theloop test other')
  assert.equal(faultOf(await egress.request(call(url, { purpose: 'provider', provider: 'kimi' }))).kind, 'tls')
  assert.equal(proxy.requests.length, 2)
})

test('close ends the connections of own TLS too', async (t) => {
  const server = await startServer(t)
  const egress = openEgress(t, own(server.port))
  const url = `https://127.0.0.1:${server.port}/`
  assert.equal(await said(await egress.request(call(url, gigachat))), 'nobody')
  await egress.close()
  assert.equal((await egress.request(call(url, gigachat))).kind, 'fault')
})

test('what is no PEM is told apart, and a certificate without its key is none', () => {
  const { cert, key } = namedCertificate
  const identity = { cert, key }
  assert.equal(pemProblem({ ca: null, identity: null }), null)
  assert.equal(pemProblem({ ca: `${cert}\n${otherCertificate.cert}\n`, identity }), null)
  for (const ca of ['', 'text', key, cert.slice(0, -20), cert.replace('MIIB', 'AAAA'), `${cert}\n${key}`]) {
    assert.equal(pemProblem({ ca, identity: null }), 'ca', ca.slice(0, 40))
  }
  for (const [cert, key] of [
    ['', ''],
    [namedCertificate.cert, 'text'],
    [namedCertificate.cert, otherCertificate.key],
  ] as const) {
    assert.equal(pemProblem({ ca: null, identity: { cert, key } }), 'identity')
  }
})
