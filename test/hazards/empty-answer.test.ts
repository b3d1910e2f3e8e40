/**
 * PS-19, PS-21, PS-31, PS-36, PS-37: an answer that holds nothing. What is a whole answer without words is asked once more without
 * tools, then a fixed sentence stands in; what is no answer at all is a failed attempt. Neither leaves anything in the history.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyCase, everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const empties: Readonly<Record<string, (answer: VendorAnswer) => void>> = {
  'nothing at all': (answer) => answer.finish(),
  'white space': (answer) => {
    answer.text(' \n')
    answer.finish()
  },
  'a thought only': (answer) => {
    answer.thinking('I wonder 🙂.')
    answer.finish()
  },
  'a word of calls and none': (answer) => answer.finish({ stop: 'calls' }),
  'a call written as text': (answer) => {
    answer.text('<tool_call>{"name":"find_order","arguments":{"id":"77"}}</tool_call>')
    answer.finish()
  },
}

for (const [name, empty] of Object.entries(empties)) {
  test(`an answer that is ${name} is asked for once more, and then a fixed sentence stands in`, async () => {
    await everyVendor(async ({ provider }) => {
      const once = new Conversation(await world.open())
      once.user('Where is order 77?')
      const mended = await once.run(provider, [empty, { thinking: 'Now.', text: 'It is shipped.' }])
      assert.deepEqual(mended.faults, [])
      assert.deepEqual([mended.result.status, mended.result.text], ['completed', 'It is shipped.'])
      assert.deepEqual([mended.result.answer_source, mended.result.messages.length], ['model', 1])
      assert.equal(mended.result.usage.attempts.length, 2)
      assert.match(mended.received[1]?.text ?? '', /Your last answer was empty/)
      await goesOn(once, provider)

      const twice = new Conversation(await world.open())
      twice.user('Where is order 77?')
      const { faults, result } = await twice.run(provider, [empty, empty])
      assert.deepEqual(faults, [])
      assert.deepEqual([result.status, result.answer_source, result.messages], ['completed', 'fallback', []])
      assert.notEqual(result.text, '')
      assert.equal(result.usage.complete, true)
      assert.deepEqual(result.tool_calls, [])
      // The user asks again, for the question was never answered.
      await goesOn(twice, provider)
    })
  })
}

test('PS-37: tokens of an answer without words are told as they are', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const usage = { input: 9, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 }
    const { result } = await conversation.run(provider, [
      (answer) => {
        answer.finish({ usage })
      },
      { text: 'It is shipped.' },
    ])
    const [first] = result.usage.attempts
    assert.deepEqual([first?.status, first?.input_tokens, first?.output_tokens], ['ok', 9, 0])
  })
})

const PAGE = '<!doctype html><title>Sign in</title><p>SECRET page</p>'

/** 200, and no answer in any form. */
const noAnswers: Readonly<Record<string, (answer: VendorAnswer, vendor: Vendor) => void>> = {
  'not one byte': (answer) => answer.status(200, '', { 'content-type': 'text/event-stream' }),
  'a page': (answer) => answer.status(200, PAGE, { 'content-type': 'text/html' }),
  'a page that calls itself a stream': (answer) => answer.status(200, PAGE, { 'content-type': 'text/event-stream' }),
  'an empty object': (answer) => answer.status(200, {}),
  'half a document': (answer) => answer.status(200, '{"choices":[{"message":{"content":"It is'),
}

test('a 200 that holds no answer is a failed attempt, and the next one answers', async () => {
  await everyVendor((vendor) =>
    everyCase(Object.entries(noAnswers), async (act) => {
      const { provider } = vendor
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const ran = await conversation.run(provider, [(answer) => act(answer, vendor), { text: 'It is shipped.' }])
      assert.deepEqual(ran.faults, [])
      assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
      const [failed, whole] = ran.result.usage.attempts
      assert.equal(failed?.error_code, 'malformed')
      assert.equal(whole?.status, 'ok')
      await goesOn(conversation, provider)
    }),
  )
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
