/** EGRESS_PRIVATE_ALLOW by table: what its entries may be, and what they open. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isPublicAddress } from '../../src/egress/addresses.ts'
import { judgeUrl, parseAllowList } from '../../src/egress/policy.ts'
import { opensPrivate, parsePrivateAllow, type PrivateAllow } from '../../src/egress/private-allow.ts'
import { mayReach } from '../../src/egress/reach.ts'

function allow(text: string): PrivateAllow {
  const parsed = parsePrivateAllow(text)
  assert.ok(parsed.ok, JSON.stringify(parsed))
  return parsed.allow
}

const EVERYTHING = '10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, 100.64.0.0/10, 198.18.0.0/15, 127.0.0.0/8, fc00::/7, ::1'

const opened: [entries: string, host: string, address: string][] = [
  ['10.20.0.0/16', 'tools.example', '10.20.255.255'],
  ['10.20.0.7', 'tools.example', '10.20.0.7'],
  ['[fd12::7]', 'tools.example', 'fd12::7'],
  ['fd12::7', 'tools.example', 'fd12:0:0::7'],
  ['FD12::/16', 'tools.example', 'fd12:ffff::1'],
  [' , 192.168.1.0/24 ,', 'tools.example', '192.168.1.200'],
  ['127.0.0.0/8', 'sidecar.example', '127.0.0.1'],
  ['::1', 'sidecar.example', '::1'],
  ['198.18.0.0/15', 'pod.example', '198.19.1.1'],
  ['tools.internal', 'tools.internal', '10.1.2.3'],
  ['Tools.Internal.', 'tools.internal', '172.31.0.1'],
  ['*.svc.cluster.local', 'a.b.svc.cluster.local', '100.64.3.4'],
  ['*.svc.cluster.local', 'a.svc.cluster.local', 'fd00::9'],
  ['münchen.internal', 'xn--mnchen-3ya.internal', '192.168.0.1'],
]

for (const [entries, host, address] of opened) {
  test(`"${entries}" opens ${address} to ${host}`, () => assert.ok(opensPrivate(allow(entries), host, address)))
}

const closed: [entries: string, host: string, address: string][] = [
  ['', 'tools.example', '10.20.0.7'],
  ['10.20.0.0/16', 'tools.example', '10.21.0.0'],
  ['10.20.0.7', 'tools.example', '10.20.0.8'],
  ['10.20.0.0/16', 'tools.example', '::ffff:10.20.0.7'],
  ['10.20.0.0/16', 'tools.example', '64:ff9b::a14:7'],
  ['10.20.0.0/16', 'tools.example', '2002:a14:7::'],
  ['10.20.0.0/16', 'tools.example', '::10.20.0.7'],
  ['tools.internal', 'x.tools.internal', '10.1.2.3'],
  ['tools.internal', 'eviltools.internal', '10.1.2.3'],
  ['*.internal', 'internal', '10.1.2.3'],
  ['*.internal', 'evilinternal', '10.1.2.3'],
  // A name opens networks, not the machine itself, nor what is no network of anybody.
  ['tools.internal', 'tools.internal', '127.0.0.1'],
  ['tools.internal', 'tools.internal', '::1'],
  ['tools.internal', 'tools.internal', '169.254.1.1'],
  ['tools.internal', 'tools.internal', '0.0.0.0'],
  ['tools.internal', 'tools.internal', '224.0.0.1'],
  ['tools.internal', 'tools.internal', '255.255.255.255'],
  ['tools.internal', 'tools.internal', 'fe80::1'],
  ['tools.internal', 'tools.internal', '198.18.0.1'],
  ['tools.internal', 'tools.internal', '::ffff:10.1.2.3'],
  ['fd00::/8', 'tools.example', 'fd12::7%eth0'],
  ['10.0.0.0/8', 'tools.example', '10.1'],
  ['10.0.0.0/8', 'tools.example', '0x0a000001'],
  ['10.0.0.0/8', 'tools.example', '012.0.0.1'],
  ['10.0.0.0/8', 'tools.example', ''],
  ['10.0.0.0/8', 'tools.example', 'localhost'],
]

for (const [entries, host, address] of closed) {
  test(`"${entries}" does not open "${address}" to ${host}`, () =>
    assert.ok(!opensPrivate(allow(entries), host, address)))
}

const metadata = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:0ec2:0:0::0254',
  'fd00:ec2::23',
  'fd20:ce::254',
  'fd00:42::42',
  'fe80::a9fe:a9fe',
  'fd00:a9fe:a9fe::1',
  'fd00:00c1::a9fe:a9fe',
  'fc00::169.254.169.254',
  '::ffff:169.254.169.254',
  '::ffff:100.100.100.200',
  '64:ff9b::a9fe:a9fe',
  '2002:a9fe:a9fe::',
]

test('EG-08: metadata services stay closed where a listed range or name covers them', () => {
  const wide = allow(`${EVERYTHING}, meta.example, *.example`)
  for (const address of metadata) {
    for (const devInsecure of [false, true]) {
      assert.ok(!mayReach('meta.example', address, { devInsecure, privateAllow: wide }), address)
    }
  }
})

const badEntries: [entry: string, says: RegExp][] = [
  ['0.0.0.0/0', /^entry 1 \("0\.0\.0\.0\/0"\) is not inside a private network/],
  ['::/0', /is not inside a private network/],
  ['10.0.0.0/7', /is not inside a private network/],
  ['169.254.0.0/16', /is not inside a private network/],
  ['169.254.169.254', /is not inside a private network/],
  ['8.8.8.0/24', /is not inside a private network/],
  ['2001:db8::/32', /is not inside a private network/],
  ['::ffff:10.0.0.0/104', /is not inside a private network/],
  ['64:ff9b::/96', /is not inside a private network/],
  ['fe80::/10', /is not inside a private network/],
  ['10.0.0.0/33', /has a prefix longer than 32/],
  ['fd00::/129', /has a prefix longer than 128/],
  ['100.100.100.200', /is a metadata service/],
  ['fd00:ec2::254', /is a metadata service/],
  ['fd00:a9fe:a9fe::1', /is a metadata service/],
  ['metadata.google.internal', /is a metadata service/],
  ['*', /is not a host name/],
  ['*.*.internal', /is not a host name/],
  ['a*.internal', /is not a host name/],
  ['.internal', /is not a host name/],
  ['tools..internal', /is not a host name/],
  ['10.0.0.0/', /is neither a range nor a host/],
  ['10.0.0.0/x', /is neither a range nor a host/],
  ['tools.internal/16', /is neither a range nor a host/],
  ['tools.internal:8443', /is neither a range nor a host/],
  ['https://tools.internal', /is neither a range nor a host/],
  ['user:hunter2@tools.internal', /^entry 1 is neither a range nor a host/],
  ['fe80::1%eth0', /is neither a range nor a host/],
  ['0x0a000001', /writes an address in an odd way/],
  ['10.1', /writes an address in an odd way/],
  ['012.0.0.1', /writes an address in an odd way/],
]

for (const [entry, says] of badEntries) {
  test(`the private entry "${entry}" is a fault`, () => {
    const parsed = parsePrivateAllow(entry)
    assert.ok(!parsed.ok)
    assert.equal(parsed.faults.length, 1)
    assert.match(parsed.faults[0] ?? '', says)
    assert.doesNotMatch(parsed.faults[0] ?? '', /hunter2/)
  })
}

// With the allow-lists.

function verdict(url: string, listed: string, opens: string): string {
  const list = parseAllowList(listed)
  assert.ok(list.ok)
  const rules = { allowlist: list.rules, providerAllowlist: [], devInsecure: false, privateAllow: allow(opens) }
  const judged = judgeUrl(url, 'tool', rules)
  if (!judged.allowed) return judged.refusal.reason
  return judged.named ? 'named' : 'any'
}

const together: [url: string, listed: string, opens: string, expected: string][] = [
  ['https://10.20.0.7/', '10.20.0.7', '10.20.0.0/16', 'named'],
  ['https://10.20.0.7/', '', '10.20.0.0/16', 'host_not_listed'],
  // A lone * is any public host.
  ['https://10.20.0.7/', '*:*', '10.20.0.0/16', 'host_not_listed'],
  ['https://10.20.0.7:8443/', '10.20.0.7', '10.20.0.0/16', 'port'],
  ['http://10.20.0.7/', '10.20.0.7', '10.20.0.0/16', 'scheme'],
  ['https://u@10.20.0.7/', '10.20.0.7', '10.20.0.0/16', 'userinfo'],
  ['https://10.21.0.7/', '10.21.0.7', '10.20.0.0/16', 'address_blocked'],
  ['https://0x0a140007/', '10.20.0.7', '10.20.0.0/16', 'named'],
  ['https://[fd12::7]/', '[fd12::7]', 'fd12::/16', 'named'],
  ['https://[::ffff:10.20.0.7]/', '[::ffff:10.20.0.7]', '10.20.0.0/16', 'address_blocked'],
  ['https://100.100.100.200/', '100.100.100.200', '100.64.0.0/10', 'metadata_host'],
  ['https://tools.internal/', 'tools.internal, *', '', 'named'],
  ['https://other.example/', 'tools.internal, *', '10.0.0.0/8', 'any'],
  ['https://tools.internal:8443/', 'tools.internal, *:*', '10.0.0.0/8', 'any'],
  ['https://tools.internal/', '', 'tools.internal', 'host_not_listed'],
  ['https://metadata.google.internal/', '*.google.internal', '*.google.internal, 10.0.0.0/8', 'metadata_host'],
]

for (const [url, listed, opens, expected] of together) {
  test(`${url} with "${listed}" listed and "${opens}" opened is ${expected}`, () =>
    assert.equal(verdict(url, listed, opens), expected))
}

test('whatever is opened, an address is public, or in a private network, and no metadata service', () => {
  const wide = allow(`${EVERYTHING}, tools.internal`)
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 }).map((quad) => quad.join('.'))
  const words = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 })
    .map((parts) => parts.map((part) => part.toString(16)).join(':'))
  fc.assert(
    fc.property(fc.oneof(bytes, words), (address) => {
      const rules = { devInsecure: false, privateAllow: wide }
      if (!mayReach('tools.internal', address, rules) || isPublicAddress(address)) return
      assert.match(address, /^(?:10|127|172|192|198|100)\.|^f[cd]|^0:0:0:0:0:0:0:1$/)
      assert.ok(!metadata.includes(address))
    }),
    { numRuns: 2000 },
  )
})
