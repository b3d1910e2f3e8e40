/**
 * JS-03: half a surrogate pair, in every place where one can turn up: torn between two pieces of an answer, alone at its end, in
 * arguments, in a tool's result, in what a user wrote. What goes to a client, into the history and to a provider is always whole.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const FIRST = '🙂'.slice(0, 1)
const SECOND = '🙂'.slice(1)

/** No string in it holds half a pair, not even as an escape. */
function assertWhole(value: unknown, what: string): void {
  assert.doesNotMatch(JSON.stringify(value), /\\ud[89a-f]/i, what)
}

test('a pair that is torn between two pieces is shown and kept whole', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Hello?')
    const running = await conversation.start(provider, [
      (answer) => {
        answer.thinking(`Hm ${FIRST}`)
        answer.thinking(`${SECOND}!`)
        answer.text(`A${FIRST}`)
        answer.text(SECOND)
        answer.text(FIRST)
        answer.text(`${SECOND}!`)
        answer.finish()
      },
    ])
    const { faults, result } = await running.ended()
    assert.deepEqual(faults, [])
    assert.equal(result.text, 'A🙂🙂!')
    assertWhole(running.stream.events, 'every event')
    assertWhole(result, 'the result')
    await goesOn(conversation, provider)
  })
})

test('a half that is left over at the end is dropped or replaced, once', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Hello?')
    const running = await conversation.start(provider, [
      (answer) => {
        answer.text(`A${SECOND}B`)
        answer.text(`C${FIRST}`)
        answer.finish()
      },
    ])
    const { faults, result } = await running.ended()
    assert.deepEqual(faults, [])
    assert.match(result.text, /^A\ufffdBC\ufffd?$/)
    assertWhole(running.stream.events, 'every event')
    assertWhole(result, 'the result')
    await goesOn(conversation, provider)
  })
})

test('halves in arguments, in a result and in what a user wrote reach no provider', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.system = `You help ${FIRST}.`
    conversation.user(`Hello ${SECOND}?`)
    const calls = [
      { tool: 'find_order', args: { id: FIRST, [`key${SECOND}`]: 1 } },
      { tool: 'half', args: { deep: [`\\${FIRST}`] } },
    ]
    // The first arguments do not fit the schema: their error quotes them.
    const ran = await conversation.run(provider, [{ thinking: 'Hm.', calls }, { text: 'Done.' }])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'Done.'])
    await goesOn(conversation, provider)
  })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
