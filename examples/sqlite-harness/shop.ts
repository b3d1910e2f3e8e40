/**
 * The shop's own data: orders, refunds, help. Every question names the customer it is asked for and is answered about that
 * customer alone. Money is whole cents in here.
 */
import type { Database } from './database.ts'

export interface Order {
  readonly id: string
  readonly customer_id: string
  readonly item: string
  readonly total_cents: number
  readonly currency: string
  readonly status: string
  readonly ordered_on: string
  readonly refunded_cents: number
}

export interface Shop {
  customerName(customerId: string): string
  orders(customerId: string): Order[]
  /** null: there is none, or it is another customer's. */
  order(customerId: string, orderId: string): Order | null
  searchHelp(words: string): { readonly title: string; readonly text: string }[]
  /** Refunds once per version of an operation, and never more than was paid; null: it would be more. Gives the refund's number. */
  refund(operation: { readonly id: string; readonly version: number }, order: Order, cents: number): string | null
  /** false: it has been sent or cancelled meanwhile. */
  cancel(order: Order): boolean
}

const ORDER = `SELECT o.*, (SELECT COALESCE(SUM(cents), 0) FROM refund WHERE order_id = o.id) AS refunded_cents FROM "order" o`
const FIRST_REFUND = 1001

export function createShop(database: Database): Shop {
  return {
    customerName: (id) => database.one<{ name: string }>('SELECT name FROM customer WHERE id = ?', id)?.name ?? id,
    orders: (customerId) =>
      database.all<Order>(`${ORDER} WHERE customer_id = ? ORDER BY ordered_on DESC LIMIT 20`, customerId),
    order: (customerId, orderId) =>
      database.one<Order>(`${ORDER} WHERE customer_id = ? AND id = ?`, customerId, orderId),
    searchHelp(words) {
      // Stems: the first letters of a word stand for its forms.
      const stems =
        words
          .toLowerCase()
          .match(/\p{L}{4,}/gu)
          ?.map((word) => word.slice(0, 5)) ?? []
      const articles = database.all<{ title: string; text: string }>('SELECT title, text FROM help_article ORDER BY id')
      const rated = articles.map((article) => {
        const text = `${article.title} ${article.text}`.toLowerCase()
        return { article, hits: stems.filter((stem) => text.includes(stem)).length }
      })
      return rated
        .filter(({ hits }) => hits > 0)
        .toSorted((left, right) => right.hits - left.hits)
        .slice(0, 2)
        .map(({ article }) => article)
    },
    refund(operation, order, cents) {
      return database.transaction(() => {
        const made = database.one<{ id: string }>(
          'SELECT id FROM refund WHERE operation_id = ? AND version = ?',
          operation.id,
          operation.version,
        )
        if (made !== null) return made.id
        const spent = database.one<{ sum: number }>(
          'SELECT COALESCE(SUM(cents), 0) AS sum FROM refund WHERE order_id = ?',
          order.id,
        )
        if ((spent?.sum ?? 0) + cents > order.total_cents) return null
        const count = database.one<{ made: number }>('SELECT COUNT(*) AS made FROM refund')?.made ?? 0
        const id = `R-${FIRST_REFUND + count}`
        database.run(
          'INSERT INTO refund (id, operation_id, version, order_id, cents) VALUES (?, ?, ?, ?, ?)',
          id,
          operation.id,
          operation.version,
          order.id,
          cents,
        )
        return id
      })
    },
    cancel: (order) =>
      database.run(`UPDATE "order" SET status = 'cancelled' WHERE id = ? AND status = 'processing'`, order.id) === 1,
  }
}

/** Cents as a model reads them: 3990 is 39.9. */
export function decimal(cents: number): number {
  return cents / 100
}
