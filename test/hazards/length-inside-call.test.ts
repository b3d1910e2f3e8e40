/**
 * An answer that its length limit cuts inside a call. Half a call is never made; it is asked for once more with a word about it,
 * and if it is cut again the text beside it is the answer. HI-15: what is kept of it poisons no later request.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

const cutCall = (answer: VendorAnswer) => {
  answer.thinking('I look.')
  answer.text('Let me look.')
  answer.openCall('find_order', '{"id":"7')
  answer.finish({ stop: 'length' })
}

test('a call that is cut by length is not made, and is asked for once more', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const whole = { calls: [{ tool: 'find_order', args: { id: '77' } }] }
    const ran = await conversation.run(provider, [cutCall, whole, { text: 'It is shipped.' }])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    assert.match(ran.received[1]?.text ?? '', /was cut by its length limit inside a tool call/)
    assert.doesNotMatch(ran.received[2]?.text ?? '', /was cut by its length limit/)
    assert.deepEqual((await world.open()).tools.calls('find_order', conversation.session), [{ id: '77' }])
    await goesOn(conversation, provider)
  })
})

test('a call that is cut before its first argument is not one without arguments', async () => {
  // Where a call comes whole, there is no such cut.
  const piecewise = builtVendors.filter(({ oneCall }) => !oneCall)
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('What is there?')
    const ran = await conversation.run(provider, [
      (answer) => {
        answer.openCall('list_all', '')
        answer.finish({ stop: 'length' })
      },
      { text: 'I cannot say.' },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text, ran.result.tool_calls], ['completed', 'I cannot say.', []])
    assert.deepEqual((await world.open()).tools.calls('list_all', conversation.session), [])
    await goesOn(conversation, provider)
  }, piecewise)
})

test('a call that is cut twice ends the run with the text beside it', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const { faults, result } = await conversation.run(provider, [cutCall, cutCall])
    assert.deepEqual(faults, [])
    assert.deepEqual([result.status, result.text, result.stop_reason], ['completed', 'Let me look.', 'length'])
    assert.deepEqual(result.tool_calls, [])
    assert.deepEqual((await world.open()).tools.calls('find_order', conversation.session), [])
    await goesOn(conversation, provider)
  })
})

test('a whole call before the one that was cut is made', async () => {
  // Where there is one call a message, none stands before another.
  const many = builtVendors.filter(({ oneCall }) => !oneCall)
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const ran = await conversation.run(provider, [
      (answer) => {
        answer.call('find_order', { id: '77' })
        answer.openCall('find_client', '{"name":"An')
        answer.finish({ stop: 'length' })
      },
      { text: 'It is shipped.' },
    ])
    assert.deepEqual(ran.faults, [])
    assert.deepEqual([ran.result.status, ran.result.text], ['completed', 'It is shipped.'])
    const { tools } = await world.open()
    assert.deepEqual(tools.calls('find_order', conversation.session), [{ id: '77' }])
    assert.deepEqual(tools.calls('find_client', conversation.session), [])
    await goesOn(conversation, provider)
  }, many)
})

test('a call that is cut although the answer says it is whole is told to the model, and poisons nothing', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const { faults, result } = await conversation.run(provider, [
      (answer) => {
        answer.call('find_order', '{"id":"7')
        answer.finish({ stop: 'calls' })
      },
      { text: 'I cannot say.' },
    ])
    assert.deepEqual(faults, [])
    assert.deepEqual([result.status, result.text], ['completed', 'I cannot say.'])
    assert.deepEqual(
      result.tool_calls.map(({ attempts, status }) => [status, attempts]),
      [['invalid', 0]],
    )
    await goesOn(conversation, provider)
  })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
