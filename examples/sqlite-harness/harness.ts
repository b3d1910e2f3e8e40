/**
 * What a customer, a colleague and the clock can do to a conversation. Each deed is a transaction, then a word with the engine;
 * whatever fails in between is found again by the safety net.
 */
import type { Context } from './context.ts'
import { createConversation } from './conversation.ts'
import { createShop } from './data/shop.ts'
import { endActive, goOn, tryAgain } from './go-on.ts'
import { createOperations } from './operations.ts'
import { createTurns } from './plumbing/turns.ts'
import { lookAfter, sweep } from './safety-net.ts'

export type HarnessParts = Omit<Context, 'conversation' | 'operations' | 'shop' | 'turns' | 'closing'>
export type Harness = ReturnType<typeof createHarness>

export function createHarness(parts: HarnessParts) {
  const { database } = parts
  const turns = createTurns()
  const end = new AbortController()
  const conversation = createConversation(database)
  const context: Context = {
    ...parts,
    conversation,
    operations: createOperations(database),
    shop: createShop(database),
    turns,
    closing: end.signal,
    changed(session) {
      parts.changed(session)
      if (!end.signal.aborted) void carryOn(session)
    },
  }

  /** Never rejects: what does not work is reported. */
  function inTurn<T>(session: string, task: (hurry: AbortSignal) => Promise<T>): Promise<T | void> {
    return turns.take(session, task).catch(parts.report)
  }
  const carryOn = (session: string) => inTurn(session, (hurry) => goOn(context, session, hurry))

  return {
    ...context,
    /**
     * The customer's message is kept: when this returns, it is not lost any more. What is under way is ended and a run is
     * started; the promise resolves when the engine has it, or cannot be had just now.
     */
    say(session: string, messageId: string, text: string): Promise<void> {
      if (conversation.keepRaw(session, messageId, text)) turns.hurry(session)
      return carryOn(session)
    },
    /** false: the engine cannot be reached. */
    stop(session: string): Promise<boolean> {
      turns.hurry(session)
      return turns.take(session, () => endActive(context, session, false))
    },
    /** false: nothing is unanswered. */
    retry: (session: string) => inTurn(session, (hurry) => tryAgain(context, session, hurry)),
    /** Looks after the run of a session at once: its stream has ended without a word. */
    look(session: string): Promise<void> {
      const active = conversation.session(session)?.active_run ?? ''
      return inTurn(session, (hurry) => lookAfter(context, active, hurry))
    },
    /** Looks after runs that are overdue; `all`: after every open one, for the start of this process. One sweep at a time. */
    sweep: (all = false) => inTurn('the safety net', () => sweep(context, all)),
    /** Ends pauses, and waits for what is under way. */
    async close(): Promise<void> {
      end.abort()
      await turns.settled()
    },
  }
}
