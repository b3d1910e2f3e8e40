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

type Registered =
  | { readonly kind: 'waits'; readonly operation: OperationRow }
  /** The very same was decided before: the model is told how. */
  | { readonly kind: 'decided'; readonly operation: OperationRow }

export type Operations = ReturnType<typeof createOperations>

export function createOperations({ all, one, run, transaction }: Database, now: () => Date) {
  const time = () => now().toISOString()
  const find = (id: string) => one<OperationRow>`SELECT * FROM operation WHERE id = ${id}`

  function rowOf(id: string): OperationRow {
    const row = find(id)
    if (row === null) throw new Error(`operation ${id} was written and is not there`)
    return row
  }

  function write({ operation_key, tool, args, args_hash }: ToolCallBody, session: string, user: string, order: string) {
    // The model asks again, for another message of the customer: the older card about the same thing is out of date.
    run`UPDATE operation SET status = 'superseded', changed_at = ${time()} WHERE session_id = ${session} AND tool = ${tool}
      AND order_id = ${order} AND status = 'pending' AND id <> ${operation_key}`
    run`INSERT INTO operation (id, session_id, user_id, tool, order_id, args, args_hash, status, changed_at)
      VALUES (${operation_key}, ${session}, ${user}, ${tool}, ${order}, ${JSON.stringify(args)}, ${args_hash}, 'pending', ${time()})
      ON CONFLICT (id) DO UPDATE SET args = excluded.args, args_hash = excluded.args_hash, order_id = excluded.order_id,
        version = version + 1, status = 'pending', outcome = NULL, told = 1, changed_at = excluded.changed_at
      WHERE args_hash <> excluded.args_hash OR status IN ('superseded', 'expired')`
  }

  return {
    find,
    /**
     * Obligation A.5: under `operation_key`, and nothing is carried out. Obligation A.6: a call that is known changes nothing and
     * is answered the same.
     */
    register: (call: ToolCallBody, session: string, user: string, order: string): Registered =>
      transaction(() => {
        const known = one<CallRow>`SELECT * FROM operation_call WHERE call_id = ${call.call_id}`
        if (known !== null) return { kind: 'waits', operation: rowOf(known.operation_id) }
        const before = find(call.operation_key)
        const decided = before?.status === 'approved' || before?.status === 'declined'
        if (before !== null && decided && before.args_hash === call.args_hash)
          return { kind: 'decided', operation: before }
        write(call, session, user, order)
        const operation = rowOf(call.operation_key)
        run`INSERT INTO operation_call (call_id, operation_id, version, run_id, state)
          VALUES (${call.call_id}, ${operation.id}, ${operation.version}, ${call.run_id}, 'registered')`
        return { kind: 'waits', operation }
      }),
    ofSession: (session: string) =>
      all<OperationRow>`SELECT * FROM operation WHERE session_id = ${session} ORDER BY rowid`,
    /** Those that asked for one version of it, oldest first. */
    calls: ({ id, version }: Pick<OperationRow, 'id' | 'version'>) =>
      all<CallRow>`SELECT * FROM operation_call WHERE operation_id = ${id} AND version = ${version} ORDER BY rowid`,
    /** Calls of a session that a tool message has yet to answer. */
    openCalls: (session: string) =>
      all<CallRow & { tool: string }>`SELECT c.*, o.tool FROM operation_call c JOIN operation o ON o.id = c.operation_id
        WHERE o.session_id = ${session} AND c.state = 'open' ORDER BY c.rowid`,
    /** The run ended and waits for this call. false: nobody registered it. */
    open: ({ call_id, expires_at }: PendingCall) =>
      run`UPDATE operation_call SET state = 'open', expires_at = ${expires_at}
        WHERE call_id = ${call_id} AND state = 'registered'` === 1,
    close: (call: string) => void run`UPDATE operation_call SET state = 'closed' WHERE call_id = ${call}`,
    /** From pending to what became of it, once: false if it is not pending, or not this version, any more. */
    settle: (id: string, version: number, status: Exclude<OperationRow['status'], 'pending'>) =>
      run`UPDATE operation SET status = ${status}, changed_at = ${time()}
        WHERE id = ${id} AND version = ${version} AND status = 'pending'` === 1,
    setOutcome: (id: string, outcome: string, told: boolean) =>
      void run`UPDATE operation SET outcome = ${outcome}, told = ${told ? 1 : 0} WHERE id = ${id}`,
    /** Decided after their calls were closed. */
    untold: (session: string) =>
      all<OperationRow>`SELECT * FROM operation WHERE session_id = ${session} AND told = 0 ORDER BY rowid`,
    setTold: (session: string) => void run`UPDATE operation SET told = 1 WHERE session_id = ${session}`,
    /** Pending, and the time to decide is over. */
    overdue: () =>
      all<OperationRow>`SELECT o.* FROM operation o WHERE o.status = 'pending' AND ${time()} >=
        (SELECT MAX(c.expires_at) FROM operation_call c WHERE c.operation_id = o.id AND c.version = o.version)`,
    /** Operations that a run asked for whose result never became part of the history. */
    supersedeOfRun(run_id: string): void {
      run`UPDATE operation SET status = 'superseded', changed_at = ${time()} WHERE status = 'pending' AND id IN
        (SELECT operation_id FROM operation_call WHERE run_id = ${run_id})`
    },
  }
}

/** Until when a decision counts: as long as the newest ticket does. null: nothing waits yet. */
export function expiryOf(calls: readonly CallRow[]): string | null {
  return calls.findLast(({ expires_at }) => expires_at !== null)?.expires_at ?? null
}
