/**
 * The endpoints that the engine calls (SPEC §5). Reads answer at once; writes check, register an operation and answer
 * `deferred` (Obligation A.5). Nothing is changed in the shop from here.
 *
 * Obligation A.7: whose data it is about comes from `meta`, which this harness wrote; arguments are a model's words, perhaps
 * repeated from an order's note, and decide nothing of the kind. Obligation A.6: a repeated call is answered the same: reads
 * have no effect, and writes are known by their call and their `operation_key`.
 */
import type { Json } from '../../src/contract/json.ts'
import type { ToolAnswer, ToolCallBody } from '../../src/contract/tool-exchange.ts'
import type { Context } from './context.ts'
import { decimal, type Order } from './data/shop.ts'
import type { Words } from './data/words.ts'

type ToolParts = Pick<Context, 'shop' | 'operations' | 'words'>

/** The answer of a tool; null: no tool has this name. The engine has checked the arguments against the tool's schema. */
export function answerTool(call: ToolCallBody, parts: ToolParts): ToolAnswer | null {
  const { tool, args, meta } = call
  const { shop, words } = parts
  const customer = textIn(meta['user_id'])
  switch (tool) {
    case 'getOrders':
      return ok({ orders: shop.orders(customer).map((order) => shown(order, words)) })
    case 'searchHelp':
      return ok({ articles: shop.searchHelp(textIn(args['query'])) })
    case 'getOrder':
    case 'createReturn':
    case 'cancelOrder': {
      const order = shop.order(customer, textIn(args['orderId']))
      if (order === null) return refused('no such order of this customer; ask for the number, or look at getOrders')
      if (tool === 'getOrder') return ok(shown(order, words))
      const obstacle = tool === 'createReturn' ? refundObstacle(order, args['amount']) : cancelObstacle(order)
      return obstacle === null ? registered(call, order, parts) : refused(obstacle)
    }
    default:
      return null
  }
}

function refundObstacle({ total_cents, refunded_cents, currency }: Order, amount: Json | undefined): string | null {
  const left = total_cents - refunded_cents
  const cents = centsIn(amount)
  if (cents !== null && cents <= left) return null
  return `at most ${decimal(left)} ${currency} of this order can be refunded, in whole cents`
}

function cancelObstacle({ status }: Order): string | null {
  return status === 'processing' ? null : `the order is ${status}; only one in processing can be cancelled`
}

/** An amount in whole cents; null where it has parts of a cent or is none. */
export function centsIn(amount: Json | undefined): number | null {
  if (typeof amount !== 'number') return null
  const cents = Math.round(amount * 100)
  return cents > 0 && Math.abs(amount * 100 - cents) < 1e-6 ? cents : null
}

function registered(call: ToolCallBody, { id, customer_id }: Order, { operations }: ToolParts): ToolAnswer {
  const decided = operations.register(call, textIn(call.meta['session_id']), customer_id, id)
  if (decided === null) return { status: 'deferred', operation_id: call.operation_key }
  // Deferred once more, a model that insists would be asked and answered for ever: inside its run this is bounded.
  if (decided.status === 'declined') return refused('this was declined before; do not ask for it again')
  return refused(`this was approved and carried out before: ${decided.outcome ?? 'done'}; do not ask for it again`)
}

/** Figures for reckoning, and texts in the shop's language for speaking. */
function shown(order: Order, words: Words): Json {
  const { id, item, total_cents, refunded_cents, currency, status, ordered_on, note } = order
  const columns = { id, item, currency, status, ordered_on, ...(note === '' ? {} : { note }) }
  return {
    ...columns,
    total: decimal(total_cents),
    refunded: decimal(refunded_cents),
    status_text: words.orderStatus[status],
    description: `${item}, ${words.money(total_cents, currency)}, ${words.date(ordered_on)}`,
  }
}

function ok(result: Json): ToolAnswer {
  return { status: 'ok', result }
}

function refused(error: string): ToolAnswer {
  return { status: 'error', error }
}

/** Anything else than a text is nobody's id. */
function textIn(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
