import { test } from 'node:test'
import assert from 'node:assert/strict'
import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { argsHash, callKey, canonical, fingerprint, operationKey } from '../../src/contract/canonical.ts'
import { parseJson, type Json } from '../../src/contract/json.ts'

test('canonical JSON is that of RFC 8785 for every value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify(value)
      if (!text.isWellFormed()) return
      assert.equal(canonical(value as Json), canonicalize(value))
    }),
  )
})

test('keys sort by UTF-16 code units, and key order never changes a hash', () => {
  assert.equal(canonical({ '\u{1f600}': 1, '\ufb33': 2, a: 3, A: 4 }), '{"A":4,"a":3,"\u{1f600}":1,"\ufb33":2}')
  assert.equal(argsHash({ a: 1, b: { c: 2, d: 3 } }), argsHash({ b: { d: 3, c: 2 }, a: 1 }))
})

test('numbers beyond a double keep their digits, so that two amounts never share a hash', () => {
  const value = (text: string) => {
    const outcome = parseJson(text)
    assert.ok(outcome.ok)
    return outcome.value
  }
  assert.equal(canonical(value('{"n":12345678901234567890}')), '{"n":12345678901234567890}')
  assert.notEqual(argsHash(value('{"n":12345678901234567890}')), argsHash(value('{"n":12345678901234567891}')))
})

test('the published recipe of the keys is what is computed', () => {
  const facts = {
    sessionId: 's1',
    tool: 'createRefund',
    originRequestId: 'msg_81',
    argsHash: argsHash({ orderId: '12345' }),
  }
  assert.match(facts.argsHash, /^sha256:[0-9a-f]{64}$/)
  assert.equal(callKey(facts), `ck_${fingerprint(['s1', 'createRefund', 'msg_81', facts.argsHash])}`)
  assert.equal(operationKey(facts), `op_${fingerprint(['s1', 'createRefund', 'msg_81'])}`)
  assert.notEqual(callKey(facts), callKey({ ...facts, sessionId: null }))
})
