/**
 * Starts runs: `begin` writes down what is about to be posted, `post` carries it to the engine and obeys what the engine says
 * to that. Between the two this process may die: the safety net posts the same bytes again, under the same key (Obligation A.3).
 */
import type { RunResult } from '../../src/contract/result.ts'
import type { Conversation } from './conversation.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import type { EngineClient } from './engine-client.ts'
import type { AssistantRow, RunRow, SessionRow, ToolRow } from './rows.ts'
import { type HarnessAddress, runBody } from './run-body.ts'
import type { RunLog } from './run-log.ts'
import { scriptFor } from './scripted/scripted-mind.ts'
import type { Shop } from './data/shop.ts'
import type { Storing } from './store-result.ts'

export interface StarterParts extends HarnessAddress {
  readonly database: Database
  readonly conversation: Conversation
  readonly runs: RunLog
  readonly shop: Shop
  readonly engine: EngineClient
  readonly words: Words
  readonly store: (result: RunResult) => Storing
  readonly changed: (sessionId: string) => void
  /** Rejects when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** The harness closes. */
  readonly closing: AbortSignal
}

export type RunStarter = ReturnType<typeof createRunStarter>

/** Together about a minute, which the customer sees as waiting and may end at any time. Then the safety net goes on. */
const WAIT_AT_MOST_MS = 60_000
const UNREACHABLE_PAUSE_MS = 1000
const BLOCKED_TRIES = 5

/** So far, for one run. */
interface Waiting {
  waitedMs: number
  blocked: number
}

export function createRunStarter(parts: StarterParts) {
  const { database, conversation, runs, engine } = parts

  /** Writes the run and its body, and marks the session running; to be called inside the transaction of its cause. */
  function begin(sessionId: string, key: string, originRequestId: string): void {
    const session = conversation.session(sessionId)
    if (session === null) throw new Error(`session ${sessionId} is not there`)
    const run = {
      id: key,
      session_id: sessionId,
      origin_request_id: originRequestId,
      history_revision: session.history_revision,
      after_position: conversation.newest(sessionId)?.position ?? 0,
    }
    runs.begin(run)
    runs.setRequest(key, bodyOf(run, session, parts))
    conversation.setStatus(sessionId, 'running', key)
  }

  /** Stores a result and then says so to the engine. What is nobody's here is not said to be stored. */
  async function keep(result: RunResult): Promise<void> {
    if (parts.store(result) !== 'unknown') await engine.ack(result.run_id)
  }

  /** Fetches what a run came to and keeps it. false: the engine has no result of it. */
  async function collect(runId: string): Promise<boolean> {
    const seen = await engine.see(runId)
    if (seen.kind === 'ended') await keep(seen.result)
    return seen.kind === 'ended'
  }

  /** Obligation A.9: another run of the session has to end, and its result to be stored, before this one can begin. */
  async function clear(runId: string): Promise<void> {
    if (await collect(runId)) return
    const cancelled = await engine.cancel(runId)
    if (cancelled.kind === 'ended') await keep(cancelled.result)
  }

  /** true: try again. */
  async function once({ id, session_id }: RunRow, request: string, waiting: Waiting, hurry: AbortSignal) {
    const posted = await engine.post(request)
    switch (posted.kind) {
      case 'taken':
        runs.taken(id, posted.run)
        if (posted.ended) await collect(posted.run.run_id)
        return false
      case 'blocked':
        waiting.blocked += 1
        await clear(posted.runId)
        return waiting.blocked < BLOCKED_TRIES
      case 'busy':
        return paused(posted.waitMs, waiting, hurry)
      case 'unreachable':
        return paused(UNREACHABLE_PAUSE_MS, waiting, hurry)
      case 'refused':
        database.transaction(() => {
          runs.end(id, 'refused', posted.message)
          conversation.setStatus(session_id, 'idle', null)
        })
        return false
    }
  }

  /** false: it would be too long, the harness closes, or somebody is in a hurry. */
  async function paused(ms: number, waiting: Waiting, hurry: AbortSignal): Promise<boolean> {
    waiting.waitedMs += ms
    if (waiting.waitedMs > WAIT_AT_MOST_MS) return false
    const signal = AbortSignal.any([parts.closing, hurry])
    return parts.pause(ms, signal).then(
      () => true,
      () => false,
    )
  }

  return {
    begin,
    collect,
    /** Until the engine has the run, has refused it, or cannot be had just now; the last is left to the safety net. */
    async post(id: string, hurry: AbortSignal): Promise<void> {
      const waiting = { waitedMs: 0, blocked: 0 }
      for (let again = true; again;) {
        const run = runs.find(id)
        if (run === null || run.status !== 'starting' || run.request === null) return
        again = await once(run, run.request, waiting, hurry)
        parts.changed(run.session_id)
      }
    },
  }
}

type BodyOf = Pick<RunRow, 'id' | 'origin_request_id' | 'history_revision'>

function bodyOf(run: BodyOf, session: SessionRow, { database, conversation, shop, words, ...address }: StarterParts) {
  const assistant = database.one<AssistantRow>`SELECT * FROM assistant WHERE id = ${session.assistant_id}`
  if (assistant === null) throw new Error(`assistant ${session.assistant_id} is not there`)
  const names = JSON.parse(assistant.tools) as readonly string[]
  const tools = names.flatMap((name) => database.one<ToolRow>`SELECT * FROM tool WHERE name = ${name}` ?? [])
  const messages = conversation.messages(session.id)
  const customerId = session.user_id
  const plays = assistant.provider === 'scripted' && assistant.params === '{}'
  const script = plays ? scriptFor({ messages, words, shop, customerId, tools: names }) : null
  return runBody({ run, session, assistant, tools, messages, script, address })
}
