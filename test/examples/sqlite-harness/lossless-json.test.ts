/** Numbers keep their digits on the way through the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLossless, parseOrNull } from '../../../examples/sqlite-harness/plumbing/lossless-json.ts'

test('long numbers leave as they came, and short ones are numbers', () => {
  const text =
    '{"id":12345678901234567890,"rate":0.1000000000000000055511151231257827,"n":1.5,"s":"12345678901234567890"}'
  assert.equal(JSON.stringify(parseLossless(text)), text)
  assert.equal((parseLossless('{"n":1.5}') as { n: number }).n, 1.5)
})

test('what a double takes for infinite or for nothing leaves as it came', () => {
  const text = '{"large":1e400,"small":-2.5E-400,"n":1e3}'
  assert.equal(JSON.stringify(parseLossless(text)), text.replace('1e3', '1000'))
})

test('what is no JSON is null', () => {
  assert.deepEqual([parseOrNull('{"a":'), parseOrNull('')], [null, null])
})
