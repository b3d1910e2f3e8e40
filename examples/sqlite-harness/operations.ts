/**
 * What write tools asked for, and which call asked. An operation is registered here and nothing else happens: carrying it out
 * is `decide.ts`'s business, after a human's yes.
 *
 * One row stands for one operation of one customer message, whatever run, call or attempt asks for it; other arguments raise
 * its version, and a decision counts only for the version that was shown.
 */
import type { PendingCall } from '../../src/contract/result.ts'
import type { ToolCallBody } from '../../src/contract/tool-exchange.ts'
import type { Database } from './plumbing/database.ts'
import type { CallRow, OperationRow } from './rows.ts'

export type Operations = ReturnType<typeof createOperations>

export function createOperations({ all, one, run, transaction }: Database) {
  const find = (id: string) => one<OperationRow>`SELECT * FROM operation WHERE id = ${id}`

  function write({ operation_key, tool, args, args_hash }: ToolCallBody, session: string, user: string, order: string) {
    // The model asks again, for another message of the customer: the older card about the same thing is out of date.
    run`UPDATE operation SET status = 'superseded', changed_at = now() WHERE session_id = ${session} AND tool = ${tool}
      AND order_id = ${order} AND status = 'pending' AND id <> ${operation_key}`
    run`INSERT INTO operation (id, session_id, user_id, tool, order_id, args, args_hash, status, changed_at)
      VALUES (${operation_key}, ${session}, ${user}, ${tool}, ${order}, ${JSON.stringify(args)}, ${args_hash},
        'pending', now())
      ON CONFLICT (id) DO UPDATE SET args = excluded.args, args_hash = excluded.args_hash, order_id = excluded.order_id,
        version = version + 1, status = 'pending', expires_at = NULL, outcome = NULL, told = 1, changed_at = now()
      WHERE args_hash <> excluded.args_hash OR status IN ('superseded', 'expired')`
  }

  return {
    find,
    /**
     * Obligation A.5: under `operation_key`, and nothing is carried out. Obligation A.6: a call that is known changes nothing.
     * Gives the operation where the very same was decided before; null: it waits.
     */
    register: (call: ToolCallBody, session: string, user: string, order: string): OperationRow | null =>
      transaction(() => {
        const { call_id, operation_key, args_hash, run_id } = call
        if (one`SELECT 1 FROM operation_call WHERE call_id = ${call_id}` !== null) return null
        const before = find(operation_key)
        const isDecided = before?.status === 'approved' || before?.status === 'declined'
        if (isDecided && before.args_hash === args_hash) return before
        write(call, session, user, order)
        run`INSERT INTO operation_call (call_id, operation_id, version, run_id, state)
          SELECT ${call_id}, id, version, ${run_id}, 'registered' FROM operation WHERE id = ${operation_key}`
        return null
      }),
    /** Calls of a session that a tool message has yet to answer. */
    openCalls: (session: string) =>
      all<CallRow>`SELECT c.*, o.tool FROM operation_call c JOIN operation o ON o.id = c.operation_id
        WHERE o.session_id = ${session} AND c.state = 'open' ORDER BY c.rowid`,
    /** The run ended and waits for this call; from now on it can be decided. false: nobody registered it. */
    open({ call_id, expires_at }: PendingCall): boolean {
      run`UPDATE operation SET expires_at = ${expires_at} FROM operation_call c
        WHERE c.call_id = ${call_id} AND c.operation_id = operation.id AND c.version = operation.version`
      return run`UPDATE operation_call SET state = 'open' WHERE call_id = ${call_id} AND state = 'registered'` === 1
    },
    /** From pending to what became of it, once: false if it is not pending, or not this version, any more. */
    settle: ({ id, version }: OperationRow, status: OperationRow['status']) =>
      run`UPDATE operation SET status = ${status}, changed_at = now()
        WHERE id = ${id} AND version = ${version} AND status = 'pending'` === 1,
  }
}
