/**
 * Starts a run: `begin` writes down what is about to be posted, `post` carries it to the engine and obeys what the engine says
 * to that. Between the two this process may die: the safety net posts the same bytes again, under the same key (Obligation A.3).
 */
import type { Context } from './context.ts'
import { ackRun, postRun, resultOf } from './engine-client.ts'
import type { RunRow } from './rows.ts'
import { runBody } from './run-body.ts'
import { storeResult } from './store-result.ts'

/** Together about a minute, which the customer sees as waiting and may end at any time. Then the safety net goes on. */
const WAIT_AT_MOST_MS = 60_000
const AGAIN_AFTER_MS = 1000

/** Writes the run and its body, and marks the session running; to be called inside the transaction of its cause. */
export function begin(context: Context, sessionId: string, key: string, originRequestId: string): void {
  const { conversation } = context
  const session = conversation.session(sessionId)
  if (session === null) throw new Error(`session ${sessionId} is not there`)
  const { history_revision } = session
  const run = { id: key, session_id: sessionId, origin_request_id: originRequestId, history_revision }
  conversation.addRun(run, runBody(run, session, context))
  conversation.setStatus(sessionId, 'running', key)
}

/** Until the engine has the run, has refused it, or cannot be had just now; the last is left to the safety net. */
export async function post(context: Context, id: string, hurry: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([context.closing, hurry])
  for (let waitedMs = 0; ;) {
    const run = context.conversation.run(id)
    if (run?.status !== 'starting') return
    const waitMs = await postOnce(context, run)
    waitedMs += waitMs
    if (waitedMs > WAIT_AT_MOST_MS) return
    if (waitMs > 0) await context.pause(waitMs, signal).catch(() => undefined)
    // Whoever is in a hurry ends this run.
    if (signal.aborted) return
  }
}

type Taken = Readonly<Record<'run_id' | 'status' | 'stream_url' | 'deadline_at', string>>
interface Refused {
  readonly error?: { readonly code: string; readonly message: string; readonly run_id?: string }
}

/** What becomes of the run stands in its row. Gives the pause before the next try, should one be needed. */
async function postOnce(context: Context, run: RunRow): Promise<number> {
  const { status, body, retryAfterMs } = await postRun(context.engine, run.request ?? '')
  if (status === 202 || status === 200) {
    const taken = body as Taken
    // Its callback may have been quicker: then the row is left as it ended.
    context.database.run`UPDATE run SET status = 'running', run_id = ${taken.run_id}, stream_url = ${taken.stream_url},
      deadline_at = ${taken.deadline_at}, request = NULL WHERE id = ${run.id} AND status = 'starting'`
    context.changed(run.session_id)
    // A repeat may find it ended.
    if (taken.status !== 'running') await collect(context, taken.run_id, 'look')
    return 0
  }
  const { error } = (body ?? {}) as Refused
  const isBlocked = error?.code === 'run_active' || error?.code === 'result_pending'
  if (isBlocked && error.run_id !== undefined) return (await makeWay(context, error.run_id)) ? 0 : AGAIN_AFTER_MS
  if (status === 429 || status === 503) return retryAfterMs
  if (status === 0 || status >= 500) return AGAIN_AFTER_MS
  endRun(context, run, 'refused', error?.message ?? `the engine answered ${status}`)
  return 0
}

/** Obligation A.9: another run of the session has to end, and its result to be stored, before this one can begin. */
async function makeWay(context: Context, runId: string): Promise<boolean> {
  const seen = await collect(context, runId, 'look')
  return (seen === 'running' ? await collect(context, runId, 'cancel') : seen) === 'kept'
}

/** Fetches what a run came to, stores it, and then says so to the engine. What is nobody's here is not said to be stored. */
export async function collect(context: Context, runId: string, how: 'look' | 'cancel') {
  const result = await resultOf(context.engine, runId, how)
  if (typeof result === 'string') return result
  if (storeResult(result, context) === 'unknown') return 'unknown'
  return (await ackRun(context.engine, runId)) ? 'kept' : 'unacked'
}

/** Ends a run without a result. One that comes later may still be stored. */
export function endRun({ database, changed }: Context, run: RunRow, status: RunRow['status'], error: string): void {
  database.transaction(() => {
    database.run`UPDATE run SET status = ${status}, error = ${error}, request = NULL
      WHERE id = ${run.id} AND result IS NULL`
    database.run`UPDATE chat_session SET status = 'idle', active_run = NULL, changed_at = now()
      WHERE id = ${run.session_id} AND active_run = ${run.id}`
  })
  changed(run.session_id)
}
