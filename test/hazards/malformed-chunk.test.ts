/** PS-43: an event that is no JSON. The attempt fails loudly, wherever it was; nothing is skipped and no text has a hole. */
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
  'as the first event': (answer) => answer.begin(),
  'between two texts': (answer) => {
    answer.thinking('I know.')
    answer.text('It is ')
  },
  'between two calls': (answer) => void answer.call('find_order', { id: '77' }),
}

const broken = ['{"type":"content_block_delta","delta":{"cont: keepalive', 'keepalive', '[1,2', '{"choices":}']

test('an event that is no JSON, anywhere, fails the attempt, and the next one answers', async () => {
  await everyVendor(({ provider }) =>
    everyCase(Object.entries(places), async (before) => {
      await Promise.all(
        broken.map(async (data) => {
          const conversation = new Conversation(await world.open())
          conversation.user('Where is order 77?')
          const running = await conversation.start(provider, [
            (answer) => {
              before(answer)
              answer.event(data)
              answer.text('shipped.')
              answer.finish()
            },
            { thinking: 'Again.', text: 'It is on its way.' },
          ])
          const { faults, result } = await running.ended()
          assert.deepEqual(faults, [], data)
          assert.deepEqual([result.status, result.text], ['completed', 'It is on its way.'], data)
          assert.equal(screenOf(running.stream.events).get(1), 'It is on its way.', data)
          assert.deepEqual(
            result.usage.attempts.map(({ error_code: code }) => code),
            ['malformed', null],
            data,
          )
          assert.deepEqual([result.tool_calls, result.messages.length], [[], 1], data)
          await goesOn(conversation, provider)
        }),
      )
    }),
  )
})

test('a line that lost its beginning, or a page inside the stream, fails the attempt as an event does', async () => {
  await everyVendor(({ provider }) =>
    everyCase(
      ['ent":"b"}}]}', '<html><body>502 Bad Gateway</body></html>', '\0{"choices":'].map(
        (line) => [line, line] as const,
      ),
      async (line) => {
        const conversation = new Conversation(await world.open())
        conversation.user('Where is order 77?')
        const { faults, result } = await conversation.run(provider, [
          (answer) => {
            answer.text('It is ')
            answer.raw(`${line}\n\n`)
            answer.text('shipped.')
            answer.cut()
          },
          { text: 'It is on its way.' },
        ])
        assert.deepEqual([faults, result.status, result.text], [[], 'completed', 'It is on its way.'])
        assert.deepEqual(
          result.usage.attempts.map(({ error_code: code }) => code),
          ['malformed', null],
        )
      },
    ),
  )
})

test('an error that a gateway wrote into the stream as a bare line of JSON is that error, with an end mark behind it too', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const { result } = await conversation.run(provider, [
      (answer) => {
        answer.text('Half an ans')
        answer.raw('{"error":{"message":"Insufficient balance","code":402}}\n\ndata: [DONE]\n\n')
        answer.cut()
      },
    ])
    assert.deepEqual([result.status, result.error?.code], ['failed', 'provider_quota'])
    assert.deepEqual([result.text, result.usage.attempts.length], ['Half an ans', 1])
    await goesOn(conversation, provider)
  })
})

test('events that are empty, unknown or of no use here change nothing', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(provider, [
      (answer) => {
        answer.begin()
        answer.raw(': a comment\n\nevent: unheard_of\ndata: {"type":"unheard_of","x":[1]}\n\n')
        answer.text('It is ')
        answer.raw('data:\n\ndata: {}\n\nid: 7\nretry: 10\n\n')
        answer.text('shipped.')
        answer.finish()
      },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    assert.equal(ran.result.usage.attempts.length, 1)
    await goesOn(conversation, provider)
  })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
