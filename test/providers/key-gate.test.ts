/** The queue before a provider key: its window as a rule, and who goes through it when. */
import assert from 'node:assert/strict'
import events from 'node:events'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { runId } from '../../src/contract/ids.ts'
import type { KeySlot } from '../../src/engine/ports.ts'
import { createKeyGate } from '../../src/providers/key-gate.ts'
import {
  type KeyEvent,
  type KeyWindow,
  LONGEST_PAUSE_MS,
  mayStart,
  next,
  openWindow,
} from '../../src/providers/key-window.ts'
import {
  askOf,
  at,
  error,
  interruption,
  openChain,
  openTap,
  startProvider,
  stream,
  textOf,
  TX,
  whole,
} from './chain.ts'

// ------------------------------------------------------------------------------------------------ the window

const limited = (window: KeyWindow, pauseMs = 0, now = 0): KeyWindow =>
  next(window, { kind: 'limited', round: window.round, now, pauseMs })

test('each window of successes raises the limit by one, up to the most', () => {
  let window = openWindow(2, 4)
  const limits: number[] = []
  for (let count = 0; count < 14; count += 1) {
    window = next(window, { kind: 'ok' })
    limits.push(window.limit)
  }
  assert.deepEqual(limits, [2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4])
})

test('being limited halves, never below one, and successes start anew', () => {
  const seven = { ...openWindow(7, 64), successes: 6 }
  const halved = limited(seven)
  assert.deepEqual([halved.limit, halved.successes], [3, 0])
  assert.equal(limited(limited(limited(halved))).limit, 1)
})

test('RF-06: requests that were under way together halve the window once, not each of them', () => {
  let window = openWindow(32, 64)
  const { round } = window
  for (let count = 0; count < 30; count += 1) {
    window = next(window, { kind: 'limited', round, now: 1_000, pauseMs: count * 100 })
  }
  assert.equal(window.limit, 16)
  assert.equal(window.pausedUntil, 3_900)
})

test('a pause only ever gets longer, is bounded, and holds every start back', () => {
  const paused = limited(limited(openWindow(8, 64), 5_000, 1_000), 1_000, 1_000)
  assert.equal(paused.pausedUntil, 6_000)
  assert.equal(mayStart(paused, 0, 5_999), false)
  assert.equal(mayStart(paused, 0, 6_000), true)
  assert.equal(limited(openWindow(8, 64), 7_200_000, 0).pausedUntil, LONGEST_PAUSE_MS)
})

test('an end of another kind changes nothing', () => {
  const window = openWindow(8, 64)
  assert.equal(next(window, { kind: 'other' }), window)
})

test('whatever happens the limit stays a whole number between one and the most', () => {
  const event = fc.oneof(
    fc.constant<KeyEvent>({ kind: 'ok' }),
    fc.constant<KeyEvent>({ kind: 'other' }),
    fc.record({
      kind: fc.constant('limited' as const),
      round: fc.nat(20),
      now: fc.nat(10_000),
      pauseMs: fc.integer({ min: -5, max: 1e9 }),
    }),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 70 }), fc.array(event, { maxLength: 300 }), (start, happened) => {
      const window = happened.reduce(next, openWindow(start, 64))
      assert.ok(Number.isInteger(window.limit) && window.limit >= 1 && window.limit <= 64)
      assert.ok(window.pausedUntil >= 0 && window.successes < window.limit)
    }),
  )
})

// ------------------------------------------------------------------------------------------------ the queue

const never = new AbortController().signal
const nothing = () => {}

async function held(slot: Promise<KeySlot | null>): Promise<KeySlot> {
  const got = await slot
  assert.ok(got !== null)
  return got
}

/** Starts waiting and notes the name when its turn has come. */
function wait(gate: ReturnType<typeof createKeyGate>, session: string, name: string, order: string[], signal = never) {
  return gate.acquire('key', session, signal, nothing).then((slot) => {
    if (slot !== null) order.push(name)
    return slot
  })
}

test('up to the limit nobody waits; the next one is told once that it does', async () => {
  const gate = createKeyGate({ startLimit: 2 })
  let queued = 0
  const count = () => (queued += 1)
  const first = await held(gate.acquire('key', 's', never, count))
  await held(gate.acquire('key', 's', never, count))
  assert.equal(queued, 0)
  const third = gate.acquire('key', 's', never, count)
  assert.equal(queued, 1)
  assert.deepEqual(gate.gauge(), { keys: 1, active: 2, waiting: 1, idle: 0 })
  first.release({ kind: 'other' })
  await held(third)
  assert.equal(queued, 1)
})

test('readings tell of all keys of a provider together, and never which', async () => {
  const gate = createKeyGate({ startLimit: 4, now: () => 1000 })
  const slot = await held(gate.acquire('openai:one', 's', never, nothing))
  await held(gate.acquire('openai:one', 's', never, nothing))
  for (let n = 0; n < 3; n += 1) void gate.acquire('kimi:two', `s${n}`, never, nothing, 2)
  const other = await held(gate.acquire('openai:three', 's', never, nothing))
  slot.release({ kind: 'ok' })
  other.release({ kind: 'limited', pauseMs: 5000 })
  assert.deepEqual(gate.readings(), [
    { provider: 'openai', keys: 2, paused: 1, active: 1, waiting: 0, smallestWindow: 2, largestWindow: 4 },
    { provider: 'kimi', keys: 1, paused: 0, active: 2, waiting: 1, smallestWindow: 2, largestWindow: 2 },
  ])
})

test('keys do not wait for each other', async () => {
  const gate = createKeyGate({ startLimit: 1 })
  await held(gate.acquire('one', 's', never, nothing))
  await held(gate.acquire('two', 's', never, nothing))
})

test('a session is served in order, and sessions take turns', async () => {
  const gate = createKeyGate({ startLimit: 1 })
  const order: string[] = []
  const slots = [wait(gate, 'a', 'a0', order)]
  for (const name of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) slots.push(wait(gate, name.slice(0, 1), name, order))
  for (const slot of slots.map((_slot, index) => index)) {
    while (order.length <= slot) await Promise.resolve()
    const name = order[slot] ?? ''
    const index = ['a0', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1'].indexOf(name)
    ;(await slots[index])?.release({ kind: 'other' })
  }
  assert.deepEqual(order, ['a0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  assert.equal(gate.gauge().keys, 0)
})

test('who comes last is served at the place it was told', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 12 }),
      async (sessions) => {
        const gate = createKeyGate({ startLimit: 1 })
        const holding = await held(gate.acquire('key', 'x', never, nothing))
        const order: number[] = []
        let told = 0
        const waiting = sessions.map(async (session, at) => {
          const slot = await gate.acquire('key', session, never, (position) => (told = position))
          order.push(at)
          slot?.release({ kind: 'other' })
        })
        holding.release({ kind: 'other' })
        await Promise.all(waiting)
        assert.equal(told, order.indexOf(sessions.length - 1) + 1)
      },
    ),
    { numRuns: 100 },
  ))

test('a waiter that is cancelled leaves the queue without a place, and leaves no listener', async () => {
  const gate = createKeyGate({ startLimit: 1 })
  const order: string[] = []
  const first = await held(gate.acquire('key', 'a', never, nothing))
  const cancel = new AbortController()
  const second = wait(gate, 'b', 'b', order, cancel.signal)
  const third = wait(gate, 'c', 'c', order)
  cancel.abort('cancelled')
  assert.equal(await second, null)
  first.release({ kind: 'other' })
  const slot = await held(third)
  assert.deepEqual(order, ['c'])
  slot.release({ kind: 'other' })
  assert.equal(await gate.acquire('key', 'b', cancel.signal, nothing), null)
  assert.deepEqual({ ...gate.gauge(), idle: 0 }, { keys: 0, active: 0, waiting: 0, idle: 0 })
  assert.equal(events.getEventListeners(cancel.signal, 'abort').length, 0)
})

test('an abort after the place was given changes nothing, and nobody listens for it any more', async () => {
  const gate = createKeyGate({ startLimit: 1 })
  const first = await held(gate.acquire('key', 'a', never, nothing))
  const cancel = new AbortController()
  const second = gate.acquire('key', 'b', cancel.signal, nothing)
  first.release({ kind: 'other' })
  assert.equal(events.getEventListeners(cancel.signal, 'abort').length, 0)
  cancel.abort('cancelled')
  ;(await held(second)).release({ kind: 'other' })
  assert.deepEqual(gate.gauge(), { keys: 0, active: 0, waiting: 0, idle: 1 })
})

test('who comes when a pause is just over waits behind those who waited through it', async () => {
  let now = 1_000
  const gate = createKeyGate({ startLimit: 2, now: () => now })
  ;(await held(gate.acquire('key', 'a', never, nothing))).release({ kind: 'limited', pauseMs: 50_000 })
  const order: string[] = []
  const cancel = new AbortController()
  const early = wait(gate, 'a', 'early', order, cancel.signal)
  // The clock has moved, the timer has not fired yet; the limit is 1.
  now = 51_000
  const late = wait(gate, 'b', 'late', order, cancel.signal)
  const slot = await held(early)
  assert.deepEqual(order, ['early'])
  slot.release({ kind: 'other' })
  await held(late)
})

test('RF-11: a place given back twice counts once', async () => {
  const gate = createKeyGate({ startLimit: 1 })
  const order: string[] = []
  const first = await held(gate.acquire('key', 'a', never, nothing))
  const waiting = [wait(gate, 'b', 'b', order), wait(gate, 'c', 'c', order)]
  first.release({ kind: 'other' })
  first.release({ kind: 'other' })
  first.release({ kind: 'limited', pauseMs: 60_000 })
  await waiting[0]
  assert.deepEqual(order, ['b'])
  assert.deepEqual(gate.gauge(), { keys: 1, active: 1, waiting: 1, idle: 0 })
})

test('RF-06: after a pause starting goes on at the lowered limit and grows by one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const gate = createKeyGate({ startLimit: 8 })
  const order: string[] = []
  const turns = async () => {
    for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
  }
  const first = await Promise.all(
    Array.from({ length: 8 }, (_each, index) => held(gate.acquire('key', `s${index}`, never, nothing))),
  )
  const later = Array.from({ length: 22 }, (_each, index) => wait(gate, `t${index}`, `t${index}`, order))
  for (const slot of first) slot.release({ kind: 'limited', pauseMs: 3_000 })
  await turns()
  assert.deepEqual(order, [])
  t.mock.timers.tick(2_999)
  await turns()
  assert.deepEqual(order, [])
  t.mock.timers.tick(1)
  await turns()
  assert.equal(order.length, 4)
  const underWay: number[] = []
  for (let done = 0; done < 22; done += 1) {
    ;(await later[done])?.release({ kind: 'ok' })
    await turns()
    underWay.push(gate.gauge().active)
  }
  assert.deepEqual(underWay.slice(0, 12), [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6])
  assert.deepEqual({ ...gate.gauge(), idle: 0 }, { keys: 0, active: 0, waiting: 0, idle: 0 })
})

test('what a key has learnt outlives its last request, for so many keys', async () => {
  const gate = createKeyGate({ startLimit: 2, idleKeys: 3 })
  const key = async (name: string, outcome: 'limited' | 'other') =>
    (await held(gate.acquire(name, 's', never, nothing))).release({ kind: outcome })
  await key('learnt', 'limited')
  await held(gate.acquire('learnt', 's', never, nothing))
  const second = gate.acquire('learnt', 's', never, nothing)
  assert.equal(gate.gauge().waiting, 1)
  void second
  for (let index = 0; index < 100; index += 1) await key(`key ${index}`, 'limited')
  assert.equal(gate.gauge().idle, 3)
})

test('never more than the window at once, and nothing is left, whatever the order of ends', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ session: fc.nat(3), cancel: fc.boolean(), twice: fc.boolean(), ok: fc.boolean() }), {
        maxLength: 60,
      }),
      async (waiters) => {
        const gate = createKeyGate({ startLimit: 2, mostLimit: 2 })
        let active = 0
        await Promise.all(
          waiters.map(async ({ cancel, ok, session, twice }, index) => {
            const controller = new AbortController()
            const slot = gate.acquire('key', String(session), controller.signal, nothing)
            if (cancel) queueMicrotask(() => controller.abort('cancelled'))
            const got = await slot
            if (got === null) return
            active += 1
            assert.ok(active <= 2)
            for (let turn = 0; turn < index % 5; turn += 1) await Promise.resolve()
            active -= 1
            got.release({ kind: ok ? 'ok' : 'other' })
            if (twice) got.release({ kind: 'other' })
          }),
        )
        assert.deepEqual({ ...gate.gauge(), idle: 0 }, { keys: 0, active: 0, waiting: 0, idle: 0 })
      },
    ),
  )
})

// ------------------------------------------------------------------------------------------------ before servers

test('RF-10: after runs that ended in every way no place is taken, and the next one starts at once', async (t) => {
  const provider = await startProvider(t, (response, { body }) => {
    const [, kind] = /"kind":"(\w+)"/.exec(body) ?? []
    if (kind === 'error') error(response, 400)
    else if (kind === 'silent') response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    else if (kind === 'middle') stream(response, TX('Let me'), { end: false })
    else if (kind !== 'headers') stream(response, whole('Hi'))
  })
  const gate = createKeyGate({ startLimit: 2, mostLimit: 2 })
  const kinds = ['ok', 'error', 'silent', 'middle', 'headers']
  const model = (kind: string) => {
    const wanted = at(provider, { api_key: 'k' })
    return { ...wanted, params: { ...wanted.params, extra: { kind } } }
  }
  const runs = Array.from({ length: 50 }, async (_each, index) => {
    const { signal, stop } = interruption()
    const tap = openTap(([name]) => {
      // Each fifth is cancelled in the queue or at its start, the hanging ones as soon as they are under way.
      if (name === 'wait' && index % 7 === 0) stop('cancelled')
      if (name === 'starting' && index % 5 >= 2) setImmediate(() => stop('cancelled'))
    })
    const { ask } = openChain(t, { gate, tap })
    const id = runId(`01JE00000000000000000000${String(index).padStart(2, '0')}`)
    return (await ask(askOf([model(kinds[index % 5] ?? 'ok')], { runId: id }), signal)).kind
  })
  const ends = new Set(await Promise.all(runs))
  assert.deepEqual(ends, new Set(['answer', 'failed', 'interrupted']))
  assert.deepEqual(gate.gauge(), { keys: 0, active: 0, waiting: 0, idle: 1 })
  assert.ok(provider.mostBusy() >= 1)
  const { ask, tap } = openChain(t, { gate })
  assert.equal(textOf(await ask(askOf([model('ok')]))), 'Hi')
  assert.ok(!tap.story().includes('wait'))
})

test('RF-11: a thousand cancels at the very moment of the end leave the limit where it was', async (t) => {
  const gate = createKeyGate({ startLimit: 2, mostLimit: 2 })
  const provider = await startProvider(t, (response) => stream(response, whole('Hi')))
  const port = openChain(t, { gate }).port
  for (let index = 0; index < 1000; index += 1) {
    const { signal, stop } = interruption()
    const tap = openTap(([name]) => {
      if (name === 'text') queueMicrotask(() => stop('cancelled'))
    })
    await port(askOf([at(provider)], { step: index + 1 }), tap, signal)
  }
  assert.deepEqual(gate.gauge(), { keys: 0, active: 0, waiting: 0, idle: 1 })

  const slow = await startProvider(t, (response) => {
    setImmediate(() => setImmediate(() => stream(response, whole('Hi'))))
  })
  const runs = Array.from({ length: 10 }, () => openChain(t, { gate }).ask(askOf([at(slow)])))
  for (const answer of await Promise.all(runs)) assert.equal(textOf(answer), 'Hi')
  assert.equal(slow.mostBusy(), 2)
})

test('a step is told that it waits for its key, and a cancel ends that wait', async (t) => {
  const gate = createKeyGate({ startLimit: 1, mostLimit: 1 })
  const provider = await startProvider(t, (response) => stream(response, TX('Hi'), { end: false }))
  const first = interruption()
  const one = openChain(t, { gate })
  const answer = one.ask(askOf([at(provider)]), first.signal)
  await one.tap.until(() => one.tap.inView() === 'Hi')
  const second = interruption()
  const two = openChain(t, { gate })
  const waiting = two.ask(askOf([at(provider)]), second.signal)
  await two.tap.until(({ told }) => told.length > 0)
  assert.deepEqual(two.tap.told, [['wait', 'queue', 0, 1]])
  second.stop('cancelled')
  assert.deepEqual(await waiting, { kind: 'interrupted', shown: '', target: 0 })
  assert.deepEqual(two.tap.attempts(), [])
  const late = openChain(t, { gate })
  assert.deepEqual(await late.ask(askOf([at(provider)], { giveUpAt: Date.now() + 30 })), { kind: 'out_of_time' })
  first.stop('cancelled')
  await answer
  assert.equal(provider.seen.length, 1)
})
