/** The writer of the journal's files: how much waits for a disk that is away, and that a batch is written by itself. */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createDiskWriter } from '../../src/journal/disk-writer.ts'
import { createIds, itemOf } from '../../src/journal/journal-item.ts'
import { folderFor, NOON } from './items.ts'

const newId = createIds(null, () => NOON)
const item = (n: number) => itemOf(newId(), { event: 'limit', run_id: 'run_1', n }, null)

function writerIn(folder: string, queueChars?: number) {
  const told: unknown[] = []
  const lost = { lines: 0 }
  const writer = createDiskWriter({
    folder,
    retentionDays: 14,
    maxBytes: 1_048_576,
    now: () => NOON,
    onBroken: (code) => void told.push(code),
    onBack: (count) => void told.push(count),
    onLost: () => void (lost.lines += 1),
    ...(queueChars === undefined ? {} : { queueChars }),
  })
  return { writer, told, lost }
}

test('what waits for a disk that is away is bounded, and what is lost is counted', async (t) => {
  const folder = join(folderFor(t), 'logs')
  // A file where the folder should be.
  writeFileSync(folder, '')
  const { length } = item(0).line
  const { writer, told, lost } = writerIn(folder, length * 10)
  for (let n = 0; n < 100; n += 1) writer.write(item(n % 10))
  await writer.flush()
  await writer.flush()
  assert.deepEqual(told, ['ENOTDIR'])
  rmSync(folder)
  await writer.flush()
  assert.deepEqual(told, ['ENOTDIR', 90])
  assert.equal(lost.lines, 90)
  const [name = ''] = readdirSync(folder)
  const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).n),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
  )
})

test('lines reach the disk without being asked for, many in one batch', async (t) => {
  const folder = join(folderFor(t), 'logs')
  mkdirSync(folder)
  const { writer } = writerIn(folder)
  const changed = new Promise((resolve) => {
    const watcher = watch(folder, () => {
      watcher.close()
      resolve(null)
    })
  })
  for (let n = 0; n < 1000; n += 1) writer.write(item(n))
  assert.deepEqual(readdirSync(folder), [])
  await changed
  await writer.flush()
  const [name = ''] = readdirSync(folder)
  assert.equal(readFileSync(join(folder, name), 'utf8').split('\n').length, 1001)
})
