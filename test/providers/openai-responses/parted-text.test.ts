/** A text in parts, told in pieces and whole. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { PartedText } from '../../../src/providers/openai-responses/parted-text.ts'

function parted(separator = '') {
  const shown: string[] = []
  return { text: new PartedText(separator, (piece) => void shown.push(piece)), shown }
}

test('a whole part adds only what is missing at its end', () => {
  const { text, shown } = parted()
  assert.deepEqual([text.piece(0, 'Hel'), text.part(0, 'Hello'), text.part(0, 'Hello')], [3, 2, 0])
  assert.deepEqual([shown, text.text(), text.length], [['Hel', 'lo'], 'Hello', 5])
})

test('a whole that says something else changes nothing that was shown', () => {
  const { text } = parted()
  text.piece(0, 'Hello')
  assert.deepEqual([text.part(0, 'Help, a lot'), text.part(0, 'He'), text.all(['Goodbye'])], [0, 0, 0])
  assert.equal(text.text(), 'Hello')
})

test('parts stand apart, and a part told late is not told twice', () => {
  const { text } = parted('|')
  text.piece(0, 'a')
  text.piece(1, 'b')
  assert.deepEqual([text.part(0, 'bcd'), text.part(1, 'bc'), text.part(2, 'd')], [0, 1, 2])
  assert.deepEqual([text.all(['a', 'bc', 'd!']), text.all(['a', '', 'bc', 'd!'])], [1, 0])
  assert.equal(text.text(), 'a|bc|d!')
})

test('a text that is only told whole is told once', () => {
  const { text, shown } = parted('|')
  assert.deepEqual([text.all(['', '']), text.all(['a', 'b']), text.all(['a', 'b'])], [0, 3, 0])
  assert.deepEqual([shown, text.text()], [['a|b'], 'a|b'])
})

test('a server may not number its parts', () => {
  const { text } = parted('|')
  text.piece(undefined, 'a')
  text.piece(undefined, 'b')
  assert.deepEqual([text.part(undefined, 'abc'), text.text()], [1, 'abc'])
})

test('whatever the pieces, what was shown is the text, and a whole at the end completes it', () => {
  const words = fc.stringMatching(/^[a🙂б\n]{0,6}$/u)
  fc.assert(
    fc.property(fc.array(words, { maxLength: 4 }), fc.nat(30), fc.nat(3), (parts, came, size) => {
      const { text, shown } = parted('\n\n')
      const whole = parts.filter((part) => part !== '').join('\n\n')
      let left = came
      for (const [index, part] of parts.entries()) {
        for (let at = 0; at < part.length && left > 0; at += size + 1, left -= 1) {
          text.piece(index, part.slice(at, at + size + 1))
        }
        if (left === 0) break
      }
      text.all(parts)
      assert.deepEqual([shown.join(''), text.text()], [whole, whole])
    }),
  )
})
