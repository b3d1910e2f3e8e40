/**
 * What conversations come to, with every provider: the real engine against a server that refuses what the vendor refuses. Every
 * run must end as it should, in as few requests as it takes, and no request may hold anything that the vendor objects to.
 *
 * A provider that the table does not know yet is left out, and a line says so; it takes part as soon as it is there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { AssistantMessage } from '../../src/contract/message.ts'
import type { Warning } from '../../src/contract/result.ts'
import type { ProviderName } from '../../src/contract/run-request.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { vendors } from '../fakes/vendors/all-vendors.ts'
import { builtProviders, builtSentence, builtVendors, targetOf } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { assertSound } from '../fakes/vendors/sound-run.ts'
import type { Play, Turn } from '../fakes/vendors/turn.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

interface Scene {
  readonly conversation: Conversation
  readonly provider: ProviderName
  /** undefined for the provider that plays scripts. */
  readonly vendor: Vendor | undefined
}

/** One pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PICTURE: JsonObject = { type: 'image', data: PNG, mime_type: 'image/png' }

const findOrder = { tool: 'find_order', args: { id: '77' } }
const findClient = { tool: 'find_client', args: { name: 'Ann' } }
const odd = { tool: 'odd', args: { level: 2, 'order id': 'ü🙂' } }

const isReplaced = ({ code }: Warning) => code === 'part_replaced'

/** A run of whole turns that ends in words. */
async function sound({ conversation, provider }: Scene, turns: readonly Turn[], dropped: number | null = 0) {
  const ran = await conversation.run(provider, turns)
  assertSound(ran, { provider, turns, dropped })
  assert.equal(ran.result.text, turns.at(-1)?.text)
  assert.equal(ran.result.answer_source, 'model')
  return ran
}

/** The user goes on, and the provider has nothing against what has come together by now. */
async function goesOn(scene: Scene, dropped: number | null = 0) {
  scene.conversation.user('And now?')
  return sound(scene, [{ thinking: 'What now 🙂?', text: 'That is all for now.' }], dropped)
}

const scenarios: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'an answer in words'(scene) {
    scene.conversation.user('Where is order 77?')
    await sound(scene, [{ text: 'Order 77 🙂 is shipped.' }])
    await goesOn(scene)
  },

  async 'a thought and an answer'(scene) {
    scene.conversation.user('Where is order 77?')
    const { result } = await sound(scene, [{ thinking: 'It was 🙂 shipped.', text: 'It is on its way.' }])
    const [message] = result.messages as unknown as AssistantMessage[]
    assert.deepEqual(
      message?.content.map((part) => part.type),
      ['reasoning', 'text'],
    )
    await goesOn(scene)
    await goesOn(scene)
  },

  async 'a thought behind the last word'(scene) {
    const { conversation, provider, vendor } = scene
    conversation.user('Where is order 77?')
    if (vendor === undefined) return
    const { faults, result } = await conversation.run(provider, [
      (answer) => {
        answer.thinking('First this.')
        answer.text(`It is shipped (${conversation.session}).`)
        answer.thinking('Then that.')
        answer.finish({ stop: 'length' })
      },
    ])
    assert.deepEqual([faults, result.status, result.stop_reason], [[], 'completed', 'length'])
    await goesOn(scene)
  },

  async 'a message of the history that only thinks'(scene) {
    const { conversation, provider } = scene
    conversation.user('Where is order 77?')
    const { result } = await sound(scene, [{ thinking: 'It was shipped.', text: 'It is on its way.' }])
    const [message] = result.messages as unknown as AssistantMessage[]
    const thought = message?.content.find(({ type }) => type === 'reasoning') as unknown as JsonObject | undefined
    if (thought === undefined) return
    conversation.user('Hm?')
    conversation.messages.push({ role: 'assistant', content: [thought], provider, model: message?.model ?? null })
    await goesOn(scene)
  },

  async 'one call'(scene) {
    const { conversation } = scene
    conversation.user('Where is order 77?')
    await sound(scene, [{ thinking: 'I look it up.', calls: [findOrder] }, { text: 'It is shipped.' }])
    assert.deepEqual((await world.open()).tools.calls('find_order', conversation.session), [{ id: '77' }])
    await goesOn(scene)
  },

  async 'HI-17: calls side by side, of tools whose schemas some vendor dislikes'(scene) {
    const { conversation } = scene
    conversation.user('Where is order 77, and who is Ann?')
    const turns = [
      { thinking: 'Three things.', text: 'Let me look.', calls: [findOrder, findClient, odd] },
      { thinking: 'One more.', calls: [findOrder] },
      { text: 'It is shipped to Ann.' },
    ]
    const { result } = await sound(scene, turns)
    const { tools } = await world.open()
    assert.deepEqual(tools.calls('find_order', conversation.session), [findOrder.args, findOrder.args])
    assert.deepEqual(tools.calls('find_client', conversation.session), [findClient.args])
    assert.deepEqual(tools.calls('odd', conversation.session), [odd.args])
    assert.deepEqual(
      result.tool_calls.map(({ status }) => status),
      ['ok', 'ok', 'ok', 'ok'],
    )
    await goesOn(scene)
  },

  async 'a call without arguments'(scene) {
    const { conversation, provider, vendor } = scene
    conversation.user('What is there?')
    const said: Turn = { calls: [{ tool: 'list_all', args: {} }] }
    // Where a vendor may leave the arguments out, it does.
    const leavesOut = vendor !== undefined && vendor.hasCallIds && provider !== 'openai'
    const bare: Play = (answer) => {
      answer.call('list_all', '')
      answer.finish()
    }
    const ran = await conversation.run(provider, [leavesOut ? bare : said, { text: 'Three things.' }])
    assertSound(ran, { provider, turns: [said, { text: 'Three things.' }] })
    assert.deepEqual((await world.open()).tools.calls('list_all', conversation.session), [{}])
    await goesOn(scene)
  },

  async 'a tool that answers with an error'(scene) {
    scene.conversation.user('Where is order 78?')
    const turns = [{ calls: [{ tool: 'fails', args: { id: '78' } }, findOrder] }, { text: 'There is no order 78.' }]
    const { result } = await sound(scene, turns)
    assert.deepEqual(
      result.tool_calls.map(({ status }) => status),
      ['error', 'ok'],
    )
    await goesOn(scene)
  },

  async 'a name and arguments that no tool takes'(scene) {
    scene.conversation.user('Where is order 77?')
    const turns = [
      { calls: [{ tool: 'no such.tool', args: { a: 1 } }] },
      { calls: [{ tool: 'find_order', args: { wrong: true } }] },
      { text: 'I cannot say.' },
    ]
    const { result } = await sound(scene, turns)
    assert.deepEqual(
      result.tool_calls.map(({ status }) => status),
      ['invalid', 'invalid'],
    )
    await goesOn(scene, null)
  },

  async 'a deferred call that is resumed'(scene) {
    const { conversation, provider } = scene
    conversation.user('Return order 77.')
    const asked = { thinking: 'A write.', text: 'I ask for it.', calls: [{ tool: 'approve', args: { id: '77' } }] }
    const waiting = await conversation.run(provider, [asked])
    assertSound(waiting, { provider, turns: [asked], status: 'awaiting_tool' })
    conversation.answer(waiting.result, { result: { approved: true } })
    await sound(scene, [{ thinking: 'It is done.', text: 'It is returned.' }])
    await goesOn(scene, null)
  },

  async 'a deferred call beside a read one, and the user says something else'(scene) {
    const { conversation, provider, vendor } = scene
    conversation.user('Return order 77.')
    const asked = { thinking: 'Two things.', calls: [findOrder, { tool: 'approve', args: { id: '77' } }] }
    const waiting = await conversation.run(provider, [asked])
    assertSound(waiting, { provider, turns: [asked], status: 'awaiting_tool' })
    assert.equal(waiting.result.steps, vendor?.oneCall === true ? 2 : 1)
    conversation.answer(waiting.result, { is_error: true, error: 'superseded' })
    conversation.user('Forget it.')
    await sound(scene, [{ text: 'As you wish.' }])
    await goesOn(scene)
  },

  async 'CA-04: a cancel in the middle of a text, and a next run'(scene) {
    const { conversation, provider } = scene
    conversation.user('Tell me everything.')
    const running = await conversation.start(provider, [
      { thinking: 'A long story.', calls: [findOrder] },
      { thinking: 'So it goes.', text: 'Once upon a 🙂 time', hang: true },
    ])
    await running.stream.event('delta', ({ offset, text }) => offset + text.length >= 'Once upon a 🙂 time'.length)
    const { faults, result } = await running.cancel()
    assert.deepEqual(faults, [])
    assert.equal(result.status, 'cancelled')
    assert.equal(result.text, 'Once upon a 🙂 time')
    assert.equal(result.messages.at(-1)?.role, 'assistant')
    conversation.user('Go on.')
    await sound(scene, [{ thinking: 'Further.', calls: [findClient] }, { text: 'And so on.' }])
    await goesOn(scene)
  },

  async 'HI-13: a picture in the history'(scene) {
    const { conversation, provider, vendor } = scene
    conversation.user([{ type: 'text', text: 'What is this?' }, PICTURE])
    const ran = await sound(scene, [{ text: 'A picture.' }])
    const blind = vendor !== undefined && vendor.blindModel === vendor.model
    assert.equal(ran.result.warnings.filter(isReplaced).length, blind ? 1 : 0)
    if (vendor !== undefined) assert.equal(ran.received[0]?.text.includes(PNG.slice(0, 40)), !blind)
    conversation.user([PICTURE])
    await sound(scene, [{ calls: [findOrder] }, { text: 'The same.' }])
    if (vendor === undefined || vendor.blindModel === null || blind) return
    conversation.user('And without eyes?')
    const turns = [{ text: 'I see nothing.' }]
    const unseeing = await conversation.run(provider, turns, { model: vendor.blindModel })
    assertSound(unseeing, { provider, turns })
    assert.ok(unseeing.result.warnings.some(isReplaced))
    assert.equal(unseeing.received[0]?.text.includes(PNG.slice(0, 40)), false)
  },

  async 'thirty turns'(scene) {
    for (let turn = 1; turn <= 30; turn += 1) {
      scene.conversation.user(`Question ${turn}?`)
      const said = { thinking: `Thought ${turn}.`, text: `Answer ${turn}.` }
      const calls = [
        { ...findOrder, args: { id: String(turn) } },
        { ...findClient, args: { name: `N${turn}` } },
      ]
      await sound(scene, turn % 3 === 0 ? [{ thinking: `Look ${turn}.`, calls }, said] : [said])
    }
  },

  async 'PS-36: an answer with nothing in it'(scene) {
    scene.conversation.user('Hello?')
    await sound(scene, [{}, { thinking: 'Now.', text: 'Here I am.' }])
    // What was thought behind a note that is gone is of no more use where a thought is bound to its place.
    await goesOn(scene, null)
  },

  async 'PS-36: nothing after the results of tools'(scene) {
    const { conversation, provider } = scene
    conversation.user('Where is order 77?')
    const turns = [{ text: 'I look it up.', calls: [findOrder] }, {}, {}]
    const ran = await conversation.run(provider, turns)
    assertSound(ran, { provider, turns, dropped: null })
    assert.equal(ran.result.answer_source, 'fallback')
    assert.equal(ran.result.messages.at(-1)?.role, 'tool')
    await goesOn(scene, null)
  },

  async 'a limit, and a last step without tools'(scene) {
    const { conversation, provider, vendor } = scene
    conversation.user('Where is order 77?')
    const turns = [{ thinking: 'I look.', calls: [findOrder] }, { text: 'It is shipped, it seems.' }]
    const ran = await conversation.run(provider, turns, { limits: { max_steps: 1 } })
    assertSound(ran, { provider, turns, status: 'stopped_limit' })
    assert.equal(ran.result.text, 'It is shipped, it seems.')
    if (vendor !== undefined) assert.match(ran.received[1]?.text ?? '', /max_steps/)
    await goesOn(scene, null)
  },

  async 'HI-18: another system text and other tools from one run to the next'(scene) {
    const { conversation } = scene
    conversation.user('Where is order 77?')
    const before = structuredClone(conversation.messages)
    const { result } = await sound(scene, [
      { thinking: 'I look.', calls: [findOrder] },
      { thinking: 'So.', text: 'Shipped.' },
    ])
    conversation.system = 'You help with orders, in verse.'
    conversation.tools = conversation.tools.filter(({ name }) => name !== 'odd')
    await goesOn(scene, null)
    await goesOn(scene, null)
    assert.deepEqual(
      conversation.messages.slice(before.length, before.length + result.messages.length),
      result.messages,
    )
  },

  async 'a history with calls, and no tools any more'(scene) {
    const { conversation } = scene
    conversation.user('Where is order 77?')
    await sound(scene, [
      { thinking: 'I look.', calls: [findOrder] },
      { thinking: 'So.', text: 'It is shipped.' },
    ])
    conversation.tools = []
    await goesOn(scene, null)
    await goesOn(scene, null)
  },

  async 'HI-03, HI-11, HI-14: a history from elsewhere, its ids reused and its results out of order'(scene) {
    const { conversation } = scene
    for (const round of [1, 2]) {
      conversation.user(`Round ${round}.`)
      conversation.messages.push(
        {
          role: 'assistant',
          content: [
            { type: 'text', text: '' },
            {
              type: 'reasoning',
              text: 'Somebody else thought so.',
              provider_data: { family: 'nobody', signature: 'x' },
            },
            { type: 'tool_call', call_id: 'call 0 ü', tool: 'find_order', args: { id: '77' } },
            { type: 'tool_call', call_id: 'call_1', tool: 'gone.tool', args: {} },
          ],
          provider: 'elsewhere',
          model: 'unknown',
        },
        { role: 'tool', call_id: 'call_1', tool: 'gone.tool', is_error: true, error: 'no such tool' },
        { role: 'tool', call_id: 'call 0 ü', tool: 'find_order', result: '' },
      )
      conversation.user([
        { type: 'text', text: '  ' },
        { type: 'text', text: 'And?' },
      ])
    }
    await sound(scene, [{ thinking: 'Hm.', calls: [findOrder] }, { text: 'Shipped.' }])
    await goesOn(scene)
  },

  async 'a history that the assistant opened, and words that are not well-formed'(scene) {
    const { conversation } = scene
    const [half] = '🙂'
    conversation.messages.push({
      role: 'assistant',
      content: [{ type: 'text', text: `Welcome ${half?.slice(0, 1)}!` }],
    })
    conversation.user(`Hello ${'🙂'.slice(1)}`)
    conversation.user('Hello?')
    await sound(scene, [{ calls: [{ tool: 'find_order', args: { id: '🙂'.slice(0, 1) } }] }, { text: 'Hello.' }], null)
    await goesOn(scene, null)
  },
}

for (const [name, act] of Object.entries(scenarios)) {
  for (const provider of builtProviders) {
    test(`${provider}: ${name}`, async () => {
      const vendor = vendors.find((one) => one.provider === provider)
      await act({ conversation: new Conversation(await world.open()), provider, vendor })
    })
  }
}

/** Every param of the contract, and every word of `thinking`. `most`: more tokens than any model writes. */
const paramsUpTo = (most: number): readonly JsonObject[] => [
  ...['off', 'low', 'medium', 'high', 'max', null].map((thinking) => ({ thinking })),
  { thinking: 'off', temperature: 0, top_p: 0 },
  { thinking: 'high', temperature: 2, top_p: 1, max_output_tokens: most },
  { thinking: null, max_output_tokens: 1, stop: ['a', ' ', 'b', 'c', 'd', 'e'], seed: 7, parallel_tool_calls: false },
  { thinking: 'max', temperature: 0.5, max_output_tokens: 3000 },
]

for (const vendor of builtVendors) {
  for (const model of [vendor.model, ...vendor.otherModels]) {
    test(`${vendor.provider}: ${model} has nothing against what it is sent for any param`, async () => {
      const { provider } = vendor
      const conversation = new Conversation(await world.open())
      // Where the bound of a model is not known, its answer is the caller's to read.
      const bound = builtIn.profile(targetOf(provider, model))?.maxTokensMost ?? null
      for (const [index, params] of paramsUpTo(bound === null ? 5000 : 10_000_000).entries()) {
        conversation.user('Where is order 77?')
        const text = `Shipped, for the ${index}th time.`
        const turns = [
          { thinking: 'I look.', calls: [findOrder, findClient] },
          { thinking: 'So.', text },
        ]
        const ran = await conversation.run(provider, turns, { model, params })
        assertSound(ran, { provider, turns, dropped: null })
        assert.equal(ran.result.text, text)
      }
    })
  }
}

test('the engine and the fake vendors end with nothing under way', async (t) => {
  t.diagnostic(builtSentence())
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
