/** The proxy URL an operator writes: what it means, and that a bad one is told without its password. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseProxyUrl } from '../../src/egress/proxy.ts'

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`

const good: [url: string, host: string, port: number, authorization: string | null][] = [
  ['http://proxy.example:3128', 'proxy.example', 3128, null],
  ['http://proxy.example', 'proxy.example', 80, null],
  [' http://Proxy.Example/ ', 'proxy.example', 80, null],
  ['http://127.0.0.1:8080/', '127.0.0.1', 8080, null],
  ['http://[::1]:8080/', '::1', 8080, null],
  ['http://me:pass@proxy.example:3128', 'proxy.example', 3128, basic('me:pass')],
  ['http://me@proxy.example:3128', 'proxy.example', 3128, basic('me:')],
  ['http://me:p%40ss%3A%25%D1%8F@proxy.example:3128', 'proxy.example', 3128, basic('me:p@ss:%я')],
]

for (const [url, host, port, authorization] of good) {
  test(`the proxy URL ${url} is read`, () => {
    assert.deepEqual(parseProxyUrl(url), { ok: true, proxy: { host, port, authorization } })
  })
}

const bad = [
  '',
  'proxy.example:3128',
  'SECRET:SECRET@proxy.example:3128',
  'https://me:SECRET@proxy.example:3128',
  'socks5://me:SECRET@proxy.example:1080',
  'http://me:SECRET@proxy.example:99999',
  'http://me:SECRET@proxy.example:3128/path',
  'http://me:SECRET@proxy.example:3128/?SECRET',
  'http://me:SECRET%@proxy.example:3128',
  'http://me:SECRET%ff@proxy.example:3128',
]

for (const url of bad) {
  test(`the proxy URL "${url}" is a fault that quotes none of it`, () => {
    const parsed = parseProxyUrl(url)
    assert.ok(!parsed.ok)
    assert.doesNotMatch(parsed.reason, /SECRET/)
  })
}
