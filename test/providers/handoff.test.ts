/**
 * A conversation may go on with any other provider, and come back. For each pair: a run with thoughts and calls side by side at
 * the first, a run at the second on everything the first one left, and a third one back at the first on everything both left.
 * The servers refuse what the vendors refuse, and see to it that own material comes back byte for byte and foreign material not
 * at all.
 *
 * A provider that the table does not know yet is left out, and a line says so; it takes part as soon as it is there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderName } from '../../src/contract/run-request.ts'
import { builtProviders, builtSentence, builtServers, builtVendors } from '../fakes/vendors/built.ts'
import { Conversation, type Ran } from '../fakes/vendors/conversation.ts'
import { assertSound } from '../fakes/vendors/sound-run.ts'
import type { Turn } from '../fakes/vendors/turn.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

/** Two steps with calls and an answer; every text and every argument is this run's own, so that a mix-up shows. */
function turnsOf(run: string): Turn[] {
  return [
    {
      thinking: `SECRET-${run}: first the order 🙂, then the client.`,
      text: `Let me look (${run}).`,
      calls: [
        { tool: 'find_order', args: { id: `77-${run}` } },
        { tool: 'find_client', args: { name: `Ann-${run}` } },
      ],
    },
    {
      thinking: `SECRET-${run}: once more.`,
      calls: [{ tool: 'odd', args: { by: `a-${run}`, 'order id': [1.5, null] } }],
    },
    { thinking: `SECRET-${run}: that is it.`, text: `Shipped (${run}).` },
  ]
}

/** A vendor knows its own answers by their words: no two conversations may share any. */
async function runAt(conversation: Conversation, provider: ProviderName, name: string, profile?: string): Promise<Ran> {
  const run = `${name} of ${conversation.session}`
  conversation.user(`Where is order 77-${run}?`)
  const turns = turnsOf(run)
  const ran = await conversation.run(provider, turns, profile === undefined ? {} : { profile })
  assertSound(ran, { provider, turns })
  assert.equal(ran.result.text, `Shipped (${run}).`)
  const { tools } = await world.open()
  for (const { args, tool } of turns.flatMap(({ calls = [] }) => calls)) {
    const made = tools.calls(tool, conversation.session).filter((one) => JSON.stringify(one) === JSON.stringify(args))
    assert.equal(made.length, 1, `${tool} is called once with ${JSON.stringify(args)}`)
  }
  return ran
}

/** Whether a request holds what was thought in a run. */
function sent({ received }: Ran, name: string): boolean {
  return received.some(({ text }) => text.includes(`SECRET-${name} `))
}

const outcomes = new Map<string, 'ok'>()

for (const first of builtProviders) {
  for (const second of builtProviders) {
    test(`a conversation begun at ${first} goes on at ${second} and comes back`, async () => {
      const conversation = new Conversation(await world.open())
      await runAt(conversation, first, 'A')
      const beforeB = structuredClone(conversation.messages)
      const b = await runAt(conversation, second, 'B')
      const c = await runAt(conversation, first, 'C')

      assert.deepEqual(conversation.messages.slice(0, beforeB.length), beforeB, 'stored messages are not altered')
      if (first !== second) {
        assert.equal(sent(b, 'A'), false, `thoughts of ${first} are sent to ${second}`)
        assert.equal(sent(c, 'B'), false, `thoughts of ${second} are sent to ${first}`)
      }
      for (const { text } of c.received) {
        assert.ok(text.includes('Let me look (B ') && text.includes('77-B '), 'what was said and done at B is told')
      }
      outcomes.set(`${first} ${second}`, 'ok')
    })
  }
}

test('own thoughts go back to the provider that thought them, after another one has spoken', async () => {
  // Where a vendor shows what it thinks, the words themselves must be there.
  const shows: readonly ProviderName[] = ['anthropic', 'deepseek', 'glm', 'kimi', 'minimax', 'openai-compatible']
  for (const provider of shows.filter((one) => builtProviders.includes(one))) {
    const conversation = new Conversation(await world.open())
    await runAt(conversation, provider, 'A')
    await runAt(conversation, 'scripted', 'B')
    const c = await runAt(conversation, provider, 'C')
    assert.equal(sent(c, 'A'), true, provider)
    assert.equal(sent(c, 'C'), true, provider)
  }
})

for (const second of builtVendors) {
  test(`a call that any provider deferred is answered at ${second.provider}, whichever its model`, async () => {
    const { provider } = second
    for (const model of [second.model, ...second.otherModels]) {
      for (const first of builtProviders) {
        const conversation = new Conversation(await world.open())
        conversation.user('Return order 77.')
        const asked = {
          thinking: `Both, at ${conversation.session}.`,
          calls: [
            { tool: 'find_order', args: { id: '77' } },
            { tool: 'approve', args: { id: '77' } },
          ],
        }
        const waiting = await conversation.run(first, [asked])
        assertSound(waiting, { provider: first, turns: [asked], status: 'awaiting_tool' })
        conversation.answer(waiting.result, { result: { approved: true } })
        const turns = [
          { thinking: 'It is approved.', calls: [{ tool: 'find_client', args: { name: 'Ann' } }] },
          { thinking: 'So.', text: `It is returned (${conversation.session}).` },
        ]
        const resumed = await conversation.run(provider, turns, { model })
        // The note that tells the time stands behind the results, and is gone in the next step.
        assertSound(resumed, { provider, turns, dropped: null })
        conversation.user('Thank you.')
        const thanks = [{ thinking: 'Done.', text: `You are welcome (${conversation.session}).` }]
        assertSound(await conversation.run(provider, thanks, { model }), { provider, turns: thanks, dropped: null })
      }
    }
  })
}

test('the state of its functions goes back to GigaChat, and to nobody else', async (t) => {
  if (!builtProviders.includes('gigachat')) return t.skip('gigachat is not built')
  const conversation = new Conversation(await world.open())
  const a = await runAt(conversation, 'gigachat', 'A')
  const states = a.result.messages.flatMap((message) =>
    message.role === 'assistant' ? [message.provider_data?.['functions_state_id']] : [],
  )
  assert.equal(states.filter((state) => typeof state === 'string').length, 3, 'one for each call')
  const b = await runAt(conversation, 'openai-compatible', 'B')
  const c = await runAt(conversation, 'gigachat', 'C')
  for (const state of states.filter((one) => typeof one === 'string')) {
    assert.equal(
      b.received.some(({ text }) => text.includes(state)),
      false,
    )
    assert.ok(c.received.every(({ text }) => text.includes(`"functions_state_id":"${state}"`)))
  }
})

for (const { profile } of builtServers) {
  test(`a conversation of every provider goes on at ${profile} and comes back`, async () => {
    for (const first of builtProviders) {
      const conversation = new Conversation(await world.open())
      await runAt(conversation, first, 'A')
      const b = await runAt(conversation, 'openai-compatible', 'B', profile)
      const c = await runAt(conversation, first, 'C')
      await runAt(conversation, 'openai-compatible', 'D', profile)
      assert.equal(sent(b, 'A'), false, `thoughts of ${first} are sent to ${profile}`)
      assert.equal(sent(c, 'B'), false, `thoughts of ${profile} are sent to ${first}`)
    }
  })
}

for (const { profile } of builtServers) {
  test(`${profile} takes whatever comes behind the results of tools`, async () => {
    const at = { profile: profile ?? '' }
    const conversation = new Conversation(await world.open())
    conversation.user('Return order 77.')
    conversation.user('At once.')
    const asked = { thinking: 'A write.', calls: [{ tool: 'approve', args: { id: '77' } }] }
    const waiting = await conversation.run('openai-compatible', [asked], at)
    assertSound(waiting, { provider: 'openai-compatible', turns: [asked], status: 'awaiting_tool' })
    conversation.answer(waiting.result, { is_error: true, error: 'superseded' })
    conversation.user('Forget it.')
    const look = { calls: [{ tool: 'find_order', args: { id: '77' } }] }
    // A note of the engine stands behind the results, then behind an answer with nothing in it.
    const turns = [look, {}, { text: 'As you wish.' }]
    const ran = await conversation.run('openai-compatible', turns, at)
    assertSound(ran, { provider: 'openai-compatible', turns })
    conversation.user('And now?')
    const limited = await conversation.run('openai-compatible', [look, { text: 'Now.' }], {
      ...at,
      limits: { max_steps: 1 },
    })
    assert.deepEqual([limited.faults, limited.result.status], [[], 'stopped_limit'])
  })
}

for (const { model, otherModels, provider } of builtVendors) {
  test(`a conversation passes through all models of ${provider}, twice`, async () => {
    const conversation = new Conversation(await world.open())
    for (const round of [1, 2]) {
      for (const one of [model, ...otherModels]) {
        conversation.user('Where is order 77?')
        const mark = `${one} ${round} ${conversation.session}`
        const turns = [
          { thinking: 'I look.', text: `Look (${mark}).`, calls: [{ tool: 'find_order', args: { id: mark } }] },
          { thinking: 'So.', text: `Shipped (${mark}).` },
        ]
        assertSound(await conversation.run(provider, turns, { model: one }), { provider, turns })
      }
    }
  })
}

test('a conversation passes through all providers in turn, twice', async () => {
  const conversation = new Conversation(await world.open())
  for (const round of [1, 2]) {
    for (const provider of builtProviders) await runAt(conversation, provider, `${provider}-${round}`)
  }
})

test('a fallback takes over a conversation before its first word, on what the first provider left', async () => {
  for (const first of builtVendors) {
    for (const second of builtVendors) {
      if (first === second) continue
      const conversation = new Conversation(await world.open())
      await runAt(conversation, first.provider, 'A')
      conversation.user('And now?')
      const { key, llm } = conversation.target(second.provider, [{ thinking: 'Taken over.', text: 'All is well.' }])
      const ran = await conversation.run(
        first.provider,
        [(answer) => answer.status(404, first.error({ status: 404, message: 'no such model', param: '', code: '' }))],
        { fallbacks: [llm] },
      )
      const pair = `${first.provider} to ${second.provider}`
      assert.deepEqual(ran.faults, [], pair)
      assert.deepEqual((await world.open()).live(second.provider)?.faults(key), [], pair)
      assert.equal(ran.result.status, 'completed', pair)
      assert.equal(ran.result.text, 'All is well.', pair)
      assert.deepEqual(
        ran.result.usage.attempts.map(({ provider, status }) => [provider, status]),
        [
          [first.provider, 'failed'],
          [second.provider, 'ok'],
        ],
        pair,
      )
    }
  }
})

test('HI-05: a fallback takes over in the middle of a loop of tools, and stays', async () => {
  for (const first of builtVendors) {
    for (const second of builtVendors) {
      if (first === second) continue
      const pair = `${first.provider} to ${second.provider}`
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const mark = `${pair} ${conversation.session}`
      const begun = {
        thinking: `SECRET ${mark}`,
        text: `Let me look (${mark}).`,
        calls: [{ tool: 'find_order', args: { id: mark } }],
      }
      const taken = conversation.target(second.provider, [
        { thinking: 'Taken over.', calls: [{ tool: 'find_client', args: { name: mark } }] },
        { thinking: 'So.', text: `Shipped (${mark}).` },
      ])
      const gone = (answer: VendorAnswer) => {
        answer.status(404, first.error({ status: 404, message: 'no such model', param: '', code: '' }))
      }
      const ran = await conversation.run(first.provider, [begun, gone], { fallbacks: [taken.llm] })
      const live = (await world.open()).live(second.provider)
      assert.deepEqual([ran.faults, live?.faults(taken.key)], [[], []], pair)
      assert.deepEqual([ran.result.status, ran.result.text], ['completed', `Shipped (${mark}).`], pair)
      assert.deepEqual(
        ran.result.usage.attempts.map(({ provider, status }) => [provider, status]),
        [
          [first.provider, 'ok'],
          [first.provider, 'failed'],
          [second.provider, 'ok'],
          [second.provider, 'ok'],
        ],
        pair,
      )
      const leaked = live?.received(taken.key).some(({ text }) => text.includes(`SECRET ${mark}`))
      assert.equal(leaked, false, `${pair}: thoughts of the first model are sent to the second`)
      conversation.user('Thank you.')
      const turns = [{ thinking: 'Done.', text: `You are welcome (${mark}).` }]
      for (const { provider } of [second, first]) {
        assertSound(await conversation.run(provider, turns), { provider, turns })
        conversation.user('And?')
        turns[0] = { thinking: 'Once more.', text: `Always (${mark}).` }
      }
    }
  }
})

test('the engine and the fake vendors end with nothing under way', async (t) => {
  t.diagnostic(builtSentence())
  t.diagnostic(`${outcomes.size} of ${builtProviders.length ** 2} pairs went there and back`)
  const { live } = await world.open()
  for (const { provider } of builtVendors) {
    await live(provider)?.quiet()
    assert.deepEqual(live(provider)?.tokens?.faults ?? [], [])
  }
  await world.close()
})
