/** When an engine stops taking runs, and when it begins again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { type Load, type LoadSample, NO_LOAD, nextLoad, overloadOf } from '../../src/load/overload.ts'

const LIMITS = { rssBytes: 1000, heapBytes: 500, lagMs: 100 }
const calm: LoadSample = { rssBytes: 100, heapBytes: 50, lagMs: 1 }

/** What is told after each sample. */
function told(...samples: readonly Partial<LoadSample>[]): (string | null)[] {
  let load: Load = NO_LOAD
  return samples.map((sample) => {
    load = nextLoad(load, { ...calm, ...sample }, LIMITS)
    return overloadOf(load)
  })
}

test('one sample over a bound is no overload, two in a row are', () => {
  assert.deepEqual(told({ lagMs: 5000 }, {}, { lagMs: 101 }, { lagMs: 101 }), [null, null, null, 'event_loop'])
  assert.deepEqual(told({ rssBytes: 1001 }, { rssBytes: 1001 }), [null, 'memory'])
  assert.deepEqual(told({ heapBytes: 501 }, { rssBytes: 1001 }), [null, 'memory'])
  assert.deepEqual(told({ lagMs: 100 }, { lagMs: 100 }, { lagMs: 100 }), [null, null, null])
})

test('it ends only after four samples in a row well below the bound', () => {
  const over = { lagMs: 200 }
  const at = { lagMs: 80 }
  const below = { lagMs: 79 }
  const on = 'event_loop'
  assert.deepEqual(told(over, over, below, below, below, at, below, below, below, below), [
    null,
    ...Array<string>(8).fill(on),
    null,
  ])
})

test('both at once: the loop is told first, and memory once the loop is well again', () => {
  const both = { lagMs: 200, rssBytes: 2000 }
  const heavy = { rssBytes: 2000 }
  assert.deepEqual(told(both, both, heavy, heavy, heavy, heavy), [
    null,
    'event_loop',
    'event_loop',
    'event_loop',
    'event_loop',
    'memory',
  ])
})

test('whatever is measured, it never changes twice within two samples', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 60 }), (lags) => {
      const states = told(...lags.map((lagMs) => ({ lagMs })))
      for (let at = 2; at < states.length; at += 1) {
        assert.ok(states[at] === states[at - 1] || states[at - 1] === states[at - 2])
      }
    }),
  )
})
