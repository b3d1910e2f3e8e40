/** What a query lets through, and cursors: read back as they were given out, and nothing else. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstIdAt, itemOf } from '../../src/journal/journal-item.ts'
import { cursorOf, filterOf, type LogPosition, positionOf } from '../../src/journal/log-query.ts'
import { NOON, query } from './items.ts'

const idAt = (ms: number, count = 0) => firstIdAt(ms).replace(/0000$/, String(count).padStart(4, '0'))

test('both bounds of time are inclusive, and what was read before is not wanted again', () => {
  const within = filterOf(query({ sinceMs: NOON, untilMs: NOON + 10 }))
  assert.deepEqual([within.isTooOld(idAt(NOON - 1, 9)), within.isTooOld(idAt(NOON))], [true, false])
  assert.deepEqual([within.isTooNew(idAt(NOON + 10, 9)), within.isTooNew(idAt(NOON + 11))], [false, true])
  const behind = filterOf(query({ after: { id: idAt(NOON, 3), place: null } }))
  assert.deepEqual(
    [3, 4].map((count) => behind.isTooOld(idAt(NOON, count))),
    [true, false],
  )
  assert.equal(behind.isTooNew(idAt(NOON * 2)), false)
})

test('a line that lacks a word of the query is not parsed, and the item decides in any case', () => {
  const line = (run_id: string, event = 'ended') => itemOf(idAt(NOON), { event, run_id, note: 'run_1' }, 'chat_1')
  const filter = filterOf(query({ runId: 'run_1', sessionId: 'chat_1', event: 'ended' }))
  assert.deepEqual([filter.mayMatch(line('run_1').line), filter.matches(line('run_1'))], [true, true])
  // The word stands in it, elsewhere.
  assert.deepEqual([filter.mayMatch(line('run_2').line), filter.matches(line('run_2'))], [true, false])
  assert.deepEqual(
    [filter.mayMatch(line('run_1', 'acked').line), filter.matches(line('run_1', 'acked'))],
    [false, false],
  )
  const others = [{ runId: 'run_9' }, { sessionId: 'chat_9' }, { event: 'acked' }]
  for (const wanted of others) assert.equal(filterOf(query(wanted)).mayMatch(line('run_1').line), false)
})

test('a cursor is read back as it was given out, and no other text is one', () => {
  const positions: LogPosition[] = [
    { id: idAt(NOON), place: null },
    { id: idAt(NOON, 12), place: { file: '2026-11-30-0003', offset: 4096 } },
  ]
  for (const position of positions) assert.deepEqual(positionOf(cursorOf(position)), position)
  const id = idAt(NOON)
  for (const text of [
    '',
    'x',
    id.toUpperCase(),
    `${id}~`,
    `${id}~2026-11-30-0003`,
    `${id}~../etc~1`,
    `${id}~2026-11-30-0003~-1`,
  ])
    assert.equal(positionOf(text), null, text)
})
