/** What the scripted assistant understands of a question: which tools it asks for, in both languages. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'
import { CUSTOMER, fillWithDemoData } from '../../../examples/sqlite-harness/data/demo-data.ts'
import { scriptFor } from '../../../examples/sqlite-harness/scripted/scripted-mind.ts'
import { createShop } from '../../../examples/sqlite-harness/data/shop.ts'
import { type Locale, wordsOf } from '../../../examples/sqlite-harness/data/words.ts'

const ALL = ['getOrders', 'getOrder', 'searchHelp', 'createReturn', 'cancelOrder']

/** The names of the tools asked for, step by step. */
function asked(t: TestContext, text: string, locale: Locale = 'en', tools: readonly string[] = ALL): string[] {
  const database = openDatabase(':memory:')
  t.after(() => database.close())
  fillWithDemoData(database, wordsOf(locale))
  const payload = JSON.stringify({ role: 'user', content: [{ type: 'text', text }], created_at: '' })
  const messages = [{ id: 'msg_1', position: 1, author: 'customer' as const, payload }]
  const script = scriptFor({
    messages,
    words: wordsOf(locale),
    shop: createShop(database),
    customerId: CUSTOMER,
    tools,
  })
  return script.map((moves) =>
    moves
      .flatMap((move) => {
        const { tool_call: call } = move as { tool_call?: { name: string; args: { orderId?: string } } }
        return call === undefined ? [] : [`${call.name} ${call.args.orderId ?? ''}`.trim()]
      })
      .join(', '),
  )
}

const FIRST = '{{results.getOrders.orders.0.id}}'
const THIRD = '{{results.getOrders.orders.2.id}}'

for (const [locale, text, steps] of [
  ['en', 'hello', ['']],
  ['en', 'Which orders do I have?', ['getOrders', '']],
  ['en', 'Where is 1002?', ['getOrder 1002', '']],
  ['en', 'How long does delivery take?', ['searchHelp', '']],
  ['en', 'Order 1001 arrived broken, please refund it', ['getOrders', `createReturn ${FIRST}`, '']],
  ['en', 'I want my money back', ['getOrders', `createReturn ${FIRST}`, '']],
  ['en', 'Refund 1001 and cancel 1003', ['getOrders', `createReturn ${FIRST}, cancelOrder ${THIRD}`, '']],
  ['en', 'cancel 2001', ['getOrder 2001', '']],
  ['en', 'cancel 1002', ['getOrders', '']],
  ['ru', 'Какие у меня заказы?', ['getOrders', '']],
  ['ru', 'Где заказ 1001?', ['getOrder 1001', '']],
  ['ru', 'Сколько идёт доставка?', ['searchHelp', '']],
  ['ru', 'Заказ 1001 пришёл разбитым, верните деньги', ['getOrders', `createReturn ${FIRST}`, '']],
] as const) {
  test(`"${text}" asks for ${steps.filter((step) => step !== '').join(', then ') || 'no tool'}`, (t) => {
    assert.deepEqual(asked(t, text, locale), steps)
  })
}

test('an assistant that only reads proposes nothing', (t) => {
  assert.deepEqual(asked(t, 'refund 1001', 'en', ['getOrders']), [''])
})
