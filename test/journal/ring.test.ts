/** The ring of the newest entries: what it no longer holds, nothing holds, and what it holds is found by its id. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import timers from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { itemOf } from '../../src/journal/journal-item.ts'
import { createRing } from '../../src/journal/ring.ts'

const item = (number: number) =>
  itemOf(`000000000-${String(number).padStart(4, '0')}`, { event: 'ended', run_id: null, number }, null)

test('an entry that makes room is let go of at once', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  const ring = createRing({ maxItems: 500, maxChars: 1_000_000 })
  const held = Array.from({ length: 1000 }, (_, number) => {
    const pushed = item(number)
    ring.push(pushed)
    return new WeakRef(pushed)
  })
  // What a reference was made for is kept until the turn is over.
  await timers.setImmediate()
  collect()
  assert.equal(held.filter((reference) => reference.deref() !== undefined).length, 500)
  assert.equal(ring.firstId(), item(500).id)
  assert.equal(ring.after(null).length, 500)
})

test('entries behind an id are handed out oldest first, whether that entry is still there or not', () => {
  const ring = createRing({ maxItems: 5, maxChars: 1_000_000 })
  // So many that the list has been cut.
  for (let number = 0; number < 3000; number += 1) ring.push(item(number))
  const behind = (number: number) => ring.after(item(number).id).map(({ id }) => Number(id.slice(10)))
  assert.deepEqual(behind(2994), [2995, 2996, 2997, 2998, 2999])
  assert.deepEqual(behind(10), [2995, 2996, 2997, 2998, 2999])
  assert.deepEqual(behind(2997), [2998, 2999])
  assert.deepEqual(behind(2999), [])
  assert.deepEqual(behind(9999), [])
})

test('lines that are too much together make room, but the newest entry is kept however large it is', () => {
  const { length } = item(0).line
  const ring = createRing({ maxItems: 100, maxChars: 2 * length })
  for (let number = 0; number < 3; number += 1) ring.push(item(number))
  assert.equal(ring.firstId(), item(1).id)
  const large = itemOf('000000000-0009', { event: 'ended', run_id: null, words: 'x'.repeat(10 * length) }, null)
  ring.push(large)
  assert.deepEqual(ring.after(null), [large])
})
