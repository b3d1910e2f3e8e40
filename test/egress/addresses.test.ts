/** The address rules by table, at both ends of every range, and by property for everything that embeds an IPv4 address. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isLoopbackAddress, isPublicAddress } from '../../src/egress/addresses.ts'

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  // The neighbours of every closed range.
  '1.0.0.0',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.0',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '191.255.255.255',
  '192.0.1.0',
  '192.0.3.0',
  '192.88.98.255',
  '192.88.100.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '198.51.99.255',
  '198.51.101.0',
  '203.0.112.255',
  '203.0.114.0',
  '223.255.255.255',
  '168.63.129.15',
  '168.63.129.17',
  '2606:4700:4700::1111',
  '2001:4860:4860::8888',
  '2000::1',
  '2001:200::1',
  '2001:db7:ffff::1',
  '2001:db9::1',
  '2003::1',
  '3ffe:ffff::1',
  '3fff:1000::1',
  '3fff:ffff:ffff::1',
]

const closedAddresses = [
  '0.0.0.0',
  '0.255.255.255',
  '10.0.0.0',
  '10.255.255.255',
  '100.64.0.0',
  '100.100.100.200',
  '100.127.255.255',
  '127.0.0.0',
  '127.0.0.1',
  '127.255.255.255',
  '169.254.0.0',
  '169.254.169.254',
  '169.254.255.255',
  '172.16.0.0',
  '172.31.255.255',
  '192.0.0.0',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.0',
  '192.168.255.255',
  '198.18.0.0',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.255',
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  '168.63.129.16',
  '::',
  '::1',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:169.254.169.254',
  '::ffff:8.8.8.8',
  '::ffff:0:8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::a00:1',
  '100::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  '2001:10::1',
  '2001:20::1',
  '2001:1ff:ffff::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '3fff::1',
  '3fff:fff:ffff::1',
  '1fff:ffff::1',
  '4000::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::a9fe:a9fe',
  'fec0::1',
  'ff02::1',
]

const noAddresses = [
  '',
  'localhost',
  '1.1.1',
  '0x08.8.8.8',
  '010.0.0.1',
  '134744072',
  '[::1]',
  '[2606:4700:4700::1111]',
  '2606:4700:4700::1111%eth0',
  '8.8.8.8 ',
  '8.8.8.8:443',
]

for (const address of publicAddresses) {
  test(`${address} is public`, () => assert.equal(isPublicAddress(address), true))
}

for (const address of closedAddresses) {
  test(`${address} is not public`, () => assert.equal(isPublicAddress(address), false))
}

for (const text of noAddresses) {
  test(`"${text}" is no address, so not public`, () => assert.equal(isPublicAddress(text), false))
}

test('no IPv6 form that carries an IPv4 address inside is public, whichever address it carries', () => {
  fc.assert(
    fc.property(fc.ipV4(), (inner) => {
      const [a = 0, b = 0, c = 0, d = 0] = inner.split('.').map(Number)
      const high = ((a << 8) | b).toString(16)
      const low = ((c << 8) | d).toString(16)
      for (const form of [
        `::${inner}`,
        `::ffff:${inner}`,
        `::ffff:${high}:${low}`,
        `0:0:0:0:0:ffff:${inner}`,
        `::ffff:0:${inner}`,
        `64:ff9b::${inner}`,
        `64:ff9b:1::${inner}`,
        `2002:${high}:${low}::`,
        `2001:0:${high}:${low}::1`,
      ]) {
        assert.equal(isPublicAddress(form), false, form)
      }
    }),
  )
})

test('an IPv6 address outside 2000::/3 is never public', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const first = Number.parseInt(address.split(':')[0] || '0', 16)
      if (first >= 0x2000 && first <= 0x3fff) return
      assert.equal(isPublicAddress(address), false)
    }),
  )
})

test('loopback is 127.0.0.0/8 and ::1 and nothing else', () => {
  for (const address of ['127.0.0.1', '127.255.255.254', '::1', '0:0:0:0:0:0:0:1']) {
    assert.equal(isLoopbackAddress(address), true, address)
  }
  for (const address of [
    '',
    '0.0.0.0',
    '128.0.0.1',
    '::',
    '::2',
    '::ffff:127.0.0.1',
    '::127.0.0.1',
    '::1%lo',
    '127.1',
    'localhost',
  ]) {
    assert.equal(isLoopbackAddress(address), false, address)
  }
})
