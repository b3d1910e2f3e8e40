/** What of the rows a customer is shown, where the story does not come by. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolCallBody } from '../../../src/contract/tool-exchange.ts'
import type { Context } from '../../../examples/sqlite-harness/context.ts'
import { viewSession } from '../../../examples/sqlite-harness/session-view.ts'
import { endRun } from '../../../examples/sqlite-harness/start-run.ts'
import { cardsOf, outline } from './chat-stage.ts'
import { openSteps } from './step-context.ts'

function view(steps: Context) {
  const session = steps.conversation.session('chat_1')
  assert.ok(session)
  return viewSession(session, steps)
}

test('a card whose time is over is shown as expired before anything has closed it', (t) => {
  let now = new Date('2026-12-01T00:00:00.000Z')
  const steps = openSteps(t, () => now)
  const args = { orderId: '1001', amount: 39.9, reason: 'broken' }
  const call = {
    call_id: 'call_1',
    tool: 'createReturn',
    args,
    args_hash: 'hash',
    operation_key: 'op_1',
    run_id: 'run_1',
  }
  steps.operations.register(call as unknown as ToolCallBody, 'chat_1', 'u_anna', '1001')
  const message = {
    role: 'assistant',
    content: [{ type: 'tool_call', ...call }],
    run_id: 'run_1',
    seq: 0,
    created_at: '',
  } as const
  steps.conversation.engineSaid('chat_1', [message])
  assert.deepEqual(cardsOf(view(steps)), [], 'the run that asks has not ended')
  const expires_at = '2026-12-02T00:00:00.000Z'
  steps.operations.open({
    call_id: 'call_1',
    tool: '',
    operation_id: 'op_1',
    args_hash: 'hash',
    ticket: '',
    expires_at,
  })
  const [card] = cardsOf(view(steps))
  assert.deepEqual([card?.status, card?.amount, card?.expires_at], ['pending', 39.9, expires_at])
  now = new Date(expires_at)
  const [late] = cardsOf(view(steps))
  assert.deepEqual([late?.status, late?.set_aside], ['expired', 0])
  assert.equal(steps.operations.find('op_1')?.status, 'pending')
})

test('a run that was given up for a newer message is passed over, and any other lost one is told', (t) => {
  const steps = openSteps(t)
  for (const [id, error] of [
    ['msg_1', ''],
    ['msg_2', 'the answer was lost'],
  ] as const) {
    steps.conversation.said('chat_1', id, 'customer', id)
    steps.conversation.addRun({ id, session_id: 'chat_1', origin_request_id: id, history_revision: 1 }, null)
    const run = steps.conversation.run(id)
    assert.ok(run)
    endRun(steps, run, 'lost', error)
  }
  assert.deepEqual(outline(view(steps)), ['user: msg_1', 'user: msg_2', 'notice lost'])
})
