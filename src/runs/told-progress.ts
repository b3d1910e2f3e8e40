/**
 * When the progress of a run is written down: before something is sent, at once; all else with the next of these, or at the
 * end of this turn of the event loop. A tool's answer, the step it ends and the next attempt are one write so, and not three.
 */
import type { CommitPoint } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import { progressOf, type Progress, type Told } from './spool-record.ts'

/** The commit points behind which a request leaves. */
export function isSending(point: CommitPoint): boolean {
  return point === 'attempt' || point === 'tool_attempt'
}

export interface ProgressTeller {
  /** Whether a message has come since this was asked last. */
  messageCame(record: RunRecord): boolean
  /** Resolves when all that is new is told. What is asked for in one go is told at once. */
  now(record: RunRecord): Promise<void>
  soon(record: RunRecord): void
  /** What was not told yet is told no more. */
  stop(): void
}

/** `tell` promises not to reject. */
export function tellProgress(told: Told, tell: (news: Progress) => Promise<void>): ProgressTeller {
  let messages = 0
  let due: Promise<void> | null = null
  let later: NodeJS.Immediate | null = null
  let isStopped = false

  function stopWaiting(): void {
    if (later !== null) clearImmediate(later)
    later = null
  }

  function now(record: RunRecord): Promise<void> {
    stopWaiting()
    due ??= Promise.resolve().then(async () => {
      due = null
      const news = isStopped ? null : progressOf(record, told)
      if (news !== null) await tell(news)
    })
    return due
  }

  return {
    messageCame(record) {
      const before = messages
      messages = record.messages.length
      return messages > before
    },
    now,
    soon(record) {
      if (due === null) later ??= setImmediate(() => void now(record))
    },
    stop() {
      isStopped = true
      stopWaiting()
    },
  }
}
