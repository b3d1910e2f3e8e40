/**
 * Starts runs: `begin` writes down what is about to be posted, `post` carries it to the engine and obeys what the engine says
 * to that. Between the two this process may die: the safety net posts the same bytes again, under the same key.
 */
import timers from 'node:timers/promises'
import type { RunResult } from '../../src/contract/result.ts'
import type { Conversation } from './conversation.ts'
import type { Database } from './database.ts'
import type { EngineClient } from './engine-client.ts'
import { runBody } from './run-body.ts'
import type { AssistantRow, RunRow, SessionRow, ToolRow } from './rows.ts'
import type { RunLog } from './run-log.ts'
import { scriptFor } from './scripted-mind.ts'
import type { Shop } from './shop.ts'
import type { Storing } from './store-result.ts'
import type { Words } from './words.ts'

export interface StarterParts {
  readonly database: Database
  readonly conversation: Conversation
  readonly runs: RunLog
  readonly shop: Shop
  readonly engine: EngineClient
  readonly words: Words
  /** This harness, as the engine reaches it. */
  readonly harnessUrl: string
  readonly toolSecret: string
  readonly timezone: string
  readonly store: (result: RunResult) => Storing
  readonly changed: (sessionId: string) => void
  /** Pauses end early when the harness closes. */
  readonly closing: AbortSignal
}

export interface RunStarter {
  /** Writes the run and its body, and marks the session running; to be called inside the transaction of its cause. */
  begin(sessionId: string, key: string, originRequestId: string): void
  /** Until the engine has the run, has refused it, or cannot be had just now; the last is left to the safety net. */
  post(id: string): Promise<void>
  /** Fetches what a run came to, stores it, and says so. false: the engine has no result of it. */
  collect(runId: string): Promise<boolean>
}

/** Together about a minute, which the customer sees as waiting. */
const BUSY_TRIES = 30
const BUSY_WITHIN_MS = 60_000
const UNREACHABLE_TRIES = 3
const UNREACHABLE_PAUSE_MS = 500
const BLOCKED_TRIES = 5

export function createRunStarter(parts: StarterParts): RunStarter {
  const { conversation, runs, engine } = parts

  function begin(sessionId: string, key: string, originRequestId: string): void {
    const session = conversation.session(sessionId)
    if (session === null) throw new Error(`session ${sessionId} is not there`)
    const run = {
      id: key,
      session_id: sessionId,
      origin_request_id: originRequestId,
      history_revision: session.history_revision,
      after_position: conversation.newestPosition(sessionId),
    }
    runs.begin(run)
    runs.setRequest(key, bodyOf(run, session, parts))
    conversation.setStatus(sessionId, 'running', key)
  }

  async function collect(runId: string): Promise<boolean> {
    const seen = await engine.see(runId)
    if (seen.kind !== 'ended') return false
    // What is nobody's here is not said to be stored.
    if (parts.store(seen.result) !== 'unknown') await engine.ack(runId)
    return true
  }

  /** Another run of the session has to end, and its result to be stored, before this one can begin. */
  async function clear(runId: string): Promise<void> {
    if (await collect(runId)) return
    const cancelled = await engine.cancel(runId)
    if (cancelled.kind !== 'ended') return
    if (parts.store(cancelled.result) !== 'unknown') await engine.ack(runId)
  }

  /** true: try again. */
  async function once(run: RunRow & { readonly request: string }, tries: Tries): Promise<boolean> {
    const posted = await engine.post(run.request)
    switch (posted.kind) {
      case 'taken':
        runs.taken(run.id, posted.run)
        if (posted.ended) await collect(posted.run.run_id)
        return false
      case 'blocked':
        tries.blocked += 1
        await clear(posted.runId)
        return tries.blocked < BLOCKED_TRIES
      case 'busy':
        tries.busy += 1
        tries.waitedMs += posted.waitMs
        return (
          tries.busy < BUSY_TRIES && tries.waitedMs <= BUSY_WITHIN_MS && (await paused(posted.waitMs, parts.closing))
        )
      case 'unreachable':
        tries.unreachable += 1
        return tries.unreachable < UNREACHABLE_TRIES && (await paused(UNREACHABLE_PAUSE_MS, parts.closing))
      case 'refused':
        parts.database.transaction(() => {
          runs.end(run.id, 'refused', posted.message)
          conversation.setStatus(run.session_id, 'idle', null)
        })
        return false
    }
  }

  return {
    begin,
    collect,
    async post(id) {
      const tries: Tries = { blocked: 0, busy: 0, unreachable: 0, waitedMs: 0 }
      for (let again = true; again;) {
        const run = runs.find(id)
        if (run === null || run.status !== 'starting' || run.request === null) return
        again = await once({ ...run, request: run.request }, tries)
        parts.changed(run.session_id)
      }
    },
  }
}

interface Tries {
  blocked: number
  busy: number
  unreachable: number
  waitedMs: number
}

type NewRun = Pick<RunRow, 'id' | 'origin_request_id' | 'history_revision'>

function bodyOf(run: NewRun, session: SessionRow, parts: StarterParts): string {
  const { database, conversation, shop, words } = parts
  const assistant = database.one<AssistantRow>('SELECT * FROM assistant WHERE id = ?', session.assistant_id)
  if (assistant === null) throw new Error(`assistant ${session.assistant_id} is not there`)
  const names = JSON.parse(assistant.tools) as readonly string[]
  const tools = names.flatMap((name) => database.one<ToolRow>('SELECT * FROM tool WHERE name = ?', name) ?? [])
  const messages = conversation.messages(session.id)
  const script =
    assistant.provider === 'scripted'
      ? scriptFor({ messages, words, shop, customerId: session.user_id, tools: names })
      : null
  const { harnessUrl, toolSecret, timezone } = parts
  return runBody({ run, session, assistant, tools, messages, script, harnessUrl, toolSecret, timezone })
}

/** false: the harness closed meanwhile. */
async function paused(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await timers.setTimeout(ms, undefined, { signal })
    return true
  } catch {
    return false
  }
}
