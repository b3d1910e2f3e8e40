/** The delivery's states: every pair of state and event, and the pauses. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Delivery, type DeliveryEvent, FIRST, isOver, next, PAUSES_MS } from '../../src/delivery/schedule.ts'

const failed = (roll: number): DeliveryEvent => ({ kind: 'failed', roll })

test('five tries over pauses of 5, 10, 20 and 45 s, the first at once, then undelivered', () => {
  let state = FIRST
  const pauses: number[] = []
  while (!isOver(state)) {
    assert.ok(state.kind === 'waiting')
    pauses.push(state.pauseMs)
    state = next(next(state, { kind: 'due' }, PAUSES_MS), failed(0), PAUSES_MS)
  }
  assert.deepEqual(pauses, [0, 5_000, 10_000, 20_000, 45_000])
  assert.deepEqual(state, { kind: 'undelivered', tries: 5 })
})

test('jitter lengthens a pause by a tenth at most and never shortens it', () => {
  const trying: Delivery = { kind: 'trying', tries: 1 }
  assert.deepEqual(next(trying, failed(0), PAUSES_MS), { kind: 'waiting', tries: 1, pauseMs: 5_000 })
  assert.deepEqual(next(trying, failed(1), PAUSES_MS), { kind: 'waiting', tries: 1, pauseMs: 5_500 })
})

test('every state takes every event: what does not fit changes nothing', () => {
  const waiting: Delivery = { kind: 'waiting', tries: 1, pauseMs: 5 }
  const trying: Delivery = { kind: 'trying', tries: 2 }
  const delivered: Delivery = { kind: 'delivered', tries: 2 }
  const undelivered: Delivery = { kind: 'undelivered', tries: 2 }
  const stopped: Delivery = { kind: 'stopped', tries: 2 }
  const table: [Delivery, DeliveryEvent['kind'], Delivery][] = [
    [waiting, 'due', trying],
    [waiting, 'stored', waiting],
    [waiting, 'failed', waiting],
    [waiting, 'acked', { kind: 'stopped', tries: 1 }],
    [trying, 'due', trying],
    [trying, 'stored', delivered],
    [trying, 'failed', { kind: 'waiting', tries: 2, pauseMs: 7 }],
    [trying, 'acked', stopped],
    ...[delivered, undelivered, stopped].flatMap((over) =>
      (['due', 'stored', 'failed', 'acked'] as const).map((kind): [Delivery, DeliveryEvent['kind'], Delivery] => [
        over,
        kind,
        over,
      ]),
    ),
  ]
  assert.equal(table.length, 5 * 4)
  for (const [state, kind, expected] of table) {
    const event: DeliveryEvent = kind === 'failed' ? failed(0) : { kind }
    assert.deepEqual(next(state, event, [5, 7]), expected, `${state.kind} ${kind}`)
  }
})

test('no order of events makes more tries than there are pauses and one, or leaves an end', () => {
  const events = fc.array(
    fc.oneof(
      fc.constant<DeliveryEvent>({ kind: 'due' }),
      fc.constant<DeliveryEvent>({ kind: 'stored' }),
      fc.constant<DeliveryEvent>({ kind: 'acked' }),
      fc.double({ min: 0, max: 1, noNaN: true }).map(failed),
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
      assert.ok(state.tries <= pauses.length + 1)
    }),
  )
})
