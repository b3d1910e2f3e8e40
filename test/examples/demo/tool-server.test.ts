import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { approve, operationOf } from '../../../examples/demo/approvals.ts'
import { CUSTOMER, exampleOrders } from '../../../examples/demo/example-orders.ts'
import { createShop } from '../../../examples/demo/shop.ts'
import { startToolServer } from '../../../examples/demo/tool-server.ts'
import { argsHash, callKey, operationKey } from '../../../src/contract/canonical.ts'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { PendingCall } from '../../../src/contract/result.ts'

async function shopTools(t: TestContext) {
  const shop = createShop(exampleOrders)
  const server = await startToolServer(shop, 'tool-secret')
  t.after(() => server.close())

  /** As the engine calls it. */
  async function call(tool: string, args: JsonObject, { secret = 'tool-secret', message = 'msg_1' } = {}) {
    const { url = '' } = server.tools.find(({ name }) => name === tool) ?? {}
    const facts = { sessionId: 'chat_7', tool, originRequestId: message, argsHash: argsHash(args) }
    const body = {
      contract_version: '1',
      run_id: 'run_1',
      call_id: 'call_1',
      attempt: 1,
      origin_request_id: message,
      tool,
      args,
      args_hash: facts.argsHash,
      call_key: callKey(facts),
      operation_key: operationKey(facts),
      meta: { user_id: CUSTOMER, session_id: 'chat_7' },
      result_url: 'http://127.0.0.1/',
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.status, answer: (await response.json()) as JsonObject }
  }
  return { shop, call }
}

const refund = { orderId: '12345', amount: 39.9, reason: 'it is broken' }

test('an order is told to its own customer only, whatever the arguments say', async (t) => {
  const { call } = await shopTools(t)
  const own = await call('getOrder', { orderId: '12345' })
  assert.equal(own.answer['status'], 'ok')
  assert.equal((own.answer['result'] as JsonObject)['item'], 'blue teapot')
  const strange = await call('getOrder', { orderId: '12399' })
  assert.deepEqual(strange.answer, { status: 'error', error: 'no such order of this customer; ask for the number' })
})

test('who does not show the secret is told nothing', async (t) => {
  const { call, shop } = await shopTools(t)
  assert.equal((await call('getOrder', { orderId: '12345' }, { secret: 'tool-secreT' })).status, 401)
  assert.equal((await call('createRefund', refund, { secret: '' })).status, 401)
  assert.equal(shop.refundsMade(), 0)
})

test('a refund is registered once and deferred, and nothing is paid', async (t) => {
  const { call, shop } = await shopTools(t)
  const first = await call('createRefund', refund)
  assert.equal(first.answer['status'], 'deferred')
  assert.deepEqual(await call('createRefund', refund), first, 'the engine may ask again')
  const other = await call('createRefund', { ...refund, amount: 1 })
  assert.equal(other.answer['status'], 'error', 'one operation a message')
  assert.equal(shop.refundsMade(), 0)
})

test('a refund beyond the order is an error that the model can mend', async (t) => {
  const { call } = await shopTools(t)
  const { answer } = await call('createRefund', { ...refund, amount: 40 })
  assert.deepEqual(answer, { status: 'error', error: 'the order cost 39.9 EUR; no more can be refunded' })
})

async function pendingRefund(call: Awaited<ReturnType<typeof shopTools>>['call']): Promise<PendingCall> {
  const { answer } = await call('createRefund', refund)
  return {
    call_id: 'call_1',
    tool: 'createRefund',
    operation_id: answer['operation_id'] as string,
    args_hash: argsHash(refund),
    ticket: 'v1.run_1.1.00',
    expires_at: '2026-12-07T09:15:02.114Z',
  }
}

test('an approval carries the operation out once and answers its call', async (t) => {
  const { call, shop } = await shopTools(t)
  const pending = await pendingRefund(call)
  const operation = operationOf(pending, shop)
  const answer = approve(pending, operation, shop)
  assert.deepEqual(approve(pending, operation, shop), answer)
  assert.equal(shop.refundsMade(), 1)
  assert.deepEqual(answer, {
    role: 'tool',
    call_id: 'call_1',
    tool: 'createRefund',
    operation_id: pending.operation_id,
    result: { refund_id: 'R-1001', order_id: '12345', amount: 39.9, currency: 'EUR' },
    is_error: false,
    ticket: pending.ticket,
  })
})

test('an approval for other arguments, or for no operation, goes no further', async (t) => {
  const { call, shop } = await shopTools(t)
  const pending = await pendingRefund(call)
  assert.throws(() => operationOf({ ...pending, args_hash: argsHash({}) }, shop), /not of the arguments/)
  assert.throws(() => operationOf({ ...pending, operation_id: 'op_other' }, shop), /no operation was registered/)
})
