/**
 * What a customer, a colleague and the clock can do to a conversation, and what follows. Each deed is a transaction, then a
 * word with the engine; whatever fails in between is found again by the safety net.
 */
import { randomUUID } from 'node:crypto'
import type { RunResult } from '../../src/contract/result.ts'
import { createConversation, messageOf } from './conversation.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import { type Decided, type Decision, decide, expire } from './decide.ts'
import { createEngineClient, type EngineAddress } from './engine-client.ts'
import { createOperations } from './operations.ts'
import type { HarnessAddress } from './run-body.ts'
import { createRunLog } from './run-log.ts'
import type { RunRow } from './rows.ts'
import { lookAfter, sweep } from './safety-net.ts'
import { createShop } from './data/shop.ts'
import { createRunStarter } from './start-run.ts'
import { closing, storeResult, type Storing } from './store-result.ts'
import { createTurns } from './plumbing/turns.ts'

export interface HarnessParts extends HarnessAddress {
  readonly database: Database
  readonly engine: EngineAddress
  readonly words: Words
  readonly now: () => Date
  /** Waits; rejects when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly changed: (sessionId: string) => void
}

type Stopping = 'stopped' | 'idle' | 'unreachable'

export type Harness = ReturnType<typeof createHarness>

export function createHarness(parts: HarnessParts) {
  const { database, words, now, changed } = parts
  const conversation = createConversation(database, now)
  const operations = createOperations(database, now)
  const runs = createRunLog(database, now)
  const shop = createShop(database)
  const engine = createEngineClient(parts.engine)
  const turns = createTurns()
  const end = new AbortController()
  const rows = { database, conversation, operations, runs, changed }
  const deciding = { ...rows, shop, words, now }

  /** A result, from wherever it came. The next run, if one is due, follows by itself. */
  function store(result: RunResult): Storing {
    const storing = storeResult(result, rows)
    const session = storing === 'stored' ? runs.find(result.idempotency_key)?.session_id : undefined
    if (session !== undefined && !end.signal.aborted) void turns.take(session, (hurry) => goOn(session, hurry))
    return storing
  }

  const starter = createRunStarter({ ...parts, ...rows, shop, engine, store, closing: end.signal })

  /** Writes down what `prepare` finds due, and carries it to the engine. false: nothing is due. */
  async function start(session: string, hurry: AbortSignal, prepare: () => string | null): Promise<boolean> {
    const key = database.transaction(prepare)
    if (key === null) return false
    changed(session)
    await starter.post(key, hurry)
    return true
  }

  /** Starts the run that is due: all calls are answered, or a decision is to be told. Does nothing where none is. */
  async function goOn(id: string, hurry: AbortSignal): Promise<void> {
    await start(id, hurry, () => {
      const session = conversation.session(id)
      if (session === null || session.status === 'running' || operations.openCalls(id).length > 0) return null
      tellUntold(id)
      const last = conversation.newest(id)
      const earlier = runs.newest(id)
      if (last?.author !== 'harness' || earlier === null || earlier.after_position >= last.position) return null
      const key = randomUUID()
      // A run that goes on after an approval serves the message that the asking run served.
      starter.begin(id, key, messageOf(last).role === 'tool' ? earlier.origin_request_id : last.id)
      return key
    })
  }

  /** Decisions whose calls were closed before: the model hears of them in a message of the harness's own. */
  function tellUntold(session: string): void {
    for (const { tool, order_id, outcome } of operations.untold(session)) {
      const notice = words.lateDecision(`${tool} for order ${order_id}`, outcome ?? '')
      conversation.harnessSaid(session, `notice_${randomUUID()}`, notice)
    }
    operations.setTold(session)
  }

  /** Ends what is under way. With `giveUp`, a run that cannot be asked is left behind: the engine's next 409 will name it. */
  async function endActive(id: string, giveUp: boolean): Promise<Stopping> {
    const session = conversation.session(id)
    const run = session?.active_run == null ? null : runs.find(session.active_run)
    if (run === null) return 'idle'
    if (run.run_id === null) {
      // Not taken, or taken without our knowing: should a result come after all, it is too late.
      endRun(run, 'cancelled', '')
      conversation.raiseRevision(id)
      return 'stopped'
    }
    const answer = await engine.cancel(run.run_id)
    if (answer.kind === 'ended') {
      storeResult(answer.result, rows)
      await engine.ack(answer.result.run_id)
    } else {
      if (answer.kind === 'unreachable' && !giveUp) return 'unreachable'
      endRun(run, 'lost', '')
    }
    return 'stopped'
  }

  /** Without a result. */
  function endRun({ id, session_id }: Pick<RunRow, 'id' | 'session_id'>, status: 'lost' | 'cancelled', error: string) {
    database.transaction(() => {
      if (runs.find(id)?.result !== null) return
      runs.end(id, status, error)
      if (conversation.session(session_id)?.active_run === id) conversation.setStatus(session_id, 'idle', null)
    })
    changed(session_id)
  }

  /** Obligation A.8: before a new message every open call is closed. Its operation still waits, and its card stays. */
  function closeOpenCalls(session: string): void {
    for (const { call_id, tool, operation_id } of operations.openCalls(session)) {
      conversation.answerCall(session, closing(call_id, tool, operation_id))
      operations.close(call_id)
    }
  }

  /** What was kept becomes part of the history, and a run is started with it. A message that is known changes nothing. */
  function takeUp(session: string, messageId: string, text: string): Promise<void> {
    turns.hurry(session)
    return turns.take(session, async (hurry) => {
      if (conversation.has(messageId)) return
      await endActive(session, true)
      await start(session, hurry, () => {
        closeOpenCalls(session)
        tellUntold(session)
        conversation.customerSaid(session, messageId, text)
        starter.begin(session, messageId, messageId)
        return messageId
      })
    })
  }

  /** A new run for what is still unanswered, in whole or in part; null: nothing is. */
  function again(id: string): string | null {
    const earlier = runs.newest(id)
    if (conversation.session(id)?.status !== 'idle' || earlier === null || !isUnanswered(earlier)) return null
    const last = conversation.newest(id)
    // What was said stays said: the model is asked to begin anew.
    if (last !== null && messageOf(last).role === 'assistant') {
      conversation.harnessSaid(id, `again_${randomUUID()}`, words.again)
    } else {
      // A late result of the run before must not come between.
      conversation.raiseRevision(id)
    }
    const key = randomUUID()
    starter.begin(id, key, earlier.origin_request_id)
    return key
  }

  const helpers = { engine, starter, turns, now, words, goOn, say: takeUp }
  const sweeping = {
    ...rows,
    ...helpers,
    giveUpRun: (id: string, session_id: string, error: string) => endRun({ id, session_id }, 'lost', error),
    expireOverdue(): void {
      for (const operation of operations.overdue()) {
        database.transaction(() => expire(operation, deciding))
        changed(operation.session_id)
      }
    },
  }

  const readable = { conversation, operations, runs, shop }
  return {
    ...readable,
    store,
    /**
     * The customer's message is kept: when this returns, it is not lost any more. What is under way is ended and a run is
     * started; `handled` resolves when the engine has it, or cannot be had just now.
     */
    say(session: string, messageId: string, text: string): { readonly handled: Promise<void> } {
      conversation.keepRaw(session, messageId, text)
      return { handled: takeUp(session, messageId, text) }
    },
    stop(session: string): Promise<Stopping> {
      turns.hurry(session)
      return turns.take(session, async (hurry) => {
        const stopping = await endActive(session, false)
        await goOn(session, hurry)
        return stopping
      })
    },
    /** false: nothing is unanswered. */
    retry: (session: string): Promise<boolean> =>
      turns.take(session, (hurry) => start(session, hurry, () => again(session))),
    /** What was decided is written when this returns; `followed` resolves when the run that follows is with the engine. */
    decide(operationId: string, version: number, decision: Decision): Decided & { readonly followed: Promise<void> } {
      const decided = decide(operationId, version, decision, deciding)
      if (!('sessionId' in decided)) return { ...decided, followed: Promise.resolve() }
      const { sessionId } = decided
      changed(sessionId)
      return { ...decided, followed: turns.take(sessionId, (hurry) => goOn(sessionId, hurry)) }
    },
    /** Looks after the run of a session at once: its stream has ended without a word. */
    async look(id: string): Promise<void> {
      const active = conversation.session(id)?.active_run
      if (active != null) await turns.take(id, (hurry) => lookAfter(active, hurry, sweeping))
    },
    /** Looks after runs that are overdue; `all`: after every open one, for the start of this process. One sweep at a time. */
    sweep: (all = false): Promise<void> => turns.take('the safety net', () => sweep(all, sweeping)),
    /** Ends pauses, and waits for what is under way. */
    async close(): Promise<void> {
      end.abort()
      await turns.settled()
    },
  }
}

/** It ended without a whole answer, so that asking again makes sense. */
export function isUnanswered({ status }: RunRow): boolean {
  return status === 'failed' || status === 'refused' || status === 'lost' || status === 'cancelled'
}
