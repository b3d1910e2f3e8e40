import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { textAfter } from '../../../examples/demo/visible-text.ts'
import type { StreamEvent } from '../../../src/contract/stream-event.ts'

function delta(offset: number, text: string): StreamEvent {
  return { event: 'delta', data: { step: 1, offset, text } }
}

test('whatever is replayed or merged, the text of a step comes out right', () => {
  const places = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 20 })
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), places, (whole, cuts) => {
      let had = 0
      let text = ''
      for (const [back, ahead] of cuts) {
        // Somewhere before what is had, to somewhere behind it.
        const from = had - (back % (had + 1))
        const to = Math.max(had, from + (ahead % (whole.length - from + 1)))
        text = textAfter(text, delta(from, whole.slice(from, to)))
        had = to
        assert.equal(text, whole.slice(0, had))
      }
      assert.equal(textAfter(text, delta(had, whole.slice(had))), whole)
    }),
  )
})

test('a reset and a new step empty the text, a resync replaces it, everything else leaves it', () => {
  assert.equal(textAfter('old', { event: 'reset', data: { step: 1, reason: 'retry' } }), '')
  assert.equal(textAfter('old', { event: 'step', data: { step: 2, final: false } }), '')
  assert.equal(textAfter('old', { event: 'resync', data: { step: 1, text: 'new' } }), 'new')
  assert.equal(textAfter('old', { event: 'wait', data: { reason: 'queue', ms: 0 } }), 'old')
  assert.equal(textAfter('old', { event: 'of a later version', data: {} } as unknown as StreamEvent), 'old')
})
