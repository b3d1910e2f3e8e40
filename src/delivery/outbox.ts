/**
 * Carries ended runs' results to their callbacks: acts on what `schedule.ts` decides. Each run goes its own way, so a
 * receiver that is down or slow delays nobody else.
 *
 * The store stays the authority: before each try it is asked whether the harness has the result by now, and it is told
 * of every try. What is here is only what is under way.
 */
import type { RunId } from '../contract/ids.ts'
import type { CallbackOutbox, DeliveryState, RunStore } from '../runs/ports.ts'
import { deliver, type DeliverParts } from './deliver.ts'
import { envelope, type Envelope } from './envelope.ts'
import { createReceiverLanes } from './receiver-lanes.ts'
import { type Delivery, FIRST, isOver, next, PAUSES_MS } from './schedule.ts'

export interface OutboxOptions extends DeliverParts {
  readonly store: Pick<RunStore, 'get' | 'callback' | 'delivered' | 'noteDelivery'>
  /** Told of a bug: a store that rejects. Never given a secret. */
  readonly onBug: (runId: RunId, error: unknown) => void
  /** Milliseconds before the second try and each later one. Default: `PAUSES_MS`. */
  readonly pausesMs?: readonly number[]
  /** From 0 to 1. Default: `Math.random`. */
  readonly random?: () => number
}

/** A delivery that is under way. */
interface Courier {
  acked: boolean
  /** Its pause was cut short by a flush: the try after it was the last. */
  flushed: boolean
  /** Ends the pause it is in, if it is in one. */
  hurry: () => void
}

export function createOutbox(options: OutboxOptions): CallbackOutbox {
  const { store, pausesMs = PAUSES_MS, random = Math.random } = options
  const lanes = createReceiverLanes()
  const couriers = new Map<RunId, Courier>()
  const idle = new Set<() => void>()
  /** Aborts when the process gives up on what is under way. */
  const closing = new AbortController()
  let flushing = false

  function add(runId: RunId): void {
    if (couriers.has(runId) || closing.signal.aborted) return
    const courier: Courier = { acked: false, flushed: false, hurry: () => {} }
    couriers.set(runId, courier)
    carry(runId, courier)
      .catch((error: unknown) => options.onBug(runId, error))
      .finally(() => {
        couriers.delete(runId)
        if (couriers.size > 0) return
        for (const resolve of idle) resolve()
        idle.clear()
      })
  }

  async function carry(runId: RunId, courier: Courier): Promise<void> {
    const letter = await letterFor(runId)
    if (letter === null) return
    let state = FIRST
    while (!isOver(state)) {
      if (state.kind === 'waiting') {
        if (courier.flushed) return
        await pause(flushing ? 0 : state.pauseMs, courier)
        courier.flushed = flushing
      }
      const free = await lanes.enter(letter.callback.url, closing.signal)
      if (free === null) return
      try {
        state = await turn(letter, courier, state)
      } finally {
        free()
      }
      if (closing.signal.aborted) return
    }
  }

  /** What becomes of a delivery whose pause is over. */
  async function turn(letter: Envelope, courier: Courier, state: Delivery): Promise<Delivery> {
    if (courier.acked || (await isStored(letter.runId))) return next(state, { kind: 'acked' }, pausesMs)
    return attempt(letter, courier, next(state, { kind: 'due' }, pausesMs))
  }

  async function attempt(letter: Envelope, courier: Courier, trying: Delivery): Promise<Delivery> {
    const { stored, attempt } = await deliver(letter, options, closing.signal)
    const before = courier.acked ? next(trying, { kind: 'acked' }, pausesMs) : trying
    const state = next(before, stored ? { kind: 'stored' } : { kind: 'failed', roll: random() }, pausesMs)
    await store.noteDelivery(letter.runId, attempt, stateTold(state))
    if (state.kind === 'delivered') await store.delivered(letter.runId)
    return state
  }

  async function letterFor(runId: RunId): Promise<Envelope | null> {
    const [view, callback] = await Promise.all([store.get(runId), store.callback(runId)])
    if (view === null || view.result === null || callback === null) return null
    return envelope(runId, callback, view.result.json)
  }

  /** Also true for a run that is not kept any more: there is nobody left to deliver for. */
  async function isStored(runId: string): Promise<boolean> {
    const view = await store.get(runId)
    return view === null || view.state === 'stored'
  }

  function stop(runId: RunId): void {
    const courier = couriers.get(runId)
    if (courier === undefined) return
    courier.acked = true
    courier.hurry()
  }

  /** Each delivery gets one more try at once: a process that is about to go has no better moment for it. */
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

  return { add, stop, flush }
}

/** Ends early when the courier is hurried. */
function pause(ms: number, courier: Courier): Promise<void> {
  if (courier.acked || ms === 0) return Promise.resolve()
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
    case 'trying':
      return 'pending'
    case 'stopped':
      return 'acked'
    case 'delivered':
    case 'undelivered':
      return state.kind
  }
}
