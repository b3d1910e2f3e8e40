/**
 * A human's yes or no, and what follows in the database: the operation is carried out once, and the message that answers its
 * call is written, in the same transaction. Starting the next run is `harness.ts`'s business.
 *
 * The shop of this example is in the same database, so "once" is a transaction. Where carrying out means calling somebody
 * else's service, hand it the operation's id and version as the idempotency key.
 *
 * The ticket of the pending call is not sent back: it would stand in the history for good and expire there (SPEC §5.5). What
 * it proves, this harness knows from its own rows: the decision is for a version of an operation, and in time.
 */
import type { Json } from '../../src/contract/json.ts'
import type { ToolMessage } from '../../src/contract/message.ts'
import type { Conversation } from './conversation.ts'
import type { Words } from './data/words.ts'
import type { Database } from './plumbing/database.ts'
import { expiryOf, type Operations } from './operations.ts'
import type { OperationRow } from './rows.ts'
import { decimal, type Shop } from './data/shop.ts'
import { centsIn } from './tools.ts'

export type Decision = 'approve' | 'decline'

export type Decided =
  | { readonly kind: 'done' | 'expired'; readonly sessionId: string }
  /** The same was decided before: a double click. */
  | { readonly kind: 'repeated' }
  /** What was shown is not what would be carried out, or something else was decided. Nothing was done. */
  | { readonly kind: 'outdated' }

export interface DecideParts {
  readonly database: Database
  readonly conversation: Conversation
  readonly operations: Operations
  readonly shop: Shop
  readonly words: Words
  readonly now: () => Date
}

type Outcome = { readonly result: Json } | { readonly error: string }

/** @param version the one the human saw */
export function decide(id: string, version: number, decision: Decision, parts: DecideParts): Decided {
  const { database, operations, now } = parts
  return database.transaction(() => {
    const operation = operations.find(id)
    if (operation === null || operation.version !== version) return { kind: 'outdated' }
    const expiry = expiryOf(operations.calls(operation))
    // The run that asks is still under way: its result may yet bring other arguments.
    if (expiry === null) return { kind: 'outdated' }
    if (operation.status === 'pending' && expiry <= now().toISOString()) return expire(operation, parts)
    const status = decision === 'approve' ? 'approved' : 'declined'
    if (!operations.settle(id, version, status)) return { kind: operation.status === status ? 'repeated' : 'outdated' }
    const outcome = decision === 'approve' ? carryOut(operation, parts) : { error: 'declined by a colleague' }
    const told = answerCalls(operation, outcome, parts)
    operations.setOutcome(id, JSON.stringify(outcome), told)
    return { kind: 'done', sessionId: operation.session_id }
  })
}

/** The time to decide is over: nothing is carried out any more, and the model is told so. Inside a transaction. */
export function expire(operation: OperationRow, parts: DecideParts): Decided {
  const { id, version, session_id } = operation
  if (!parts.operations.settle(id, version, 'expired')) return { kind: 'outdated' }
  answerCalls(operation, { error: 'expired: nobody decided in time; nothing was carried out' }, parts)
  // Of a request that was set aside nobody waits to hear: its card says it.
  return { kind: 'expired', sessionId: session_id }
}

/** false: its calls were closed before, and the model has to hear of the outcome another way. */
function answerCalls(operation: OperationRow, outcome: Outcome, { operations, conversation }: DecideParts): boolean {
  const open = operations.calls(operation).filter(({ state }) => state === 'open')
  for (const { call_id } of open) {
    const head = { role: 'tool' as const, call_id, tool: operation.tool, operation_id: operation.id }
    const answer: ToolMessage =
      'result' in outcome
        ? { ...head, result: outcome.result, is_error: false }
        : { ...head, is_error: true, error: outcome.error }
    conversation.answerCall(operation.session_id, answer)
    operations.close(call_id)
  }
  return open.length > 0
}

function carryOut(operation: OperationRow, { shop, words }: DecideParts): Outcome {
  const order = shop.order(operation.user_id, operation.order_id)
  if (order === null) return { error: 'approved, but the order is not there any more' }
  if (operation.tool === 'cancelOrder') {
    return shop.cancel(order)
      ? { result: { order_id: order.id, status: 'cancelled' } }
      : { error: `approved, but the order is ${order.status} by now; nothing was cancelled` }
  }
  const { amount } = JSON.parse(operation.args) as { readonly amount: Json }
  const cents = centsIn(amount)
  const refund = cents === null ? null : shop.refund(operation, order, cents)
  if (cents === null || refund === null) {
    return { error: 'approved, but it is more than is left of this order; nothing was refunded' }
  }
  const { currency } = order
  const amount_text = words.money(cents, currency)
  return { result: { refund_id: refund, order_id: order.id, amount: decimal(cents), currency, amount_text } }
}
