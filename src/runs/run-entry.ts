/** One run as the memory of a process holds it: how an entry begins, how one comes back after a restart, what is shown of it. */
import { ulid } from 'ulid'
import { runId as toRunId, type RunId } from '../contract/ids.ts'
import { instantText } from '../contract/instant.ts'
import { parseJson } from '../contract/json.ts'
import type { RunResult, Status } from '../contract/result.ts'
import { DEADLINE_GRACE_MS, type Callback, type RunRequest } from '../contract/run-request.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import { traceIdOf } from '../contract/trace-context.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { openRecord, type RunRecord } from '../engine/record.ts'
import { createRunEventLog, type RunEventLog } from './event-log.ts'
import type { DeliveryState } from '../contract/delivery.ts'
import { MAX_ATTEMPTS_KEPT, type Admission, type DeliveryAttempt, type DeliveryView } from './ports.ts'
import type { ResultBytes, RunView } from './ports.ts'
import type { Kept } from './retention.ts'
import type { RunState } from './state.ts'
import { Waiters } from './waiters.ts'

export interface RunEntry {
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
  /** How it ends, where that is told before its result; null: not told yet. */
  announced: Status | null
  result: ResultBytes | null
  readonly delivery: DeliveryNotes
  /** When the state last changed, ms. */
  since: number
  /** Who waits for the result, and who for the status alone. */
  readonly waiters: Waiters
  readonly statusWaiters: Waiters
}

/** What is known of a run's delivery; its attempts are bounded. */
export interface DeliveryNotes extends DeliveryView {
  state: DeliveryState
  readonly attempts: DeliveryAttempt[]
  attempts_left_off: number
}

export function openNotes(state: DeliveryState, attempts: readonly DeliveryAttempt[] = []): DeliveryNotes {
  const notes: DeliveryNotes = { state, attempts: [], attempts_left_off: 0 }
  for (const attempt of attempts) addAttempt(notes, attempt)
  return notes
}

/** How many there have been, this one among them. */
export function addAttempt(notes: DeliveryNotes, attempt: DeliveryAttempt): number {
  notes.attempts.push(attempt)
  if (notes.attempts.length > MAX_ATTEMPTS_KEPT) {
    notes.attempts.shift()
    notes.attempts_left_off += 1
  }
  return notes.attempts_left_off + notes.attempts.length
}

/** A run that ended in an earlier life of the engine. */
export interface EndedRun extends Pick<
  RunEntry,
  'runId' | 'sessionKey' | 'startedAt' | 'deadlineAt' | 'warnings' | 'callback' | 'since'
> {
  readonly stored: boolean
  readonly result: ResultBytes
  readonly done: StreamEvent
  readonly delivery: DeliveryNotes
}

/** The scope of an idempotency key. SPEC §3.7. */
export function keyOf({ tenant_id, idempotency_key }: RunRequest): string {
  return JSON.stringify([tenant_id, idempotency_key])
}

/** What is locked while a run goes on; null: nothing. */
export function sessionKeyOf({ tenant_id, session_id }: RunRequest): string | null {
  return session_id === null ? null : JSON.stringify([tenant_id, session_id])
}

/** `now` in ms. */
export function openEntry({ request, warnings }: Admission, now: number): RunEntry {
  const runId = toRunId(ulid(now))
  const record = openRecord(runId, request, warnings, now)
  return {
    runId,
    sessionKey: sessionKeyOf(request),
    ...facts(record, warnings),
    events: createRunEventLog(),
    cancelled: new AbortController(),
    record,
    state: 'running',
    announced: null,
    result: null,
    delivery: openNotes(request.callback === null ? 'none' : 'pending'),
    since: now,
    waiters: new Waiters(),
    statusWaiters: new Waiters(),
  }
}

/** What is told of a run from its first moment on. `warnings`: those of its start. */
export function facts(record: RunRecord, warnings: RunView['warnings']) {
  return {
    startedAt: record.startedAt,
    deadlineAt: instantText(record.deadlineAt + DEADLINE_GRACE_MS),
    warnings,
    callback: record.request.callback,
  }
}

/** Its stream holds the text of the result and the end: what a reader that was cut off, or comes late, still needs. */
export function restoredEntry(run: EndedRun): RunEntry {
  const { done: _done, stored, ...kept } = run
  // Ids of its own: one that the engine gave out before must not be taken for another event here.
  const events = createRunEventLog({ idPrefix: 'r' })
  for (const event of eventsOf(run)) events.append(event)
  return {
    ...kept,
    announced: null,
    events,
    cancelled: new AbortController(),
    record: null,
    state: stored ? 'stored' : 'ended',
    waiters: new Waiters(),
    statusWaiters: new Waiters(),
  }
}

function eventsOf({ runId, result, done }: EndedRun): StreamEvent[] {
  const parsed = parseJson(result.json)
  const { steps, text } = (parsed.ok ? parsed.value : { steps: 0, text: '' }) as unknown as RunResult
  const events: StreamEvent[] = [{ event: 'start', data: { run_id: runId } }]
  if (steps > 0) events.push({ event: 'step', data: { step: steps, final: true } })
  if (steps > 0 && text !== '') events.push({ event: 'delta', data: { step: steps, offset: 0, text } })
  return [...events, done]
}

/** What the journal is told of a run's beginning. */
export function acceptedEntry(runId: RunId, { session_id, targets, trace }: RunRequest): JournalEntry {
  const [{ model, provider }] = targets
  return { event: 'accepted', run_id: runId, session_id, trace_id: traceIdOf(runId, trace ?? null), provider, model }
}

/** As retention sees it; null: it goes on. */
export function keptOf({ delivery, result, runId, since, state }: RunEntry): Kept | null {
  if (result === null) return null
  const isTried = state === 'ended' && delivery.state === 'pending'
  return { runId, stored: state === 'stored', isTried, since, bytes: result.json.length }
}

export function viewOf(entry: RunEntry | undefined): RunView | null {
  if (entry === undefined) return null
  return {
    runId: entry.runId,
    state: entry.state,
    status: entry.result?.status ?? entry.announced ?? 'running',
    startedAt: entry.startedAt,
    deadlineAt: entry.deadlineAt,
    warnings: entry.warnings,
    delivery: entry.delivery,
    result: entry.result,
  }
}
