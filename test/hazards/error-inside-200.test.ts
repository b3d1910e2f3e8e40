/**
 * PS-17, PS-18: an error inside a 200 stream, in each vendor's own words. One that may pass is tried again; one that cannot pass is
 * not, and goes to the next model only where no text has been shown.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { screenOf } from '../conformance/event-stream.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyCase, everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const places: Readonly<Record<string, (answer: VendorAnswer) => void>> = {
  'as its first event': (answer) => answer.begin(),
  'behind a thought': (answer) => answer.thinking('I wonder'),
  'behind a text': (answer) => answer.text('Half an ans'),
  'behind a whole call': (answer) => {
    answer.text('Half an ans')
    answer.call('find_order', { id: '77' })
  },
}

const shows = (place: string) => place === 'behind a text' || place === 'behind a whole call'

test('an error that may pass is tried again, wherever it comes', async () => {
  await everyVendor(({ provider, streamErrors }) =>
    everyCase(Object.entries(places), async (before) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const running = await conversation.start(provider, [
        (answer) => {
          before(answer)
          answer.raw(streamErrors.passing)
          answer.cut()
        },
        { thinking: 'Again.', text: 'It is shipped.' },
      ])
      const { faults, result } = await running.ended()
      assert.deepEqual(faults, [])
      assert.deepEqual([result.status, result.text], ['completed', 'It is shipped.'])
      assert.equal(screenOf(running.stream.events).get(1), 'It is shipped.')
      const [failed, whole, ...more] = result.usage.attempts
      assert.deepEqual([whole?.status, more], ['ok', []])
      assert.ok(['overloaded', 'rate', 'server'].includes(failed?.error_code ?? ''), failed?.error_code ?? 'none')
      assert.deepEqual((await world.open()).tools.calls('find_order', conversation.session), [])
      await goesOn(conversation, provider)
    }),
  )
})

/** As gateways write it before any API, in none of the vendors' own shapes. */
const foreign: Readonly<Record<string, string>> = {
  'true beside a sentence': '{"error":true,"message":"Insufficient balance"}',
  'a list': '{"error":[{"message":"Insufficient balance","code":402}]}',
  flat: '{"code":402,"message":"Insufficient balance"}',
  'flat with a word': '{"status":"error","message":"Insufficient balance"}',
  'one inside another': '{"error":{"error":{"message":"no money","code":402}}}',
  'a status beside': '{"error":{"type":"upstream","status_code":402,"message":"no money"}}',
  'an event of a response': '{"type":"response.error","error":{"code":"insufficient_quota","message":"no money"}}',
}

test('an error in the shape of no vendor, behind a text, makes no whole answer of half a one', async () => {
  await everyVendor(({ provider }) =>
    everyCase(Object.entries(foreign), async (event) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const { result } = await conversation.run(provider, [
        (answer) => {
          answer.text('Half an ans')
          answer.raw(`data: ${event}\n\ndata: [DONE]\n\n`)
          answer.cut()
        },
      ])
      assert.deepEqual([result.status, result.error?.code], ['failed', 'provider_quota'])
      assert.deepEqual([result.text, result.stop_reason], ['Half an ans', 'error'])
      assert.deepEqual(
        result.usage.attempts.map(({ error_code: code }) => code),
        ['quota'],
      )
      await goesOn(conversation, provider)
    }),
  )
})

for (const [place, before] of Object.entries(places)) {
  test(`an error that cannot pass, ${place}, ends the run or goes to the next model`, async () => {
    await everyVendor(async ({ provider, streamErrors }) => {
      const broke = (answer: VendorAnswer) => {
        before(answer)
        answer.raw(streamErrors.final)
        answer.cut()
      }
      const alone = new Conversation(await world.open())
      alone.user('Where is order 77?')
      const { result } = await alone.run(provider, [broke])
      assert.deepEqual([result.status, result.error?.code], ['failed', 'provider_quota'])
      assert.equal(result.text, shows(place) ? 'Half an ans' : '')
      assert.deepEqual(
        result.usage.attempts.map(({ error_code: code }) => code),
        ['quota'],
      )
      await goesOn(alone, provider)

      const chained = new Conversation(await world.open())
      chained.user('Where is order 77?')
      const second = chained.target(provider, [{ text: 'The second says: shipped.' }])
      const { result: passed } = await chained.run(provider, [broke], { fallbacks: [second.llm] })
      const taken = shows(place) ? ['failed', 'Half an ans'] : ['completed', 'The second says: shipped.']
      assert.deepEqual([passed.status, passed.text], taken, 'an answer is one model’s from its first word to its last')
      await goesOn(chained, provider)
    })
  })
}

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
