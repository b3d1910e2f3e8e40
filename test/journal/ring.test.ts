/** The ring of the newest entries: what it no longer holds, nothing holds. What it hands out is tested in journal.test.ts. */
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
