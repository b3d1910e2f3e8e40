/**
 * What write tools asked for, and which call asked. An operation is registered here and nothing else happens: carrying it out
 * is `decide.ts`'s business, after a human's yes.
 *
 * One row stands for one operation of one customer message, whatever run, call or attempt asks for it; other arguments raise
 * its version, and a decision counts only for the version that was shown.
 */
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import type { PendingCall } from '../../src/contract/result.ts'
import type { Database } from './database.ts'
import type { CallRow, OperationRow } from './rows.ts'

type Registered =
  | { readonly kind: 'waits'; readonly operation: OperationRow }
  /** The very same was decided before: the model is told how. */
  | { readonly kind: 'decided'; readonly operation: OperationRow }

export interface Operations {
  /** Under `operation_key`. A call that is known changes nothing. */
  register(call: ToolCallBody, sessionId: string, userId: string, orderId: string): Registered
  find(id: string): OperationRow | null
  ofSession(sessionId: string): OperationRow[]
  calls(operationId: string): CallRow[]
  /** Calls of a session that a tool message has yet to answer. */
  openCalls(sessionId: string): (CallRow & { readonly tool: string })[]
  /** The run ended and waits for this call. false: nobody registered it. */
  open(call: PendingCall): boolean
  close(callId: string): void
  /** From pending to decided, once: false if it is not pending, or not this version, any more. */
  decide(id: string, version: number, status: 'approved' | 'declined'): boolean
  setOutcome(id: string, outcome: string, told: boolean): void
  /** Decided after their calls were closed. */
  untold(sessionId: string): OperationRow[]
  setTold(sessionId: string): void
  /** Operations that a run asked for whose result never became part of the history. */
  supersedeOfRun(runId: string): void
}

export function createOperations(database: Database, now: () => Date): Operations {
  const time = () => now().toISOString()
  const find = (id: string) => database.one<OperationRow>('SELECT * FROM operation WHERE id = ?', id)
  const callOf = (id: string) => database.one<CallRow>('SELECT * FROM operation_call WHERE call_id = ?', id)

  function insert(call: ToolCallBody, sessionId: string, userId: string, orderId: string): void {
    // The model asks again, for another message of the customer: the older card about the same thing is out of date.
    database.run(
      `UPDATE operation SET status = 'superseded', changed_at = ?
       WHERE session_id = ? AND tool = ? AND order_id = ? AND status = 'pending' AND id <> ?`,
      time(),
      sessionId,
      call.tool,
      orderId,
      call.operation_key,
    )
    database.run(
      `INSERT INTO operation (id, session_id, user_id, tool, order_id, args, args_hash, status, changed_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?)
       ON CONFLICT (id) DO UPDATE SET args = excluded.args, args_hash = excluded.args_hash, order_id = excluded.order_id,
         version = version + 1, status = 'pending', outcome = NULL, told = 1, changed_at = excluded.changed_at
       WHERE args_hash <> excluded.args_hash OR status = 'superseded'`,
      call.operation_key,
      sessionId,
      userId,
      call.tool,
      orderId,
      JSON.stringify(call.args),
      call.args_hash,
      time(),
    )
  }

  function rowOf(id: string): OperationRow {
    const row = find(id)
    if (row === null) throw new Error(`operation ${id} was written and is not there`)
    return row
  }

  return {
    register: (call, sessionId, userId, orderId) =>
      database.transaction(() => {
        const known = callOf(call.call_id)
        if (known !== null) return { kind: 'waits', operation: rowOf(known.operation_id) }
        const before = find(call.operation_key)
        const decided = before?.status === 'approved' || before?.status === 'declined'
        if (before !== null && decided && before.args_hash === call.args_hash)
          return { kind: 'decided', operation: before }
        insert(call, sessionId, userId, orderId)
        const operation = rowOf(call.operation_key)
        database.run(
          `INSERT INTO operation_call (call_id, operation_id, version, run_id, state) VALUES (?, ?, ?, ?, 'registered')`,
          call.call_id,
          operation.id,
          operation.version,
          call.run_id,
        )
        return { kind: 'waits', operation }
      }),
    find,
    ofSession: (sessionId) =>
      database.all<OperationRow>('SELECT * FROM operation WHERE session_id = ? ORDER BY rowid', sessionId),
    calls: (operationId) =>
      database.all<CallRow>('SELECT * FROM operation_call WHERE operation_id = ? ORDER BY rowid', operationId),
    openCalls: (sessionId) =>
      database.all<CallRow & { tool: string }>(
        `SELECT c.*, o.tool FROM operation_call c JOIN operation o ON o.id = c.operation_id
         WHERE o.session_id = ? AND c.state = 'open' ORDER BY c.rowid`,
        sessionId,
      ),
    open: ({ call_id }) =>
      database.run(`UPDATE operation_call SET state = 'open' WHERE call_id = ? AND state = 'registered'`, call_id) ===
      1,
    close: (callId) => void database.run(`UPDATE operation_call SET state = 'closed' WHERE call_id = ?`, callId),
    decide: (id, version, status) =>
      database.run(
        `UPDATE operation SET status = ?, changed_at = ? WHERE id = ? AND version = ? AND status = 'pending'`,
        status,
        time(),
        id,
        version,
      ) === 1,
    setOutcome: (id, outcome, told) =>
      void database.run('UPDATE operation SET outcome = ?, told = ? WHERE id = ?', outcome, told ? 1 : 0, id),
    untold: (sessionId) =>
      database.all<OperationRow>('SELECT * FROM operation WHERE session_id = ? AND told = 0 ORDER BY rowid', sessionId),
    setTold: (sessionId) => void database.run('UPDATE operation SET told = 1 WHERE session_id = ?', sessionId),
    supersedeOfRun: (runId) =>
      void database.run(
        `UPDATE operation SET status = 'superseded', changed_at = ? WHERE status = 'pending' AND id IN
           (SELECT operation_id FROM operation_call WHERE run_id = ?)`,
        time(),
        runId,
      ),
  }
}
