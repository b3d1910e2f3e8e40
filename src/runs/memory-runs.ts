/**
 * Runs in the memory of one process: store, queue and event log behind the ports of `ports.ts`.
 *
 * `admit` is synchronous from its first to its last line, which is what makes fifty equal posts at once start one run. A
 * session's lock and an idempotency key name the run they belong to, and only that run's end frees them.
 */
import type { RunId } from '../contract/ids.ts'
import type { WriteJournal } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import type {
  Admission,
  AdmitOutcome,
  CallbackOutbox,
  EventId,
  EventLog,
  EventReading,
  ResultBytes,
  RunLease,
  RunQueue,
  RunStore,
  RunView,
} from './ports.ts'
import { createRunEventLog, type EventTail } from './event-log.ts'
import { toDrop, type Kept, type RetentionLimits } from './retention.ts'
import { acceptedEntry, keptOf, keyOf, openEntry, restoredEntry, sessionKeyOf, viewOf } from './run-entry.ts'
import type { EndedRun, RunEntry } from './run-entry.ts'
import { Deliveries } from './deliveries.ts'
import { KnownKeys } from './known-keys.ts'
import { SessionLocks } from './session-locks.ts'
import type { KnownKey } from './spool-record.ts'
import { next, type RunEvent } from './state.ts'
import { Waiters } from './waiters.ts'

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

const SWEEP_MS = 30_000

export interface MemoryRuns {
  readonly store: RunStore
  readonly queue: RunQueue
  readonly events: EventLog
  /** What a run shows, for whoever keeps it elsewhere; of one that is not there, nothing. */
  tail(runId: RunId): EventTail
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
    tail: (runId) => registry.tail(runId),
    restore: (runs, keys) => registry.restore(runs, keys),
    revoke: (runId) => registry.revoke(runId),
    close: () => registry.close(),
  }
}

class Registry implements RunStore, RunQueue, EventLog {
  readonly #options: MemoryRunsOptions
  readonly #runs = new Map<string, RunEntry>()
  readonly #sessions = new SessionLocks()
  readonly #keys = new KnownKeys()
  readonly #idle = new Waiters()
  readonly #deliveries: Deliveries
  readonly #sweeping: NodeJS.Timeout
  #handle: ((lease: RunLease) => Promise<void>) | null = null
  #running = 0
  #keptCount = 0
  #keptChars = 0

  constructor(options: MemoryRunsOptions) {
    this.#options = options
    this.#deliveries = new Deliveries({
      ...options,
      find: (runId) => this.#runs.get(runId),
      move: (entry, event) => this.#move(entry, event),
    })
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
      if (entry.state === 'ended') this.#sessions.take(entry.sessionKey, run.runId)
    }
    this.#keys.restore(keys)
    this.#sweep()
  }

  tail(runId: RunId): EventTail {
    return (this.#runs.get(runId)?.events ?? createRunEventLog()).tail()
  }

  revoke(runId: RunId): void {
    const entry = this.#runs.get(runId)
    if (entry?.record == null) return
    this.#keys.forget(keyOf(entry.record.request), runId)
    this.#runs.delete(runId)
    this.#sessions.free(entry.sessionKey, entry.runId)
    entry.cancelled.abort()
    this.#oneLess()
    entry.waiters.wake()
    entry.statusWaiters.wake()
  }

  // ------------------------------------------------------------------------------------------------------ store

  async admit(admission: Admission): Promise<AdmitOutcome> {
    const { request, fingerprint } = admission
    const now = Date.now()
    const key = keyOf(request)
    const known = this.#keys.find(key, now)
    if (known !== undefined) {
      return { kind: known.fingerprint === fingerprint ? 'repeat' : 'conflict', runId: known.runId }
    }
    const sessionKey = sessionKeyOf(request)
    const holder = this.#runs.get(this.#sessions.holderOf(sessionKey) ?? '')
    if (holder !== undefined) {
      return { kind: holder.state === 'running' ? 'run_active' : 'result_pending', runId: holder.runId }
    }
    if (this.#running >= this.#options.maxRuns) return { kind: 'overloaded' }

    const entry = openEntry(admission, now)
    this.#runs.set(entry.runId, entry)
    const began = this.#keys.begin(key, entry.runId, fingerprint, now)
    this.#sessions.take(sessionKey, entry.runId)
    this.#options.journal(acceptedEntry(entry.runId, request), () => ({ message: request.messages.at(-1) }))
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
    if (entry?.result === null && entry.announced === null) await entry.statusWaiters.until(signal)
    return viewOf(entry)
  }

  async waitForEnd(runId: string, signal: AbortSignal): Promise<RunView | null> {
    const entry = this.#runs.get(runId)
    if (entry !== undefined && entry.result === null) await entry.waiters.until(signal)
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

  ack: RunStore['ack'] = (runId) => this.#deliveries.ack(runId)
  redeliver: RunStore['redeliver'] = (runId) => this.#deliveries.redeliver(runId)
  delivered: RunStore['delivered'] = (runId) => this.#deliveries.delivered(runId)
  callback: RunStore['callback'] = (runId) => this.#deliveries.callback(runId)
  noteDelivery: RunStore['noteDelivery'] = (...told) => this.#deliveries.noteDelivery(...told)

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
    if (this.#running > 0) await this.#idle.until(signal)
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
        entry.statusWaiters.wake()
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
    if (this.#running === 0) this.#idle.wake()
  }

  #move(entry: RunEntry, event: RunEvent): void {
    const before = entry.state
    entry.state = next(before, event)
    if (entry.state === before) return
    entry.since = Date.now()
    if (entry.state === 'stored') this.#sessions.free(entry.sessionKey, entry.runId)
    if (event !== 'finished') return
    entry.waiters.wake()
    entry.statusWaiters.wake()
  }

  #sweep(): void {
    const now = Date.now()
    const kept = [...this.#runs.values()].flatMap((entry) => keptOf(entry) ?? [])
    kept.sort((left, right) => left.since - right.since)
    const dropped = toDrop(kept, this.#options, now).flatMap((run) => this.#drop(run))
    if (dropped.length > 0) this.#options.onDropped?.(dropped)
    this.#keys.expire(now, (runId) => (this.#runs.get(runId)?.state ?? 'stored') !== 'stored')
  }

  #drop({ runId, stored, bytes }: Kept): RunId[] {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return []
    this.#runs.delete(runId)
    this.#keptCount -= 1
    this.#keptChars -= bytes
    this.#sessions.free(entry.sessionKey, entry.runId)
    this.#options.outbox.stop(entry.runId)
    if (!stored) this.#options.journal({ event: 'dropped_undelivered', run_id: runId })
    return [entry.runId]
  }
}

/** Nothing takes a run away from the only process there is. */
const NEVER = new AbortController().signal
