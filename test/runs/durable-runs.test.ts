/** Runs with a STATE_DIR: what the next life finds after the process went at any moment, and what a broken disk does. */
import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { Json } from '../../src/contract/json.ts'
import { callId, type RunId } from '../../src/contract/ids.ts'
import type { NewMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { collectGarbage } from '../../src/load/collect-garbage.ts'
import { createDurableRuns, type DurableRunsOptions } from '../../src/runs/durable-runs.ts'
import type { Admission, DeliveryAttempt, RunLease } from '../../src/runs/ports.ts'
import { createSealer } from '../../src/runs/sealer.ts'
import { scanFrames } from '../../src/runs/spool-frames.ts'
import { loadRuns } from '../../src/runs/spool-load.ts'
import { takeLock } from '../../src/runs/state-lock.ts'
import { say } from '../fakes/engine.ts'
import { runRequest, tool, userMessage } from '../fakes/run-request.ts'
import { pathOf, titles } from '../fakes/state-files.ts'

const sealer = createSealer(['a-secret-of-the-test'])
const limits = {
  resultTtlMs: 3_600_000,
  undeliveredTtlMs: 86_400_000,
  maxResults: 100,
  maxResultBytes: 1_000_000,
  maxRuns: 100,
}

type Parts = { readonly [key: string]: Json }

function admission(parts: Parts = {}, fingerprint = 'f'): Admission {
  return { request: runRequest(parts), warnings: [], fingerprint }
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'durable-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const done: StreamEvent = {
  event: 'done',
  data: { status: 'completed', stop_reason: 'end_turn', limit_reached: null, error: null, pending: 0 },
}

/** One life. It ends without a farewell unless it is closed; a later one reads a copy of what it left. */
async function live(t: TestContext, directory: string, options: Partial<DurableRunsOptions> = {}) {
  const journal: JournalEntry[] = []
  const leases = new Map<string, RunLease>()
  const runs = createDurableRuns({
    ...limits,
    directory,
    sealer,
    maxBytes: 1e9,
    journal: (entry) => journal.push(entry),
    outbox: { stop: () => {}, again: () => {} },
    onLeft: () => {},
    ticket: () => 'ticket',
    say,
    ...options,
  })
  t.after(() => runs.close())
  const recovery = await runs.recover()
  assert.ok(recovery.ok)
  runs.queue.start(async (lease) => void leases.set(lease.runId, lease))
  const begin = async (parts: Parts = {}) => {
    const outcome = await runs.store.admit(admission(parts))
    assert.ok(outcome.kind === 'new', outcome.kind)
    const lease = leases.get(outcome.runId)
    assert.ok(lease !== undefined)
    return { runId: outcome.runId, lease, record: await lease.load() }
  }
  const finish = async ({ lease, record }: Awaited<ReturnType<typeof begin>>, text = 'Done.') => {
    const json = JSON.stringify({ steps: 1, text })
    await lease.finish(record, { json, status: 'completed' }, done)
  }
  return { ...runs, journal, leases, begin, finish, undelivered: recovery.undelivered, again: recovery.again }
}

/** What would be there had the process gone now. */
function snapshot(t: TestContext, directory: string): string {
  const copy = folder(t)
  cpSync(directory, copy, { recursive: true })
  rmSync(join(copy, 'lock'), { force: true })
  return copy
}

const session = (key: string): Parts => ({ idempotency_key: key, meta: { session_id: 's' } })
const callback: Parts = { callback: { url: 'https://shop.example/result', headers: { Authorization: 'cb-SECRET' } } }

test('what was taken is there for the next life, ended, locked, and to be delivered', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const { runId } = await first.begin({ ...session('k1'), ...callback })
  const second = await live(t, snapshot(t, directory))
  assert.deepEqual(second.undelivered, [runId])
  const view = await second.store.get(runId)
  const result = JSON.parse(view?.result?.json ?? '') as RunResult
  assert.deepEqual([view?.status, result.error?.code], ['failed', 'engine_restarted'])
  assert.equal(result.error?.message, say('engine_restarted'))
  assert.deepEqual(await second.store.callback(runId), admission(callback).request.callback)
  assert.deepEqual(await second.store.admit(admission({ ...session('k1'), ...callback })), { kind: 'repeat', runId })
  assert.deepEqual(await second.store.admit(admission(session('k1'), 'g')), { kind: 'conflict', runId })
  assert.deepEqual(await second.store.admit(admission(session('k2'))), { kind: 'result_pending', runId })
  assert.deepEqual(await second.store.counts(), { running: 0, undelivered: 1 })
  assert.equal(second.journal.filter(({ event }) => event === 'ended').length, 1)
  await second.store.delivered(runId)
  await second.begin(session('k2'))
})

/** A message of a step that called a tool. */
function said(id: RunId, text: string): NewMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    provider: null,
    model: null,
    stop_reason: 'tool_calls',
    created_at: '2026-11-30T12:00:00.000Z',
    run_id: id,
    seq: 0,
  }
}

const attempt: DeliveryAttempt = {
  at: '2026-11-30T12:00:00.000Z',
  status: 500,
  content_type: null,
  fault: 'status',
  error: null,
  duration_ms: 1,
  next_at: null,
}

test('a receiver that is gone stays gone in the next life, until it is asked for again', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const run = await first.begin({ ...session('k1'), ...callback })
  await first.finish(run)
  await first.store.noteDelivery(run.runId, attempt, 'pending')
  await first.store.noteDelivery(run.runId, { ...attempt, status: 410, fault: 'gone' }, 'gone')
  const second = await live(t, snapshot(t, directory))
  assert.deepEqual([second.undelivered, second.again], [[], []])
  const delivery = (await second.store.get(run.runId))?.delivery
  assert.deepEqual([delivery?.state, delivery?.attempts.map(({ status }) => status)], ['gone', [500, 410]])
  assert.equal((await second.store.admit(admission(session('k2')))).kind, 'result_pending')
  await first.store.redeliver(run.runId)
  const third = await live(t, snapshot(t, directory))
  assert.deepEqual([third.undelivered, third.again], [[run.runId], []])
  assert.equal((await third.store.get(run.runId))?.delivery.state, 'pending')
})

test('what is sent again though the harness has it goes on in the next life, until something has come of it', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const run = await first.begin({ ...session('k1'), ...callback })
  await first.finish(run)
  await first.store.noteDelivery(run.runId, { ...attempt, status: 200, fault: null }, 'delivered')
  await first.store.delivered(run.runId)
  const nextLife = async () => {
    const next = await live(t, snapshot(t, directory))
    assert.equal((await next.store.get(run.runId))?.state, 'stored')
    assert.equal((await next.store.get(run.runId))?.delivery.state, 'delivered')
    assert.deepEqual(next.undelivered, [])
    await next.begin(session('k2'))
    return next.again
  }
  assert.deepEqual(await nextLife(), [])
  for (const end of [
    () => first.store.delivered(run.runId),
    () => first.store.ack(run.runId),
    () => first.store.noteDelivery(run.runId, attempt, 'undelivered'),
  ]) {
    assert.equal(await first.store.redeliver(run.runId), 'begun')
    assert.deepEqual(await nextLife(), [run.runId])
    await first.store.noteDelivery(run.runId, attempt, 'pending')
    assert.deepEqual(await nextLife(), [run.runId])
    await end()
    assert.deepEqual(await nextLife(), [])
  }
})

test('what a run writes beside its steps is few: its end is one write, and so are its delivery and what it made of it', async (t) => {
  const writes: number[] = []
  const first = await live(t, folder(t), { onWrite: ({ bytes }) => writes.push(bytes) })
  const run = await first.begin({ ...session('k1'), ...callback })
  await first.finish(run)
  assert.equal(writes.length, 2)
  await first.store.noteDelivery(run.runId, { ...attempt, status: 200, fault: null }, 'delivered')
  await first.store.delivered(run.runId)
  await new Promise(setImmediate)
  assert.equal(writes.length, 3)
  // Alone it is written all the same.
  await first.store.noteDelivery(run.runId, { ...attempt, status: 200, fault: null }, 'delivered')
  while (writes.length === 3) await new Promise(setImmediate)
})

test('what comes between two requests is one write, made before the second leaves; without one it is made at the end of the turn', async (t) => {
  const directory = folder(t)
  const writes: number[] = []
  const first = await live(t, directory, { onWrite: ({ bytes }) => writes.push(bytes) })
  const { runId, lease, record } = await first.begin()
  assert.equal(writes.length, 1)
  for (const point of ['tool_result', 'step', 'attempt'] as const) {
    record.steps += 1
    await lease.commit(record, point)
  }
  assert.equal(writes.length, 2)
  for (const point of ['answer', 'tool_result'] as const) {
    record.steps += 1
    await lease.commit(record, point)
  }
  assert.equal(writes.length, 2)
  await new Promise(setImmediate)
  assert.equal(writes.length, 3)
  const next = await live(t, snapshot(t, directory))
  assert.equal((JSON.parse((await next.store.get(runId))?.result?.json ?? '') as RunResult).steps, 5)
  // What was to be written soon goes with the end.
  record.steps += 1
  await lease.commit(record, 'step')
  await lease.finish(record, { json: '{}', status: 'completed' }, done)
  await new Promise(setImmediate)
  assert.equal(writes.length, 4)
})

test('a life that ends while it takes up another leaves the same result to the next', async (t) => {
  const directory = folder(t)
  const { runId } = await (await live(t, directory)).begin(callback)
  const copy = snapshot(t, directory)
  const second = await live(t, copy)
  const third = await live(t, snapshot(t, copy))
  const [one, two] = [await second.store.get(runId), await third.store.get(runId)]
  assert.equal(one?.result?.json, two?.result?.json)
  assert.deepEqual(third.undelivered, [runId])
})

test('calls decided are written before the first is sent, and each answer stands in the end as far as it was written', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const { runId, lease, record } = await first.begin({ tools: [tool('a'), tool('b')] })
  const call = {
    args: {},
    argsHash: 'h',
    effect: 'read' as const,
    decision: { kind: 'send' as const },
    attempts: 0,
    outcome: null,
  }
  const [one, two] = [
    { ...call, tool: 'a', callId: callId('a') },
    { ...call, tool: 'b', callId: callId('b') },
  ]
  record.steps = 1
  record.batch = { step: 1, calls: [one, two] }
  await lease.commit(record, 'tool_attempt')
  const resultAt = async () => {
    const next = await live(t, snapshot(t, directory))
    const { tool_calls } = JSON.parse((await next.store.get(runId))?.result?.json ?? '') as RunResult
    return tool_calls.map(({ status }) => status)
  }
  assert.deepEqual(await resultAt(), ['not_sent', 'not_sent'])
  Object.assign(one, { attempts: 1 })
  await lease.commit(record, 'tool_attempt')
  assert.deepEqual(await resultAt(), ['unknown', 'not_sent'])
  Object.assign(one, { outcome: { kind: 'deferred', operationId: 'op', attempts: 1, durationMs: 1, resultBytes: 0 } })
  Object.assign(two, { attempts: 2 })
  await lease.commit(record, 'tool_attempt')
  assert.deepEqual(await resultAt(), ['deferred', 'unknown'])
})

test('what was shown of a step that was cut stays, up to its last two seconds, until a message keeps it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const directory = folder(t)
  const first = await live(t, directory)
  const { runId, lease, record } = await first.begin()
  record.steps = 1
  record.attempting = { attempt: 1, target: 0 }
  await lease.commit(record, 'tool_attempt')
  const resultNow = async () => {
    // What was told in this turn is written by the next.
    await new Promise(setImmediate)
    const next = await live(t, snapshot(t, directory))
    const result = JSON.parse((await next.store.get(runId))?.result?.json ?? '') as RunResult
    return [result.text, result.messages.map((message) => ('stop_reason' in message ? message.stop_reason : ''))]
  }
  const show = (offset: number, text: string) => lease.append({ event: 'delta', data: { step: 1, offset, text } })
  show(0, 'Half ')
  show(5, 'of it')
  assert.deepEqual(await resultNow(), ['', []])
  t.mock.timers.tick(2000)
  show(10, ' and more')
  assert.deepEqual(await resultNow(), ['Half of it', ['error']])
  lease.append({ event: 'reset', data: { step: 1, reason: 'retry' } })
  assert.deepEqual(await resultNow(), ['', []])
  show(0, 'Other.')
  t.mock.timers.tick(2000)
  assert.deepEqual(await resultNow(), ['Other.', ['error']])
  show(6, ' And')
  record.messages.push(said(runId, 'Other. And'))
  record.attempting = null
  await lease.commit(record, 'tool_attempt')
  t.mock.timers.tick(2000)
  // Of the message now, and not stored twice.
  assert.deepEqual(await resultNow(), ['Other. And', ['tool_calls']])
})

test('once no run goes on, nobody looks for what is shown', async (t) => {
  const first = await live(t, folder(t))
  const begun = t.mock.method(globalThis, 'setInterval')
  const ended = t.mock.method(globalThis, 'clearInterval')
  const runs = [await first.begin({ idempotency_key: 'k1' }), await first.begin({ idempotency_key: 'k2' })] as const
  const counts = () => [begun.mock.callCount(), ended.mock.callCount()]
  assert.deepEqual(counts(), [1, 0])
  await first.finish(runs[0])
  assert.deepEqual(counts(), [1, 0])
  await first.finish(runs[1])
  assert.deepEqual(counts(), [1, 1])
})

test('a run has one file, from its beginning to its ack, and of its request only what its end is told with is in it', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const llm = {
    provider: 'openai-compatible',
    model: 'the-model',
    base_url: 'https://llm-SECRET.example',
    api_key: 'key-SECRET',
    params: { extra: { user: 'extra-SECRET' } },
    pricing: { currency: 'USD', input: 1, output: 2 },
  }
  const headers = { Authorization: 'tool-SECRET' }
  const run = await first.begin({
    llm: { ...llm, fallbacks: [{ ...llm, model: 'another-model' }] },
    system: 'system-SECRET',
    messages: [{ ...userMessage('message-SECRET') }],
    tools: [
      tool('name_SECRET', { description: 'description-SECRET', url: 'https://tool.example/url-SECRET', headers }),
    ],
    output: { schema: { type: 'object', description: 'output-SECRET' } },
    meta: { session_id: 's', order: 7 },
    ...callback,
  })
  const frames = () => {
    const title = `${run.runId}.run`
    assert.deepEqual([...titles(directory).keys()], [title])
    const scan = scanFrames(readFileSync(pathOf(directory, title)), sealer)
    return scan.kind === 'read' ? scan.frames.map(String) : []
  }
  assert.equal(frames().length, 1)
  await first.finish(run)
  await first.store.ack(run.runId)
  assert.equal(frames().length, 3)
  const text = frames().join('\n')
  assert.deepEqual(new Set(text.match(/[a-z_-]+SECRET/g)), new Set(['cb-SECRET']))
  assert.match(text, /the-model[^]*another-model/)
  assert.match(text, /"order":7/)
})

test('of a run that was cut by a kill the journal is told no text: it may hold a secret, and those are known no more', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const { lease, record } = await first.begin()
  record.steps = 1
  record.messages.push(said(record.runId, 'key-SECRET'))
  await lease.commit(record, 'tool_attempt')
  const told: unknown[] = []
  const journal: DurableRunsOptions['journal'] = (entry, content) => void told.push(entry.event, content?.())
  const second = await live(t, snapshot(t, directory), { journal })
  assert.match((await second.store.get(record.runId))?.result?.json ?? '', /key-SECRET/)
  assert.deepEqual(told, ['ended', undefined])
})

test('an attempt that was cut is told with what its request weighed, as far as words go and images are reckoned', async (t) => {
  const image = (size: number) => ({ type: 'image', mime_type: 'image/png', data: 'A'.repeat(size) })
  const weightOf = async (...parts: object[]) => {
    const directory = folder(t)
    const content = [{ type: 'text', text: 'See.' }, ...parts]
    const messages = [{ ...userMessage(''), content }] as unknown as Json
    const tools = [tool('a', { description: 'd'.repeat(4000) })]
    const run = await (await live(t, directory)).begin({ system: 's'.repeat(4000), messages, tools })
    run.record.steps = 1
    run.record.attempting = { attempt: 1, target: 0 }
    run.record.messages.push(said(run.runId, 'a'.repeat(4000)))
    await run.lease.commit(run.record, 'tool_attempt')
    const next = await live(t, snapshot(t, directory))
    const result = JSON.parse((await next.store.get(run.runId))?.result?.json ?? '') as RunResult
    return result.usage.input_tokens
  }
  const words = await weightOf()
  assert.ok(words > 3000 && words < 3150, `${words}`)
  const one = await weightOf(image(40_000))
  assert.ok(one > words + 1000 && one < words + 2000, `${one}`)
  assert.equal(await weightOf(image(400_000)), one)
})

test('whatever byte a file ends at, the next life starts: with the run, or without what was never promised', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const run = await first.begin({ ...session('k1'), ...callback })
  run.record.steps = 1
  await run.lease.commit(run.record, 'tool_attempt')
  const going = snapshot(t, directory)
  await first.finish(run)
  await first.store.ack(run.runId)
  const ended = snapshot(t, directory)
  const torn = folder(t)
  const options = { directory: torn, sealer, unreadableTtlMs: 1000 }
  // Of a run that was cut, the end stands in a file of its own.
  const cut = snapshot(t, going)
  await (await live(t, cut)).store.ack(run.runId)
  for (const [source, title] of [
    [ended, `${run.runId}.run`],
    [cut, `${run.runId}.ended`],
  ] as const) {
    const bytes = readFileSync(pathOf(source, title))
    const name = '1.run'
    const kinds: string[] = []
    for (let length = 0; length <= bytes.length; length += 1) {
      writeFileSync(join(torn, name), bytes.subarray(0, length))
      const left = await Array.fromAsync(loadRuns(options))
      assert.ok(left.length <= 1)
      const kind = left[0]?.kind ?? 'none'
      if (kinds.at(-1) !== kind) kinds.push(kind)
    }
    assert.deepEqual(kinds, title.endsWith('.run') ? ['none', 'cut', 'ended'] : ['none', 'ended'])
    rmSync(join(torn, name))
  }
  // A result that was not whole yet: what led to it counts.
  cpSync(going, torn, { recursive: true })
  writeFileSync(join(torn, '2.run'), readFileSync(pathOf(cut, `${run.runId}.ended`)).subarray(0, 400))
  const next = await live(t, torn)
  assert.equal((await next.store.get(run.runId))?.status, 'failed')
  assert.deepEqual([...titles(torn).keys()], [`${run.runId}.ended`])
})

test('an ack is on the disk when it is answered, and a key outlives its run', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory, { maxResults: 1 })
  const run = await first.begin({ ...session('k1'), ...callback })
  await first.finish(run)
  assert.equal(await first.store.ack(run.runId), 'stored')
  const second = await live(t, snapshot(t, directory))
  assert.deepEqual(second.undelivered, [])
  assert.equal((await second.store.get(run.runId))?.delivery.state, 'acked')
  assert.equal(await second.store.ack(run.runId), 'stored')
  await second.begin(session('k2'))

  await first.finish(await first.begin(session('k3')))
  assert.equal(await first.store.get(run.runId), null)
  await first.close()
  assert.equal(readdirSync(directory).filter((name) => name.startsWith('keys-')).length, 1)
  const third = await live(t, snapshot(t, directory))
  assert.deepEqual(await third.store.admit(admission(session('k1'))), { kind: 'repeat', runId: run.runId })
  assert.equal((await third.store.admit(admission(session('k1'), 'g'))).kind, 'conflict')
})

test('a reader of the life before gets resync, the text and the end; its old ids are not taken for new ones', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const run = await first.begin()
  await first.finish(run, 'The text.')
  const second = await live(t, snapshot(t, directory))
  const never = new AbortController().signal
  for (const id of ['0-1', '1-1', '2-9', '3-1']) {
    const reading = await second.events.read(run.runId, id, never)
    assert.equal(reading?.atEnd, false)
    const events = await Array.fromAsync(reading?.events ?? [])
    assert.deepEqual(
      events.map(({ event }) => event.event),
      ['resync', 'start', 'step', 'delta', 'done'],
    )
    assert.deepEqual(events[0]?.event.data, { step: 1, text: 'The text.' })
    assert.equal((await second.events.read(run.runId, events.at(-1)?.id, never))?.atEnd, true)
  }
})

test('of fifty equal posts at once one run is taken, and all wait until it is on the disk', async (t) => {
  const { store } = await live(t, folder(t))
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.admit(admission())))
  assert.equal(outcomes.filter(({ kind }) => kind === 'new').length, 1)
  assert.equal(outcomes.filter(({ kind }) => kind === 'repeat').length, 49)
})

test('a run that cannot be written is taken back: its key, its session and its place are free', async (t) => {
  const directory = folder(t)
  const { store, queue, leases, journal, events } = await live(t, directory, { maxRuns: 1, maxBytes: 10 })
  for (let attempts = 0; attempts < 2; attempts += 1) {
    const outcomes = await Promise.all([store.admit(admission(session('k1'))), store.admit(admission(session('k1')))])
    assert.deepEqual(outcomes, [{ kind: 'not_kept' }, { kind: 'not_kept' }])
  }
  assert.deepEqual(await store.counts(), { running: 0, undelivered: 0 })
  await queue.drain(new AbortController().signal)
  assert.deepEqual(
    journal.filter(({ event }) => event === 'state_lost').map(({ what, code }) => [what, code]),
    [
      ['accepted', 'STATE_FULL'],
      ['accepted', 'STATE_FULL'],
    ],
  )
  // Its loop was told to stop, and what it still says is void.
  const [lease] = leases.values()
  assert.ok(lease?.cancelled.aborted)
  await lease.finish(await lease.load(), { json: '{}', status: 'cancelled' }, done)
  assert.equal(await store.get(lease.runId), null)
  assert.equal(await events.read(lease.runId, undefined, lease.lost), null)
  assert.equal(titles(directory).size, 0)
})

test('of a run that could not be taken nothing is held once its loop has ended', async (t) => {
  const { store, leases } = await live(t, folder(t), { maxBytes: 10 })
  const refuse = async () => {
    const refused = admission(callback)
    assert.deepEqual(await store.admit(refused), { kind: 'not_kept' })
    return new WeakRef(refused.request.limits)
  }
  const end = async () => {
    for (const lease of leases.values())
      await lease.finish(await lease.load(), { json: '{}', status: 'cancelled' }, done)
    leases.clear()
  }
  const held = await refuse()
  await end()
  // What a turn of the loop has looked at is held until its end.
  await new Promise(setImmediate)
  collectGarbage()
  assert.equal(held.deref(), undefined)
})

test('what is there counts against what may be, in the next life too, and counts no more once it is let go of', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory, { maxBytes: 20_000 })
  await first.finish(await first.begin(), 'x'.repeat(30_000))
  const outcomeIn = async ({ store }: typeof first) => (await store.admit(admission({ idempotency_key: 'k2' }))).kind
  assert.equal(await outcomeIn(first), 'not_kept')
  assert.equal(await outcomeIn(await live(t, snapshot(t, directory), { maxBytes: 20_000 })), 'not_kept')
  const copy = snapshot(t, directory)
  const third = await live(t, copy, { maxBytes: 20_000, maxResults: 0 })
  while (titles(copy).size > 0) await new Promise(setImmediate)
  assert.equal(await outcomeIn(third), 'new')
})

test('a folder that is removed while a run goes on: it ends in memory as ever, and the next is refused, and that is told', async (t) => {
  const directory = folder(t)
  const first = await live(t, directory)
  const run = await first.begin({ ...session('k1'), ...callback })
  rmSync(directory, { recursive: true })
  run.record.steps = 1
  await run.lease.commit(run.record, 'tool_attempt')
  await first.finish(run)
  assert.equal((await first.store.get(run.runId))?.status, 'completed')
  assert.equal(await first.store.ack(run.runId), 'stored')
  assert.equal((await first.store.admit(admission(session('k2')))).kind, 'not_kept')
  assert.deepEqual(
    first.journal.filter(({ event }) => event === 'state_lost').map(({ what, code }) => [what, code]),
    [['accepted', 'ENOENT']],
  )
})

test('files nobody can read are told and left alone', async (t) => {
  const directory = folder(t)
  const name = '1.run'
  writeFileSync(join(directory, name), 'noise')
  writeFileSync(join(directory, 'keys-1'), 'noise')
  writeFileSync(join(directory, 'README'), 'of the operator')
  // Reading a device or a pipe need not end.
  const device = '2.run'
  symlinkSync('/dev/null', join(directory, device))
  const { journal } = await live(t, directory)
  assert.deepEqual(
    journal.map(({ event, file }) => [event, file]),
    [
      ['state_unreadable', name],
      ['state_unreadable', device],
      ['state_unreadable', 'keys-1'],
    ],
  )
  assert.deepEqual(readdirSync(directory).toSorted(), [name, device, 'README', 'keys-1', 'lock'])
})

test('a lock holds against a living process, and is taken over from a dead one or a machine that fell silent', async (t) => {
  const path = join(folder(t), 'lock')
  const lock = (owner: object) => writeFileSync(path, JSON.stringify(owner))
  lock({ pid: process.ppid, host: hostname() })
  const held = await takeLock(path)
  assert.ok(!held.ok && held.reason.includes(`process ${process.ppid}`))
  lock({ pid: 1, host: 'elsewhere' })
  const away = await takeLock(path)
  assert.ok(!away.ok && away.reason.includes('elsewhere'))
  utimesSync(path, 0, 0)
  for (const owner of [null, { pid: 2 ** 30, host: hostname() }, { pid: process.pid, host: hostname() }]) {
    if (owner !== null) lock(owner)
    const taken = await takeLock(path)
    assert.ok(taken.ok)
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { pid: process.pid, host: hostname() })
    await taken.release()
  }
})
