/**
 * Looks after what nobody else will: posts that were never answered, runs whose time is over without a result, and runs that
 * are due and were not started because this process died (SPEC, Appendix A, 4). Once a minute, and once at start.
 */
import type { Database } from './database.ts'
import type { EngineClient } from './engine-client.ts'
import type { RunRow } from './rows.ts'
import type { RunLog } from './run-log.ts'
import type { RunStarter } from './start-run.ts'
import type { Turns } from './turns.ts'
import type { Words } from './words.ts'

export interface SweepParts {
  readonly database: Database
  readonly runs: RunLog
  readonly engine: EngineClient
  readonly starter: RunStarter
  readonly turns: Turns
  readonly now: () => Date
  readonly words: Words
  readonly giveUpRun: (id: string, sessionId: string, error: string) => void
  readonly goOn: (sessionId: string) => Promise<void>
}

const EXTENSION_MS = 60_000

export async function sweep(all: boolean, parts: SweepParts): Promise<void> {
  const { database, runs, turns, now, goOn } = parts
  const open = runs.open(all ? null : now().toISOString())
  await Promise.all(open.map(({ id, session_id }) => turns.take(session_id, () => look(id, parts))))
  // Something was decided or answered, and no run has been started with it.
  const due = database.all<{ id: string }>(
    `SELECT s.id FROM chat_session s WHERE s.status <> 'running' AND (
       EXISTS (SELECT 1 FROM operation o WHERE o.session_id = s.id AND o.told = 0) OR
       (SELECT MAX(position) FROM chat_message m WHERE m.session_id = s.id AND m.author = 'harness') >
       (SELECT MAX(after_position) FROM run r WHERE r.session_id = s.id))`,
  )
  await Promise.all(due.map(({ id }) => turns.take(id, () => goOn(id))))
}

async function look(id: string, { runs, engine, starter, now, words, giveUpRun }: SweepParts): Promise<void> {
  const run: RunRow | null = runs.find(id)
  if (run === null || run.result !== null) return
  if (run.run_id === null) return starter.post(id)
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
      return giveUpRun(id, run.session_id, words.lost)
    case 'unreachable':
      // The engine may come back with the run in it.
      return
  }
}
