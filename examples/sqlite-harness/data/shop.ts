/**
 * The shop's own data: orders, refunds, help. Every question names the customer it is asked for and is answered about that
 * customer alone. Money is whole cents in here.
 */
import type { Database } from '../plumbing/database.ts'

export interface Order {
  readonly id: string
  readonly customer_id: string
  readonly item: string
  readonly total_cents: number
  readonly currency: string
  readonly status: 'processing' | 'shipped' | 'delivered' | 'cancelled'
  readonly ordered_on: string
  readonly note: string
  readonly refunded_cents: number
}

type Article = Readonly<Record<'title' | 'text', string>>

export type Shop = ReturnType<typeof createShop>

const FIRST_REFUND = 1001
/** The first letters of a word stand for its forms. */
const STEM = 5

export function createShop({ all, one, run, transaction }: Database) {
  const refundedOf = (order: string) =>
    one<{ sum: number }>`SELECT COALESCE(SUM(cents), 0) AS sum FROM refund WHERE order_id = ${order}`?.sum ?? 0
  const whole = (row: Omit<Order, 'refunded_cents'>): Order => ({ ...row, refunded_cents: refundedOf(row.id) })

  return {
    orders: (customer: string): Order[] =>
      all<Order>`SELECT * FROM "order" WHERE customer_id = ${customer} ORDER BY ordered_on DESC LIMIT 20`.map(whole),
    /** null: there is none, or it is another customer's. */
    order(customer: string, id: string): Order | null {
      const row = one<Order>`SELECT * FROM "order" WHERE customer_id = ${customer} AND id = ${id}`
      return row === null ? null : whole(row)
    },
    searchHelp(words: string): Article[] {
      const stems = [...words.toLowerCase().matchAll(/\p{L}{4,}/gu)].map(([word]) => word.slice(0, STEM))
      const rated = all<Article>`SELECT title, text FROM help_article ORDER BY id`.map((article) => {
        const text = `${article.title} ${article.text}`.toLowerCase()
        return { article, hits: stems.filter((stem) => text.includes(stem)).length }
      })
      const found = rated.filter(({ hits }) => hits > 0).toSorted((left, right) => right.hits - left.hits)
      return found.slice(0, 2).map(({ article }) => article)
    },
    /** Once per version of an operation, and never more than was paid; null: it would be more. Gives the refund's number. */
    refund: (
      operation: { readonly id: string; readonly version: number },
      order: Order,
      cents: number,
    ): string | null =>
      transaction(() => {
        const { id: operationId, version } = operation
        const made = one<{
          id: string
        }>`SELECT id FROM refund WHERE operation_id = ${operationId} AND version = ${version}`
        if (made !== null) return made.id
        if (refundedOf(order.id) + cents > order.total_cents) return null
        const count = one<{ made: number }>`SELECT COUNT(*) AS made FROM refund`?.made ?? 0
        const id = `R-${FIRST_REFUND + count}`
        run`INSERT INTO refund (id, operation_id, version, order_id, cents)
          VALUES (${id}, ${operationId}, ${version}, ${order.id}, ${cents})`
        return id
      }),
    /** false: it has been sent or cancelled meanwhile. */
    cancel: ({ id }: Order) =>
      run`UPDATE "order" SET status = 'cancelled' WHERE id = ${id} AND status = 'processing'` === 1,
  }
}

/** Cents as a model reads them: 3990 is 39.9. */
export function decimal(cents: number): number {
  return cents / 100
}
