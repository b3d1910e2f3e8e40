/** Files of STATE_DIR that are made ahead: how many, what a run is spared by them, and what becomes of those nobody used. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createDurableRuns } from '../../src/runs/durable-runs.ts'
import { createSealer } from '../../src/runs/sealer.ts'
import { createPaths, createSpareFiles, type SpareFile } from '../../src/runs/spare-files.ts'
import { realDisk, type StateDisk } from '../../src/runs/state-disk.ts'
import { say } from '../fakes/engine.ts'
import { runRequest } from '../fakes/run-request.ts'
import { pathOf } from '../fakes/state-files.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'spares-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** The real disk, which counts; `fault` breaks what it names. */
function countingDisk() {
  const counts = { opened: 0, closed: 0, synced: 0, namesSynced: 0 }
  const fault: { open: (count: number) => boolean } = { open: () => false }
  const disk: StateDisk = {
    ...realDisk,
    open: async (path, isNew) => {
      if (fault.open((counts.opened += 1))) throw Object.assign(new Error('none left'), { code: 'EMFILE' })
      return realDisk.open(path, isNew)
    },
    close(file) {
      counts.closed += 1
      realDisk.close(file)
    },
    sync: async (file) => {
      counts.synced += 1
      return realDisk.sync(file)
    },
    syncDirectory: async (directory) => {
      counts.namesSynced += 1
      return realDisk.syncDirectory(directory)
    },
  }
  return { disk, counts, fault }
}

function spares(directory: string, disk: StateDisk, syncNames: () => Promise<string | null> = async () => null) {
  return createSpareFiles({ newPath: createPaths(directory), disk, syncNames })
}

/** What `take` gives once it gives something, which the first time it never does. */
async function taken(ahead: ReturnType<typeof spares>): Promise<SpareFile> {
  let spare: SpareFile | null = null
  await until(() => (spare = ahead.take()) !== null)
  assert.ok(spare !== null)
  return spare
}

async function until(isSo: () => boolean): Promise<void> {
  for (const from = performance.now(); !isSo(); await new Promise(setImmediate)) {
    assert.ok(performance.now() - from < 10_000, `not within ten seconds: ${isSo.toString()}`)
  }
}

function live(t: TestContext, directory: string, disk: StateDisk = realDisk) {
  const runs = createDurableRuns({
    resultTtlMs: 3_600_000,
    undeliveredTtlMs: 86_400_000,
    maxResults: 100,
    maxResultBytes: 1_000_000,
    maxRuns: 100,
    directory,
    sealer: createSealer(['a-secret-of-the-test']),
    maxBytes: 1e9,
    journal: () => {},
    outbox: { stop: () => {}, again: () => {} },
    onLeft: () => {},
    ticket: () => 'ticket',
    say,
    disk,
  })
  t.after(() => runs.close())
  runs.queue.start(async () => {})
  const begin = async (key: string) => {
    const request = runRequest({ idempotency_key: key })
    const outcome = await runs.store.admit({ request, warnings: [], fingerprint: 'f' })
    assert.ok(outcome.kind === 'new', outcome.kind)
    return outcome.runId
  }
  return { ...runs, begin }
}

const files = (directory: string) => readdirSync(directory).filter((name) => name.endsWith('.run'))
const empties = (directory: string) => files(directory).filter((name) => statSync(join(directory, name)).size === 0)

test('a run that finds a file that was made ahead opens none, and waits for its content alone', async (t) => {
  const directory = folder(t)
  const { disk, counts } = countingDisk()
  const runs = live(t, directory, disk)
  assert.ok((await runs.recover()).ok)
  // Until they are there, a run makes its own.
  let before = { ...counts }
  let runId = await runs.begin('k0')
  for (let count = 1; counts.opened !== before.opened; count += 1) {
    assert.ok(count < 100, 'no run finds one')
    before = { ...counts }
    runId = await runs.begin(`k${count}`)
  }
  assert.deepEqual(counts, { ...before, synced: before.synced + 1 })
  assert.equal(empties(directory).length, 15)
  assert.ok(statSync(pathOf(directory, `${runId}.run`)).size > 0)
})

test('sixteen are made at once with one wait for their names, and more when half of them are gone', async (t) => {
  const directory = folder(t)
  const { disk, counts } = countingDisk()
  let names = 0
  const ahead = spares(directory, disk, async () => ((names += 1), null))
  const paths = new Set([(await taken(ahead)).path])
  assert.deepEqual([counts.opened, names], [16, 1])
  for (let count = 1; count < 7; count += 1) paths.add((await taken(ahead)).path)
  assert.deepEqual([counts.opened, names], [16, 1])
  paths.add((await taken(ahead)).path)
  await until(() => names === 2)
  assert.equal(counts.opened, 24)
  assert.equal(paths.size, 8)
  await ahead.close()
  assert.equal(files(directory).length, 8)
  assert.equal(counts.closed, 16)
})

test('a folder that was removed, or another in its place, is noticed: what was made ahead in the old one is not used', async (t) => {
  const directory = folder(t)
  const { disk, counts } = countingDisk()
  const ahead = spares(directory, disk)
  await taken(ahead)
  rmSync(directory, { recursive: true })
  mkdirSync(directory)
  assert.equal(ahead.take(), null)
  await until(() => counts.closed === 15)
  const spare = await taken(ahead)
  assert.equal(statSync(spare.path).size, 0)
  await ahead.close()
})

test('where none can be made there is none, nothing is held, and the next try finds what there is by then', async (t) => {
  const directory = folder(t)
  const { disk, counts, fault } = countingDisk()
  fault.open = () => true
  const ahead = spares(directory, disk)
  assert.equal(ahead.take(), null)
  await new Promise(setImmediate)
  assert.equal(ahead.take(), null)
  assert.deepEqual(files(directory), [])
  // Room for some of them.
  fault.open = (count) => count % 4 === 0
  const made = [await taken(ahead), await taken(ahead)]
  assert.equal(new Set(made.map(({ path }) => path)).size, 2)
  await until(() => files(directory).length >= 12)
  const { length } = files(directory)
  await ahead.close()
  assert.equal(counts.closed, length - 2)
  assert.equal(files(directory).length, 2)
})

test('a file whose name is not on the disk is not given out, and goes', async (t) => {
  const directory = folder(t)
  const { disk, counts } = countingDisk()
  let fault: string | null = 'EIO'
  const ahead = spares(directory, disk, async () => fault)
  assert.equal(ahead.take(), null)
  await until(() => counts.closed === 16)
  await until(() => files(directory).length === 0)
  fault = null
  const { path } = await taken(ahead)
  assert.equal(statSync(path).size, 0)
  await ahead.close()
})

test('what is being made when all is closed goes too', async (t) => {
  const directory = folder(t)
  const { disk, counts } = countingDisk()
  const ahead = spares(directory, disk)
  assert.equal(ahead.take(), null)
  await ahead.close()
  assert.deepEqual([counts.opened, counts.closed], [16, 16])
  assert.deepEqual(files(directory), [])
  assert.equal(ahead.take(), null)
  await new Promise(setImmediate)
  assert.equal(counts.opened, 16)
})

test('what a killed life had made ahead is cleared away by the next, and a life that ends in peace leaves none', async (t) => {
  const directory = folder(t)
  const first = live(t, directory)
  assert.ok((await first.recover()).ok)
  const runId = await first.begin('k1')
  await until(() => empties(directory).length === 16)
  const copy = folder(t)
  cpSync(directory, copy, { recursive: true })
  rmSync(join(copy, 'lock'))
  const next = live(t, copy)
  assert.ok((await next.recover()).ok)
  assert.deepEqual(empties(copy), [])
  assert.equal(pathOf(copy, `${runId}.ended`), join(copy, files(copy)[0] ?? ''))
  await first.close()
  assert.deepEqual(empties(directory), [])
})

test('whose a file is stands at its head in clear, and nothing else does', async (t) => {
  const directory = folder(t)
  const runs = live(t, directory)
  assert.ok((await runs.recover()).ok)
  const runId = await runs.begin('the-KEY')
  const text = readFileSync(pathOf(directory, `${runId}.run`), 'latin1')
  assert.deepEqual(text.match(/[\w.-]{12,}/g)?.slice(0, 1), [`${runId}.run`])
  assert.doesNotMatch(text, /KEY|accepted|model/)
})
