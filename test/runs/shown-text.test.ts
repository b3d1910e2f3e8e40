/** What of a step's text is told to the disk, and what is read of it. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { createSharedMoment, gatherShownText, shownTextOf, type ShownText } from '../../src/runs/shown-text.ts'

const delta = (step: number, offset: number, text: string): StreamEvent => ({
  event: 'delta',
  data: { step, offset, text },
})
const reset = (step: number): StreamEvent => ({ event: 'reset', data: { step, reason: 'retry' } })

function open(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const told: ShownText[] = []
  return { told, ...gatherShownText(createSharedMoment(), (shown) => told.push(shown)) }
}

test('pieces are told together, once a second', (t) => {
  const { told, note } = open(t)
  note(delta(1, 0, 'a'))
  t.mock.timers.tick(999)
  note(delta(1, 1, 'b'))
  assert.deepEqual(told, [])
  t.mock.timers.tick(1)
  note(delta(1, 2, 'c'))
  t.mock.timers.tick(1000)
  t.mock.timers.tick(10_000)
  assert.deepEqual(told, [
    { step: 1, offset: 0, text: 'ab' },
    { step: 1, offset: 2, text: 'c' },
  ])
})

test('what several runs show within a second is told in one go, and what came after in the next', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const moment = createSharedMoment()
  const told: string[] = []
  const runs = ['a', 'b', 'c'].map((name) => gatherShownText(moment, ({ text }) => told.push(name + text)))
  const [a, b, c] = runs
  a?.note(delta(1, 0, '1'))
  t.mock.timers.tick(600)
  b?.note(delta(1, 0, '1'))
  t.mock.timers.tick(300)
  c?.note(delta(1, 0, '1'))
  c?.clear()
  assert.deepEqual(told, [])
  t.mock.timers.tick(100)
  assert.deepEqual(told, ['a1', 'b1'])
  c?.note(delta(1, 0, '2'))
  t.mock.timers.tick(999)
  assert.deepEqual(told, ['a1', 'b1'])
  t.mock.timers.tick(1)
  assert.deepEqual(told, ['a1', 'b1', 'c2'])
})

test('what is void is told at once, and what is kept in a message not at all', (t) => {
  const { told, note, clear } = open(t)
  note(delta(1, 0, 'a'))
  note(reset(1))
  note(delta(1, 0, 'b'))
  clear()
  t.mock.timers.tick(10_000)
  assert.deepEqual(told, [{ step: 1, offset: 0, text: '' }])
})

test('whatever was shown and reset, what was told gives the same text up to the last second', (t) => {
  const piece = fc.record({ text: fc.string({ maxLength: 4 }), reset: fc.boolean(), wait: fc.nat(1500) })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const { told, note, clear } = open(t)
      let text = ''
      for (const one of pieces) {
        if (one.reset) {
          note(reset(2))
          text = ''
        }
        note(delta(2, text.length, one.text))
        text += one.text
        t.mock.timers.tick(one.wait)
        assert.ok(text.startsWith(shownTextOf(told, 2)))
      }
      t.mock.timers.tick(1000)
      assert.equal(shownTextOf(told, 2), text)
      assert.equal(shownTextOf(told, 1), '')
      clear()
      t.mock.timers.reset()
    }),
    { numRuns: 50 },
  )
})
