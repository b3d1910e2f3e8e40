/**
 * The shop's own data: orders, and operations that wait for a decision. In memory here; two tables in a real back end. It
 * knows nothing of HTTP or of the engine.
 *
 * An operation is carried out at most once, however often that is asked for.
 */
export interface Order {
  readonly id: string
  readonly customer: string
  readonly item: string
  readonly state: string
  readonly delivered_on: string
  readonly total: number
  readonly currency: string
}

export interface Refund {
  readonly refund_id: string
  readonly order_id: string
  readonly amount: number
  readonly currency: string
}

export interface RefundOrder {
  readonly orderId: string
  readonly amount: number
  readonly reason: string
}

export interface Operation {
  /** The engine's `operation_key`: one per user message and tool, whatever is retried. */
  readonly id: string
  readonly tool: string
  readonly customer: string
  readonly args: RefundOrder
  /** The engine's hash of the arguments: an approval is for these and no others. */
  readonly argsHash: string
  /** null: not carried out yet. */
  readonly refund: Refund | null
}

export interface Shop {
  /** null: this customer has no such order. Nobody sees another one's. */
  order(customer: string, id: string): Order | null
  operation(id: string): Operation | null
  /** Notes what was asked for; an operation with this id that is there already stays as it is. */
  register(operation: Omit<Operation, 'refund'>): Operation
  /** Carries it out the first time and gives the same refund ever after; null: no such operation. */
  execute(id: string): Refund | null
  /** How many refunds were really made. */
  refundsMade(): number
}

export function createShop(orders: readonly Order[]): Shop {
  const operations = new Map<string, Operation>()
  let refunds = 0

  return {
    order: (customer, id) => orders.find((order) => order.id === id && order.customer === customer) ?? null,
    operation: (id) => operations.get(id) ?? null,
    register(operation) {
      const known = operations.get(operation.id)
      if (known !== undefined) return known
      const registered = { ...operation, refund: null }
      operations.set(operation.id, registered)
      return registered
    },
    execute(id) {
      const operation = operations.get(id)
      if (operation === undefined) return null
      if (operation.refund !== null) return operation.refund
      refunds += 1
      const { orderId, amount } = operation.args
      const currency = orders.find((order) => order.id === orderId)?.currency ?? ''
      const refund = { refund_id: `R-${1000 + refunds}`, order_id: orderId, amount, currency }
      operations.set(id, { ...operation, refund })
      return refund
    },
    refundsMade: () => refunds,
  }
}
