/** The delivery's states: every pair of state and event, and the pauses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Delivery, type DeliveryEvent, FIRST, isOver, next, PAUSES_MS } from '../../src/delivery/schedule.ts'

const failed = (roll: number, askedMs: number | null = null, elapsedMs = 0): DeliveryEvent => ({
  kind: 'failed',
  roll,
  askedMs,
  elapsedMs,
})

test('five attempts over pauses of 5, 10, 20 and 45 s, the first at once, then undelivered', () => {
  let state = FIRST
  const pauses: number[] = []
  while (!isOver(state)) {
    assert.ok(state.kind === 'waiting')
    pauses.push(state.pauseMs)
    state = next(next(state, { kind: 'due' }, PAUSES_MS), failed(0), PAUSES_MS)
  }
  assert.deepEqual(pauses, [0, 5_000, 10_000, 20_000, 45_000])
  assert.deepEqual(state, { kind: 'undelivered', attempts: 5 })
})

test('jitter lengthens a pause by a tenth at most and never shortens it', () => {
  const sending: Delivery = { kind: 'sending', attempts: 1 }
  assert.deepEqual(next(sending, failed(0), PAUSES_MS), { kind: 'waiting', attempts: 1, pauseMs: 5_000 })
  assert.deepEqual(next(sending, failed(1), PAUSES_MS), { kind: 'waiting', attempts: 1, pauseMs: 5_500 })
})

test('a receiver that asks for more time gets it, up to the end of the schedule; what it asks shortens nothing', () => {
  const sending = (attempts: number): Delivery => ({ kind: 'sending', attempts })
  const pauseAfter = (attempts: number, askedMs: number, elapsedMs: number) => {
    const state = next(sending(attempts), failed(0, askedMs, elapsedMs), PAUSES_MS)
    return state.kind === 'waiting' ? state.pauseMs : state.kind
  }
  assert.equal(pauseAfter(1, 30_000, 0), 30_000)
  assert.equal(pauseAfter(1, 1, 0), 5_000)
  assert.equal(pauseAfter(1, 86_400_000, 1_000), 79_000)
  assert.equal(pauseAfter(2, 86_400_000, 79_000), 10_000)
  assert.equal(pauseAfter(2, 86_400_000, 500_000), 10_000)
  assert.equal(pauseAfter(5, 30_000, 0), 'undelivered')
  assert.deepEqual(next(sending(1), failed(1, 30_000), PAUSES_MS), { kind: 'waiting', attempts: 1, pauseMs: 33_000 })
})

test('every state takes every event: what does not fit changes nothing', () => {
  const waiting: Delivery = { kind: 'waiting', attempts: 1, pauseMs: 5 }
  const sending: Delivery = { kind: 'sending', attempts: 2 }
  const delivered: Delivery = { kind: 'delivered', attempts: 2 }
  const undelivered: Delivery = { kind: 'undelivered', attempts: 2 }
  const stopped: Delivery = { kind: 'stopped', attempts: 2 }
  const gone: Delivery = { kind: 'gone', attempts: 2 }
  const table: [Delivery, DeliveryEvent['kind'], Delivery][] = [
    [waiting, 'due', sending],
    [waiting, 'stored', waiting],
    [waiting, 'failed', waiting],
    [waiting, 'gone', waiting],
    [waiting, 'acked', { kind: 'stopped', attempts: 1 }],
    [waiting, 'again', FIRST],
    [sending, 'due', sending],
    [sending, 'stored', delivered],
    [sending, 'failed', { kind: 'waiting', attempts: 2, pauseMs: 7 }],
    [sending, 'gone', gone],
    [sending, 'acked', stopped],
    [sending, 'again', { kind: 'sending', attempts: 1 }],
    ...[delivered, undelivered, gone, stopped].map((over): [Delivery, 'again', Delivery] => [over, 'again', FIRST]),
    ...[delivered, undelivered, gone, stopped].flatMap((over) =>
      (['due', 'stored', 'failed', 'gone', 'acked'] as const).map(
        (kind): [Delivery, DeliveryEvent['kind'], Delivery] => [over, kind, over],
      ),
    ),
  ]
  assert.equal(table.length, 6 * 6)
  for (const [state, kind, expected] of table) {
    const event: DeliveryEvent = kind === 'failed' ? failed(0) : { kind }
    assert.deepEqual(next(state, event, [5, 7]), expected, `${state.kind} ${kind}`)
  }
})

test('no order of events makes more attempts than there are pauses and one, or leaves an end', () => {
  const events = fc.array(
    fc.oneof(
      fc.constant<DeliveryEvent>({ kind: 'due' }),
      fc.constant<DeliveryEvent>({ kind: 'stored' }),
      fc.constant<DeliveryEvent>({ kind: 'acked' }),
      fc.constant<DeliveryEvent>({ kind: 'gone' }),
      fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(1e6), fc.nat(1000)).map((parts) => failed(...parts)),
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(events, fc.array(fc.nat(100), { maxLength: 6 }), (given, pauses) => {
      let state = FIRST
      for (const event of given) {
        const after = next(state, event, pauses)
        if (isOver(state)) assert.equal(after, state)
        state = after
      }
      assert.ok(state.attempts <= pauses.length + 1)
    }),
  )
})
