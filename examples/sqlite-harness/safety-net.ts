/**
 * Looks after what nobody else will (Obligation A.4): posts that were never answered, runs whose time is over without a result,
 * decisions that nobody made in time, and what is due and was not started, because this process died or the engine did. Once a
 * minute, and once at start.
 */
import type { Context } from './context.ts'
import { expire } from './decide.ts'
import { goOn } from './go-on.ts'
import type { OperationRow, RunRow } from './rows.ts'
import { collect, endRun, post } from './start-run.ts'

const EXTENSION_S = 60

/** @param all look at every open run, whatever its deadline: for the start of this process */
export async function sweep(context: Context, all: boolean): Promise<void> {
  const { database, turns, report } = context
  /** What is wrong with one holds up no other. */
  const each = <T>(rows: readonly T[], task: (row: T) => Promise<unknown>) =>
    Promise.all(rows.map((row) => task(row).catch(report)))
  const overdue = database.all<OperationRow>`SELECT * FROM operation WHERE status = 'pending' AND expires_at <= now()`
  await each(overdue, async (operation) => expire(operation, context))

  const open = database.all<RunRow>`SELECT * FROM run WHERE result IS NULL AND status IN ('starting', 'running')
    AND (deadline_at <= now() OR ${Number(all)}) ORDER BY deadline_at`
  await each(open, ({ id, session_id }) => turns.take(session_id, (hurry) => lookAfter(context, id, hurry)))
  // Something was said, decided or answered, and no run has been started with it.
  const due = database.all<{ id: string }>`SELECT id FROM chat_session s WHERE
    id IN (SELECT session_id FROM raw_chat_message WHERE id NOT IN (SELECT id FROM chat_message)) OR
    id IN (SELECT session_id FROM operation WHERE told = 0) OR
    (SELECT MAX(position) FROM chat_message WHERE session_id = s.id AND author = 'harness') >
    (SELECT MAX(after_position) FROM run WHERE session_id = s.id)`
  await each(due, ({ id }) => turns.take(id, (hurry) => goOn(context, id, hurry)))
}

/** One run without a result: posted again, stored, given more time, or lost. */
export async function lookAfter(context: Context, id: string, hurry: AbortSignal): Promise<void> {
  const run = context.conversation.run(id)
  if (run === null || run.result !== null) return
  if (run.status === 'starting') return post(context, id, hurry)
  if (run.status !== 'running' || run.run_id === null) return
  const seen = await collect(context, run.run_id, 'look')
  if (seen === 'running') context.database.run`UPDATE run SET deadline_at = now(${EXTENSION_S}) WHERE id = ${id}`
  if (seen === 'unknown') endRun(context, run, 'lost', context.words.lost)
  // One that cannot be reached may come back with the run in it.
}
