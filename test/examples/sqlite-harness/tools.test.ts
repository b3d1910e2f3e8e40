/** The tool endpoints: whose data they show, and what a write registers instead of doing. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { ToolAnswer, ToolCallBody } from '../../../src/contract/tool-exchange.ts'
import { decide } from '../../../examples/sqlite-harness/decide.ts'
import { answerTool, centsIn } from '../../../examples/sqlite-harness/tools.ts'
import { openSteps } from './step-context.ts'

function openShop(t: TestContext, clock?: () => Date) {
  const steps = openSteps(t, clock)
  const call = (tool: string, args: JsonObject, callId = 'call_1', userId = 'u_anna'): ToolAnswer | null =>
    answerTool(
      {
        contract_version: '1',
        run_id: 'run_1',
        call_id: callId,
        attempt: 1,
        origin_request_id: 'msg_1',
        tool,
        args,
        args_hash: JSON.stringify(args),
        call_key: 'ck_1',
        operation_key: `op_${tool}`,
        meta: { user_id: userId, session_id: 'chat_1' },
        result_url: 'http://127.0.0.1:1',
      } satisfies ToolCallBody,
      steps,
    )
  return { ...steps, call }
}

const refund = (amount: number) => ({ orderId: '1001', amount, reason: 'broken' })
const pendingCall = (call_id: string) => ({
  call_id,
  tool: 'createReturn',
  operation_id: 'op_createReturn',
  args_hash: '',
  ticket: 'v1',
  expires_at: '2999-01-01T00:00:00.000Z',
})

test('A.7: a customer sees her own orders, whatever the arguments name', (t) => {
  const { call } = openShop(t)
  assert.match(JSON.stringify(call('getOrders', { user_id: 'u_boris' })), /"1003"/)
  assert.doesNotMatch(JSON.stringify(call('getOrders', { user_id: 'u_boris' })), /"2001"/)
  for (const tool of ['getOrder', 'createReturn', 'cancelOrder']) {
    assert.equal(call(tool, { orderId: '2001', amount: 1, user_id: 'u_boris' })?.status, 'error')
  }
  assert.equal(call('getOrder', { orderId: '2001' }, 'call_2', 'u_boris')?.status, 'ok')
  assert.equal(call('noSuchTool', {}), null)
})

test('A.5, A.6: a write registers one operation; the same call again lands on the same row and changes nothing', (t) => {
  const { call, operations, database } = openShop(t)
  const first = call('createReturn', refund(39.9))
  assert.deepEqual(first, { status: 'deferred', operation_id: 'op_createReturn' })
  assert.deepEqual(call('createReturn', refund(39.9)), first)
  assert.deepEqual(call('createReturn', refund(39.9), 'call_2'), first, 'the same asked for by another call')
  assert.equal(operations.find('op_createReturn')?.version, 1)
  assert.equal(database.all`SELECT * FROM operation`.length, 1)
  assert.equal(database.all`SELECT * FROM refund`.length, 0)
})

test('other arguments raise the version, a retried older call does not bring it back, and the old version cannot be approved', (t) => {
  const { call, operations, ...parts } = openShop(t)
  call('createReturn', refund(39.9), 'call_1')
  call('createReturn', refund(10), 'call_2')
  call('createReturn', refund(39.9), 'call_1')
  const operation = operations.find('op_createReturn')
  assert.deepEqual([operation?.version, operation?.args], [2, JSON.stringify(refund(10))])
  const all = { ...parts, operations }
  assert.equal(decide('op_createReturn', 1, 'approve', all), 'outdated')
  assert.equal(decide('op_createReturn', 2, 'approve', all), 'outdated', 'the run that asks has not ended yet')
  operations.open(pendingCall('call_2'))
  assert.equal(decide('op_createReturn', 2, 'approve', all), 'done')
  assert.equal(decide('op_createReturn', 2, 'approve', all), 'repeated')
  assert.equal(decide('op_createReturn', 2, 'decline', all), 'outdated')
  assert.equal(decide('op_createReturn', 1, 'approve', all), 'outdated')
  assert.deepEqual(
    parts.database.all<{ cents: number }>`SELECT cents FROM refund`.map(({ cents }) => cents),
    [1000],
  )
})

test('what was decided is told and not asked for again', (t) => {
  const { call, operations, ...parts } = openShop(t)
  call('createReturn', refund(39.9), 'call_1')
  operations.open(pendingCall('call_1'))
  decide('op_createReturn', 1, 'decline', { ...parts, operations })
  const again = call('createReturn', refund(39.9), 'call_2')
  assert.match(JSON.stringify(again), /^\{"status":"error","error":"this was declined before/)
})

test('more than is left of an order, parts of a cent and a shipped order are refused', (t) => {
  const { call } = openShop(t)
  for (const amount of [39.91, 0.001, -1])
    assert.equal(call('createReturn', refund(amount))?.status, 'error', String(amount))
  assert.match(JSON.stringify(call('cancelOrder', { orderId: '1002' })), /the order is shipped/)
  assert.deepEqual([centsIn(19.99), centsIn(0.1), centsIn('5'), centsIn(1.005)], [1999, 10, null, null])
})

test('a decision counts until the ticket expires: then it is refused, and the call is answered', (t) => {
  let now = new Date('2026-12-01T00:00:00.000Z')
  const { call, operations, ...parts } = openShop(t, () => now)
  const all = { ...parts, operations }
  const at = { ...pendingCall('call_1'), expires_at: '2026-12-02T00:00:00.000Z' }
  call('createReturn', refund(39.9), 'call_1')
  operations.open(at)
  now = new Date(at.expires_at)
  assert.equal(decide('op_createReturn', 1, 'approve', all), 'expired')
  assert.equal(decide('op_createReturn', 1, 'approve', all), 'outdated')
  assert.deepEqual([operations.find('op_createReturn')?.status, operations.openCalls('chat_1')], ['expired', []])
  assert.match(
    parts.conversation.newest('chat_1')?.payload ?? '',
    /"call_id":"call_1".*"error":"expired: nobody decided in time/,
  )
  assert.deepEqual(parts.database.all`SELECT 1 FROM refund`, [])

  call('createReturn', refund(39.9), 'call_2')
  assert.equal(decide('op_createReturn', 2, 'approve', all), 'outdated', 'the run that asks has not ended yet')
  operations.open({ ...at, call_id: 'call_2', expires_at: '2026-12-03T00:00:00.000Z' })
  assert.equal(decide('op_createReturn', 2, 'approve', all), 'done', 'asked for again, it can be decided again')
})
