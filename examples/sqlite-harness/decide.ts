/**
 * A human's yes or no, and what follows in the database: the operation is carried out once, and the message that answers its
 * call is written, in the same transaction. Starting the next run is `harness.ts`'s business.
 *
 * The shop of this example is in the same database, so "once" is a transaction. Where carrying out means calling somebody
 * else's service, hand it the operation's id and version as the idempotency key.
 *
 * The ticket of the pending call is not sent back: it would stand in the history for good and expire there (SPEC §5.5). What
 * it proves, this harness knows from its own rows: the decision is for a version of an operation.
 */
import type { Json } from '../../src/contract/json.ts'
import type { ToolMessage } from '../../src/contract/message.ts'
import type { Conversation } from './conversation.ts'
import type { Database } from './database.ts'
import type { Operations } from './operations.ts'
import type { OperationRow } from './rows.ts'
import { decimal, type Shop } from './shop.ts'
import { centsIn } from './tools.ts'

export type Decision = 'approve' | 'decline'

export type Decided =
  | { readonly kind: 'done'; readonly sessionId: string }
  /** The same was decided before: a double click. */
  | { readonly kind: 'repeated' }
  /** What was shown is not what would be carried out, or something else was decided. Nothing was done. */
  | { readonly kind: 'outdated' }
  | { readonly kind: 'unknown' }

export interface DecideParts {
  readonly database: Database
  readonly conversation: Conversation
  readonly operations: Operations
  readonly shop: Shop
}

/** @param version the one the human saw */
export function decide(id: string, version: number, decision: Decision, parts: DecideParts): Decided {
  const { database, operations } = parts
  return database.transaction(() => {
    const operation = operations.find(id)
    if (operation === null) return { kind: 'unknown' }
    const status = decision === 'approve' ? 'approved' : 'declined'
    const calls = operations.calls(id).filter((call) => call.version === version)
    // The run that asks is still under way: its result may yet bring other arguments.
    const early = calls.some(({ state }) => state === 'registered')
    if (early || operation.version !== version) return { kind: 'outdated' }
    if (!operations.decide(id, version, status)) {
      return operation.status === status ? { kind: 'repeated' } : { kind: 'outdated' }
    }
    const outcome = decision === 'approve' ? carryOut(operation, parts.shop) : { error: 'declined by a colleague' }
    const open = calls.filter(({ state }) => state === 'open')
    for (const { call_id } of open) {
      parts.conversation.answerCall(operation.session_id, answer(call_id, operation, outcome))
      operations.close(call_id)
    }
    operations.setOutcome(id, JSON.stringify(outcome), open.length > 0)
    return { kind: 'done', sessionId: operation.session_id }
  })
}

type Outcome = { readonly result: Json } | { readonly error: string }

function carryOut(operation: OperationRow, shop: Shop): Outcome {
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
  return cents === null || refund === null
    ? { error: 'approved, but it is more than is left of this order; nothing was refunded' }
    : { result: { refund_id: refund, order_id: order.id, amount: decimal(cents), currency: order.currency } }
}

function answer(callId: string, { id, tool }: OperationRow, outcome: Outcome): ToolMessage {
  const head = { role: 'tool' as const, call_id: callId, tool, operation_id: id }
  return 'result' in outcome
    ? { ...head, result: outcome.result, is_error: false }
    : { ...head, is_error: true, error: outcome.error }
}
