/** What of a provider's words may stand as the id of a request. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { requestIdOf } from '../../src/providers/request-id.ts'

const SENT = { authorization: 'Bearer sk-SECRET-0001', 'content-type': 'application/json', 'x-short': 'req' }

test('an id is one short word, and nothing that was sent along', () => {
  assert.equal(requestIdOf('req_011CSHoEeqs5C35K2UUqR7Fy', SENT), 'req_011CSHoEeqs5C35K2UUqR7Fy')
  assert.equal(requestIdOf('0f5c:9/a+b=', {}), '0f5c:9/a+b=')
  for (const given of [null, '', 'two words', 'line\nbreak', 'ключ', 'x'.repeat(201)]) {
    assert.equal(requestIdOf(given, SENT), null)
  }
  for (const given of ['sk-SECRET-0001', 'id-sk-SECRET-0001-1']) assert.equal(requestIdOf(given, SENT), null)
})

test('SE-01: what was sent along is no name in other forms either, nor is its hash', () => {
  const key = 'sk/SECRET+~0001?'
  const sent = { authorization: `Bearer ${key}` }
  for (const bytes of [Buffer.from(key), createHash('sha256').update(key).digest()]) {
    const hex = bytes.toString('hex')
    for (const form of [bytes.toString('base64'), bytes.toString('base64url'), hex, hex.toUpperCase()]) {
      assert.equal(requestIdOf(form, sent), null, form)
      assert.equal(requestIdOf(`req-${form}-1`, sent), null, form)
    }
  }
  assert.equal(requestIdOf(encodeURIComponent(key), sent), null)
})
