/** A STATE_DIR that is full, broken, damaged, of another version or somebody else's: what is told, what is kept, what goes on. */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createDurableRuns, type DurableRunsOptions } from '../../src/runs/durable-runs.ts'
import type { Admission, RunLease } from '../../src/runs/ports.ts'
import { createSealer } from '../../src/runs/sealer.ts'
import { realDisk, type StateDisk } from '../../src/runs/state-disk.ts'
import { Signal, within } from '../conformance/facts.ts'
import { say } from '../fakes/engine.ts'
import { runRequest } from '../fakes/run-request.ts'
import { pathOf, titles } from '../fakes/state-files.ts'

const limits = {
  resultTtlMs: 3_600_000,
  undeliveredTtlMs: 86_400_000,
  maxResults: 100,
  maxResultBytes: 1_000_000,
  maxRuns: 100,
}
const callback = { callback: { url: 'https://shop.example/result', headers: { 'X-Key': 'callback-SECRET' } } }
const done: StreamEvent = {
  event: 'done',
  data: { status: 'completed', stop_reason: 'end_turn', limit_reached: null, error: null, pending: 0 },
}

type Parts = { readonly [key: string]: Json }
const admission = (parts: Parts): Admission => ({ request: runRequest(parts), warnings: [], fingerprint: 'f' })

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'broken-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

function create(t: TestContext, directory: string, options: Partial<DurableRunsOptions> = {}) {
  const journal: JournalEntry[] = []
  const leases = new Map<string, RunLease>()
  const runs = createDurableRuns({
    ...limits,
    directory,
    sealer: createSealer(['a-secret-of-the-test']),
    maxBytes: 1e9,
    journal: (entry) => journal.push(entry),
    outbox: { stop: () => {}, again: () => {} },
    onLeft: () => {},
    ticket: () => 'ticket',
    say,
    ...options,
  })
  t.after(() => runs.close())
  runs.queue.start(async (lease) => void leases.set(lease.runId, lease))
  const begin = async (parts: Parts = {}) => {
    const outcome = await runs.store.admit(admission({ ...callback, ...parts }))
    assert.ok(outcome.kind === 'new', outcome.kind)
    const lease = leases.get(outcome.runId)
    assert.ok(lease !== undefined)
    return { runId: outcome.runId, lease, record: await lease.load() }
  }
  const lost = () =>
    journal.filter(({ event }) => event === 'state_lost').map(({ what, code }) => JSON.stringify([what, code]))
  return { ...runs, journal, leases, begin, lost }
}

async function live(t: TestContext, directory: string, options: Partial<DurableRunsOptions> = {}) {
  const runs = create(t, directory, options)
  const recovery = await runs.recover()
  assert.ok(recovery.ok)
  return { ...runs, recovery }
}

/** What would be there had the process gone now. */
function snapshot(t: TestContext, directory: string): string {
  const copy = folder(t)
  cpSync(directory, copy, { recursive: true })
  rmSync(join(copy, 'lock'), { force: true })
  return copy
}

function faultOf(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** The real disk until it is told to break. */
function breakable() {
  const broken = {
    write: null as string | null,
    sync: null as string | null,
    open: null as string | null,
    /** Writes that break before they work again. */
    writes: Infinity,
  }
  const disk: StateDisk = {
    ...realDisk,
    open: async (path, isNew) => {
      if (broken.open !== null) throw faultOf(broken.open)
      return realDisk.open(path, isNew)
    },
    write(file, bytes) {
      if (broken.write === null || broken.writes === 0) return realDisk.write(file, bytes)
      broken.writes -= 1
      // As a full disk does it: what there was room for is there.
      realDisk.write(file, bytes.subarray(0, bytes.length >> 1))
      throw faultOf(broken.write)
    },
    writeLarge: async (file, bytes) => disk.write(file, bytes),
    sync: async (file) => {
      if (broken.sync !== null) throw faultOf(broken.sync)
      return realDisk.sync(file)
    },
  }
  return { broken, disk }
}

for (const [what, code] of [
  ['write', 'ENOSPC'],
  ['sync', 'EIO'],
  ['open', 'EMFILE'],
] as const) {
  test(`a run that cannot be taken (${what}: ${code}) leaves nothing behind, and the next one can once there is room`, async (t) => {
    const directory = folder(t)
    const { broken, disk } = breakable()
    const runs = await live(t, directory, { disk })
    broken[what] = code
    const body = { ...callback, meta: { session_id: 's' } }
    assert.deepEqual(await runs.store.admit(admission(body)), { kind: 'not_kept' })
    assert.deepEqual(runs.lost(), [JSON.stringify(['accepted', code])])
    assert.equal(titles(directory).size, 0)
    broken[what] = null
    await runs.begin(body)
  })
}

test('a run larger than a small write is taken the same way, and refused the same way', async (t) => {
  const directory = folder(t)
  const { broken, disk } = breakable()
  const runs = await live(t, directory, { disk })
  const headers = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`X-${index}`, 'x'.repeat(8000)]))
  const large = { callback: { ...callback.callback, headers } }
  broken.write = 'ENOSPC'
  assert.deepEqual(await runs.store.admit(admission(large)), { kind: 'not_kept' })
  assert.equal(titles(directory).size, 0)
  broken.write = null
  const { runId } = await runs.begin(large)
  const next = await live(t, snapshot(t, directory))
  assert.equal((await next.store.get(runId))?.status, 'failed')
})

test('a run is taken once its file and the name of it are on the disk, whichever comes last', async (t) => {
  const held: Record<string, () => void> = {}
  const changed = new Signal()
  let isSlow = true
  const hold = (what: string) =>
    new Promise<void>((resolve) => {
      if (!isSlow) return resolve()
      held[what] = resolve
      changed.emit()
    })
  const disk: StateDisk = { ...realDisk, sync: () => hold('content'), syncDirectory: () => hold('name') }
  for (const [first, last] of [
    ['content', 'name'],
    ['name', 'content'],
  ] as const) {
    const runs = await live(t, folder(t), { disk })
    const admitted = runs.store.admit(admission(callback))
    const both = changed.until(() => Object.keys(held).length === 2)
    await within(both, () => `only ${Object.keys(held).join()} is waited for, and both should be at once`)
    assert.deepEqual(Object.keys(held).toSorted(), ['content', 'name'])
    let isTold = false
    void admitted.then(() => (isTold = true))
    held[first]?.()
    await new Promise(setImmediate)
    assert.equal(isTold, false, `${last} is still missing`)
    // With the names of the files that are made ahead.
    isSlow = false
    for (const what of ['content', 'name']) held[what]?.()
    assert.equal((await admitted).kind, 'new')
    await runs.close()
    isSlow = true
    delete held['content']
    delete held['name']
  }
})

test('a run whose name cannot be put on the disk is taken back, and the next is taken where its name can', async (t) => {
  const directory = folder(t)
  let fault: Error | null = faultOf('EIO')
  let names = 0
  const syncDirectory = async (opened: number) => {
    names += 1
    if (fault !== null) throw fault
    return realDisk.syncDirectory(opened)
  }
  const runs = await live(t, directory, { disk: { ...realDisk, syncDirectory } })
  assert.equal((await runs.store.admit(admission(callback))).kind, 'not_kept')
  assert.equal(titles(directory).size, 0)
  assert.deepEqual(runs.lost(), ['["accepted","EIO"]'])
  fault = null
  const before = names
  await runs.begin()
  assert.ok(names > before)
})

test('a disk that fills while a run goes on: what was written before stands, the torn rest is passed over', async (t) => {
  const directory = folder(t)
  const { broken, disk } = breakable()
  const runs = await live(t, directory, { disk })
  const { runId, lease, record } = await runs.begin()
  record.steps = 1
  record.attempting = { attempt: 1, target: 0 }
  await lease.commit(record, 'tool_attempt')
  broken.write = 'ENOSPC'
  for (const steps of [2, 3]) {
    record.steps = steps
    await lease.commit(record, 'tool_attempt')
  }
  // What could be added behind a torn frame could not be read.
  broken.write = null
  record.steps = 4
  await lease.commit(record, 'tool_attempt')
  assert.deepEqual(runs.lost(), ['["progress","ENOSPC"]'])
  const next = await live(t, snapshot(t, directory))
  const result = JSON.parse((await next.store.get(runId))?.result?.json ?? '') as RunResult
  assert.deepEqual([result.status, result.steps, result.usage.attempts.length], ['failed', 1, 1])
})

test('a result that finds no room takes that of what led to it; where there is none it lives in memory', async (t) => {
  const directory = folder(t)
  const { broken, disk } = breakable()
  const runs = await live(t, directory, { disk })
  const first = await runs.begin({ idempotency_key: 'k1' })
  broken.write = 'ENOSPC'
  broken.writes = 1
  await first.lease.finish(first.record, { json: '{"n":1}', status: 'completed' }, done)
  assert.deepEqual(runs.lost(), [])
  broken.write = null
  broken.writes = Infinity
  assert.deepEqual([...titles(directory).keys()], [`${first.runId}.ended`])

  const second = await runs.begin({ idempotency_key: 'k2' })
  broken.write = 'ENOSPC'
  await second.lease.finish(second.record, { json: '{"n":2}', status: 'completed' }, done)
  assert.deepEqual(runs.lost(), ['["result","ENOSPC"]'])
  assert.equal((await runs.store.get(second.runId))?.result?.json, '{"n":2}')
  assert.equal(await runs.store.ack(second.runId), 'stored')
  assert.deepEqual([...titles(directory).keys()], [`${first.runId}.ended`])
})

test('an ack that cannot be written is told, and the session is free all the same', async (t) => {
  const directory = folder(t)
  const { broken, disk } = breakable()
  const runs = await live(t, directory, { disk })
  const run = await runs.begin({ meta: { session_id: 's' } })
  await run.lease.finish(run.record, { json: '{}', status: 'completed' }, done)
  broken.sync = 'EIO'
  assert.equal(await runs.store.ack(run.runId), 'stored')
  assert.deepEqual(runs.lost(), ['["stored","EIO"]'])
  broken.sync = null
  await runs.begin({ idempotency_key: 'k2', meta: { session_id: 's' } })
})

test('a run begins at once and is answered once the disk has it', async (t) => {
  const { disk } = breakable()
  const syncs: (() => void)[] = []
  disk.sync = () => new Promise((resolve) => void syncs.push(resolve))
  const runs = await live(t, folder(t), { disk })
  const taking = runs.begin()
  while (syncs.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const taken = await Promise.race([
    taking.then(() => true),
    new Promise((resolve) => setImmediate(() => resolve(false))),
  ])
  assert.deepEqual([taken, runs.leases.size], [false, 1])
  disk.sync = (file) => realDisk.sync(file)
  for (const resolve of syncs) resolve()
  await taking
})

test('a call is not sent before it is written, however long the file of its run takes to open', async (t) => {
  const { disk } = breakable()
  const opened = Promise.withResolvers<void>()
  t.after(() => opened.resolve())
  disk.open = async (path, isNew) => {
    await opened.promise
    return realDisk.open(path, isNew)
  }
  const runs = await live(t, folder(t), { disk })
  const taking = runs.begin()
  while (runs.leases.size === 0) await new Promise(setImmediate)
  const [lease] = runs.leases.values()
  assert.ok(lease !== undefined)
  const record = await lease.load()
  record.steps = 1
  let isWritten = false
  const written = lease.commit(record, 'tool_attempt').then(() => (isWritten = true))
  await new Promise(setImmediate)
  assert.equal(isWritten, false)
  opened.resolve()
  await written
  await taking
})

test('a folder that cannot be used is one sentence for the operator: none, a file, a lock that cannot be written', async (t) => {
  const directory = folder(t)
  const reasonOf = async (path: string) => {
    const recovery = await create(t, path).recover()
    assert.ok(!recovery.ok)
    return recovery.reason
  }
  assert.equal(await reasonOf(join(directory, 'none')), 'its lock cannot be written (ENOENT)')
  writeFileSync(join(directory, 'file'), '')
  assert.equal(await reasonOf(join(directory, 'file')), 'its lock cannot be written (ENOTDIR)')
  mkdirSync(join(directory, 'odd', 'lock'), { recursive: true })
  assert.match(await reasonOf(join(directory, 'odd')), /^its lock cannot be read \(EISDIR\)$/)
})

test('a file of another version, and one that is damaged at its beginning, are told and left alone; damage behind it costs what is behind it', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const runs = await Promise.all(['k1', 'k2', 'k3'].map((key) => first.begin({ idempotency_key: key })))
  for (const { lease, record } of runs) {
    record.steps = 1
    record.attempting = { attempt: 1, target: 0 }
    await lease.commit(record, 'tool_attempt')
  }
  const copy = snapshot(t, directory)
  const [old, damaged, behind] = runs.map(({ runId }) => pathOf(copy, `${runId}.run`))
  const change = (path: string | undefined, at: number) => {
    assert.ok(path !== undefined)
    const bytes = readFileSync(path)
    const index = at < 0 ? bytes.length + at : at
    bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index)
    writeFileSync(path, bytes)
  }
  change(old, 7)
  change(damaged, 90)
  change(behind, -1)
  const next = await live(t, copy)
  assert.deepEqual(
    new Set(next.journal.filter(({ event }) => event === 'state_unreadable').map(({ run_id }) => run_id)),
    // Of a file of another form nobody knows whose it is.
    new Set([null, runs[1]?.runId]),
  )
  const result = JSON.parse((await next.store.get(runs[2]?.runId ?? ''))?.result?.json ?? '') as RunResult
  assert.deepEqual([result.error?.code, result.usage.attempts.length], ['engine_restarted', 0])
  assert.deepEqual(
    [old, damaged].map((path) => readdirSync(copy).includes(path?.split('/').at(-1) ?? '')),
    [true, true],
  )
})

test('a copy of a file is told and left alone, and its run is known once', async (t) => {
  const directory = folder(t)
  const { runId } = await (await live(t, directory)).begin()
  const copy = snapshot(t, directory)
  cpSync(pathOf(copy, `${runId}.run`), join(copy, 'x-copy.run'))
  const next = await live(t, copy)
  assert.deepEqual(
    next.journal
      .filter(({ event }) => event === 'state_unreadable')
      .map(({ run_id, file, code }) => [run_id, file, code]),
    [[runId, 'x-copy.run', 'EEXIST']],
  )
  assert.equal((await next.store.get(runId))?.status, 'failed')
  assert.ok(readdirSync(copy).includes('x-copy.run'))
})

test('whoever keeps secrets out of the journal is told what the runs left behind hold, before anything is journalled of them', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const cut = await first.begin()
  const ended = await first.begin({ idempotency_key: 'k2' })
  await ended.lease.finish(ended.record, { json: '{}', status: 'completed' }, done)
  const left = new Map<string, string>()
  const order: string[] = []
  await live(t, snapshot(t, directory), {
    onLeft: (runId, told) => {
      order.push(`left ${runId}`)
      left.set(runId, JSON.stringify(told))
    },
    journal: ({ event, run_id: runId }) => void order.push(`${event} ${runId}`),
  })
  assert.match(left.get(cut.runId) ?? '', /callback-SECRET/)
  assert.match(left.get(ended.runId) ?? '', /callback-SECRET/)
  assert.ok(order.indexOf(`left ${cut.runId}`) < order.indexOf(`ended ${cut.runId}`))
})

test('handles are given back: a thousand results that nobody took hold at most a few files open', async (t) => {
  let open = 0
  const disk: StateDisk = {
    ...realDisk,
    open: async (path, isNew) => {
      open += 1
      return realDisk.open(path, isNew)
    },
    sync: async () => {},
    openDirectory: async (path) => {
      open += 1
      return realDisk.openDirectory(path)
    },
    syncDirectory: async () => {},
    close(file) {
      open -= 1
      realDisk.close(file)
    },
  }
  const runs = await live(t, folder(t), { disk, maxResults: 10_000 })
  for (let index = 0; index < 1000; index += 1) {
    const run = await runs.begin({ idempotency_key: `k${index}` })
    await run.lease.finish(run.record, { json: '{}', status: 'completed' }, done)
  }
  assert.ok(open <= 100, `${open} are open`)
  await runs.close()
  assert.equal(open, 0)
})
