/**
 * Every way out, against every way of pointing inside: for each destination kind the same hostile answers of a resolver and the
 * same hostile spellings, and not a byte reaches a server that listens where they point. The last tests open the network on
 * purpose, so that the silence of the first ones means something.
 */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { EgressRequest, Purpose } from '../../src/egress/egress.ts'
import { startHttps, startProxy, startTcp } from './local-servers.ts'
import { namedCertificate, trustTestCertificates } from './test-certificate.ts'
import { call, faultOf, openEgress, reasonOf, responseOf, scriptedLookup, textOf } from './test-egress.ts'

type Ways = Parameters<typeof openEgress>[1]

interface Kind {
  readonly name: string
  readonly purpose: Purpose
  readonly more: Partial<EgressRequest>
  readonly ways: (proxyPort: number) => Ways
}

const HOST = 'tools.example'
const nothing = () => ({})

/** The host is let out by its list, or as somebody's own, in each of them. */
const kinds: readonly Kind[] = [
  { name: 'a tool', purpose: 'tool', more: {}, ways: () => ({ allow: `${HOST}:*` }) },
  { name: 'a callback', purpose: 'callback', more: {}, ways: () => ({ allow: '*.example:*' }) },
  { name: 'an image', purpose: 'image', more: { method: 'GET' }, ways: () => ({ allow: '*:*' }) },
  { name: 'a base URL', purpose: 'provider', more: {}, ways: () => ({ allowProviders: `${HOST}:*` }) },
  {
    name: "a provider's own host",
    purpose: 'provider',
    more: { provider: 'openai', ownHosts: [HOST] },
    ways: nothing,
  },
  {
    name: 'a provider behind a proxy',
    purpose: 'provider',
    more: { provider: 'openai' },
    ways: (port) => ({
      allowProviders: '*:*',
      proxies: { all: `http://user:SECRET@127.0.0.1:${port}`, byProvider: {} },
    }),
  },
  {
    name: 'a provider with TLS of its own',
    purpose: 'provider',
    more: { provider: 'gigachat' },
    ways: () => ({
      allowProviders: `${HOST}:*`,
      tls: { gigachat: { hosts: [HOST], ca: namedCertificate.cert, identity: null } },
    }),
  },
  { name: 'the error webhook', purpose: 'error_webhook', more: { ownHosts: [HOST] }, ways: nothing },
  { name: 'the receiver of spans', purpose: 'telemetry', more: { ownHosts: [HOST] }, ways: nothing },
]

const PUBLIC = '93.184.216.34'

/** What a resolver may say of a listed name. Most of the first ones lead to the listening server. */
const answers: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['127.8.9.10'],
  ['0.0.0.0'],
  ['::1'],
  ['::'],
  ['::ffff:127.0.0.1'],
  ['::ffff:7f00:1'],
  ['::127.0.0.1'],
  ['64:ff9b::7f00:1'],
  ['64:ff9b:1::7f00:1'],
  ['2002:7f00:1::'],
  ['2001:0:7f00:1::'],
  ['fe80::1%lo'],
  ['10.0.0.5'],
  ['172.16.0.1'],
  ['192.168.1.1'],
  ['100.64.0.1'],
  ['169.254.169.254'],
  ['fd00:ec2::254'],
  ['fec0::1'],
  ['ff02::1'],
  ['224.0.0.1'],
  ['255.255.255.255'],
  [PUBLIC, '127.0.0.1'],
  ['127.0.0.1', PUBLIC],
  [PUBLIC, '::ffff:127.0.0.1'],
  ['127.1'],
  ['0x7f000001'],
  ['localhost'],
]

for (const { name, purpose, more, ways } of kinds) {
  test(`EG-07: no answer of a resolver leads ${name} inside, and not a byte leaves`, async (t) => {
    const canary = await startTcp(t)
    const proxy = await startTcp(t)
    const port = more.ownHosts === undefined ? canary.port : 443
    for (const answer of answers) {
      const lookup = scriptedLookup([...answer])
      const egress = openEgress(t, { devInsecure: false, lookup, ...ways(proxy.port) })
      const got = await egress.request(call(`https://${HOST}:${port}/x`, { purpose, ...more }))
      assert.equal(reasonOf(got), 'address_blocked', answer.join())
      assert.deepEqual(lookup.asked, [HOST])
    }
    assert.deepEqual([canary.sockets.length, proxy.sockets.length], [0, 0])
  })

  test(`no spelling of an inside host leads ${name} there, and no resolver is asked`, async (t) => {
    const canary = await startTcp(t)
    const proxy = await startTcp(t)
    const lookup = scriptedLookup(['127.0.0.1'])
    const lists = { allow: '*:*', allowProviders: '*:*' }
    const egress = openEgress(t, { ...ways(proxy.port), ...lists, devInsecure: false, lookup })
    for (const host of spellings) {
      const got = await egress.request(call(`https://${host}:${canary.port}/x`, { purpose, ...more }))
      assert.notEqual(got.kind, 'response', host)
      assert.equal(got.kind, 'refused', host)
    }
    assert.deepEqual(lookup.asked, [])
    assert.deepEqual([canary.sockets.length, proxy.sockets.length], [0, 0])
  })
}

/** Hosts as a URL may write them: octal, hex, one number, half numbers, full-width digits, user, zone, and names of clouds. */
const spellings = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '%31%32%37.0.0.1',
  '0',
  '0.0.0.0',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1%25lo]',
  '[::1%lo]',
  '10.0.0.5',
  '169.254.169.254',
  '2852039166',
  '[fd00:ec2::254]',
  'metadata.google.internal',
  'METADATA.GOOGLE.INTERNAL.',
  'metadata',
  'instance-data',
  `user:pass@${HOST}`,
  `@${HOST}`,
  `127.0.0.1@${HOST}`,
  `${HOST}@127.0.0.1`,
  '..',
  'a..example',
  'tools.example..',
  'tools_.exa mple',
  'tools.example\u0000.evil.example',
]

for (const { name, purpose, more, ways } of kinds.filter(({ more: { ownHosts } }) => ownHosts === undefined)) {
  test(`${name} reaches a network that the operator opened, by the name that its list holds`, async (t) => {
    trustTestCertificates(t)
    const server = await startHttps(t, namedCertificate)
    const proxy = await startProxy(t, server.port)
    const given = { devInsecure: false, lookup: scriptedLookup(['127.0.0.1']), allowPrivate: '127.0.0.0/8' }
    const named = { allow: '*.example:*', allowProviders: '*.example:*' }
    const egress = openEgress(t, { ...ways(proxy.port), ...named, ...given })
    const url = `https://${HOST}:${server.port}/x`
    assert.equal(await textOf(responseOf(await egress.request(call(url, { purpose, ...more })))), 'secure')
    // TLS goes by the name.
    assert.deepEqual(server.serverNames, [HOST])
    const misnamed = await egress.request(call(`https://wrong.example:${server.port}/`, { purpose, ...more }))
    assert.equal(faultOf(misnamed).kind, 'tls')
  })
}

test('a lone * leads to no opened network, not even on the connection of a host that is listed elsewhere', async (t: TestContext) => {
  trustTestCertificates(t)
  const server = await startHttps(t, namedCertificate)
  const egress = openEgress(t, {
    devInsecure: false,
    allow: '*:*',
    allowProviders: `${HOST}:*`,
    allowPrivate: `127.0.0.0/8, ${HOST}`,
    lookup: scriptedLookup(['127.0.0.1']),
  })
  const url = `https://${HOST}:${server.port}/x`
  const asProvider = await egress.request(call(url, { purpose: 'provider' }))
  assert.equal(await textOf(responseOf(asProvider)), 'secure')
  assert.equal(reasonOf(await egress.request(call(url))), 'address_blocked')
  assert.equal(server.sockets.length, 1)
})
