/** Idempotency keys in memory: how long they are known, and which go first. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runId } from '../../src/contract/ids.ts'
import { KnownKeys, MAX_KEYS } from '../../src/runs/known-keys.ts'

const DAY_MS = 24 * 3600 * 1000
const idOf = (index: number) => runId(`01J0000000000000000000${String(index).padStart(4, '0')}`)
const none = () => false

test('ID-03: a key is known to the last millisecond of its day, and begins a new one behind it', () => {
  const keys = new KnownKeys()
  keys.begin('k', idOf(1), 'f', 1000)
  assert.equal(keys.find('k', 1000 + DAY_MS - 1)?.runId, idOf(1))
  keys.expire(1000 + DAY_MS - 1, none)
  assert.equal(keys.find('k', 1000 + DAY_MS - 1)?.runId, idOf(1))
  assert.equal(keys.find('k', 1000 + DAY_MS), undefined)
  keys.begin('k', idOf(2), 'g', 1000 + DAY_MS)
  keys.forget('k', idOf(1))
  assert.deepEqual(keys.find('k', 1000 + DAY_MS), {
    key: 'k',
    runId: idOf(2),
    fingerprint: 'g',
    expiresAt: 1000 + 2 * DAY_MS,
  })
})

test('ID-03: beyond so many keys the oldest go, but for those of runs that are not over', () => {
  const keys = new KnownKeys()
  for (let index = 0; index < MAX_KEYS + 3; index += 1) keys.begin(`k${index}`, idOf(index % 1000), 'f', index)
  const isOpen = (id: string) => id === idOf(1)
  keys.expire(MAX_KEYS, isOpen)
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((index) => keys.find(`k${index}`, MAX_KEYS) !== undefined),
    [false, true, false, false, true],
  )
  // Time ends all of them.
  keys.expire(2 * DAY_MS, () => true)
  assert.equal(keys.find(`k${MAX_KEYS + 2}`, 0), undefined)
})
