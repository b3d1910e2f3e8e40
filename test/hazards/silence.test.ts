/**
 * PS-22: a provider that falls silent and never closes. Two deadlines see it: one for the first token, one between two bytes. The
 * attempt is given up, its connection closed, and the next one answers; where none does the run fails with what was shown.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { screenOf } from '../conformance/event-stream.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

/** Long enough for a busy machine to answer at all. */
const world = sharedWorld({ FIRST_TOKEN_MS: '600', STALL_MS: '600' })

const silences: Readonly<Record<string, (answer: VendorAnswer) => void>> = {
  'before the head': () => {},
  'behind the head': (answer) => answer.begin(),
  'in a thought': (answer) => answer.thinking('I wonder'),
  'in the text': (answer) => answer.text('Half an ans'),
  'in a call': (answer) => answer.openCall('find_order', '{"id":'),
}

test('a provider that falls silent anywhere is given up, and the next attempt answers', async () => {
  const cases = Object.entries(silences)
  await everyVendor(async ({ provider }) => {
    await Promise.all(
      cases.map(async ([place, before]) => {
        const conversation = new Conversation(await world.open())
        conversation.user('Where is order 77?')
        const running = await conversation.start(provider, [before, { thinking: 'Again.', text: 'It is shipped.' }])
        const { faults, received, result } = await running.ended()
        assert.deepEqual(faults, [], place)
        assert.deepEqual([result.status, result.text], ['completed', 'It is shipped.'], place)
        assert.equal(screenOf(running.stream.events).get(1), 'It is shipped.', place)
        assert.deepEqual(
          result.usage.attempts.map(({ error_code: code, status }) => [status, code]),
          [
            ['unknown', 'timeout'],
            ['ok', null],
          ],
          place,
        )
        assert.equal(await received[0]?.closed, 'cut', `${place}: the silent connection is closed`)
        assert.deepEqual(result.tool_calls, [], place)
        await goesOn(conversation, provider)
      }),
    )
  })
})

test('a provider that falls silent three times fails the run, which keeps what was shown', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const silent = (answer: VendorAnswer) => answer.text('Half an ans')
    const { result } = await conversation.run(provider, [silent, silent, silent])
    assert.deepEqual([result.status, result.error?.code, result.text], ['failed', 'provider_timeout', 'Half an ans'])
    assert.equal(result.usage.attempts.length, 3)
    await goesOn(conversation, provider)
  })
})

test('silence behind a finish word is no failure where the word ends an answer', async () => {
  const chat = builtVendors.filter(({ path }) => path.endsWith('/chat/completions'))
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const { received, result } = await conversation.run(provider, [
      (answer) => {
        answer.text('It is shipped.')
        answer.finish({ end: false, usage: null })
      },
    ])
    assert.deepEqual([result.status, result.text], ['completed', 'It is shipped.'])
    assert.deepEqual(
      result.usage.attempts.map(({ error_code: code, estimated, status }) => [status, code, estimated]),
      [['unknown', null, true]],
    )
    assert.equal(await received[0]?.closed, 'cut')
    await goesOn(conversation, provider)
  }, chat)
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
