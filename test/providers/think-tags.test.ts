/** Reasoning that stands in the content between tags. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { ThinkTags } from '../../src/providers/think-tags.ts'
import { cpuMs } from '../cpu-time.ts'

function split(pieces: readonly string[]): { reasoning: string; text: string } {
  const tags = new ThinkTags()
  const splits = [...pieces.map((piece) => tags.push(piece)), tags.end()]
  return { reasoning: splits.map(({ reasoning }) => reasoning).join(''), text: splits.map(({ text }) => text).join('') }
}

test('PS-38: tags cut over pieces are tags, and nothing of the reasoning is text', () => {
  assert.deepEqual(split(['<thi', 'nk>secret</th', 'ink>Answer']), { reasoning: 'secret', text: 'Answer' })
  assert.deepEqual(split(['\n', ' <think>a</thi', 'b</think>\n', '\n<think>c', '</think>', '\n\n**D**\n']), {
    reasoning: 'a</thibc',
    text: '**D**\n',
  })
})

test('PS-38: what only looks like a tag passes untouched, and is held back no longer than it must be', () => {
  assert.deepEqual(split(['2 < 3 and <b>']), { reasoning: '', text: '2 < 3 and <b>' })
  assert.deepEqual(split(['<thin', 'g> and <think>x</think>']), {
    reasoning: '',
    text: '<thing> and <think>x</think>',
  })
  assert.deepEqual(split([' ', '<thi']), { reasoning: '', text: ' <thi' })
  const tags = new ThinkTags()
  assert.deepEqual([tags.push('<th').text, tags.push('e').text, tags.push(' <think>').text], ['', '<the', ' <think>'])
})

test('PS-38: reasoning that never ends is reasoning; a closing tag alone is text', () => {
  assert.deepEqual(split(['<think>a</thin']), { reasoning: 'a</thin', text: '' })
  assert.deepEqual(split(['a</think>b']), { reasoning: '', text: 'a</think>b' })
})

test('white space without end is text, in linear time', () => {
  const blanks = Array.from({ length: 100_000 }, () => '\n')
  const began = cpuMs()
  assert.equal(split(blanks).text.length, 100_000)
  assert.ok(cpuMs() - began < 2000)
})

test('however a text is cut, it is split in the same way', () => {
  const unit = fc.constantFrom('<think>', '</think>', '<', 'think', '>', '</', ' ', '\n', 'a', 'b')
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      assert.deepEqual(split(units), split([units.join('')]))
      assert.deepEqual(split(units.join('').split('')), split([units.join('')]))
    }),
  )
})
