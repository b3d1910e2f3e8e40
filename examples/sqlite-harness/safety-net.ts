/**
 * Looks after what nobody else will (Obligation A.4): messages that were kept and not taken up, posts that were never answered,
 * runs whose time is over without a result, decisions that nobody made in time, and runs that are due and were not started,
 * because this process died or the engine did. Once a minute, and once at start.
 */
import type { Conversation } from './conversation.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import type { EngineClient } from './engine-client.ts'
import type { RunLog } from './run-log.ts'
import type { RunStarter } from './start-run.ts'
import type { Turns } from './plumbing/turns.ts'

export interface SweepParts {
  readonly database: Database
  readonly conversation: Conversation
  readonly runs: RunLog
  readonly engine: EngineClient
  readonly starter: RunStarter
  readonly turns: Turns
  readonly now: () => Date
  readonly words: Words
  readonly say: (sessionId: string, messageId: string, text: string) => Promise<void>
  readonly giveUpRun: (id: string, sessionId: string, error: string) => void
  readonly expireOverdue: () => void
  readonly goOn: (sessionId: string, hurry: AbortSignal) => Promise<void>
}

const EXTENSION_MS = 60_000

/** @param all look at every open run, whatever its deadline: for the start of this process */
export async function sweep(all: boolean, parts: SweepParts): Promise<void> {
  const { database, conversation, runs, turns, now } = parts
  parts.expireOverdue()
  await Promise.all(conversation.unhandled().map(({ id, session_id, text }) => parts.say(session_id, id, text)))
  const open = runs.open(all ? null : now().toISOString())
  await Promise.all(open.map(({ id, session_id }) => turns.take(session_id, (hurry) => lookAfter(id, hurry, parts))))
  // Something was decided or answered, and no run has been started with it.
  const due = database.all<{ id: string }>`SELECT s.id FROM chat_session s WHERE s.status <> 'running' AND (
    EXISTS (SELECT 1 FROM operation o WHERE o.session_id = s.id AND o.told = 0) OR
    (SELECT MAX(position) FROM chat_message m WHERE m.session_id = s.id AND m.author = 'harness') >
    (SELECT MAX(after_position) FROM run r WHERE r.session_id = s.id))`
  await Promise.all(due.map(({ id }) => turns.take(id, (hurry) => parts.goOn(id, hurry))))
}

/** One run without a result: posted again, stored, given more time, or lost. */
export async function lookAfter(id: string, hurry: AbortSignal, parts: SweepParts): Promise<void> {
  const { runs, engine, starter, now, words } = parts
  const run = runs.find(id)
  if (run === null || run.result !== null || !['starting', 'running'].includes(run.status)) return
  if (run.run_id === null) return starter.post(id, hurry)
  const seen = await engine.see(run.run_id)
  switch (seen.kind) {
    case 'ended':
      await starter.collect(run.run_id)
      return
    case 'running': {
      const soon = new Date(now().getTime() + EXTENSION_MS).toISOString()
      return runs.extend(id, seen.deadlineAt > soon ? seen.deadlineAt : soon)
    }
    case 'unknown':
      return parts.giveUpRun(id, run.session_id, words.lost)
    case 'unreachable':
      // The engine may come back with the run in it.
      return
  }
}
