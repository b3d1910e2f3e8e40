/** The shop of the example: two customers, their orders, the help articles, in each language. Written once, into an empty database. */
import type { Database } from './database.ts'
import type { Locale } from './words.ts'

/** Who is signed in on the page. A real one has its own sign-in. */
export const CUSTOMER = 'u_anna'

interface DemoText {
  readonly anna: string
  readonly boris: string
  readonly items: readonly [string, string, string, string]
  readonly articles: readonly (readonly [title: string, text: string])[]
}

const en: DemoText = {
  anna: 'Anna Brown',
  boris: 'Boris Grey',
  items: ['blue teapot', 'reading lamp', 'garden chair', 'wool blanket'],
  articles: [
    ['Delivery', 'Delivery takes two to four working days and is free from 50 EUR.'],
    ['Returns', 'Within 30 days you may return what you do not like; the money is back within a week.'],
    ['Warranty', 'Everything electric has a warranty of two years.'],
    ['Payment', 'You can pay by card, by invoice and by bank transfer.'],
  ],
}

const ru: DemoText = {
  anna: 'Анна Белова',
  boris: 'Борис Серов',
  items: ['синий чайник', 'настольная лампа', 'садовое кресло', 'шерстяной плед'],
  articles: [
    ['Доставка', 'Доставка идёт от двух до четырёх рабочих дней и бесплатна от 5000 рублей.'],
    ['Возврат', 'В течение 30 дней можно вернуть то, что не понравилось; деньги придут за неделю.'],
    ['Гарантия', 'На всё электрическое гарантия два года.'],
    ['Оплата', 'Оплатить можно картой, по счёту и переводом.'],
  ],
}

export function fillWithDemoData(database: Database, locale: Locale): void {
  if (database.one('SELECT 1 FROM customer LIMIT 1') !== null) return
  const text = locale === 'ru' ? ru : en
  const [currency, rate] = locale === 'ru' ? ['RUB', 100] : ['EUR', 1]
  database.transaction(() => {
    database.run('INSERT INTO customer (id, name) VALUES (?, ?), (?, ?)', CUSTOMER, text.anna, 'u_boris', text.boris)
    const [teapot, lamp, chair, blanket] = text.items
    const orders = [
      ['1001', CUSTOMER, teapot, 3990, 'delivered', '2026-11-24'],
      ['1002', CUSTOMER, lamp, 5450, 'shipped', '2026-11-22'],
      ['1003', CUSTOMER, chair, 12900, 'processing', '2026-11-20'],
      ['2001', 'u_boris', blanket, 7500, 'delivered', '2026-11-18'],
    ] as const
    for (const [id, customer, item, cents, status, date] of orders) {
      database.run(
        `INSERT INTO "order" (id, customer_id, item, total_cents, currency, status, ordered_on) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        customer,
        item,
        cents * rate,
        currency,
        status,
        date,
      )
    }
    for (const [title, body] of text.articles) {
      database.run('INSERT INTO help_article (title, text) VALUES (?, ?)', title, body)
    }
  })
}
