import { test, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import type { JournalEntry } from '../../src/engine/ports.ts'
import type { Json } from '../../src/contract/json.ts'
import { createMemoryRuns, type MemoryRunsOptions } from '../../src/runs/memory-runs.ts'
import type { Admission, RunLease } from '../../src/runs/ports.ts'
import { runRequest } from '../fakes/run-request.ts'

const limits = { resultTtlMs: 1000, undeliveredTtlMs: 10_000, maxResults: 100, maxResultBytes: 1_000_000, maxRuns: 10 }

function admission(parts: { readonly [key: string]: Json } = {}, fingerprint = 'f'): Admission {
  return { request: runRequest(parts), warnings: [], fingerprint }
}

/** Runs stay open until the test finishes them. */
function open(t: TestContext, options: Partial<MemoryRunsOptions> = {}) {
  const journal: JournalEntry[] = []
  const leases = new Map<string, RunLease>()
  const runs = createMemoryRuns({ ...limits, journal: (entry) => journal.push(entry), onAcked: () => {}, ...options })
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
  const begin = async (parts: { readonly [key: string]: Json } = {}) => {
    const outcome = await runs.store.admit(admission(parts))
    assert.ok(outcome.kind === 'new', outcome.kind)
    await Promise.resolve()
    return outcome.runId
  }
  return { ...runs, journal, leases, finish, begin }
}

test('fifty equal posts at once start one run', async (t) => {
  const { store, leases } = open(t)
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.admit(admission())))
  assert.equal(outcomes.filter(({ kind }) => kind === 'new').length, 1)
  assert.equal(outcomes.filter(({ kind }) => kind === 'repeat').length, 49)
  assert.equal(new Set(outcomes.map((outcome) => ('runId' in outcome ? outcome.runId : ''))).size, 1)
  assert.equal(leases.size, 1)
})

test('ID-02: the same key with another body is a conflict, and the same key of another tenant is another request', async (t) => {
  const { store } = open(t)
  await store.admit(admission())
  assert.equal((await store.admit(admission({}, 'other'))).kind, 'conflict')
  assert.equal((await store.admit(admission({ meta: { tenant_id: 'b' } }, 'other'))).kind, 'new')
})

test('ID-03: a key is remembered after the end and the ack, and forgotten after a day', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
  const { store, begin, finish } = open(t)
  const runId = await begin()
  await finish(runId)
  await store.ack(runId)
  assert.deepEqual(await store.admit(admission()), { kind: 'repeat', runId })
  t.mock.timers.tick(24 * 3600 * 1000 + 1)
  assert.equal((await store.admit(admission())).kind, 'new')
})

test('ID-04: of ten runs on one session one starts, the others are told which is active', async (t) => {
  const { store } = open(t)
  const outcomes = await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      store.admit(admission({ idempotency_key: `k${index}`, meta: { session_id: 's' } })),
    ),
  )
  assert.equal(outcomes.filter(({ kind }) => kind === 'new').length, 1)
  assert.equal(outcomes.filter(({ kind }) => kind === 'run_active').length, 9)
})

test('ID-05: a session is locked until its result is stored, by delivery or ack, and free at once then', async (t) => {
  const { store, begin, finish } = open(t)
  const session = (key: string) => ({ idempotency_key: key, meta: { session_id: 's' } })
  const first = await begin(session('k1'))
  await finish(first)
  assert.deepEqual(await store.admit(admission(session('k2'))), { kind: 'result_pending', runId: first })
  await store.delivered(first)
  const second = await begin(session('k3'))
  await finish(second)
  assert.equal(await store.ack(second), 'stored')
  await begin(session('k4'))
})

test('ID-06: only the run that holds a session frees it', async (t) => {
  const { store, begin, finish } = open(t)
  const session = (key: string) => ({ idempotency_key: key, meta: { session_id: 's' } })
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

test('runs without a session do not lock one another', async (t) => {
  const { begin } = open(t)
  await begin({ idempotency_key: 'k1' })
  await begin({ idempotency_key: 'k2' })
})

test('beyond MAX_RUNS nothing is started and the key is not burnt', async (t) => {
  const { store, begin, finish } = open(t, { maxRuns: 1 })
  const first = await begin({ idempotency_key: 'k1' })
  assert.equal((await store.admit(admission({ idempotency_key: 'k2' }))).kind, 'overloaded')
  await finish(first)
  await begin({ idempotency_key: 'k2' })
})

test('whoever waits for the end gets the view with the result, also after it', async (t) => {
  const { store, begin, finish } = open(t)
  const runId = await begin()
  const waiting = store.waitForEnd(runId, new AbortController().signal)
  await finish(runId, '{"a":1}')
  assert.equal((await waiting)?.result?.json, '{"a":1}')
  assert.equal((await store.waitForEnd(runId, new AbortController().signal))?.status, 'completed')
  assert.equal(await store.waitForEnd('run_nobody', new AbortController().signal), null)
})

test('a wait that is given up leaves nothing behind', async (t) => {
  const { store, begin } = open(t)
  const runId = await begin()
  const controller = new AbortController()
  const waiting = store.waitForEnd(runId, controller.signal)
  controller.abort()
  assert.equal((await waiting)?.result, null)
})

test('a cancel is a request that reaches the lease, and tells where there is nothing to cancel', async (t) => {
  const { store, begin, finish, leases } = open(t)
  const runId = await begin()
  assert.equal(await store.requestCancel(runId), 'requested')
  assert.equal(leases.get(runId)?.cancelled.aborted, true)
  await finish(runId)
  assert.equal(await store.requestCancel(runId), 'ended')
  assert.equal(await store.requestCancel('run_nobody'), 'none')
})

test('SD-02: stored results go after their time, undelivered ones are journalled when they go and free the session', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: 0 })
  const { store, begin, finish, journal } = open(t)
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

test('SD-02: memory is bounded by count, oldest stored first', async (t) => {
  const { store, begin, finish } = open(t, { maxResults: 10, maxRuns: 1000 })
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

test('drain resolves when the last run has ended', async (t) => {
  const { queue, begin, finish } = open(t)
  const runId = await begin()
  const drained = queue.drain(new AbortController().signal)
  await finish(runId)
  await drained
  await queue.drain(new AbortController().signal)
})

test('counts tell what is running and what nobody has stored', async (t) => {
  const { store, begin, finish } = open(t)
  const first = await begin({ idempotency_key: 'k1' })
  await begin({ idempotency_key: 'k2' })
  await finish(first)
  assert.deepEqual(await store.counts(), { running: 1, undelivered: 1 })
})
