/**
 * A human's yes or no, and what follows in the database: the operation is carried out once, and the message that answers its
 * call is written, in the same transaction. The next run follows by itself (`go-on.ts`).
 *
 * The shop of this example is in the same database, so "once" is a transaction. Where carrying out means calling somebody
 * else's service, hand it the operation's id and version as the idempotency key.
 *
 * The ticket of the pending call is not sent back: it would stand in the history for good and expire there (SPEC §5.5). What
 * it proves, this harness knows from its own rows: the decision is for a version of an operation, and in time.
 */
import type { Json } from '../../src/contract/json.ts'
import type { Context } from './context.ts'
import type { Outcome } from './conversation.ts'
import { decimal } from './data/shop.ts'
import type { OperationRow } from './rows.ts'
import { centsIn } from './tools.ts'

export type Decision = 'approve' | 'decline'

/**
 * `repeated`: the same was decided before, as by a double click. `outdated`: what was shown is not what would be carried out,
 * or something else was decided. In both nothing was done; nor where it `expired`.
 */
export type Decided = 'done' | 'repeated' | 'outdated' | 'expired'

/** @param version the one the human saw */
export function decide(id: string, version: number, decision: Decision, context: Context): Decided {
  const { database, operations } = context
  return database.transaction(() => {
    const operation = operations.find(id)
    // Without a time to decide, the run that asks is still under way: its result may yet bring other arguments.
    if (operation?.version !== version || operation.expires_at === null) return 'outdated'
    if (operation.status === 'pending' && operation.expires_at <= database.now()) return expire(operation, context)
    const status = decision === 'approve' ? 'approved' : 'declined'
    if (!operations.settle(operation, status)) return operation.status === status ? 'repeated' : 'outdated'
    const outcome = decision === 'approve' ? carryOut(operation, context) : { error: 'declined by a colleague' }
    const isTold = answerCalls(operation, outcome, context)
    // Where its calls were closed before, the model has to hear of the outcome another way.
    database.run`UPDATE operation SET outcome = ${JSON.stringify(outcome)}, told = ${Number(isTold)} WHERE id = ${id}`
    context.changed(operation.session_id)
    return 'done'
  })
}

/** The time to decide is over: nothing is carried out any more, and the model is told so. */
export function expire(operation: OperationRow, context: Context): Decided {
  return context.database.transaction(() => {
    if (!context.operations.settle(operation, 'expired')) return 'outdated'
    // Of a request that was set aside nobody waits to hear: its card says it.
    answerCalls(operation, { error: 'expired: nobody decided in time; nothing was carried out' }, context)
    context.changed(operation.session_id)
    return 'expired'
  })
}

/** false: there were none, the conversation went on without them. */
function answerCalls({ id, session_id }: OperationRow, outcome: Outcome, context: Context): boolean {
  const calls = context.operations.openCalls(session_id).filter(({ operation_id }) => operation_id === id)
  for (const call of calls) context.conversation.answerCall(session_id, call, outcome)
  return calls.length > 0
}

function carryOut(operation: OperationRow, { shop, words }: Context): Outcome {
  const order = shop.order(operation.user_id, operation.order_id)
  if (order === null) return { error: 'approved, but the order is not there any more' }
  const { id: order_id, status, currency } = order
  if (operation.tool === 'cancelOrder') {
    return shop.cancel(order)
      ? { result: { order_id, status: 'cancelled' } }
      : { error: `approved, but the order is ${status} by now; nothing was cancelled` }
  }
  const { amount } = JSON.parse(operation.args) as { readonly amount: Json }
  const cents = centsIn(amount)
  const refund_id = cents === null ? null : shop.refund(operation, order, cents)
  if (cents === null || refund_id === null) {
    return { error: 'approved, but it is more than is left of this order; nothing was refunded' }
  }
  return {
    result: { refund_id, order_id, amount: decimal(cents), currency, amount_text: words.money(cents, currency) },
  }
}
