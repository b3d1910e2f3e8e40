/** How long to wait, from what servers really write there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { retryAfterMs } from '../../src/contract/retry-after.ts'

const NOW = Date.parse('2026-11-30T10:00:00.000Z')

function wait(value: string): number | null {
  return retryAfterMs({ 'retry-after': value }, NOW)
}

test('seconds, also with a fraction, become milliseconds', () => {
  assert.equal(wait('3'), 3000)
  assert.equal(wait(' 120 '), 120_000)
  assert.equal(wait('0.25'), 250)
  assert.equal(wait('0.0001'), 1)
})

test('a date in any of the three forms of HTTP becomes the time until it', () => {
  assert.equal(wait('Mon, 30 Nov 2026 10:00:07 GMT'), 7000)
  assert.equal(wait('Monday, 30-Nov-26 10:00:07 GMT'), 7000)
  assert.equal(wait('Mon Nov 30 10:00:07 2026'), 7000)
})

test('nonsense, zero, negative numbers and past dates are as if nothing had been said', () => {
  const nonsense = ['', ' ', '0', '0.0', '-5', '1e3', '0x10', 'soon', 'NaN', 'Infinity', '5 s', '1,5', '12/12/2030']
  for (const value of [
    ...nonsense,
    'Mon, 30 Nov 2026 09:59:59 GMT',
    'Mon, 99 Nov 2026 10:00:00 GMT',
    '9'.repeat(400),
  ]) {
    assert.equal(wait(value), null, value)
  }
  assert.equal(retryAfterMs({}, NOW), null)
})

test('retry-after-ms is finer and wins; where it is nonsense the other one stands', () => {
  assert.equal(retryAfterMs({ 'retry-after-ms': '1500', 'retry-after': '9' }, NOW), 1500)
  assert.equal(retryAfterMs({ 'retry-after-ms': '1500.4' }, NOW), 1501)
  assert.equal(retryAfterMs({ 'retry-after-ms': 'x', 'retry-after': '9' }, NOW), 9000)
})

test('whatever stands there, the answer is null or a whole number above zero', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (seconds, milliseconds) => {
      const ms = retryAfterMs({ 'retry-after': seconds, 'retry-after-ms': milliseconds }, NOW)
      assert.ok(ms === null || (Number.isFinite(ms) && Number.isInteger(ms) && ms > 0))
    }),
  )
})
