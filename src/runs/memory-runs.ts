/**
 * Runs in the memory of one process: store, queue and event log behind the ports of `ports.ts`.
 *
 * `admit` is synchronous from its first to its last line, which is what makes fifty equal posts at once start one run. A
 * session's lock and an idempotency key name the run they belong to, and only that run's end frees them.
 */
import { ulid } from 'ulid'
import { runId as toRunId, type RunId } from '../contract/ids.ts'
import { instantText } from '../contract/instant.ts'
import { DEADLINE_GRACE_MS, type Callback } from '../contract/run-request.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { openRecord, type RunRecord } from '../engine/record.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import { createRunEventLog, type RunEventLog } from './event-log.ts'
import type {
  AckOutcome,
  Admission,
  AdmitOutcome,
  DeliveryAttempt,
  DeliveryState,
  EventId,
  EventLog,
  EventReading,
  ResultBytes,
  RunLease,
  RunQueue,
  RunStore,
  RunView,
} from './ports.ts'
import { toDrop, type Kept, type RetentionLimits } from './retention.ts'
import { next, type RunEvent, type RunState } from './state.ts'

export interface MemoryRunsOptions extends RetentionLimits {
  /** At most so many runs are going at once; beyond it `admit` says `overloaded`. */
  readonly maxRuns: number
  readonly journal: (entry: JournalEntry) => void
  /** A result was acked: no further try to deliver it is needed. */
  readonly onAcked: (runId: RunId) => void
}

/** SPEC §3.7. */
const IDEMPOTENCY_TTL_MS = 24 * 3600 * 1000
const MAX_KEYS = 200_000
const SWEEP_MS = 30_000

interface Entry {
  readonly runId: RunId
  readonly sessionKey: string | null
  readonly startedAt: string
  readonly deadlineAt: string
  readonly warnings: RunView['warnings']
  readonly callback: Callback | null
  readonly events: RunEventLog
  readonly cancelled: AbortController
  /** The working record; let go of once there is a result. */
  record: RunRecord | null
  state: RunState
  result: ResultBytes | null
  delivery: { state: DeliveryState; readonly attempts: DeliveryAttempt[] }
  /** When the state last changed, ms. */
  since: number
  readonly waiters: Set<() => void>
}

interface Key {
  readonly runId: RunId
  readonly fingerprint: string
  readonly expiresAt: number
}

export interface MemoryRuns {
  readonly store: RunStore
  readonly queue: RunQueue
  readonly events: EventLog
  /** Stops the sweeping timer. */
  close(): void
}

export function createMemoryRuns(options: MemoryRunsOptions): MemoryRuns {
  const registry = new Registry(options)
  return { store: registry, queue: registry, events: registry, close: () => registry.close() }
}

class Registry implements RunStore, RunQueue, EventLog {
  readonly #options: MemoryRunsOptions
  readonly #runs = new Map<string, Entry>()
  /** Session key → the run that holds it. */
  readonly #sessions = new Map<string, RunId>()
  readonly #keys = new Map<string, Key>()
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

  // ------------------------------------------------------------------------------------------------------ store

  async admit(admission: Admission): Promise<AdmitOutcome> {
    const { request, fingerprint } = admission
    const key = JSON.stringify([request.tenant_id, request.idempotency_key])
    const known = this.#keys.get(key)
    if (known !== undefined && known.expiresAt > Date.now()) {
      return { kind: known.fingerprint === fingerprint ? 'repeat' : 'conflict', runId: known.runId }
    }
    const sessionKey = request.session_id === null ? null : JSON.stringify([request.tenant_id, request.session_id])
    const holder = sessionKey === null ? undefined : this.#runs.get(this.#sessions.get(sessionKey) ?? '')
    if (holder !== undefined) {
      return { kind: holder.state === 'running' ? 'run_active' : 'result_pending', runId: holder.runId }
    }
    if (this.#running >= this.#options.maxRuns) return { kind: 'overloaded' }

    const entry = openEntry(admission, sessionKey)
    this.#runs.set(entry.runId, entry)
    this.#keys.delete(key)
    this.#keys.set(key, { runId: entry.runId, fingerprint, expiresAt: Date.now() + IDEMPOTENCY_TTL_MS })
    if (sessionKey !== null) this.#sessions.set(sessionKey, entry.runId)
    this.#options.journal({
      event: 'accepted',
      run_id: entry.runId,
      session_id: request.session_id,
      provider: request.targets[0].provider,
      model: request.targets[0].model,
    })
    this.#running += 1
    queueMicrotask(() => void this.#handle?.(this.#leaseOf(entry)))
    return { kind: 'new', runId: entry.runId }
  }

  async get(runId: string): Promise<RunView | null> {
    return viewOf(this.#runs.get(runId))
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
      this.#options.onAcked(entry.runId)
    }
    return 'stored'
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
    entry.delivery.attempts.push(attempt)
    if (entry.state === 'ended') entry.delivery.state = state
    this.#options.journal({ event: 'callback_attempt', run_id: runId, ...attempt })
    if (entry.delivery.state === 'undelivered') this.#options.journal({ event: 'undelivered', run_id: runId })
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

  #leaseOf(entry: Entry): RunLease {
    return {
      runId: entry.runId,
      cancelled: entry.cancelled.signal,
      lost: NEVER,
      load: async () => entry.record as RunRecord,
      // The record is the working object itself: in memory there is nowhere else to put it.
      commit: async () => undefined,
      finish: async (_record, result, done) => this.#finish(entry, result, done),
      append: (event) => entry.events.append(event),
    }
  }

  #finish(entry: Entry, result: ResultBytes, done: StreamEvent): void {
    entry.result = result
    entry.record = null
    this.#running -= 1
    this.#keptCount += 1
    this.#keptChars += result.json.length
    this.#move(entry, 'finished')
    entry.events.append(done)
    const { maxResults, maxResultBytes } = this.#options
    if (this.#keptCount > maxResults || this.#keptChars > maxResultBytes) this.#sweep()
    if (this.#running === 0) wakeAll(this.#idle)
  }

  #move(entry: Entry, event: RunEvent): void {
    const before = entry.state
    entry.state = next(before, event)
    if (entry.state === before) return
    entry.since = Date.now()
    if (entry.state === 'stored') this.#free(entry)
    if (event === 'finished') wakeAll(entry.waiters)
  }

  /** Only the run that holds a session gives it back. */
  #free(entry: Entry): void {
    const { sessionKey, runId } = entry
    if (sessionKey !== null && this.#sessions.get(sessionKey) === runId) this.#sessions.delete(sessionKey)
  }

  #sweep(): void {
    const now = Date.now()
    const kept: Kept[] = []
    for (const { runId, result, state, since } of this.#runs.values()) {
      if (result !== null) kept.push({ runId, stored: state === 'stored', since, bytes: result.json.length })
    }
    kept.sort((left, right) => left.since - right.since)
    for (const run of toDrop(kept, this.#options, now)) this.#drop(run)
    // Keys stand in the order in which they were made, so the expired ones are at the front.
    for (const [key, { expiresAt }] of this.#keys) {
      if (expiresAt > now && this.#keys.size <= MAX_KEYS) break
      this.#keys.delete(key)
    }
  }

  #drop({ runId, stored, bytes }: Kept): void {
    const entry = this.#runs.get(runId)
    if (entry === undefined) return
    this.#runs.delete(runId)
    this.#keptCount -= 1
    this.#keptChars -= bytes
    this.#free(entry)
    if (!stored) this.#options.journal({ event: 'dropped_undelivered', run_id: runId })
  }
}

/** Nothing takes a run away from the only process there is. */
const NEVER = new AbortController().signal

function openEntry({ request, warnings }: Admission, sessionKey: string | null): Entry {
  const now = Date.now()
  const runId = toRunId(ulid(now))
  const deadlineAt = now + request.limits.timeout_ms
  return {
    runId,
    sessionKey,
    startedAt: instantText(now),
    deadlineAt: instantText(deadlineAt + DEADLINE_GRACE_MS),
    warnings,
    callback: request.callback,
    events: createRunEventLog(),
    cancelled: new AbortController(),
    record: openRecord(runId, request, warnings, now),
    state: 'running',
    result: null,
    delivery: { state: request.callback === null ? 'none' : 'pending', attempts: [] },
    since: now,
    waiters: new Set(),
  }
}

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

function viewOf(entry: Entry | undefined): RunView | null {
  if (entry === undefined) return null
  return {
    runId: entry.runId,
    state: entry.state,
    status: entry.result?.status ?? 'running',
    startedAt: entry.startedAt,
    deadlineAt: entry.deadlineAt,
    warnings: entry.warnings,
    delivery: entry.delivery,
    result: entry.result,
  }
}
