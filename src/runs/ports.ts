/**
 * The ports of everything that outlives one function call: cut so that several instances on a shared store can stand behind
 * them (ARCHITECTURE.md). What is here now keeps all in memory.
 *
 * Rules for any implementation: the store makes run ids; the session lock and the idempotency key live inside `admit` and
 * are freed only by a stored result; event ids come from the log and are opaque to everyone else; cancel is a request, then a
 * wait for the final record; callbacks go through the outbox.
 */
import type { DeliveryFault, DeliveryState } from '../contract/delivery.ts'
import type { RunId } from '../contract/ids.ts'
import type { DoneEvent, StreamEvent } from '../contract/stream-event.ts'
import type { Callback, RunRequest } from '../contract/run-request.ts'
import type { Status, Warning } from '../contract/result.ts'
import type { CommitPoint } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'

export interface Admission {
  readonly request: RunRequest
  readonly warnings: readonly Warning[]
  /** SHA-256 of the body without keys and tokens: tells a repeat from a conflict. */
  readonly fingerprint: string
}

export type AdmitOutcome =
  | { readonly kind: 'new'; readonly runId: RunId }
  /** The same key and body: the run it began. */
  | { readonly kind: 'repeat'; readonly runId: RunId }
  /** The same key, another body. */
  | { readonly kind: 'conflict'; readonly runId: RunId }
  /** The session has a run going. */
  | { readonly kind: 'run_active'; readonly runId: RunId }
  /** The session's last result is neither delivered nor acked. */
  | { readonly kind: 'result_pending'; readonly runId: RunId }
  /** MAX_RUNS runs are going. */
  | { readonly kind: 'overloaded' }
  /** It could not be made to outlast a restart, and that was promised: nothing was started. */
  | { readonly kind: 'not_kept' }

/** One attempt to deliver the result. */
export interface DeliveryAttempt {
  readonly at: string
  readonly status: number | null
  readonly content_type: string | null
  /** null: a 2xx came. */
  readonly fault: DeliveryFault | null
  readonly error: string | null
  readonly duration_ms: number
  /** When the next attempt is due; null: none is. */
  readonly next_at: string | null
}

/** So many attempts of one run are kept, the newest. */
export const MAX_ATTEMPTS_KEPT = 50

export interface DeliveryView {
  readonly state: DeliveryState
  /** At most `MAX_ATTEMPTS_KEPT`, oldest first. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Attempts before these. */
  readonly attempts_left_off: number
}

/** What GET /runs/{id} tells. */
export interface RunView {
  readonly runId: RunId
  readonly state: 'running' | 'ended' | 'stored'
  readonly status: Status | 'running'
  readonly startedAt: string
  readonly deadlineAt: string
  readonly warnings: readonly Warning[]
  readonly delivery: DeliveryView
  /** The result as it is sent everywhere: serialized once. null while the run goes on. */
  readonly result: ResultBytes | null
}

/** JSON text of the result, its UTF-8 bytes made once. */
export interface ResultBytes {
  readonly json: string
  readonly status: Status
}

export type AckOutcome = 'stored' | 'run_active' | 'run_not_found'
export type RedeliverOutcome = 'begun' | 'run_active' | 'no_callback' | 'run_not_found'

export interface RunStore {
  admit(admission: Admission): Promise<AdmitOutcome>
  get(runId: string): Promise<RunView | null>
  /** Resolves once it is known how the run ends, or null for a run nobody knows. The result may come later. */
  waitForStatus(runId: string, signal: AbortSignal): Promise<RunView | null>
  /** Resolves once there is a result, or null for a run nobody knows. */
  waitForEnd(runId: string, signal: AbortSignal): Promise<RunView | null>
  requestCancel(runId: string): Promise<'none' | 'ended' | 'requested'>
  /** "I have stored this result": frees the session, stops the callback's attempts. Idempotent. */
  ack(runId: string): Promise<AckOutcome>
  /**
   * The callback is sent again, from the first attempt on, whether or not the harness has the result. A session that is
   * free stays free.
   */
  redeliver(runId: string): Promise<RedeliverOutcome>
  /** The callback, or the written answer of a waited POST, got through. */
  delivered(runId: string): Promise<void>
  /** Where the run's result is to be sent; null: it has no callback, or nobody knows it. */
  callback(runId: string): Promise<Callback | null>
  /** Every attempt is noted; `undelivered` after the last, `gone` after a 410. What is delivered or acked stays so. */
  noteDelivery(runId: string, attempt: DeliveryAttempt, state: DeliveryState): Promise<void>
  counts(): Promise<{ readonly running: number; readonly undelivered: number }>
}

export interface RunLease {
  readonly runId: RunId
  /** Aborts when a cancel was asked for. */
  readonly cancelled: AbortSignal
  /** Aborts when another owner has taken the run; nothing may be committed any more. */
  readonly lost: AbortSignal
  load(): Promise<RunRecord>
  commit(record: RunRecord, point: CommitPoint): Promise<void>
  /** `done` before the result: the run's status is final, its result follows by `finish`. */
  announce(record: RunRecord, done: DoneEvent): Promise<void>
  /** Result and `done` in one: after it the run is `ended`. */
  finish(record: RunRecord, result: ResultBytes, done: StreamEvent): Promise<void>
  /** The hot path of a stream: synchronous in memory. */
  append(event: StreamEvent): void
}

export interface RunQueue {
  /** Called once; `handle` never rejects. */
  start(handle: (lease: RunLease) => Promise<void>): void
  /** Resolves when no run is going, or when the signal aborts. */
  drain(signal: AbortSignal): Promise<void>
}

/** Opaque to everyone but the log. Ascends within a run. */
export type EventId = string

export interface LoggedEvent {
  readonly id: EventId
  readonly event: StreamEvent
}

export interface EventLog {
  /**
   * Events of a run after `after`, oldest first, then live ones until `done`. An id the run does not know starts over, opened
   * by `resync`. Deltas may be merged. null: no such run. `ended` tells that `after` is already the last event.
   */
  read(runId: string, after: EventId | undefined, signal: AbortSignal): Promise<EventReading | null>
}

export interface EventReading {
  readonly atEnd: boolean
  /** What the reader has, up to `after`, oldest first; read only by who needs it. Text may be merged; what was dropped is missing. */
  readonly had: AsyncIterable<StreamEvent>
  readonly events: AsyncIterable<LoggedEvent>
}

export interface CallbackOutbox {
  /** Takes a run whose result is to be delivered. */
  add(runId: RunId): void
  /** Tries now, and begins the schedule anew. `stored`: the harness has the result, which is no reason to stop. */
  again(runId: RunId, stored: boolean): void
  /** The harness has the result: no further attempt begins, and a wait for one ends now. Called by `ack`. Idempotent. */
  stop(runId: RunId): void
  /** Ends when everything taken is delivered or given up, or when the signal aborts. */
  flush(signal: AbortSignal): Promise<void>
}
