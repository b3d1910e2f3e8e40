/**
 * Takes a result into the database, whichever way it came: callback, poll or cancel (Obligation A.1). One transaction, and a
 * result that comes twice changes nothing. Fields that nobody here knows are kept with the rest (Obligation A.14).
 *
 * A result belongs to the history only while the history is the one it was made for. One that comes too late, after the
 * conversation went on without it, is kept in its run for audit and nowhere else.
 */
import type { RunResult } from '../../src/contract/result.ts'
import type { Conversation } from './conversation.ts'
import type { Database } from './plumbing/database.ts'
import type { Operations } from './operations.ts'
import type { RunRow, SessionRow } from './rows.ts'
import type { RunLog } from './run-log.ts'

export type Storing = 'stored' | 'audit' | 'repeated' | 'unknown'

export interface StoreParts {
  readonly database: Database
  readonly conversation: Conversation
  readonly operations: Operations
  readonly runs: RunLog
  /** A session looks different now. */
  readonly changed: (sessionId: string) => void
}

export function storeResult(result: RunResult, parts: StoreParts): Storing {
  const { database, conversation, runs } = parts
  const run = runs.find(result.idempotency_key) ?? adopt(result, parts)
  const session = run === null ? null : conversation.session(run.session_id)
  if (run === null || session === null) return 'unknown'
  if (run.result !== null) return 'repeated'
  const accepted = fits(run, session)
  database.transaction(() => {
    runs.storeResult(run, result, accepted)
    if (accepted) take(result, session, parts)
    else {
      parts.operations.supersedeOfRun(result.run_id)
      // The run that is stored for audit may be the very one the session waits for.
      if (session.active_run === run.id) conversation.setStatus(session.id, 'idle', null)
    }
  })
  parts.changed(session.id)
  return accepted ? 'stored' : 'audit'
}

const ASK_AGAIN = 'superseded by another request of the same kind in the same answer; ask again if it is still wanted'

/** A run of a session of ours that no row tells of, as after a restore from an older copy: kept for audit, for it was paid for. */
function adopt(result: RunResult, { conversation, runs }: StoreParts): RunRow | null {
  const sessionId = result.meta['session_id']
  if (typeof sessionId !== 'string' || conversation.session(sessionId) === null) return null
  runs.begin({
    id: result.idempotency_key,
    session_id: sessionId,
    origin_request_id: result.origin_request_id,
    // A revision that no history has.
    history_revision: -1,
    after_position: conversation.newest(sessionId)?.position ?? 0,
  })
  return runs.find(result.idempotency_key)
}

/** Made for the history as it is, and no other run is on its way. */
function fits(run: RunRow, session: SessionRow): boolean {
  const free = session.active_run === null || session.active_run === run.id
  return free && session.status !== 'awaiting_tool' && run.history_revision === session.history_revision
}

function take(result: RunResult, session: SessionRow, { conversation, operations }: StoreParts): void {
  conversation.engineSaid(session.id, result.messages)
  for (const call of result.pending) {
    const operation = call.operation_id === null ? null : operations.find(call.operation_id)
    const registered = operations.open(call)
    if (registered && operation?.args_hash === call.args_hash && operation.status === 'pending') continue
    // Nothing waits for a decision here: it was decided, asked for again with other arguments, or never registered.
    const decided = operation?.status === 'approved' || operation?.status === 'declined'
    const why = decided ? `${operation.status} meanwhile: ${operation.outcome ?? ''}` : ASK_AGAIN
    conversation.answerCall(session.id, closing(call.call_id, call.tool, call.operation_id, why))
    operations.close(call.call_id)
  }
  const waits = operations.openCalls(session.id).length > 0
  conversation.setStatus(session.id, waits ? 'awaiting_tool' : 'idle', null)
}

/** Obligation A.8: the tool message that closes a call which nobody will decide any more. */
export function closing(callId: string, tool: string, operationId: string | null, error = 'superseded') {
  const operation = operationId === null ? {} : { operation_id: operationId }
  return { role: 'tool' as const, call_id: callId, tool, ...operation, is_error: true, error }
}
