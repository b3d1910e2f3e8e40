/** The rows of runs: what was posted, what the engine said to that, and how it ended. It reads and writes; it decides nothing. */
import type { RunResult } from '../../src/contract/result.ts'
import type { Database } from './database.ts'
import { digitsOf } from './lossless-json.ts'
import type { RunRow, RunStatus } from './rows.ts'

/** What a 202, or a 200 for a repeat, tells. */
export interface Taken {
  readonly run_id: string
  readonly stream_url: string
  readonly deadline_at: string
}

export interface RunLog {
  /** A run that is about to be posted. */
  begin(run: Pick<RunRow, 'id' | 'session_id' | 'origin_request_id' | 'history_revision' | 'after_position'>): void
  setRequest(id: string, request: string): void
  /** The engine has it. Its callback may have been quicker: then the row is left as it ended. */
  taken(id: string, taken: Taken): void
  /** By the idempotency key or the engine's run id. */
  find(id: string): RunRow | null
  ofSession(sessionId: string): RunRow[]
  /** Without a result, and either never answered or beyond their time. `before` null: all of them. */
  open(before: string | null): RunRow[]
  extend(id: string, deadlineAt: string): void
  /** Ended without a result. A result that comes later may still be stored. */
  end(id: string, status: Extract<RunStatus, 'lost' | 'refused'>, error: string): void
  storeResult(id: string, result: RunResult, accepted: boolean): void
}

export function createRunLog(database: Database, now: () => Date): RunLog {
  return {
    begin(run) {
      const time = now()
      database.run(
        `INSERT INTO run (id, session_id, origin_request_id, history_revision, after_position, status, started_at, deadline_at)
         VALUES (?, ?, ?, ?, ?, 'starting', ?, ?)`,
        run.id,
        run.session_id,
        run.origin_request_id,
        run.history_revision,
        run.after_position,
        time.toISOString(),
        new Date(time.getTime() + UNANSWERED_MS).toISOString(),
      )
    },
    setRequest: (id, request) => void database.run('UPDATE run SET request = ? WHERE id = ?', request, id),
    taken(id, { run_id, stream_url, deadline_at }) {
      database.run(
        `UPDATE run SET status = 'running', run_id = ?, stream_url = ?, deadline_at = ?, request = NULL
         WHERE id = ? AND result IS NULL`,
        run_id,
        stream_url,
        deadline_at,
        id,
      )
    },
    find: (id) => database.one<RunRow>('SELECT * FROM run WHERE id = ? OR run_id = ?', id, id),
    ofSession: (sessionId) =>
      database.all<RunRow>('SELECT * FROM run WHERE session_id = ? ORDER BY started_at, rowid', sessionId),
    open: (before) =>
      database.all<RunRow>(
        `SELECT * FROM run WHERE result IS NULL AND status IN ('starting', 'running') AND (? IS NULL OR deadline_at <= ?)
         ORDER BY deadline_at`,
        before,
        before,
      ),
    extend: (id, deadlineAt) => void database.run('UPDATE run SET deadline_at = ? WHERE id = ?', deadlineAt, id),
    end(id, status, error) {
      database.run(
        `UPDATE run SET status = ?, error = ?, request = NULL WHERE id = ? AND result IS NULL`,
        status,
        error,
        id,
      )
    },
    storeResult(id, result, accepted) {
      database.run(
        `UPDATE run SET run_id = ?, status = ?, result = ?, accepted = ?, usage = ?, cost = ?, currency = ?, error = ?,
         request = NULL WHERE id = ? AND result IS NULL`,
        result.run_id,
        result.status,
        JSON.stringify(result),
        accepted ? 1 : 0,
        JSON.stringify(result.usage),
        digitsOf(result.usage.cost),
        result.usage.currency,
        result.error?.message ?? null,
        id,
      )
    },
  }
}

/** A post that nobody saw answered is looked at by the safety net after this. */
const UNANSWERED_MS = 30_000
