import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createConversation } from '../../../examples/demo/conversation.ts'
import { answered, exampleResult } from './example-result.ts'

test('a result is stored in seq order, whole, and a second time changes nothing', () => {
  const conversation = createConversation()
  conversation.customerSaid('msg_1', 'Hello', new Date('2026-11-30T09:15:01.870Z'))
  // A field of a later version goes back as it came.
  const later = Object.assign(answered(1, 'Two'), { unheard_of: [1] })
  const result = exampleResult({ messages: [later, answered(0, 'One')] })
  assert.equal(conversation.storeResult(result), 2)
  assert.equal(conversation.storeResult(result), 0)
  assert.deepEqual(conversation.history(), [
    { role: 'user', content: [{ type: 'text', text: 'Hello' }], created_at: '2026-11-30T09:15:01.870Z' },
    answered(0, 'One'),
    later,
  ])
})

test('a call is answered once, however often the button is pressed', () => {
  const conversation = createConversation()
  for (const result of [1, 2])
    conversation.answerCall({ role: 'tool', call_id: 'call_1', tool: 'createRefund', result })
  assert.deepEqual(conversation.history(), [{ role: 'tool', call_id: 'call_1', tool: 'createRefund', result: 1 }])
})
