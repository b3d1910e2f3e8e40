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
import type { Words } from './data/words.ts'
import type { Operations } from './operations.ts'
import type { OperationRow } from './rows.ts'
import { decimal, type Order, type Shop } from './data/shop.ts'

export interface ToolParts {
  readonly shop: Shop
  readonly operations: Operations
  readonly words: Words
}

/** The answer of a tool; null: no tool has this name. The engine has checked the arguments against the tool's schema. */
export function answerTool(call: ToolCallBody, parts: ToolParts): ToolAnswer | null {
  return Object.hasOwn(tools, call.tool) ? (tools[call.tool]?.(call, parts) ?? null) : null
}

type Tool = (call: ToolCallBody, parts: ToolParts) => ToolAnswer

const tools: Readonly<Record<string, Tool>> = {
  getOrders: ({ meta }, { shop, words }) =>
    ok({ orders: shop.orders(textIn(meta['user_id'])).map((order) => shown(order, words)) }),
  getOrder: (call, parts) => {
    const order = orderOf(call, parts)
    return order === null ? NO_ORDER : ok(shown(order, parts.words))
  },
  searchHelp: ({ args }, { shop }) =>
    ok({ articles: shop.searchHelp(textIn(args['query'])).map(({ title, text }) => ({ title, text })) }),
  createReturn: (call, parts) => {
    const order = orderOf(call, parts)
    if (order === null) return NO_ORDER
    const left = order.total_cents - order.refunded_cents
    const cents = centsIn(call.args['amount'])
    if (cents === null || cents > left) {
      return refused(`at most ${decimal(left)} ${order.currency} of this order can be refunded, in whole cents`)
    }
    return registered(call, order, parts)
  },
  cancelOrder: (call, parts) => {
    const order = orderOf(call, parts)
    if (order === null) return NO_ORDER
    if (order.status === 'processing') return registered(call, order, parts)
    return refused(`the order is ${order.status}; only one in processing can be cancelled`)
  },
}

/** An amount in whole cents; null where it has parts of a cent or is none. */
export function centsIn(amount: Json | undefined): number | null {
  if (typeof amount !== 'number') return null
  const cents = Math.round(amount * 100)
  return cents > 0 && Math.abs(amount * 100 - cents) < 1e-6 ? cents : null
}

function registered(call: ToolCallBody, order: Order, { operations }: ToolParts): ToolAnswer {
  const session = textIn(call.meta['session_id'])
  const { kind, operation } = operations.register(call, session, order.customer_id, order.id)
  // Deferred once more, a model that insists would be asked and answered for ever: inside its run this is bounded.
  if (kind === 'decided') return refused(saidBefore(operation))
  return { status: 'deferred', operation_id: operation.id }
}

function saidBefore({ status, outcome }: OperationRow): string {
  return status === 'approved'
    ? `this was approved and carried out before: ${outcome ?? 'done'}; do not ask for it again`
    : 'this was declined before; do not ask for it again'
}

function orderOf({ args, meta }: ToolCallBody, { shop }: ToolParts): Order | null {
  return shop.order(textIn(meta['user_id']), textIn(args['orderId']))
}

/** Figures for reckoning, and texts in the shop's language for speaking. */
function shown(order: Order, words: Words): Json {
  const { id, item, total_cents, refunded_cents, currency, status, ordered_on, note } = order
  return {
    id,
    item,
    total: decimal(total_cents),
    refunded: decimal(refunded_cents),
    currency,
    status,
    ordered_on,
    status_text: words.orderStatus[status],
    description: `${item}, ${words.money(total_cents, currency)}, ${words.date(ordered_on)}`,
    ...(note === '' ? {} : { note }),
  }
}

const NO_ORDER: ToolAnswer = refused('no such order of this customer; ask for the number, or look at getOrders')

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
