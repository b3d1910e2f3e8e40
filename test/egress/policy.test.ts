/** Allow-lists and URLs by table: what passes and what is refused, with the reason. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Purpose, Refusal } from '../../src/egress/egress.ts'
import { type AllowRule, type EgressRules, judgeUrl, parseAllowList } from '../../src/egress/policy.ts'

function list(text: string): readonly AllowRule[] {
  const parsed = parseAllowList(text)
  assert.ok(parsed.ok, JSON.stringify(parsed))
  return parsed.rules
}

function rules(allowlist: string, more: { provider?: string; devInsecure?: boolean } = {}): EgressRules {
  return {
    allowlist: list(allowlist),
    providerAllowlist: list(more.provider ?? ''),
    devInsecure: more.devInsecure ?? false,
  }
}

function verdict(url: string, given: EgressRules, purpose: Purpose = 'tool', ownHosts?: string[]): string {
  const judged = judgeUrl(url, purpose, given, ownHosts)
  return judged.allowed ? 'allowed' : judged.refusal.reason
}

type Expected = Refusal['reason'] | 'allowed'

// Entries of a list.

test('EG-03: entries are trimmed, lower-cased, freed of a trailing dot, and empty ones allow nothing', () => {
  assert.deepEqual(list(' API.Directual.com. , , *.Example.COM.:8443,\t[2606:4700:4700::1111]:*, *,'), [
    { match: 'host', host: 'api.directual.com', port: 443 },
    { match: 'subdomains', host: 'example.com', port: 8443 },
    { match: 'host', host: '[2606:4700:4700::1111]', port: 'any' },
    { match: 'any', host: '', port: 443 },
  ])
  assert.deepEqual(list(''), [])
  assert.deepEqual(list(' , ,, '), [])
})

test('EG-06: an entry in Unicode becomes its punycode', () => {
  assert.deepEqual(list('münchen.example, *.BÜCHER.example'), [
    { match: 'host', host: 'xn--mnchen-3ya.example', port: 443 },
    { match: 'subdomains', host: 'xn--bcher-kva.example', port: 443 },
  ])
})

const badEntries: [entry: string, says: RegExp][] = [
  ['https://api.example.com', /^entry 1 is a URL, not a host/],
  ['api.example.com/path', /^entry 1 is a URL, not a host/],
  ['user:secret@api.example.com', /^entry 1 is a URL, not a host/],
  ['api.example.com?key=secret', /^entry 1 is a URL, not a host/],
  ['api.example.com:0', /^entry 1 \("api\.example\.com:0"\) has no valid port/],
  ['api.example.com:65536', /has no valid port/],
  ['api.example.com:https', /has no valid port/],
  ['api.example.com:', /has no valid port/],
  ['api.example.com:0443', /has no valid port/],
  ['2606:4700::1111', /has no valid port.*IPv6 address stands in brackets/],
  ['api.*.com', /\* in a place where it means nothing/],
  ['*example.com', /\* in a place where it means nothing/],
  ['*.*.example.com', /\* in a place where it means nothing/],
  ['**', /\* in a place where it means nothing/],
  ['*.', /is not a host name/],
  ['.', /is not a host name/],
  ['a..example.com', /is not a host name/],
  ['.example.com', /is not a host name/],
  ['api example.com', /^entry 1 is not a host name/],
  ['api.example.com%2eevil', /is not a host name/],
  ['[::1', /IPv6 address stands in brackets/],
  ['[fe80::1%25eth0]', /is not a host name/],
  ['*.10.0.0.1', /puts \*\. before an IP address/],
]

for (const [entry, says] of badEntries) {
  test(`the list entry "${entry}" is a fault`, () => {
    const parsed = parseAllowList(entry)
    assert.ok(!parsed.ok)
    assert.equal(parsed.faults.length, 1)
    assert.match(parsed.faults[0] ?? '', says)
  })
}

test('every bad entry is told, by its place in the list, and no secret in one is quoted', () => {
  const parsed = parseAllowList('ok.example, https://u:hunter2@h.example/?k=hunter2, x:y, also.ok.example')
  assert.ok(!parsed.ok)
  assert.equal(parsed.faults.length, 2)
  assert.match(parsed.faults[0] ?? '', /^entry 2 /)
  assert.match(parsed.faults[1] ?? '', /^entry 3 /)
  assert.doesNotMatch(parsed.faults.join(), /hunter2/)
})

// URLs against a list.

const oneHost: [url: string, expected: Expected][] = [
  ['https://api.directual.com/', 'allowed'],
  ['https://api.directual.com/good/hook?x=1#y', 'allowed'],
  ['https://api.directual.com:443/', 'allowed'],
  ['https://api.directual.com./', 'allowed'],
  ['https://API.DIRECTUAL.COM/', 'allowed'],
  ['HTTPS://api.directual.com/', 'allowed'],
  ['https://api%2edirectual.com/', 'allowed'],
  ['https://api.directual。com/', 'allowed'],
  // A backslash is a slash to every URL parser of the web: the host is the listed one, the rest is path.
  ['https://api.directual.com\\@evil.example/', 'allowed'],
  ['https://api.directual.com.evil.example/', 'host_not_listed'],
  ['https://evilapi.directual.com/', 'host_not_listed'],
  ['https://x.api.directual.com/', 'host_not_listed'],
  ['https://directual.com/', 'host_not_listed'],
  ['https://api.directual.com%2eevil.example/', 'host_not_listed'],
  ['https://api-directual.com/', 'host_not_listed'],
  ['https://api.directual.com@evil.example/', 'userinfo'],
  ['https://api.directual.com:443@evil.example/', 'userinfo'],
  ['https://evil.example@api.directual.com/', 'userinfo'],
  ['https://user:secret@api.directual.com/', 'userinfo'],
  ['https://@api.directual.com/', 'userinfo'],
  ['https://:@api.directual.com/', 'userinfo'],
  ['https:@api.directual.com/', 'userinfo'],
  ['https:\\\\@api.directual.com/', 'userinfo'],
  ['https:/\t/\n@api.directual.com/', 'userinfo'],
  ['https://api.directual.com/@', 'allowed'],
  ['https://api.directual.com/?to=a@b', 'allowed'],
  ['https://api.directual.com#@evil.example', 'allowed'],
  ['http://api.directual.com/', 'scheme'],
  ['ftp://api.directual.com/', 'scheme'],
  ['file:///etc/passwd', 'scheme'],
  ['data:text/plain,hi', 'scheme'],
  ['ws://api.directual.com/', 'scheme'],
  ['https://api.directual.com:8443/', 'port'],
  ['https://api.directual.com:80/', 'port'],
  ['https://api.directual.com../', 'invalid_url'],
  ['https://.api.directual.com/', 'invalid_url'],
  ['https://api..directual.com/', 'invalid_url'],
  ['https://api.directual.com,evil.example/', 'invalid_url'],
  ['https://*.directual.com/', 'invalid_url'],
  ['https://', 'invalid_url'],
  ['//api.directual.com/', 'invalid_url'],
  ['api.directual.com', 'invalid_url'],
  ['', 'invalid_url'],
  ['https://api.directual.com:99999/', 'invalid_url'],
  ['https://api.directual.com:443:443/', 'invalid_url'],
]

for (const [url, expected] of oneHost) {
  test(`EG-03: with api.directual.com listed, ${JSON.stringify(url)} is ${expected}`, () => {
    assert.equal(verdict(url, rules('api.directual.com')), expected)
  })
}

test('an allowed URL comes back with its host in the canonical form and the rest untouched', () => {
  const judged = judgeUrl('https://API.Directual.com.:443/Path?Q=1', 'tool', rules('api.directual.com'))
  assert.ok(judged.allowed)
  assert.equal(judged.url.href, 'https://api.directual.com/Path?Q=1')
})

test('an empty list allows nothing', () => {
  for (const purpose of ['tool', 'callback', 'image', 'error_webhook', 'provider'] as const) {
    assert.equal(verdict('https://api.example.com/', rules(''), purpose), 'host_not_listed')
  }
})

const wildcards: [listed: string, url: string, expected: Expected][] = [
  ['*.example.com', 'https://a.example.com/', 'allowed'],
  ['*.example.com', 'https://a.b.c.example.com/', 'allowed'],
  ['*.example.com', 'https://A.Example.com./', 'allowed'],
  ['*.example.com', 'https://example.com/', 'host_not_listed'],
  ['*.example.com', 'https://evilexample.com/', 'host_not_listed'],
  ['*.example.com', 'https://a.example.com.evil.example/', 'host_not_listed'],
  ['*.example.com', 'https://.example.com/', 'invalid_url'],
  ['*.example.com', 'https://a.example.com:8443/', 'port'],
  ['*.example.com:8443', 'https://a.example.com:8443/', 'allowed'],
  ['*.example.com:8443', 'https://a.example.com/', 'port'],
  ['*.example.com:*', 'https://a.example.com:1/', 'allowed'],
  ['api.example.com:8443', 'https://api.example.com:8443/', 'allowed'],
  ['api.example.com:8443', 'https://api.example.com/', 'port'],
  ['api.example.com:8443, api.example.com', 'https://api.example.com/', 'allowed'],
  ['api.example.com:*', 'https://api.example.com:65535/', 'allowed'],
  ['api.example.com:*', 'https://api.example.com/', 'allowed'],
  ['*', 'https://anything.example/', 'allowed'],
  ['*', 'https://anything.example:8443/', 'port'],
  ['*:*', 'https://anything.example:8443/', 'allowed'],
  ['*', 'http://anything.example/', 'scheme'],
  ['*', 'https://user@anything.example/', 'userinfo'],
  // Listing twice with different ports keeps both.
  ['*, api.example.com:8443', 'https://api.example.com:8443/', 'allowed'],
  ['*, api.example.com:8443', 'https://other.example.com:8443/', 'port'],
  // Nobody listens at port 0, whatever the entry says.
  ['*:*', 'https://anything.example:0/', 'port'],
  ['api.example.com:*', 'https://api.example.com:0/', 'port'],
  // A name that is loopback by itself is no public host.
  ['*:*', 'https://localhost/', 'host_not_listed'],
  ['*:*', 'https://LOCALHOST./', 'host_not_listed'],
  ['*', 'https://api.localhost/', 'host_not_listed'],
  ['*', 'https://localhost.example/', 'allowed'],
  ['localhost', 'https://localhost/', 'allowed'],
  ['*.localhost', 'https://api.localhost/', 'allowed'],
]

for (const [listed, url, expected] of wildcards) {
  test(`with "${listed}" listed, ${url} is ${expected}`, () => assert.equal(verdict(url, rules(listed)), expected))
}

test('EG-06: the punycode and the Unicode spelling of a name are one name, a look-alike is another', () => {
  for (const listed of ['xn--mnchen-3ya.example', 'münchen.example', 'MÜNCHEN.example']) {
    for (const url of ['https://münchen.example/', 'https://xn--mnchen-3ya.example/', 'https://MÜNCHEN.EXAMPLE./']) {
      assert.equal(verdict(url, rules(listed)), 'allowed', `${listed} ${url}`)
    }
  }
  // U+0435 is a Cyrillic letter.
  assert.equal(verdict('https://api.dir\u0435ctual.com/', rules('api.directual.com')), 'host_not_listed')
  assert.equal(verdict('https://api.directual.com/', rules('api.dir\u0435ctual.com')), 'host_not_listed')
})

// IP literals.

const literals: [listed: string, url: string, expected: Expected][] = [
  ['api.example.com', 'https://93.184.216.34/', 'host_not_listed'],
  ['93.184.216.34', 'https://93.184.216.34/', 'allowed'],
  ['93.184.216.34', 'https://0x5db8d822/', 'allowed'],
  ['0x5db8d822', 'https://93.184.216.34/', 'allowed'],
  ['*', 'https://93.184.216.34/', 'allowed'],
  ['*.216.34.example', 'https://93.184.216.34/', 'host_not_listed'],
  ['[2606:4700:4700::1111]', 'https://[2606:4700:4700:0:0::1111]/', 'allowed'],
  ['*', 'https://[2606:4700:4700::1111]/', 'allowed'],
  ['[2606:4700:4700::1111]', 'https://[2606:4700:4700::1112]/', 'host_not_listed'],
  ['10.0.0.5', 'https://10.0.0.5/', 'address_blocked'],
  ['[fd00::1]', 'https://[fd00::1]/', 'address_blocked'],
  ['10.0.0.5:*', 'https://10.0.0.5:8443/', 'address_blocked'],
]

for (const [listed, url, expected] of literals) {
  test(`with "${listed}" listed, the literal ${url} is ${expected}`, () => {
    assert.equal(verdict(url, rules(listed)), expected)
  })
}

const oddSpellings = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.0.1./',
  'https://2130706433/',
  'https://0x7f.1/',
  'https://0x7f000001/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://0/',
  'https://0.0.0.0/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://[::1]/',
  'https://[::]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2001:0:7f00:1::]/',
  'https://[::ffff:169.254.169.254]/',
  'https://10.0.0.1/',
  'https://0x0a000001/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://169.254.1.1/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[fe80::1]/',
  'https://[fc00::1]/',
  'https://[ff02::1]/',
]

for (const url of oddSpellings) {
  test(`${url} is refused even where every public host on every port is allowed`, () => {
    assert.equal(verdict(url, rules('*:*')), 'address_blocked')
    assert.equal(verdict(url, rules('', { provider: '*:*' }), 'provider'), 'address_blocked')
  })
}

// Metadata services.

const metadata = [
  'https://metadata.google.internal/',
  'https://METADATA.google.internal./',
  'https://metadata/',
  'https://metadata.goog/',
  'https://metadata.azure.internal/',
  'https://instance-data/',
  'https://instance-data.ec2.internal/',
  'https://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://169.254.170.2/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
  'https://192.0.0.192/',
  'https://[fd00:ec2::254]/',
  'https://[fd00:0ec2:0:0::254]/',
  'https://[fd00:a9fe:a9fe::1]/',
  'https://[fd00:c1::a9fe:a9fe]/',
  'https://[FD00:C1:0::169.254.169.254]/',
  'https://[fe80::a9fe:a9fe]/',
  'https://metadata。google。internal/',
  'https://metadata%2Egoogle%2Einternal:443/',
  'https://metadata.oraclecloud.com/',
]

for (const url of metadata) {
  test(`EG-08: ${url} is refused as a metadata host, listed or not, for every purpose and in development too`, () => {
    const host = new URL(url).hostname
    for (const listed of ['', '*', '*:*', host, '*.google.internal, *.internal']) {
      for (const devInsecure of [false, true]) {
        const given = rules(listed, { provider: listed, devInsecure })
        assert.equal(verdict(url, given, 'tool'), 'metadata_host')
        assert.equal(verdict(url, given, 'provider', [host]), 'metadata_host')
        assert.equal(verdict(url, given, 'error_webhook', [host]), 'metadata_host')
      }
    }
  })
}

// Purposes.

const purposes: [purpose: Purpose, url: string, ownHosts: string[], expected: Expected][] = [
  ['tool', 'https://tools.example/', [], 'allowed'],
  ['callback', 'https://tools.example/', [], 'allowed'],
  ['image', 'https://tools.example/', [], 'allowed'],
  ['error_webhook', 'https://tools.example/', [], 'allowed'],
  ['provider', 'https://tools.example/', [], 'host_not_listed'],
  ['provider', 'https://llm.example/', [], 'allowed'],
  ['tool', 'https://llm.example/', [], 'host_not_listed'],
  ['callback', 'https://llm.example/', [], 'host_not_listed'],
  ['image', 'https://llm.example/', [], 'host_not_listed'],
  ['error_webhook', 'https://llm.example/', [], 'host_not_listed'],
  ['provider', 'https://api.vendor.example/v1', ['api.vendor.example'], 'allowed'],
  ['provider', 'https://api.vendor.example:8443/v1', ['api.vendor.example'], 'port'],
  ['provider', 'https://api.vendor.example:8443/v1', ['api.vendor.example:8443'], 'allowed'],
  ['provider', 'https://api.vendor.example/v1', ['api.vendor.example:8443'], 'port'],
  ['provider', 'https://api.vendor.example/v1', ['API.Vendor.example.'], 'allowed'],
  ['provider', 'https://x.api.vendor.example/v1', ['api.vendor.example'], 'host_not_listed'],
  ['provider', 'http://api.vendor.example/v1', ['api.vendor.example'], 'scheme'],
  ['provider', 'https://10.0.0.5/v1', ['10.0.0.5'], 'address_blocked'],
  ['error_webhook', 'https://alerts.example/x', ['alerts.example'], 'allowed'],
  // Own hosts open nothing for what the request names, and are exact.
  ['tool', 'https://alerts.example/x', ['alerts.example'], 'host_not_listed'],
  ['callback', 'https://alerts.example/x', ['alerts.example'], 'host_not_listed'],
  ['image', 'https://alerts.example/x', ['alerts.example'], 'host_not_listed'],
  ['provider', 'https://any.example/', ['*'], 'host_not_listed'],
  ['provider', 'https://a.vendor.example/', ['*.vendor.example'], 'host_not_listed'],
  ['provider', 'https://any.example/', ['', 'https://any.example', 'any.example/'], 'host_not_listed'],
]

for (const [purpose, url, ownHosts, expected] of purposes) {
  test(`${purpose} to ${url} with own hosts [${ownHosts.join()}] is ${expected}`, () => {
    assert.equal(verdict(url, rules('tools.example', { provider: 'llm.example' }), purpose, ownHosts), expected)
  })
}

test("RF-16: a fallback's URL is judged by its own provider's hosts, not by the first one's", () => {
  const given = rules('', { provider: 'proxy.example' })
  assert.equal(verdict('https://proxy.example/coding/v1/messages', given, 'provider', ['api.anthropic.com']), 'allowed')
  assert.equal(verdict('https://api.openai.com/v1', given, 'provider', ['api.anthropic.com']), 'host_not_listed')
  assert.equal(verdict('https://api.openai.com/v1', given, 'provider', ['api.openai.com']), 'allowed')
})

// DEV_INSECURE.

const development: [url: string, inDevelopment: Expected, otherwise: Expected][] = [
  ['http://127.0.0.1:3000/', 'allowed', 'scheme'],
  ['https://127.0.0.1:3000/', 'allowed', 'address_blocked'],
  ['http://127.8.9.10/', 'allowed', 'scheme'],
  ['http://2130706433:3000/', 'allowed', 'scheme'],
  ['http://localhost:3000/', 'allowed', 'scheme'],
  ['https://LOCALHOST./', 'allowed', 'host_not_listed'],
  ['http://[::1]:3000/', 'allowed', 'scheme'],
  ['https://[::1]/', 'allowed', 'address_blocked'],
  ['http://user@localhost:3000/', 'userinfo', 'scheme'],
  ['http://@localhost:3000/', 'userinfo', 'scheme'],
  ['ws://localhost:3000/', 'scheme', 'scheme'],
  ['http://localhost.evil.example/', 'scheme', 'scheme'],
  ['http://notlocalhost/', 'scheme', 'scheme'],
  ['http://[::ffff:127.0.0.1]:3000/', 'scheme', 'scheme'],
  ['https://[::ffff:127.0.0.1]:3000/', 'address_blocked', 'address_blocked'],
  ['https://0.0.0.0:3000/', 'address_blocked', 'address_blocked'],
  ['http://0.0.0.0:3000/', 'scheme', 'scheme'],
  ['https://10.0.0.5/', 'address_blocked', 'address_blocked'],
  ['http://tools.example/', 'scheme', 'scheme'],
  ['https://tools.example/', 'allowed', 'allowed'],
  ['https://tools.example:8443/', 'port', 'port'],
  ['https://other.example/', 'host_not_listed', 'host_not_listed'],
]

for (const [url, inDevelopment, otherwise] of development) {
  test(`${url} is ${inDevelopment} with DEV_INSECURE and ${otherwise} without`, () => {
    for (const purpose of ['tool', 'callback', 'image', 'error_webhook', 'provider'] as const) {
      const lists = { provider: 'tools.example' }
      assert.equal(verdict(url, rules('tools.example', { ...lists, devInsecure: true }), purpose), inDevelopment)
      assert.equal(verdict(url, rules('tools.example', { ...lists, devInsecure: false }), purpose), otherwise)
    }
  })
}

// Properties.

test('no text makes the judge throw, and a refusal tells no path, query or user', () => {
  const url = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.webUrl({ withQueryParameters: true, withFragments: true }),
    fc
      .tuple(
        fc.constantFrom('https:', 'http:', 'ftp:', 'foo:'),
        fc.constantFrom('//', '/', '\\', ''),
        fc.constantFrom('SECRET@', 'u:SECRET@', '@', ''),
        fc.constantFrom('a.example', '127.0.0.1', '[::1]', 'localhost', '', '%'),
        fc.constantFrom('/SECRET', '?SECRET', '#SECRET', '\\SECRET', ''),
      )
      .map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(url, fc.boolean(), (text, devInsecure) => {
      // A path behind no host is the host: foo://SECRET.
      fc.pre(!URL.canParse(text) || !new URL(text).host.includes('SECRET'))
      const judged = judgeUrl(text, 'tool', rules('listed.example', { devInsecure }))
      if (!judged.allowed) assert.doesNotMatch(judged.refusal.host, /SECRET|[/?#@]/)
    }),
  )
})

test('whatever is allowed by one exact entry has exactly that host', () => {
  const piece = fc.constantFrom(
    'listed',
    'example',
    'evil',
    '.',
    '@',
    ':',
    '/',
    '\\',
    '%2e',
    '#',
    '?',
    '443',
    '-',
    '。',
    '*',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
      const text = `https://${pieces.join('')}`
      const judged = judgeUrl(text, 'tool', rules('listed.example'))
      if (judged.allowed) assert.equal(judged.url.host, 'listed.example')
    }),
    { numRuns: 2_000 },
  )
})
