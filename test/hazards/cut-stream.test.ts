/**
 * PS-15: a stream that breaks off, anywhere. What was shown is taken back by a reset when the next attempt speaks, half a call
 * is never made, and where every attempt breaks off the run fails and keeps what was shown.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { screenOf } from '../conformance/event-stream.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyCase, everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import { TURN_USAGE } from '../fakes/vendors/turn.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const ARGS = { id: '77' }

/** What came before the break. */
const places: Readonly<Record<string, (answer: VendorAnswer) => void>> = {
  'behind the head': (answer) => answer.begin(),
  'in a thought': (answer) => answer.thinking('I wonder'),
  'in the text': (answer) => {
    answer.thinking('I know.')
    answer.text('Half an ans')
  },
  'behind a whole call': (answer) => {
    answer.text('Half an ans')
    answer.call('find_order', ARGS)
  },
  'before the arguments of a call': (answer) => answer.openCall('list_all', ''),
  'in the arguments of a call': (answer) => {
    answer.call('find_order', ARGS)
    answer.openCall('find_client', '{"name":"An')
  },
}

test('a stream that is cut anywhere is asked for again, and nothing of it is left', async () => {
  await everyVendor(({ provider, path }) =>
    everyCase(Object.entries(places), async (before) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const running = await conversation.start(provider, [
        (answer) => {
          before(answer)
          answer.cut()
        },
        { thinking: 'Again.', text: 'It is shipped.' },
      ])
      const { faults, result } = await running.ended()
      assert.deepEqual(faults, [])
      assert.equal(result.status, 'completed')
      assert.equal(result.text, 'It is shipped.')
      assert.equal(screenOf(running.stream.events).get(1), 'It is shipped.')
      assert.equal(result.messages.length, 1)
      assert.deepEqual(result.tool_calls, [])
      const { tools } = await world.open()
      for (const tool of ['find_order', 'find_client', 'list_all']) {
        assert.deepEqual(tools.calls(tool, conversation.session), [], tool)
      }
      const [cut, whole] = result.usage.attempts
      assert.deepEqual([cut?.status, cut?.error_code, cut?.estimated], ['unknown', 'interrupted', true])
      assert.deepEqual([whole?.status, whole?.error_code], ['ok', null])
      assert.equal(result.usage.attempts.length, 2)
      assert.equal(result.usage.complete, false)
      if (path.endsWith('/messages')) assert.equal(cut?.input_tokens, TURN_USAGE.input, 'what was told early is kept')
      await goesOn(conversation, provider)
    }),
  )
})

test('a stream that is cut three times fails the run, which keeps what was shown', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const cut = (answer: VendorAnswer) => {
      answer.thinking('I know.')
      answer.text('Half an ans')
      answer.openCall('find_order', '{"id":')
      answer.cut()
    }
    const running = await conversation.start(provider, [cut, cut, cut])
    const { result } = await running.ended()
    assert.equal(result.status, 'failed')
    assert.equal(result.error?.code, 'provider_unavailable')
    assert.equal(result.text, 'Half an ans')
    assert.equal(screenOf(running.stream.events).get(1), 'Half an ans')
    const [message, ...others] = result.messages
    assert.deepEqual(others, [])
    assert.ok(message?.role === 'assistant')
    assert.deepEqual([message.content, message.stop_reason], [[{ type: 'text', text: 'Half an ans' }], 'error'])
    assert.equal(result.usage.attempts.length, 3)
    await goesOn(conversation, provider)
  })
})

test('PS-45: an answer without its end mark is whole only where its protocol says so', async () => {
  await everyVendor(async ({ path, provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const endless = (answer: VendorAnswer) => {
      answer.text('It is shipped.')
      answer.finish({ end: false })
      answer.cut()
    }
    const chat = path.endsWith('/chat/completions')
    const ran = await conversation.run(provider, chat ? [endless] : [endless, { text: 'Once more: it is shipped.' }])
    assert.deepEqual(ran.faults, [])
    assert.equal(ran.result.status, 'completed')
    assert.equal(ran.result.text, chat ? 'It is shipped.' : 'Once more: it is shipped.')
    assert.deepEqual(
      ran.result.usage.attempts.map(({ error_code: code }) => code),
      chat ? [null] : ['interrupted', null],
    )
    await goesOn(conversation, provider)
  })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
