/** The text of a step as the page keeps it: right after replays, second attempts and gaps (SPEC §9). */
import assert from 'node:assert/strict'
import { test } from 'node:test'

/** The page's own file, as the browser gets it. */
const FILE: string = '../../../examples/sqlite-harness/page/live-text.js'
const { textAfter } = (await import(FILE)) as {
  readonly textAfter: (text: string, event: string, data: object) => string
}

test('a delta stands at its offset, however often it comes', () => {
  let text = textAfter('', 'delta', { offset: 0, text: 'Order ' })
  text = textAfter(text, 'delta', { offset: 6, text: '1001' })
  text = textAfter(text, 'delta', { offset: 6, text: '1001' })
  assert.equal(text, 'Order 1001')
  assert.equal(textAfter(text, 'delta', { offset: 0, text: 'Order 1' }), 'Order 1')
})

test('a reset voids, a resync replaces', () => {
  assert.equal(textAfter('half', 'reset', { step: 1, reason: 'retry' }), '')
  assert.equal(textAfter('half', 'resync', { step: 1, text: 'the whole' }), 'the whole')
})
