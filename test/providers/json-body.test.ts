/** The one place through which all that is sent passes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { jsonBody } from '../../src/providers/json-body.ts'

test('JS-03: a lone surrogate becomes U+FFFD in texts and keys; a pair and an escaped backslash stay', () => {
  assert.equal(jsonBody({ a: 'x\ud83dy', 'k\udc00': '🙂' }), '{"a":"x\\ufffdy","k\\ufffd":"🙂"}')
  assert.equal(jsonBody({ a: '\\ud83d' }), '{"a":"\\\\ud83d"}')
  assert.equal(jsonBody({ a: '\\\ud83d\\' }), '{"a":"\\\\\\ufffd\\\\"}')
})

test('what is sent is well-formed and says the same, whatever the text', () => {
  const unit = fc.constantFrom('\\', 'u', 'd83d', '\ud83d', '\ude42', '🙂', '"', '\n', 'x')
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join('')
      assert.deepEqual(JSON.parse(jsonBody({ text })), { text: text.toWellFormed() })
    }),
  )
})
