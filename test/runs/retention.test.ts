import { test } from 'node:test'
import assert from 'node:assert/strict'
import { toDrop, type Kept } from '../../src/runs/retention.ts'

const limits = { resultTtlMs: 100, undeliveredTtlMs: 1000, maxResults: 10, maxResultBytes: 1000 }
const run = (runId: string, stored: boolean, since: number, bytes = 1): Kept => ({
  runId,
  stored,
  isTried: false,
  since,
  bytes,
})
const dropped = (kept: Kept[], now: number) => toDrop(kept, limits, now).map(({ runId }) => runId)

test('a stored result goes after its time, one that nobody has stored stays longer', () => {
  const kept = [run('stored', true, 0), run('waiting', false, 0)]
  assert.deepEqual(dropped(kept, 99), [])
  assert.deepEqual(dropped(kept, 100), ['stored'])
  assert.deepEqual(dropped(kept, 1000), ['stored', 'waiting'])
})

test('a result whose callback is still being tried does not grow too old, and makes room as any other', () => {
  const tried = { ...run('tried', false, 0, 600), isTried: true }
  assert.deepEqual(dropped([tried], 1_000_000), [])
  assert.deepEqual(dropped([tried, run('s', true, 1_000_000, 600)], 1_000_000), ['s'])
  assert.deepEqual(dropped([tried, run('w', false, 1_000_000, 600)], 1_000_000), ['tried'])
})

test('beyond the count the oldest stored results go first, then the oldest others', () => {
  const kept = [
    run('w0', false, 0),
    ...Array.from({ length: 9 }, (_, index) => run(`w${index + 1}`, false, 1)),
    run('s', true, 5),
  ]
  assert.deepEqual(dropped(kept, 6), ['s'])
  assert.deepEqual(dropped([...kept.slice(0, 10), run('w10', false, 2)], 6), ['w0'])
})

test('beyond the bytes results go until a tenth is free', () => {
  const kept = [run('a', true, 0, 400), run('b', true, 1, 400), run('c', false, 2, 400)]
  assert.deepEqual(dropped(kept, 3), ['a'])
})
