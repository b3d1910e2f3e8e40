/** What CALLBACK_SECRET and CALLBACK_SCHEDULE may say. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSchedule, parseSecrets } from '../../src/delivery/callback-settings.ts'

test('secrets are separated by spaces; what else stands in them is theirs', () => {
  assert.deepEqual(parseSecrets('one-of-16-letters'), { ok: true, value: ['one-of-16-letters'] })
  assert.deepEqual(parseSecrets('one,of-16-letters  whsec_dHdvdHdvdHdv three-of-16-letters'), {
    ok: true,
    value: ['one,of-16-letters', 'whsec_dHdvdHdvdHdv', 'three-of-16-letters'],
  })
  assert.equal(parseSecrets(Array(5).fill('0123456789abcdef').join(' ')).ok, true)
})

test('a secret that no header can carry, and too many of them, are faults that do not tell them', () => {
  for (const text of [
    'тайна',
    'a\tSECRET',
    'SECRET\n2',
    `${Array(5).fill('0123456789abcdef').join(' ')} SECRET-of-16-letters`,
    'SECRET-of-15-le',
  ]) {
    const parsed = parseSecrets(text)
    assert.ok(!parsed.ok && !parsed.fault.includes('SECRET'), text)
  }
})

test('a schedule may last three days, in at most fifty pauses', () => {
  assert.deepEqual(parseSchedule([]), { ok: true, value: [5000, 10_000, 20_000, 45_000] })
  assert.deepEqual(parseSchedule(['0.5', '259199.5']), { ok: true, value: [500, 259_199_500] })
  assert.equal(parseSchedule(Array.from({ length: 50 }, () => '1')).ok, true)
  for (const items of [
    ['259201'],
    ['86400', '86400', '86401'],
    ['-1'],
    ['soon'],
    ['Infinity'],
    ['1', 'NaN'],
    ['1e3'],
    ['0x10'],
    ['+5'],
    ['.5'],
    ['5 '],
  ]) {
    assert.equal(parseSchedule(items).ok, false, items.join())
  }
  assert.equal(parseSchedule(Array.from({ length: 51 }, () => '1')).ok, false)
})
