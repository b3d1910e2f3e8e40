/**
 * One conversation as the harness keeps it: message rows in order, each under an id that is unique for all time. In memory
 * here; a table with a unique key in a real back end.
 *
 * Messages are stored whole and come back unchanged, fields that nobody here knows included: the engine needs them all.
 */
import type { StoredMessage, ToolMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'

export interface Conversation {
  /** Stores what the customer said under the harness's own id. */
  customerSaid(id: string, text: string, at: Date): void
  /** Stores a result's messages under `<run_id>:<seq>`; says how many were new. A result that comes twice changes nothing. */
  storeResult(result: RunResult): number
  /** Stores the harness's answer to a deferred call. */
  answerCall(message: ToolMessage): void
  /** Everything, oldest first: the `messages` of the next run. */
  history(): readonly StoredMessage[]
}

export function createConversation(): Conversation {
  /** A Map keeps the order in which rows came. */
  const rows = new Map<string, StoredMessage>()

  function store(id: string, message: StoredMessage): boolean {
    if (rows.has(id)) return false
    rows.set(id, message)
    return true
  }

  return {
    customerSaid(id, text, at) {
      store(id, { role: 'user', content: [{ type: 'text', text }], created_at: at.toISOString() })
    },
    storeResult(result) {
      const inOrder = result.messages.toSorted((left, right) => left.seq - right.seq)
      return inOrder.filter((message) => store(`${message.run_id}:${message.seq}`, message)).length
    },
    answerCall(message) {
      store(`answer:${message.call_id}`, message)
    },
    history: () => [...rows.values()],
  }
}
