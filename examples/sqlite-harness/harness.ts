/**
 * What a customer, a colleague and the clock can do to a conversation, and what follows. Each deed is a transaction, then a
 * word with the engine; whatever fails in between is found again by the safety net.
 */
import { randomUUID } from 'node:crypto'
import type { RunResult } from '../../src/contract/result.ts'
import { type Conversation, createConversation, messageOf } from './conversation.ts'
import type { Database } from './database.ts'
import { type Decided, type Decision, decide } from './decide.ts'
import { createEngineClient, type EngineAddress } from './engine-client.ts'
import { createOperations, type Operations } from './operations.ts'
import type { SessionRow } from './rows.ts'
import { createRunLog, type RunLog } from './run-log.ts'
import { sweep } from './safety-net.ts'
import { createShop, type Shop } from './shop.ts'
import { createRunStarter } from './start-run.ts'
import { closing, storeResult, type Storing } from './store-result.ts'
import { createTurns } from './turns.ts'
import type { Words } from './words.ts'

export interface HarnessParts {
  readonly database: Database
  readonly engine: EngineAddress
  /** This harness, as the engine reaches it. */
  readonly harnessUrl: string
  /** What the engine must show to the tools. */
  readonly toolSecret: string
  readonly words: Words
  readonly timezone: string
  readonly now: () => Date
  readonly changed: (sessionId: string) => void
}

type Stopping = 'stopped' | 'idle' | 'unreachable'

export interface Harness {
  readonly conversation: Conversation
  readonly operations: Operations
  readonly runs: RunLog
  readonly shop: Shop
  /** The customer's message is stored, what is under way is ended, and a run is started. A message that is known changes nothing. */
  say(sessionId: string, messageId: string, text: string): Promise<void>
  stop(sessionId: string): Promise<Stopping>
  /** A new run for what is still unanswered. false: nothing is. */
  retry(sessionId: string): Promise<boolean>
  decide(operationId: string, version: number, decision: Decision): Promise<Decided>
  /** A result, from wherever it came. The next run, if one is due, follows by itself. */
  store(result: RunResult): Storing
  /** Looks after runs that are overdue; `all`: after every open one, for the start of this process. */
  sweep(all?: boolean): Promise<void>
  /** Ends pauses, and waits for what is under way. */
  close(): Promise<void>
}

export function createHarness(parts: HarnessParts): Harness {
  const { database, words, now, changed } = parts
  const conversation = createConversation(database, now)
  const operations = createOperations(database, now)
  const runs = createRunLog(database, now)
  const shop = createShop(database)
  const engine = createEngineClient(parts.engine)
  const turns = createTurns()
  const end = new AbortController()

  function store(result: RunResult): Storing {
    const storing = storeResult(result, { database, conversation, operations, runs, changed })
    const sessionId = storing === 'stored' ? runs.find(result.idempotency_key)?.session_id : undefined
    if (sessionId !== undefined && !end.signal.aborted) void turns.take(sessionId, () => goOn(sessionId))
    return storing
  }

  const starter = createRunStarter({
    ...parts,
    conversation,
    runs,
    shop,
    engine,
    store,
    closing: end.signal,
  })

  /** Starts the run that is due: all calls are answered, or a decision is to be told. Does nothing where none is. */
  async function goOn(sessionId: string): Promise<void> {
    const key = database.transaction(() => {
      const session = conversation.session(sessionId)
      if (session === null || session.status === 'running' || operations.openCalls(sessionId).length > 0) return null
      tellUntold(session)
      const newest = conversation.newestPosition(sessionId)
      const earlier = runs.ofSession(sessionId).at(-1)
      if (earlier === undefined || earlier.after_position >= newest) return null
      const last = conversation.messages(sessionId).at(-1)
      if (last?.author !== 'harness') return null
      const next = randomUUID()
      // A run that goes on after an approval serves the message that the asking run served.
      starter.begin(sessionId, next, messageOf(last).role === 'tool' ? earlier.origin_request_id : last.id)
      return next
    })
    if (key === null) return
    changed(sessionId)
    await starter.post(key)
  }

  /** Decisions whose calls were closed before: the model hears of them in a message of the harness's own. */
  function tellUntold({ id }: SessionRow): void {
    for (const operation of operations.untold(id)) {
      const effect = `${operation.tool} for order ${operation.order_id}`
      conversation.harnessSaid(id, `notice_${randomUUID()}`, words.lateDecision(effect, operation.outcome ?? ''))
    }
    operations.setTold(id)
  }

  /** Ends what is under way. A run that cannot be asked is given up: if the engine has it, its next 409 names it. */
  async function endActive(sessionId: string, giveUp: boolean): Promise<Stopping> {
    const session = conversation.session(sessionId)
    const run = session?.active_run == null ? null : runs.find(session.active_run)
    if (run === null) return 'idle'
    const answer = run.run_id === null ? { kind: 'unknown' as const } : await engine.cancel(run.run_id)
    if (answer.kind === 'ended') {
      storeResult(answer.result, { database, conversation, operations, runs, changed })
      await engine.ack(answer.result.run_id)
      return 'stopped'
    }
    if (answer.kind === 'unreachable' && !giveUp) return 'unreachable'
    giveUpRun(run.id, sessionId, '')
    return 'stopped'
  }

  function giveUpRun(id: string, sessionId: string, error: string): void {
    database.transaction(() => {
      if (runs.find(id)?.result !== null) return
      runs.end(id, 'lost', error)
      if (conversation.session(sessionId)?.active_run === id) conversation.setStatus(sessionId, 'idle', null)
    })
    changed(sessionId)
  }

  return {
    conversation,
    operations,
    runs,
    shop,
    store,
    say(sessionId, messageId, text) {
      conversation.keepRaw(sessionId, messageId, JSON.stringify({ text }))
      return turns.take(sessionId, async () => {
        if (conversation.has(messageId)) return
        await endActive(sessionId, true)
        database.transaction(() => {
          for (const { call_id, tool, operation_id } of operations.openCalls(sessionId)) {
            // The call is closed; its operation still waits, and its card stays.
            conversation.answerCall(sessionId, closing(call_id, tool, operation_id))
            operations.close(call_id)
          }
          const session = conversation.session(sessionId)
          if (session !== null) tellUntold(session)
          conversation.customerSaid(sessionId, messageId, text)
          starter.begin(sessionId, messageId, messageId)
        })
        changed(sessionId)
        await starter.post(messageId)
      })
    },
    stop: (sessionId) =>
      turns.take(sessionId, async () => {
        const stopping = await endActive(sessionId, false)
        await goOn(sessionId)
        return stopping
      }),
    retry: (sessionId) =>
      turns.take(sessionId, async () => {
        const key = randomUUID()
        const due = database.transaction(() => {
          const last = conversation.messages(sessionId).at(-1)
          const earlier = runs.ofSession(sessionId).at(-1)
          if (conversation.session(sessionId)?.status !== 'idle' || last === undefined || earlier === undefined)
            return false
          if (messageOf(last).role === 'assistant') return false
          // A late result of the run before must not come between.
          conversation.raiseRevision(sessionId)
          starter.begin(sessionId, key, earlier.origin_request_id)
          return true
        })
        if (due) {
          changed(sessionId)
          await starter.post(key)
        }
        return due
      }),
    async decide(operationId, version, decision) {
      const decided = decide(operationId, version, decision, { database, conversation, operations, shop })
      if (decided.kind === 'done') {
        changed(decided.sessionId)
        await turns.take(decided.sessionId, () => goOn(decided.sessionId))
      }
      return decided
    },
    // One at a time, and `close` waits for it as for everything else.
    sweep: (all = false) =>
      turns.take('the safety net', () =>
        sweep(all, { database, runs, engine, starter, turns, now, words, giveUpRun, goOn }),
      ),
    async close() {
      end.abort()
      await turns.settled()
    },
  }
}
