/**
 * Where the results of ended runs stand on their way to the harness: the half of the store that the outbox and the harness
 * move. When another attempt is made is the outbox's to decide; that nothing more is, where a result is acked, is told to it.
 */
import type { DeliveryState } from '../contract/delivery.ts'
import type { Callback } from '../contract/run-request.ts'
import type { WriteJournal } from '../engine/ports.ts'
import type { AckOutcome, CallbackOutbox, DeliveryAttempt, RedeliverOutcome, RunStore } from './ports.ts'
import { addAttempt, type RunEntry } from './run-entry.ts'
import type { RunEvent } from './state.ts'

export interface DeliveriesParts {
  readonly find: (runId: string) => RunEntry | undefined
  /** Moves the run to its next state, with all that follows. */
  readonly move: (entry: RunEntry, event: RunEvent) => void
  readonly journal: WriteJournal
  readonly outbox: Pick<CallbackOutbox, 'stop' | 'again'>
}

type DeliveryStore = Pick<RunStore, 'ack' | 'redeliver' | 'delivered' | 'callback' | 'noteDelivery'>

export class Deliveries implements DeliveryStore {
  readonly #parts: DeliveriesParts

  constructor(parts: DeliveriesParts) {
    this.#parts = parts
  }

  async ack(runId: string): Promise<AckOutcome> {
    const entry = this.#parts.find(runId)
    if (entry === undefined) return 'run_not_found'
    if (entry.state === 'running') return 'run_active'
    if (entry.state === 'ended') {
      entry.delivery.state = 'acked'
      this.#parts.move(entry, 'acked')
      this.#parts.journal({ event: 'acked', run_id: runId })
    }
    this.#parts.outbox.stop(entry.runId)
    return 'stored'
  }

  async redeliver(runId: string): Promise<RedeliverOutcome> {
    const entry = this.#parts.find(runId)
    if (entry === undefined) return 'run_not_found'
    if (entry.state === 'running') return 'run_active'
    if (entry.callback === null) return 'no_callback'
    if (entry.state === 'ended') entry.delivery.state = 'pending'
    this.#parts.journal({ event: 'redelivery', run_id: runId })
    this.#parts.outbox.again(entry.runId, entry.state === 'stored')
    return 'begun'
  }

  async delivered(runId: string): Promise<void> {
    const entry = this.#parts.find(runId)
    if (entry?.state !== 'ended') return
    entry.delivery.state = 'delivered'
    this.#parts.move(entry, 'delivered')
    this.#parts.journal({ event: 'delivered', run_id: runId })
  }

  async callback(runId: string): Promise<Callback | null> {
    return this.#parts.find(runId)?.callback ?? null
  }

  async noteDelivery(runId: string, attempt: DeliveryAttempt, state: DeliveryState): Promise<void> {
    const entry = this.#parts.find(runId)
    if (entry === undefined) return
    const number = addAttempt(entry.delivery, attempt)
    this.#parts.journal({ event: 'callback_attempt', run_id: runId, attempt: number, ...attempt })
    if (entry.state !== 'ended') return
    entry.delivery.state = state
    if (state !== 'undelivered' && state !== 'gone') return
    // From now on nobody but the harness can change that: the time it has for it begins.
    entry.since = Date.now()
    this.#parts.journal({ event: 'undelivered', run_id: runId, gone: state === 'gone' })
  }
}
