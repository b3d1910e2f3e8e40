/**
 * Takes a result into the database, whichever way it came: callback, poll or cancel (Obligation A.1). One transaction, and a
 * result that comes twice changes nothing. Fields that nobody here knows are kept with the rest (Obligation A.14).
 *
 * A result belongs to the history only while the history is the one it was made for. One that comes too late, after the
 * conversation went on without it, is kept in its run for audit and nowhere else.
 */
import type { RunResult } from '../../src/contract/result.ts'
import type { Context } from './context.ts'
import type { RunRow, SessionRow } from './rows.ts'

/** `unknown`: nothing here has to do with it, and nothing was kept. */
export type Storing = 'stored' | 'audit' | 'repeated' | 'unknown'

export function storeResult(result: RunResult, context: Context): Storing {
  const { database, conversation, changed } = context
  return database.transaction(() => {
    const run = conversation.run(result.idempotency_key) ?? adopt(result, context)
    const session = run === null ? null : conversation.session(run.session_id)
    if (run === null || session === null) return 'unknown'
    if (run.result !== null) return 'repeated'
    // Before each run begins the revision is raised: where it is this one's still, no other has begun since.
    const isAccepted = run.history_revision === session.history_revision
    keep(result, run, isAccepted, context)
    if (isAccepted) take(result, session, context)
    else setAside(result, run, context)
    // Nobody can look before this has returned and all of it is committed.
    changed(session.id)
    return isAccepted ? 'stored' : 'audit'
  })
}

/** A run of a session of ours that no row tells of, as after a restore from an older copy: kept for audit, for it was paid for. */
function adopt({ meta, idempotency_key, origin_request_id }: RunResult, { conversation }: Context): RunRow | null {
  const session_id = meta['session_id']
  if (typeof session_id !== 'string' || conversation.session(session_id) === null) return null
  // A revision that no history has.
  conversation.addRun({ id: idempotency_key, session_id, origin_request_id, history_revision: -1 }, null)
  return conversation.run(idempotency_key)
}

/**
 * Into its run. Obligation A.13: `usage` is kept with its `complete` and its estimates marked, and `cost` with its digits. A run
 * that was given up before and is kept for audit stays what it was for the customer.
 */
function keep(result: RunResult, run: RunRow, isAccepted: boolean, { database }: Context): void {
  const isGivenUp = !isAccepted && (run.status === 'lost' || run.status === 'cancelled')
  const { status, error } = isGivenUp ? run : { status: result.status, error: result.error?.message ?? null }
  database.run`UPDATE run SET run_id = ${result.run_id}, status = ${status}, error = ${error},
    result = ${JSON.stringify(result)}, accepted = ${Number(isAccepted)}, request = NULL WHERE id = ${run.id}`
}

const ASK_AGAIN = 'superseded by another request of the same kind in the same answer; ask again if it is still wanted'

/** Into the history. What its calls wait for can be decided from here on. */
function take(result: RunResult, { id }: SessionRow, { conversation, operations }: Context): void {
  conversation.engineSaid(id, result.messages)
  for (const call of result.pending) {
    const operation = operations.find(call.operation_id ?? '')
    const isRegistered = operations.open(call)
    if (isRegistered && operation?.args_hash === call.args_hash && operation.status === 'pending') continue
    // Nothing waits for a decision here: it was decided, asked for again with other arguments, or never registered.
    const isDecided = operation?.status === 'approved' || operation?.status === 'declined'
    const error = isDecided ? `${operation.status} meanwhile: ${operation.outcome ?? ''}` : ASK_AGAIN
    conversation.answerCall(id, call, { error })
  }
  conversation.setStatus(id, operations.openCalls(id).length > 0 ? 'awaiting_tool' : 'idle', null)
}

/**
 * Not into the history: what it alone asked for can be approved by nobody, and the session waits for it no longer. Where another
 * run has asked for the same, as after trying again, the card is that run's.
 */
function setAside({ run_id }: RunResult, { id, session_id }: RunRow, { database, conversation }: Context): void {
  database.run`UPDATE operation SET status = 'superseded', changed_at = now()
    WHERE session_id = ${session_id} AND status = 'pending'
      AND EXISTS (SELECT 1 FROM operation_call WHERE operation_id = operation.id AND run_id = ${run_id})
      AND NOT EXISTS (SELECT 1 FROM operation_call WHERE operation_id = operation.id AND run_id <> ${run_id})`
  if (conversation.session(session_id)?.active_run === id) conversation.setStatus(session_id, 'idle', null)
}
