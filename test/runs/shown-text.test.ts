/** What of a step's text is told to the disk, and what is read of it. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { createRunEventLog } from '../../src/runs/event-log.ts'
import {
  createSharedMoment,
  gatherShownText,
  shownTextOf,
  type SharedMoment,
  type ShownText,
} from '../../src/runs/shown-text.ts'

const delta = (step: number, offset: number, text: string): StreamEvent => ({
  event: 'delta',
  data: { step, offset, text },
})
const reset = (step: number): StreamEvent => ({ event: 'reset', data: { step, reason: 'retry' } })

function open(t: TestContext, moment?: SharedMoment) {
  if (moment === undefined) t.mock.timers.enable({ apis: ['setInterval'] })
  const told: ShownText[] = []
  const log = createRunEventLog()
  const gatherer = gatherShownText(moment ?? createSharedMoment(), log.tail(), (shown) => told.push(shown))
  const append = (event: StreamEvent) => {
    log.append(event)
    if (event.event === 'reset') gatherer.flush()
  }
  return { told, append, ...gatherer }
}

test('pieces are told together, every two seconds, and nothing where nothing came', (t) => {
  const { told, append } = open(t)
  append(delta(1, 0, 'a'))
  t.mock.timers.tick(1999)
  append(delta(1, 1, 'b'))
  assert.deepEqual(told, [])
  t.mock.timers.tick(1)
  append({ event: 'reasoning', data: { step: 1, text: 'so' } })
  append(delta(1, 2, 'c'))
  t.mock.timers.tick(2000)
  t.mock.timers.tick(10_000)
  assert.deepEqual(told, [
    { step: 1, offset: 0, text: 'ab' },
    { step: 1, offset: 2, text: 'c' },
  ])
})

test('what is void is told at once, and not what it voids; what is kept in a message is not told at all', (t) => {
  const { told, append, clear } = open(t)
  append(delta(1, 0, 'a'))
  append(reset(1))
  append(delta(1, 0, 'b'))
  clear()
  t.mock.timers.tick(10_000)
  append(delta(2, 0, 'c'))
  t.mock.timers.tick(2000)
  assert.deepEqual(told, [
    { step: 1, offset: 0, text: '' },
    { step: 2, offset: 0, text: 'c' },
  ])
})

test('what several runs show is told in one go; of a run that has stopped nothing is, and without one no time is kept', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const moment = createSharedMoment()
  const runs = [open(t, moment), open(t, moment), open(t, moment)] as const
  const told = () => runs.map((run) => run.told.map(({ text }) => text).join())
  const [a, b, c] = runs
  a.append(delta(1, 0, 'a'))
  t.mock.timers.tick(1600)
  b.append(delta(1, 0, 'b'))
  t.mock.timers.tick(300)
  c.append(delta(1, 0, 'c'))
  c.stop()
  assert.deepEqual(told(), ['', '', ''])
  t.mock.timers.tick(100)
  assert.deepEqual(told(), ['a', 'b', ''])
  a.stop()
  b.append(delta(1, 1, '+'))
  b.stop()
  t.mock.timers.tick(10_000)
  assert.deepEqual(told(), ['a', 'b', ''])
  // It begins again with the next run.
  const next = open(t, moment)
  next.append(delta(1, 0, 'd'))
  t.mock.timers.tick(2000)
  assert.deepEqual(next.told, [{ step: 1, offset: 0, text: 'd' }])
})

test('whatever was shown and reset, what was told gives the same text up to the last two seconds', (t) => {
  const piece = fc.record({ text: fc.string({ maxLength: 4 }), reset: fc.boolean(), wait: fc.nat(3000) })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const { told, append, stop } = open(t)
      let text = ''
      for (const one of pieces) {
        if (one.reset) {
          append(reset(2))
          text = ''
        }
        append(delta(2, text.length, one.text))
        text += one.text
        t.mock.timers.tick(one.wait)
        assert.ok(text.startsWith(shownTextOf(told, 2)))
      }
      t.mock.timers.tick(2000)
      assert.equal(shownTextOf(told, 2), text)
      assert.equal(shownTextOf(told, 1), '')
      stop()
      t.mock.timers.reset()
    }),
    { numRuns: 50 },
  )
})
