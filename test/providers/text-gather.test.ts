/** One text from its pieces, however they were cut. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { TextGather } from '../../src/providers/text-gather.ts'

test('JS-03: a pair cut in two is held back and shown whole', () => {
  const gather = new TextGather()
  assert.equal(gather.push('a\ud83d'), 'a')
  assert.equal(gather.push(''), '')
  assert.equal(gather.push('\ude42!'), '🙂!')
  assert.equal(gather.text(), 'a🙂!')
  assert.equal(gather.length, 4)
})

test('JS-03: a half that stays alone is dropped at the end and replaced in the middle', () => {
  const end = new TextGather()
  assert.equal(end.push('x\ud83d'), 'x')
  assert.equal(end.text(), 'x')

  const middle = new TextGather()
  assert.equal(middle.push('\ud83d') + middle.push('b') + middle.push('\ude42c'), '\ufffdb\ufffdc')
})

test('what was shown is the text, well-formed, and the source where that was well-formed, whatever the cuts', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(6)), (source, sizes) => {
      const gather = new TextGather()
      let shown = ''
      for (let at = 0, turn = 0; at < source.length; turn += 1) {
        const size = (sizes[turn % Math.max(1, sizes.length)] ?? 0) + 1
        const piece = gather.push(source.slice(at, at + size))
        assert.ok(piece.isWellFormed())
        shown += piece
        at += size
      }
      assert.equal(shown, source)
      assert.equal(gather.text(), source)
      assert.equal(gather.length, source.length)
    }),
  )
})
