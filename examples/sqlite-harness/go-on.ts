/**
 * What a conversation needs next. `goOn` looks at its rows and starts the run that is due: for what the customer said, or
 * because all that was waited for is decided. It is asked after every change, and does nothing where nothing is due; so a
 * process that died in between is caught up with by asking once more.
 *
 * All of this happens in the session's turn (`plumbing/turns.ts`): one thing at a time.
 */
import { randomUUID } from 'node:crypto'
import type { Context } from './context.ts'
import { messageOf } from './conversation.ts'
import type { OperationRow, RunRow } from './rows.ts'
import { begin, collect, endRun, post } from './start-run.ts'

export async function goOn(context: Context, session: string, hurry: AbortSignal): Promise<void> {
  // What the customer says ends what is under way.
  if (context.conversation.unheard(session).length > 0) await endActive(context, session, true)
  await start(context, session, hurry, () => hear(context, session) ?? follow(context, session))
}

/** Writes down what `prepare` finds due, and carries it to the engine. false: nothing is due. */
async function start(context: Context, session: string, hurry: AbortSignal, prepare: () => string | null) {
  const key = context.database.transaction(prepare)
  if (key === null) return false
  context.changed(session)
  await post(context, key, hurry)
  return true
}

/** What was kept becomes part of the history, and a run begins with it. null: nothing was said. */
function hear(context: Context, session: string): string | null {
  const { conversation, operations } = context
  const said = conversation.unheard(session)
  const last = said.at(-1)
  if (last === undefined) return null
  // Obligation A.8: before a new message every open call is closed. Its operation still waits, and its card stays.
  for (const call of operations.openCalls(session)) conversation.answerCall(session, call, { error: 'superseded' })
  tellDecided(context, session)
  for (const { id, text } of said) conversation.said(session, id, 'customer', text)
  begin(context, session, last.id, last.id)
  return last.id
}

/** A run for what the harness has written since the last one: answers to calls, and decisions to tell of. null: none is due. */
function follow(context: Context, id: string): string | null {
  const { conversation, operations } = context
  if (conversation.session(id)?.status === 'running' || operations.openCalls(id).length > 0) return null
  tellDecided(context, id)
  const last = conversation.newest(id)
  const earlier = conversation.newestRun(id)
  if (last?.author !== 'harness' || earlier === null || earlier.after_position >= last.position) return null
  const key = randomUUID()
  // A run that goes on after an approval serves the message that the asking run served.
  begin(context, id, key, messageOf(last).role === 'tool' ? earlier.origin_request_id : last.id)
  return key
}

/** Decisions whose calls were closed before: the model hears of them in a message of the harness's own. */
function tellDecided({ database, conversation, words }: Context, session: string): void {
  const decided = database.all<OperationRow>`UPDATE operation SET told = 1
    WHERE session_id = ${session} AND told = 0 RETURNING *`
  for (const { tool, order_id, outcome } of decided) {
    const notice = words.lateDecision(`${tool} for order ${order_id}`, outcome ?? '')
    conversation.said(session, `notice_${randomUUID()}`, 'harness', notice)
  }
}

/** A new run for what is still unanswered, in whole or in part. false: nothing is. */
export function tryAgain(context: Context, id: string, hurry: AbortSignal): Promise<boolean> {
  const { conversation, words } = context
  return start(context, id, hurry, () => {
    const earlier = conversation.newestRun(id)
    if (conversation.session(id)?.status !== 'idle' || earlier === null || !isUnanswered(earlier)) return null
    const last = conversation.newest(id)
    // What was said stays said: the model is asked to begin anew. Else a late result of the run before must not come between.
    if (last !== null && messageOf(last).role === 'assistant') {
      conversation.said(id, `again_${randomUUID()}`, 'harness', words.again)
    } else conversation.raiseRevision(id)
    const key = randomUUID()
    begin(context, id, key, earlier.origin_request_id)
    return key
  })
}

/** It ended without a whole answer, so that asking again makes sense. */
export function isUnanswered({ status }: RunRow): boolean {
  return status === 'failed' || status === 'refused' || status === 'lost' || status === 'cancelled'
}

/**
 * Ends what is under way. With `giveUp`, a run that cannot be asked is left behind without a word: the engine's next 409 will
 * name it. false: the engine cannot be reached, and nothing was done.
 */
export async function endActive(context: Context, session: string, giveUp: boolean): Promise<boolean> {
  const { conversation } = context
  const run = conversation.run(conversation.session(session)?.active_run ?? '')
  if (run === null) return true
  if (run.run_id === null) {
    // Not taken, or taken without our knowing: should a result come after all, it is too late.
    endRun(context, run, 'cancelled', '')
    conversation.raiseRevision(session)
    return true
  }
  const ended = await collect(context, run.run_id, 'cancel')
  if (ended === 'unreachable' && !giveUp) return false
  if (ended !== 'kept') endRun(context, run, giveUp ? 'lost' : 'cancelled', '')
  return true
}
