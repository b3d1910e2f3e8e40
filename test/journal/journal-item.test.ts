/** Lines of the journal: each bears its id at its beginning, and what is torn or none of ours has none. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createIds, firstIdAt, idOfLine, itemFromLine, itemOf, msOfId } from '../../src/journal/journal-item.ts'
import { NOON } from './items.ts'

const item = itemOf(firstIdAt(NOON), { event: 'ended', run_id: 'run_1', steps: 2 }, 'chat_1')

test('a line is read back as the item that it was written for', () => {
  assert.equal(idOfLine(item.line), item.id)
  assert.deepEqual(itemFromLine(item.line), item)
  assert.equal(msOfId(item.id), NOON)
})

test('a line that is torn, has no id at its beginning or is no entry is none of ours', () => {
  const { id, line } = item
  const foreign = [
    '',
    '{}',
    line.slice(0, -1),
    line.slice(1),
    line.replace('{"id"', '{"ID"'),
    line.replace(id, id.toUpperCase().replace('-', '_')),
  ]
  for (const text of foreign) assert.deepEqual([idOfLine(text), itemFromLine(text)], [null, null], text)
  const unreadable = [`{"id":"${id}",}`, `{"id":"${id}"}`, `{"id":"${id}","event":7}`]
  for (const text of unreadable) assert.deepEqual([idOfLine(text), itemFromLine(text)], [id, null], text)
})

test('ids ascend from the last one of an earlier process, unless that one lies further ahead than a clock is wrong', () => {
  const first = (last: string | null) => createIds(last, () => NOON)()
  assert.equal(first(null), firstIdAt(NOON))
  assert.equal(first(firstIdAt(NOON)), firstIdAt(NOON).replace(/0$/, '1'))
  assert.equal(first(firstIdAt(NOON + 60_000)), firstIdAt(NOON + 60_000).replace(/0$/, '1'))
  assert.equal(first(firstIdAt(NOON + 60_001)), firstIdAt(NOON))
})
