/** The rows of runs: what was posted, what the engine said to that, and how it ended. It reads and writes; it decides nothing. */
import type { RunResult } from '../../src/contract/result.ts'
import type { Database } from './plumbing/database.ts'
import { digitsOf } from './plumbing/lossless-json.ts'
import type { RunRow, RunStatus } from './rows.ts'

/** What a 202, or a 200 for a repeat, tells. */
export interface Taken {
  readonly run_id: string
  readonly stream_url: string
  readonly deadline_at: string
}

export type NewRun = Pick<RunRow, 'id' | 'session_id' | 'origin_request_id' | 'history_revision' | 'after_position'>

export type RunLog = ReturnType<typeof createRunLog>

/** A post that nobody saw answered is looked at by the safety net after this. */
const UNANSWERED_MS = 30_000

export function createRunLog({ all, one, run }: Database, now: () => Date) {
  return {
    /** A run that is about to be posted. */
    begin({ id, session_id, origin_request_id, history_revision, after_position }: NewRun): void {
      const started = now()
      const deadline = new Date(started.getTime() + UNANSWERED_MS).toISOString()
      run`INSERT INTO run (id, session_id, origin_request_id, history_revision, after_position, status, started_at, deadline_at)
        VALUES (${id}, ${session_id}, ${origin_request_id}, ${history_revision}, ${after_position}, 'starting',
          ${started.toISOString()}, ${deadline})`
    },
    /** Obligation A.3: the bytes are kept until the engine has them, so that a repeat is the same. */
    setRequest: (id: string, request: string) => void run`UPDATE run SET request = ${request} WHERE id = ${id}`,
    /** The engine has it. Its callback may have been quicker: then the row is left as it ended. */
    taken(id: string, { run_id, stream_url, deadline_at }: Taken): void {
      run`UPDATE run SET status = 'running', run_id = ${run_id}, stream_url = ${stream_url}, deadline_at = ${deadline_at},
        request = NULL WHERE id = ${id} AND status = 'starting'`
    },
    /** By the idempotency key or the engine's run id. */
    find: (id: string) => one<RunRow>`SELECT * FROM run WHERE id = ${id} OR run_id = ${id}`,
    ofSession: (session: string) =>
      all<RunRow>`SELECT * FROM run WHERE session_id = ${session} ORDER BY started_at, rowid`,
    /** Of those that this harness began. */
    newest: (session: string) =>
      one<RunRow>`SELECT * FROM run WHERE session_id = ${session} AND history_revision >= 0 ORDER BY started_at DESC, rowid DESC LIMIT 1`,
    /** Without a result and beyond their time; `before` null: whatever their time. */
    open: (before: string | null) =>
      all<RunRow>`SELECT * FROM run WHERE result IS NULL AND status IN ('starting', 'running')
        AND (${before} IS NULL OR deadline_at <= ${before}) ORDER BY deadline_at`,
    extend: (id: string, deadline: string) => void run`UPDATE run SET deadline_at = ${deadline} WHERE id = ${id}`,
    /** Ended without a result. A result that comes later may still be stored. */
    end(id: string, status: Extract<RunStatus, 'lost' | 'refused' | 'cancelled'>, error: string): void {
      run`UPDATE run SET status = ${status}, error = ${error}, request = NULL WHERE id = ${id} AND result IS NULL`
    },
    /**
     * Obligation A.13: `usage` is kept with its `complete` and its estimates marked; `cost` as digits, never as a double. A run
     * that was given up before and is kept for audit stays what it was for the customer.
     */
    storeResult({ id, status, error }: RunRow, result: RunResult, accepted: boolean): void {
      const { usage } = result
      const given_up = !accepted && (status === 'lost' || status === 'cancelled')
      run`UPDATE run SET run_id = ${result.run_id}, status = ${given_up ? status : result.status},
        error = ${given_up ? error : (result.error?.message ?? null)}, result = ${JSON.stringify(result)},
        accepted = ${accepted ? 1 : 0}, usage = ${JSON.stringify(usage)}, cost = ${digitsOf(usage.cost)},
        currency = ${usage.currency}, request = NULL WHERE id = ${id} AND result IS NULL`
    },
  }
}
