/** From a run's end to what is written of it, and from what was written back to a run that has ended. */
import type { RunId } from '../contract/ids.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import type { RunRecord } from '../engine/record.ts'
import type { DeliveryAttempt, ResultBytes } from './ports.ts'
import { facts, openNotes, sessionKeyOf, type EndedRun } from './run-entry.ts'
import type { Accepted, Ended } from './spool-record.ts'

/** What is written of a run's end, beside its result. */
export function endedOf(
  { key, warnings }: Accepted,
  record: RunRecord,
  { status }: ResultBytes,
  done: StreamEvent,
): Ended {
  return {
    kind: 'ended',
    at: Date.now(),
    key,
    sessionKey: sessionKeyOf(record.request),
    ...facts(record, warnings),
    status,
    done,
  }
}

/** The run as the memory of the next life takes it up. */
export function endedRun(
  runId: RunId,
  ended: Ended,
  json: string,
  {
    attempts,
    stored,
    isGone,
  }: {
    readonly attempts: readonly DeliveryAttempt[]
    readonly stored: { by: 'delivered' | 'acked'; at: number } | null
    /** The receiver said that it will never take it. */
    readonly isGone: boolean
  },
): EndedRun {
  const { sessionKey, startedAt, deadlineAt, warnings, callback, status, done } = ended
  const undelivered = callback === null ? 'none' : isGone ? 'gone' : 'pending'
  return {
    runId,
    sessionKey,
    startedAt,
    deadlineAt,
    warnings,
    callback,
    done,
    stored: stored !== null,
    result: { json, status },
    delivery: openNotes(stored?.by ?? undelivered, attempts),
    // A result that nobody has is kept for its whole time from now on: nobody could fetch it while there was no engine.
    since: stored?.at ?? Date.now(),
  }
}
