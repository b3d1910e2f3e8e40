/**
 * Runs in the memory of one process: store, queue and event log behind the ports of `ports.ts`.
 *
 * `admit` is synchronous from its first to its last line, which is what makes fifty equal posts at once start one run. A
 * session's lock and an idempotency key name the run they belong to, and only that run's end frees them.
 */
import type { DeliveryState } from '../contract/delivery.ts'
import type { RunId } from '../contract/ids.ts'
import { traceIdOf } from '../contract/trace-context.ts'
import type { Callback } from '../contract/run-request.ts'
import type { WriteJournal } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import type {
  AckOutcome,
  Admission,
  AdmitOutcome,
  CallbackOutbox,
  DeliveryAttempt,
  EventId,
  EventLog,
  EventReading,
  RedeliverOutcome,
  ResultBytes,
  RunLease,
  RunQueue,
  RunStore,
  RunView,
} from './ports.ts'
import { toDrop, type Kept, type RetentionLimits } from './retention.ts'
import { addAttempt, keyOf, openEntry, restoredEntry, sessionKeyOf, viewOf } from './run-entry.ts'
import type { EndedRun, RunEntry } from './run-entry.ts'
import type { KnownKey } from './spool-record.ts'
import { next, type RunEvent } from './state.ts'

export interface MemoryRunsOptions extends RetentionLimits {
  /** At most so many runs are going at once; beyond it `admit` says `overloaded`. */
  readonly maxRuns: number
  readonly journal: WriteJournal
  /** Stopped where a result is acked or not kept any more; begun again where that is asked for. */
  readonly outbox: Pick<CallbackOutbox, 'stop' | 'again'>
  /** Told inside `admit`, before the run begins: whoever keeps runs elsewhere too begins here. Default: nobody. */
  readonly onAdmitted?: (key: KnownKey, admission: Admission, record: RunRecord) => void
  /** Told of every run that is let go of. Default: nobody. */
  readonly onDropped?: (runIds: readonly RunId[]) => void
}

/** SPEC §3.7. */
const IDEMPOTENCY_TTL_MS = 24 * 3600 * 1000
const MAX_KEYS = 200_000
const SWEEP_MS = 30_000

export interface MemoryRuns {
  readonly store: RunStore
  readonly queue: RunQueue
  readonly events: EventLog
  /** Puts back what an earlier life of the engine kept; called before anything is admitted. Keys in any order. */
  restore(runs: readonly EndedRun[], keys: readonly KnownKey[]): void
  /** Takes back a run just admitted, as if it had never been: its key and its session are free, what it does is void. */
  revoke(runId: RunId): void
  /** Stops the sweeping timer. */
  close(): void
}

export function createMemoryRuns(options: MemoryRunsOptions): MemoryRuns {
  const registry = new Registry(options)
  return {
    store: registry,
    queue: registry,
    events: registry,
    restore: (runs, keys) => registry.restore(runs, keys),
    revoke: (runId) => registry.revoke(runId),
    close: () => registry.close(),
  }
}

class Registry implements RunStore, RunQueue, EventLog {
  readonly #options: MemoryRunsOptions
  readonly #runs = new Map<string, RunEntry>()
  /** Session key → the run that holds it. */
  readonly #sessions = new Map<string, RunId>()
  readonly #keys = new Map<string, KnownKey>()
  readonly #idle = new Set<() => void>()
  readonly #sweeping: NodeJS.Timeout
  #handle: ((lease: RunLease) => Promise<void>) | null = null
  #running = 0
  #keptCount = 0
  #keptChars = 0

  constructor(options: MemoryRunsOptions) {
    this.#options = options
    this.#sweeping = setInterval(() => this.#sweep(), SWEEP_MS)
    this.#sweeping.unref()
  }

  close(): void {
    clearInterval(this.#sweeping)
  }

  restore(runs: readonly EndedRun[], keys: readonly KnownKey[]): void {
    for (const run of runs) {
      const entry = restoredEntry(run)
      this.#runs.set(run.runId, entry)
      this.#keptCount += 1
      this.#keptChars += run.result.json.length
      if (entry.state === 'ended' && entry.sessionKey !== null) this.#sessions.set(entry.sessionKey, run.runId)
    }
    for (const known of keys.toSorted((left, right) => left.expiresAt - right.expiresAt)) {
      this.#keys.set(known.key, known)
    }
    this.#sweep()
  }

  revoke(runId: RunId): void {
    const entry = this.#runs.get(runId)
    if (entry?.record == null) return
    const key = keyOf(entry.record.request)
    if (this.#keys.get(key)?.runId === runId) this.#keys.delete(key)
    this.#runs.delete(runId)
    this.#free(entry)
    entry.cancelled.abort()
    this.#oneLess()
    wakeAll(entry.waiters)
    wakeAll(entry.statusWaiters)
  }

  // ------------------------------------------------------------------------------------------------------ store

  async admit(admission: Admission): Promise<AdmitOutcome> {
    const { request, fingerprint } = admission
    const now = Date.now()
    const key = keyOf(request)
    const known = this.#keys.get(key)
    if (known !== undefined && known.expiresAt > now) {
      return { kind: known.fingerprint === fingerprint ? 'repeat' : 'conflict', runId: known.runId }
    }
    const sessionKey = sessionKeyOf(request)
    const holder = sessionKey === null ? undefined : this.#runs.get(this.#sessions.get(sessionKey) ?? '')
    if (holder !== undefined) {
      return { kind: holder.state === 'running' ? 'run_active' : 'result_pending', runId: holder.runId }
    }
    if (this.#running >= this.#options.maxRuns) return { kind: 'overloaded' }

    const entry = openEntry(admission, now)
    const began: KnownKey = { key, runId: entry.runId, fingerprint, expiresAt: now + IDEMPOTENCY_TTL_MS }
    this.#runs.set(entry.runId, entry)
    this.#keys.delete(key)
    this.#keys.set(key, began)
    if (sessionKey !== null) this.#sessions.set(sessionKey, entry.runId)
    const { model, provider } = request.targets[0]
    const trace_id = traceIdOf(entry.runId, request.trace ?? null)
    this.#options.journal(
      { event: 'accepted', run_id: entry.runId, session_id: request.session_id, trace_id, provider, model },
      () => ({ message: request.messages.at(-1) }),
    )
    this.#running += 1
    if (entry.record !== null) this.#options.onAdmitted?.(began, admission, entry.record)
    queueMicrotask(() => void this.#handle?.(this.#leaseOf(entry)))
    return { kind: 'new', runId: entry.runId }
  }

  async get(runId: string): Promise<RunView | null> {
    return viewOf(this.#runs.get(runId))
  }

  async waitForStatus(runId: string, signal: AbortSignal): Promise<RunView | null> {
    const entry = this.#runs.get(runId)
    if (entry?.result === null && entry.announced === null) await until(entry.statusWaiters, signal)
    return viewOf(entry)
  }

  async waitForEnd(runId: string, signal: AbortSignal): Promise<RunView | null> {
    const entry = this.#runs.get(runId)
    if (entry !== undefined && entry.result === null) await until(entry.waiters, signal)
    return viewOf(entry)
  }

  async requestCancel(runId: string): Promise<'none' | 'ended' | 'requested'> {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return 'none'
    if (entry.state !== 'running') return 'ended'
    if (!entry.cancelled.signal.aborted) this.#options.journal({ event: 'cancelled', run_id: runId })
    entry.cancelled.abort()
    return 'requested'
  }

  async ack(runId: string): Promise<AckOutcome> {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return 'run_not_found'
    if (entry.state === 'running') return 'run_active'
    if (entry.state === 'ended') {
      entry.delivery.state = 'acked'
      this.#move(entry, 'acked')
      this.#options.journal({ event: 'acked', run_id: runId })
    }
    this.#options.outbox.stop(entry.runId)
    return 'stored'
  }

  async redeliver(runId: string): Promise<RedeliverOutcome> {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return 'run_not_found'
    if (entry.state === 'running') return 'run_active'
    if (entry.callback === null) return 'no_callback'
    if (entry.state === 'ended') entry.delivery.state = 'pending'
    this.#options.journal({ event: 'redelivery', run_id: runId })
    this.#options.outbox.again(entry.runId, entry.state === 'stored')
    return 'begun'
  }

  async delivered(runId: string): Promise<void> {
    const entry = this.#runs.get(runId)
    if (entry?.state !== 'ended') return
    entry.delivery.state = 'delivered'
    this.#move(entry, 'delivered')
    this.#options.journal({ event: 'delivered', run_id: runId })
  }

  async callback(runId: string): Promise<Callback | null> {
    return this.#runs.get(runId)?.callback ?? null
  }

  async noteDelivery(runId: string, attempt: DeliveryAttempt, state: DeliveryState): Promise<void> {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return
    addAttempt(entry.delivery, attempt)
    const made = entry.delivery.attempts_left_off + entry.delivery.attempts.length
    this.#options.journal({ event: 'callback_attempt', run_id: runId, attempt: made, ...attempt })
    if (entry.state !== 'ended') return
    entry.delivery.state = state
    if (state !== 'undelivered' && state !== 'gone') return
    // From now on nobody but the harness can change that: the time it has for it begins.
    entry.since = Date.now()
    this.#options.journal({ event: 'undelivered', run_id: runId, gone: state === 'gone' })
  }

  async counts(): Promise<{ readonly running: number; readonly undelivered: number }> {
    let undelivered = 0
    for (const entry of this.#runs.values()) if (entry.state === 'ended') undelivered += 1
    return { running: this.#running, undelivered }
  }

  // ------------------------------------------------------------------------------------------------------ queue and log

  start(handle: (lease: RunLease) => Promise<void>): void {
    this.#handle = handle
  }

  async drain(signal: AbortSignal): Promise<void> {
    if (this.#running > 0) await until(this.#idle, signal)
  }

  async read(runId: string, after: EventId | undefined, signal: AbortSignal): Promise<EventReading | null> {
    return this.#runs.get(runId)?.events.read(after, signal) ?? null
  }

  #leaseOf(entry: RunEntry): RunLease {
    return {
      runId: entry.runId,
      cancelled: entry.cancelled.signal,
      lost: NEVER,
      load: async () => entry.record as RunRecord,
      // The record is the working object itself: in memory there is nowhere else to put it.
      commit: async () => undefined,
      announce: async (_record, done) => {
        entry.announced = done.data.status
        entry.events.append(done)
        wakeAll(entry.statusWaiters)
      },
      finish: async (_record, result, done) => this.#finish(entry, result, done),
      append: (event) => entry.events.append(event),
    }
  }

  #finish(entry: RunEntry, result: ResultBytes, done: StreamEvent): void {
    // Taken back meanwhile: nobody knows of it.
    if (!this.#runs.has(entry.runId)) return
    entry.result = result
    entry.record = null
    this.#keptCount += 1
    this.#keptChars += result.json.length
    this.#move(entry, 'finished')
    entry.events.append(done)
    const { maxResults, maxResultBytes } = this.#options
    if (this.#keptCount > maxResults || this.#keptChars > maxResultBytes) this.#sweep()
    this.#oneLess()
  }

  #oneLess(): void {
    this.#running -= 1
    if (this.#running === 0) wakeAll(this.#idle)
  }

  #move(entry: RunEntry, event: RunEvent): void {
    const before = entry.state
    entry.state = next(before, event)
    if (entry.state === before) return
    entry.since = Date.now()
    if (entry.state === 'stored') this.#free(entry)
    if (event !== 'finished') return
    wakeAll(entry.waiters)
    wakeAll(entry.statusWaiters)
  }

  /** Only the run that holds a session gives it back. */
  #free(entry: RunEntry): void {
    const { sessionKey, runId } = entry
    if (sessionKey !== null && this.#sessions.get(sessionKey) === runId) this.#sessions.delete(sessionKey)
  }

  #sweep(): void {
    const now = Date.now()
    const kept: Kept[] = []
    for (const { runId, result, state, since, delivery } of this.#runs.values()) {
      if (result === null) continue
      const isTried = state === 'ended' && delivery.state === 'pending'
      kept.push({ runId, stored: state === 'stored', isTried, since, bytes: result.json.length })
    }
    kept.sort((left, right) => left.since - right.since)
    const dropped = toDrop(kept, this.#options, now).flatMap((run) => this.#drop(run))
    if (dropped.length > 0) this.#options.onDropped?.(dropped)
    // Keys stand in the order in which they were made, so the expired ones are at the front.
    for (const [key, { expiresAt }] of this.#keys) {
      if (expiresAt > now && this.#keys.size <= MAX_KEYS) break
      this.#keys.delete(key)
    }
  }

  #drop({ runId, stored, bytes }: Kept): RunId[] {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return []
    this.#runs.delete(runId)
    this.#keptCount -= 1
    this.#keptChars -= bytes
    this.#free(entry)
    this.#options.outbox.stop(entry.runId)
    if (!stored) this.#options.journal({ event: 'dropped_undelivered', run_id: runId })
    return [entry.runId]
  }
}

/** Nothing takes a run away from the only process there is. */
const NEVER = new AbortController().signal

/** Resolves when one of the set is called, or the signal aborts. */
function until(waiters: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      waiters.delete(settle)
      signal.removeEventListener('abort', settle)
      resolve()
    }
    waiters.add(settle)
    signal.addEventListener('abort', settle)
    if (signal.aborted) settle()
  })
}

function wakeAll(waiters: Set<() => void>): void {
  for (const wake of waiters) wake()
}
