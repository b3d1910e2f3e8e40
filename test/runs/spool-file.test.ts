/** When what is given to a file of STATE_DIR is written: at once, with the next, at the turn's end, or behind the disk. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSealer } from '../../src/runs/sealer.ts'
import { createTurns, SpoolFile } from '../../src/runs/spool-file.ts'
import type { FrameMaker } from '../../src/runs/spool-frames.ts'
import { newFrames } from '../../src/runs/spool-frames.ts'
import { realDisk, type StateDisk } from '../../src/runs/state-disk.ts'

/** A file that is there, and the frames that are written to it. */
async function openFile(t: TestContext, disk: Partial<StateDisk> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'spool-file-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const made = newFrames(createSealer(['a-secret-of-the-test']), 'file')
  const frames: string[] = []
  const maker: FrameMaker = {
    head: made.head,
    frame(content) {
      frames.push(content)
      return made.frame(content)
    },
  }
  const file = new SpoolFile(
    { path: join(folder, 'file'), maker },
    { disk: { ...realDisk, ...disk }, onGrown: () => {}, inTurn: createTurns(), syncName: async () => null },
  )
  t.after(() => file.rest())
  await file.append('begun', 'now')
  return { file, frames }
}

const turn = () => new Promise(setImmediate)

test('what nothing waits for is written once, at the end of the turn', async (t) => {
  const { file, frames } = await openFile(t)
  for (const entry of ['1', '2', '3']) void file.append(entry, 'soon')
  await Promise.resolve()
  assert.deepEqual(frames, ['begun'])
  await turn()
  assert.deepEqual(frames, ['begun', '1\n2\n3'])
  await turn()
  assert.deepEqual(frames, ['begun', '1\n2\n3'])
})

test('what is waited for takes all with it that was to be written soon, and what is given in one go is one write', async (t) => {
  const { file, frames } = await openFile(t)
  const soon = file.append('1', 'soon')
  assert.deepEqual(await Promise.all([file.append('2', 'now'), file.append('3', 'now')]), [null, null])
  assert.deepEqual(frames, ['begun', '1\n2\n3'])
  assert.equal(await soon, null)
  await turn()
  assert.deepEqual(frames, ['begun', '1\n2\n3'])
  void file.append('4', 'soon')
  await turn()
  assert.deepEqual(frames, ['begun', '1\n2\n3', '4'])
})

test('a file is given back once what waited for the end of the turn is written', async (t) => {
  const { file, frames } = await openFile(t)
  void file.append('1', 'soon')
  await file.rest()
  assert.deepEqual(frames, ['begun', '1'])
})

test('while the disk is waited for, what does not wait for it is written all the same, in its order', async (t) => {
  const syncs: (() => void)[] = []
  const { file, frames } = await openFile(t, { sync: () => new Promise((resolve) => void syncs.push(resolve)) })
  const synced = file.append('1', 'synced')
  while (syncs.length === 0) await turn()
  void file.append('2', 'soon')
  assert.equal(await file.append('3', 'now'), null)
  void file.append('4', 'soon')
  await turn()
  assert.deepEqual(frames, ['begun', '1', '2\n3', '4'])
  for (const done of syncs) done()
  assert.equal(await synced, null)
})
