/**
 * What every implementation of the ports in `src/runs/ports.ts` must do: each test runs against the memory alone and against
 * the memory with a STATE_DIR beside it. Another store is one more line of `implementations`.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/contract/json.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createDurableRuns, type DurableRuns } from '../../src/runs/durable-runs.ts'
import { createMemoryRuns, type MemoryRunsOptions } from '../../src/runs/memory-runs.ts'
import type { Admission, DeliveryAttempt, RunLease } from '../../src/runs/ports.ts'
import { createSealer } from '../../src/runs/sealer.ts'
import { say } from '../fakes/engine.ts'
import { runRequest } from '../fakes/run-request.ts'

type Runs = Pick<DurableRuns, 'store' | 'queue' | 'events'> & { close(): void | Promise<void> }

async function openDurable(t: TestContext, options: MemoryRunsOptions): Promise<Runs> {
  const directory = mkdtempSync(join(tmpdir(), 'contract-'))
  const sealer = createSealer(['a-secret-of-the-test'])
  const parts = { directory, sealer, maxBytes: 1e9, onLeft: () => {}, ticket: () => 'ticket', say }
  const runs = createDurableRuns({ ...options, ...parts })
  t.after(async () => {
    await runs.close()
    rmSync(directory, { recursive: true, force: true })
  })
  assert.ok((await runs.recover()).ok)
  return runs
}

const implementations: readonly (readonly [string, (t: TestContext, options: MemoryRunsOptions) => Promise<Runs>])[] = [
  ['memory', async (_t, options) => createMemoryRuns(options)],
  ['STATE_DIR', openDurable],
]

const limits = { resultTtlMs: 1000, undeliveredTtlMs: 10_000, maxResults: 100, maxResultBytes: 1_000_000, maxRuns: 10 }

type Parts = { readonly [key: string]: Json }

function admission(parts: Parts = {}, fingerprint = 'f'): Admission {
  return { request: runRequest(parts), warnings: [], fingerprint }
}

const callback: Parts = { callback: { url: 'https://shop.example/result', headers: {} } }
const session = (key: string): Parts => ({ idempotency_key: key, meta: { session_id: 's' } })

const attempt: DeliveryAttempt = {
  at: '2026-11-30T12:00:00.000Z',
  status: 500,
  content_type: null,
  fault: 'status',
  error: null,
  duration_ms: 1,
  next_at: null,
}

/** Runs stay open until the test finishes them. */
async function opened(t: TestContext, make: (typeof implementations)[number][1], options: Partial<MemoryRunsOptions>) {
  const journal: JournalEntry[] = []
  const leases = new Map<string, RunLease>()
  /** What the outbox was told. */
  const told: string[] = []
  const outbox = {
    stop: (runId: string) => void told.push(`stop ${runId}`),
    again: (runId: string, stored: boolean) => void told.push(`again ${runId} ${stored}`),
  }
  const runs = await make(t, { ...limits, journal: (entry) => journal.push(entry), outbox, ...options })
  runs.queue.start(async (lease) => void leases.set(lease.runId, lease))
  t.after(() => runs.close())
  const finish = async (runId: string, json = '{}') => {
    const lease = leases.get(runId)
    assert.ok(lease !== undefined)
    await lease.finish(
      await lease.load(),
      { json, status: 'completed' },
      {
        event: 'done',
        data: { status: 'completed', stop_reason: 'end_turn', limit_reached: null, error: null, pending: 0 },
      },
    )
  }
  const begin = async (parts: Parts = {}) => {
    const outcome = await runs.store.admit(admission(parts))
    assert.ok(outcome.kind === 'new', outcome.kind)
    await Promise.resolve()
    return outcome.runId
  }
  return { ...runs, journal, leases, told, finish, begin }
}

for (const [name, make] of implementations) {
  const open = (t: TestContext, options: Partial<MemoryRunsOptions> = {}) => opened(t, make, options)

  test(`${name}: fifty equal posts at once start one run`, async (t) => {
    const { store, leases } = await open(t)
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.admit(admission())))
    assert.equal(outcomes.filter(({ kind }) => kind === 'new').length, 1)
    assert.equal(outcomes.filter(({ kind }) => kind === 'repeat').length, 49)
    assert.equal(new Set(outcomes.map((outcome) => ('runId' in outcome ? outcome.runId : ''))).size, 1)
    assert.equal(leases.size, 1)
  })

  test(`${name}: ID-02: the same key with another body is a conflict, and the same key of another tenant is another request`, async (t) => {
    const { store } = await open(t)
    await store.admit(admission())
    assert.equal((await store.admit(admission({}, 'other'))).kind, 'conflict')
    assert.equal((await store.admit(admission({ meta: { tenant_id: 'b' } }, 'other'))).kind, 'new')
  })

  test(`${name}: ID-03: a key is remembered after the end and the ack, and forgotten after a day`, async (t) => {
    t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
    const { store, begin, finish } = await open(t)
    const runId = await begin()
    await finish(runId)
    await store.ack(runId)
    assert.deepEqual(await store.admit(admission()), { kind: 'repeat', runId })
    t.mock.timers.tick(24 * 3600 * 1000 + 1)
    assert.equal((await store.admit(admission())).kind, 'new')
  })

  test(`${name}: ID-04: of ten runs on one session one starts, the others are told which is active`, async (t) => {
    const { store } = await open(t)
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        store.admit(admission({ idempotency_key: `k${index}`, meta: { session_id: 's' } })),
      ),
    )
    assert.equal(outcomes.filter(({ kind }) => kind === 'new').length, 1)
    assert.equal(outcomes.filter(({ kind }) => kind === 'run_active').length, 9)
  })

  test(`${name}: ID-05: a session is locked until its result is stored, by delivery or ack, and free at once then`, async (t) => {
    const { store, begin, finish } = await open(t)
    const first = await begin(session('k1'))
    await finish(first)
    assert.deepEqual(await store.admit(admission(session('k2'))), { kind: 'result_pending', runId: first })
    await store.delivered(first)
    const second = await begin(session('k3'))
    await finish(second)
    assert.equal(await store.ack(second), 'stored')
    await begin(session('k4'))
  })

  test(`${name}: ID-06: only the run that holds a session frees it`, async (t) => {
    const { store, begin, finish } = await open(t)
    const first = await begin(session('k1'))
    assert.equal(await store.ack(first), 'run_active')
    await finish(first)
    await store.ack(first)
    await begin(session('k2'))
    assert.equal(await store.ack(first), 'stored')
    await store.delivered(first)
    assert.equal((await store.admit(admission(session('k3')))).kind, 'run_active')
    assert.equal(await store.ack('run_nobody'), 'run_not_found')
  })

  test(`${name}: runs without a session do not lock one another`, async (t) => {
    const { begin } = await open(t)
    await begin({ idempotency_key: 'k1' })
    await begin({ idempotency_key: 'k2' })
  })

  test(`${name}: beyond MAX_RUNS nothing is started and the key is not burnt`, async (t) => {
    const { store, begin, finish } = await open(t, { maxRuns: 1 })
    const first = await begin({ idempotency_key: 'k1' })
    assert.equal((await store.admit(admission({ idempotency_key: 'k2' }))).kind, 'overloaded')
    await finish(first)
    await begin({ idempotency_key: 'k2' })
  })

  test(`${name}: whoever waits for the end gets the view with the result, also after it`, async (t) => {
    const { store, begin, finish } = await open(t)
    const runId = await begin()
    const waiting = store.waitForEnd(runId, new AbortController().signal)
    await finish(runId, '{"a":1}')
    assert.equal((await waiting)?.result?.json, '{"a":1}')
    assert.equal((await store.waitForEnd(runId, new AbortController().signal))?.status, 'completed')
    assert.equal(await store.waitForEnd('run_nobody', new AbortController().signal), null)
  })

  test(`${name}: a wait that is given up leaves nothing behind`, async (t) => {
    const { store, begin } = await open(t)
    const runId = await begin()
    const controller = new AbortController()
    const waiting = store.waitForEnd(runId, controller.signal)
    controller.abort()
    assert.equal((await waiting)?.result, null)
  })

  test(`${name}: a cancel is a request that reaches the lease, and tells where there is nothing to cancel`, async (t) => {
    const { store, begin, finish, leases } = await open(t)
    const runId = await begin()
    assert.equal(await store.requestCancel(runId), 'requested')
    assert.equal(leases.get(runId)?.cancelled.aborted, true)
    await finish(runId)
    assert.equal(await store.requestCancel(runId), 'ended')
    assert.equal(await store.requestCancel('run_nobody'), 'none')
  })

  test(`${name}: SD-02: stored results go after their time, undelivered ones are journalled when they go and free the session`, async (t) => {
    t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
    const { store, begin, finish, journal } = await open(t)
    const stored = await begin({ idempotency_key: 'k1' })
    const kept = await begin({ idempotency_key: 'k2', meta: { session_id: 's' } })
    await finish(stored)
    await finish(kept)
    await store.ack(stored)
    t.mock.timers.tick(30_000)
    assert.equal(await store.get(stored), null)
    assert.equal(await store.get(kept), null)
    assert.deepEqual(
      journal.filter(({ event }) => event === 'dropped_undelivered').map(({ run_id }) => run_id),
      [kept],
    )
    await begin({ idempotency_key: 'k3', meta: { session_id: 's' } })
  })

  test(`${name}: SD-02: memory is bounded by count, oldest stored first`, async (t) => {
    const { store, begin, finish } = await open(t, { maxResults: 10, maxRuns: 1000 })
    const ids: string[] = []
    for (let index = 0; index < 50; index += 1) {
      const runId = await begin({ idempotency_key: `k${index}` })
      await finish(runId)
      await store.ack(runId)
      ids.push(runId)
    }
    const left = await Promise.all(ids.map((runId) => store.get(runId)))
    assert.ok(left.filter((view) => view !== null).length <= 10)
    assert.notEqual(left.at(-1), null)
  })

  test(`${name}: drain resolves when the last run has ended`, async (t) => {
    const { queue, begin, finish } = await open(t)
    const runId = await begin()
    const drained = queue.drain(new AbortController().signal)
    await finish(runId)
    await drained
    await queue.drain(new AbortController().signal)
  })

  test(`${name}: counts tell what is running and what nobody has stored`, async (t) => {
    const { store, begin, finish } = await open(t)
    const first = await begin({ idempotency_key: 'k1' })
    await begin({ idempotency_key: 'k2' })
    await finish(first)
    assert.deepEqual(await store.counts(), { running: 1, undelivered: 1 })
  })

  test(`${name}: the same key at once with another body: one run, and each of the others is a conflict`, async (t) => {
    const { store, leases } = await open(t)
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store.admit(admission({}, index % 2 === 0 ? 'f' : 'g'))),
    )
    assert.deepEqual(
      ['new', 'repeat', 'conflict'].map((kind) => outcomes.filter((outcome) => outcome.kind === kind).length),
      [1, 9, 10],
    )
    assert.equal(leases.size, 1)
  })

  test(`${name}: ID-03: a key that was refused for its session or for want of room is not burnt`, async (t) => {
    const { store, begin, finish } = await open(t, { maxRuns: 2 })
    const first = await begin(session('k1'))
    assert.equal((await store.admit(admission(session('k2')))).kind, 'run_active')
    await begin({ idempotency_key: 'k3' })
    assert.equal((await store.admit(admission({ idempotency_key: 'k4' }))).kind, 'overloaded')
    await finish(first)
    await store.ack(first)
    await begin(session('k2'))
    assert.equal((await store.admit(admission({ idempotency_key: 'k4' }))).kind, 'overloaded')
  })

  test(`${name}: ID-03: a key is known before its session's lock is looked at, while the run goes on, after it and when it is stored`, async (t) => {
    const { store, begin, finish } = await open(t)
    const runId = await begin(session('k1'))
    const repeat = () => store.admit(admission(session('k1')))
    assert.deepEqual(await repeat(), { kind: 'repeat', runId })
    await finish(runId)
    assert.deepEqual(await repeat(), { kind: 'repeat', runId })
    await store.ack(runId)
    const next = await begin(session('k2'))
    assert.deepEqual(await repeat(), { kind: 'repeat', runId })
    assert.notEqual(next, runId)
  })

  test(`${name}: ID-04: a session of another tenant, and one without a tenant, are other sessions`, async (t) => {
    const { begin } = await open(t)
    await begin({ idempotency_key: 'k1', meta: { session_id: 's' } })
    await begin({ idempotency_key: 'k2', meta: { session_id: 's', tenant_id: 'a' } })
    await begin({ idempotency_key: 'k3', meta: { session_id: 's', tenant_id: 'b' } })
  })

  test(`${name}: ID-05: a lock outlasts the key it came with, and a late end takes nothing back`, async (t) => {
    t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
    const { store, begin, finish, leases } = await open(t, { undeliveredTtlMs: 604_800_000 })
    const first = await begin(session('k1'))
    t.mock.timers.tick(24 * 3600 * 1000 + 1)
    assert.deepEqual(await store.admit(admission(session('k1'))), { kind: 'run_active', runId: first })
    await finish(first)
    assert.deepEqual(await store.admit(admission(session('k1'))), { kind: 'result_pending', runId: first })
    await store.ack(first)
    const second = await begin(session('k1'))
    // The loop of the first says once more that it has ended.
    assert.equal(leases.size, 2)
    await store.delivered(first)
    await store.noteDelivery(first, attempt, 'undelivered')
    assert.equal((await store.get(first))?.delivery.state, 'acked')
    assert.deepEqual(await store.admit(admission(session('k2'))), { kind: 'run_active', runId: second })
  })

  test(`${name}: ID-05: what is dropped frees its own session and no other's`, async (t) => {
    const { store, begin, finish } = await open(t, { maxResults: 1 })
    const first = await begin(session('k1'))
    await finish(first)
    await store.ack(first)
    const second = await begin(session('k2'))
    await finish(await begin({ idempotency_key: 'k3' }))
    assert.equal(await store.get(first), null)
    assert.deepEqual(await store.admit(admission(session('k4'))), { kind: 'run_active', runId: second })
  })

  test(`${name}: CB-05: a result that is still tried outlasts its time; it runs from the last attempt, and an ack ends it sooner`, async (t) => {
    t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
    const { store, begin, finish, journal, told } = await open(t, { undeliveredTtlMs: 100_000 })
    const runId = await begin({ ...callback, ...session('k1') })
    await finish(runId)
    t.mock.timers.tick(300_000)
    assert.equal((await store.get(runId))?.delivery.state, 'pending')
    await store.noteDelivery(runId, attempt, 'undelivered')
    t.mock.timers.tick(60_000)
    assert.equal((await store.get(runId))?.delivery.state, 'undelivered')
    assert.equal((await store.admit(admission(session('k2')))).kind, 'result_pending')
    t.mock.timers.tick(60_000)
    assert.equal(await store.get(runId), null)
    // Nothing is tried for what is not kept.
    assert.deepEqual(told, [`stop ${runId}`])
    assert.deepEqual(
      journal.map(({ event }) => event).filter((event) => /undelivered/.test(event)),
      ['undelivered', 'dropped_undelivered'],
    )
    await begin(session('k2'))
  })

  test(`${name}: a receiver that is gone: the run keeps its result and its session until an ack`, async (t) => {
    const { store, begin, finish, journal } = await open(t)
    const runId = await begin({ ...callback, ...session('k1') })
    await finish(runId)
    await store.noteDelivery(runId, { ...attempt, status: 410, fault: 'gone' }, 'gone')
    const view = await store.get(runId)
    assert.deepEqual([view?.state, view?.delivery.state, view?.result?.json], ['ended', 'gone', '{}'])
    assert.deepEqual(
      journal.filter(({ event }) => event === 'undelivered').map(({ gone }) => gone),
      [true],
    )
    assert.equal((await store.admit(admission(session('k2')))).kind, 'result_pending')
    await store.ack(runId)
    await begin(session('k2'))
  })

  test(`${name}: attempts are bounded: the last fifty stand there, the others are counted`, async (t) => {
    const { store, begin, finish } = await open(t)
    const runId = await begin(callback)
    await finish(runId)
    for (let attempts = 1; attempts <= 60; attempts += 1)
      await store.noteDelivery(runId, { ...attempt, duration_ms: attempts }, 'pending')
    const delivery = (await store.get(runId))?.delivery
    assert.deepEqual(
      [delivery?.attempts.length, delivery?.attempts[0]?.duration_ms, delivery?.attempts_left_off],
      [50, 11, 10],
    )
  })

  test(`${name}: redeliver: running, unknown and without a callback are told; what nobody has is pending again`, async (t) => {
    const { store, begin, finish, told } = await open(t)
    assert.equal(await store.redeliver('run_nobody'), 'run_not_found')
    const bare = await begin({ idempotency_key: 'k1' })
    assert.equal(await store.redeliver(bare), 'run_active')
    await finish(bare)
    assert.equal(await store.redeliver(bare), 'no_callback')
    for (const state of ['undelivered', 'gone', 'pending'] as const) {
      const runId = await begin({ ...callback, idempotency_key: state })
      assert.equal(await store.redeliver(runId), 'run_active')
      await finish(runId)
      await store.noteDelivery(runId, attempt, state)
      told.length = 0
      assert.equal(await store.redeliver(runId), 'begun')
      assert.deepEqual([(await store.get(runId))?.delivery.state, told], ['pending', [`again ${runId} false`]])
    }
  })

  test(`${name}: redeliver of what the harness has leaves it stored and its session free, and an ack stops it`, async (t) => {
    const { store, begin, finish, told } = await open(t)
    for (const how of ['acked', 'delivered'] as const) {
      const runId = await begin({ ...callback, ...session(how) })
      await finish(runId)
      if (how === 'acked') await store.ack(runId)
      else await store.delivered(runId)
      told.length = 0
      assert.equal(await store.redeliver(runId), 'begun')
      assert.deepEqual(told, [`again ${runId} true`])
      const next = await begin(session(`${how} next`))
      await store.noteDelivery(runId, attempt, 'pending')
      await store.noteDelivery(runId, { ...attempt, status: 200, fault: null }, 'delivered')
      await store.delivered(runId)
      const view = await store.get(runId)
      assert.deepEqual([view?.state, view?.delivery.state, view?.delivery.attempts.length], ['stored', how, 2])
      assert.equal((await store.admit(admission(session(`${how} more`)))).kind, 'run_active')
      assert.equal(await store.ack(runId), 'stored')
      assert.deepEqual(told.slice(1), [`stop ${runId}`])
      await finish(next)
      await store.ack(next)
    }
  })
}
