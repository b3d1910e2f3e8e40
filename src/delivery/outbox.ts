/**
 * Carries ended runs' results to their callbacks: acts on what `schedule.ts` decides. Each run goes its own way, so a
 * receiver that is down or slow delays nobody else.
 *
 * The store stays the authority: before each attempt it is asked whether the harness has the result by now, and it is
 * told of every attempt. What is here is only what is under way, and no result between two attempts: a schedule may
 * last for days.
 */
import { instantText } from '../contract/instant.ts'
import type { DeliveryState } from '../contract/delivery.ts'
import type { RunId } from '../contract/ids.ts'
import type { Callback } from '../contract/run-request.ts'
import type { CallbackOutbox, RunStore } from '../runs/ports.ts'
import { deliver, type DeliverParts } from './deliver.ts'
import { envelope, type Envelope } from './envelope.ts'
import { createReceiverLanes } from './receiver-lanes.ts'
import { type Delivery, type DeliveryEvent, FIRST, isOver, next, PAUSES_MS } from './schedule.ts'

export interface OutboxOptions extends DeliverParts {
  readonly store: Pick<RunStore, 'get' | 'callback' | 'delivered' | 'noteDelivery'>
  /** Told of a bug: a store that rejects. Never given a secret. */
  readonly onBug: (runId: RunId, error: unknown) => void
  /** Milliseconds before the second attempt and each later one. Default: `PAUSES_MS`. */
  readonly pausesMs?: readonly number[]
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: () => number
}

/** A delivery that is under way. */
interface Courier {
  readonly runId: RunId
  state: Delivery
  /** When its first attempt was due, ms. */
  begunAt: number
  /** Asked for by hand when the harness had the result: that it has it is no reason to stop. */
  evenStored: boolean
  /** Its pause was cut short by a flush: the attempt after it was the last. */
  flushed: boolean
  /** Ends the pause it is in, if it is in one. */
  hurry: () => void
}

export function createOutbox(options: OutboxOptions): CallbackOutbox {
  const { store, pausesMs = PAUSES_MS } = options
  const lanes = createReceiverLanes()
  const couriers = new Map<RunId, Courier>()
  const idle = new Set<() => void>()
  /** Aborts when the process gives up on what is under way. */
  const closing = new AbortController()
  let flushing = false

  function add(runId: RunId): void {
    if (!couriers.has(runId)) send(runId, false)
  }

  function again(runId: RunId, stored: boolean): void {
    const courier = couriers.get(runId)
    // One that is over is on its way out: another takes its place.
    if (courier === undefined || isOver(courier.state)) return send(runId, stored)
    move(courier, { kind: 'again' }, pausesMs)
    courier.begunAt = Date.now()
    courier.evenStored = stored
    courier.hurry()
  }

  function send(runId: RunId, evenStored: boolean): void {
    if (closing.signal.aborted) return
    const courier: Courier = { runId, state: FIRST, begunAt: Date.now(), evenStored, flushed: false, hurry: () => {} }
    couriers.set(runId, courier)
    carry(courier)
      .catch((error: unknown) => options.onBug(runId, error))
      .finally(() => {
        if (couriers.get(runId) === courier) couriers.delete(runId)
        if (couriers.size > 0) return
        for (const resolve of idle) resolve()
        idle.clear()
      })
  }

  async function carry(courier: Courier): Promise<void> {
    const callback = await store.callback(courier.runId)
    if (callback === null) return
    while (courier.state.kind === 'waiting' && !courier.flushed) {
      await pause(flushing ? 0 : courier.state.pauseMs, courier)
      courier.flushed = flushing
      const free = await lanes.enter(callback.url, closing.signal)
      if (free === null) return
      try {
        await turn(courier, callback, options, closing.signal)
      } finally {
        free()
      }
      if (closing.signal.aborted) return
    }
  }

  function stop(runId: RunId): void {
    const courier = couriers.get(runId)
    if (courier === undefined) return
    move(courier, { kind: 'acked' }, pausesMs)
    courier.hurry()
  }

  /** Each delivery gets one more attempt at once: a process that is about to go has no better moment for it. */
  async function flush(signal: AbortSignal): Promise<void> {
    flushing = true
    const giveUp = () => {
      closing.abort()
      for (const courier of couriers.values()) courier.hurry()
    }
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp)
    for (const courier of couriers.values()) courier.hurry()
    if (couriers.size > 0) {
      await new Promise<void>((resolve) => {
        idle.add(resolve)
      })
    }
    signal.removeEventListener('abort', giveUp)
  }

  return { add, again, stop, flush }
}

/** What becomes of a delivery whose pause is over. */
async function turn(courier: Courier, callback: Callback, options: OutboxOptions, signal: AbortSignal): Promise<void> {
  const { store, pausesMs = PAUSES_MS, random = Math.random } = options
  const letter = await letterFor(courier, callback, store)
  if (letter === null) {
    move(courier, { kind: 'acked' }, pausesMs)
    return
  }
  if (move(courier, { kind: 'due' }, pausesMs).kind !== 'sending') return
  const { kind, askedMs, attempt } = await deliver(letter, options, signal)
  const elapsedMs = Date.now() - courier.begunAt
  const state = move(courier, kind === 'failed' ? { kind, roll: random(), askedMs, elapsedMs } : { kind }, pausesMs)
  const nextAt = state.kind === 'waiting' ? instantText(Math.round(Date.now() + state.pauseMs)) : null
  await store.noteDelivery(courier.runId, { ...attempt, next_at: nextAt }, stateTold(state))
  if (kind === 'stored' && state.kind === 'delivered') await store.delivered(courier.runId)
}

function move(courier: Courier, event: DeliveryEvent, pausesMs: readonly number[]): Delivery {
  courier.state = next(courier.state, event, pausesMs)
  return courier.state
}

/**
 * Made for one attempt: the store has the result anyway. null: the harness has it by now, or it is not kept any more,
 * and there is nobody left to deliver for.
 */
async function letterFor(
  { runId, evenStored }: Courier,
  callback: Callback,
  store: OutboxOptions['store'],
): Promise<Envelope | null> {
  const view = await store.get(runId)
  if (view === null || view.result === null || (view.state === 'stored' && !evenStored)) return null
  return envelope(runId, callback, view.result.json)
}

/** Ends early when the courier is hurried. */
function pause(ms: number, courier: Courier): Promise<void> {
  if (ms === 0) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    courier.hurry = () => {
      clearTimeout(timer)
      resolve()
    }
  })
}

function stateTold(state: Delivery): DeliveryState {
  switch (state.kind) {
    case 'waiting':
    case 'sending':
      return 'pending'
    case 'stopped':
      return 'acked'
    case 'delivered':
    case 'undelivered':
    case 'gone':
      return state.kind
  }
}
