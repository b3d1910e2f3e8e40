/** The safety net where something has a defect: what is wrong with one conversation holds up no other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Context } from '../../../examples/sqlite-harness/context.ts'
import { sweep } from '../../../examples/sqlite-harness/safety-net.ts'
import { openSteps } from './step-context.ts'

test('a defect in one conversation is reported, and the others are looked after all the same', async (t) => {
  const steps = openSteps(t)
  const { conversation } = steps
  const reported: unknown[] = []
  const defect = new Error('a defect')
  const context: Context = {
    ...steps,
    report: (error) => reported.push(error),
    conversation: {
      ...conversation,
      run(id) {
        if (id === 'bad') throw defect
        return conversation.run(id)
      },
    },
  }
  const run = { id: 'bad', session_id: 'chat_1', origin_request_id: 'msg_1', history_revision: 1 }
  conversation.addRun(run, null)
  conversation.create('chat_2', 'scripted', 'u_anna')
  conversation.keepRaw('chat_2', 'msg_2', 'kept, and never taken up')
  await sweep(context, true)
  assert.deepEqual(reported, [defect])
  assert.deepEqual(
    conversation.messages('chat_2').map(({ id }) => id),
    ['msg_2'],
  )
})
