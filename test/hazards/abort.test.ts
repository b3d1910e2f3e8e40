/**
 * CA-04 to CA-08: a cancel in every phase of a run. It is answered with the final state, keeps exactly what was shown, closes
 * every socket, gives the place at the key back, and leaves a history that goes on.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ToolCallRecord } from '../../src/contract/result.ts'
import { within } from '../conformance/facts.ts'
import { screenOf } from '../conformance/event-stream.ts'
import { builtVendors } from '../fakes/vendors/built.ts'
import { Conversation, type Ran, type Running } from '../fakes/vendors/conversation.ts'
import { everyVendor } from '../fakes/vendors/every-vendor.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Play } from '../fakes/vendors/turn.ts'
import type { Vendor } from '../fakes/vendors/vendor.ts'
import type { VendorAnswer } from '../fakes/vendors/vendor-answer.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

/** One place for each key: what is not given back stops the next run. */
const world = sharedWorld({ KEY_CONCURRENCY: '1' })

const ARGS = { id: '77' }

interface Phase {
  readonly plays: readonly Play[]
  /** Resolves once the run is in the phase. */
  readonly reached: (running: Running) => Promise<unknown>
  readonly shown: string
}

const hears = (name: 'delta' | 'reasoning' | 'tool_call') => (running: Running) => running.stream.event(name)
const seen =
  (number: number) =>
  async ({ key, live }: Running) =>
    live?.nth(key, number)

const phases: Readonly<Record<string, Phase>> = {
  'before the head of the answer': { plays: [() => {}], reached: seen(1), shown: '' },
  'behind the head': { plays: [(answer) => answer.begin()], reached: seen(1), shown: '' },
  'in a thought': { plays: [(answer) => answer.thinking('I wonder')], reached: hears('reasoning'), shown: '' },
  'in the text': {
    plays: [
      (answer) => {
        answer.thinking('I know.')
        answer.text('Half an ans')
      },
    ],
    reached: hears('delta'),
    shown: 'Half an ans',
  },
  'in the arguments of a call': {
    plays: [
      (answer) => {
        answer.text('Let me look.')
        answer.call('find_order', ARGS)
        answer.openCall('find_client', '{"name":"A')
      },
    ],
    reached: hears('delta'),
    shown: 'Let me look.',
  },
  'in the second step': {
    plays: [
      { thinking: 'First.', text: 'Let me look.', calls: [{ tool: 'find_order', args: ARGS }] },
      (answer) => answer.begin(),
    ],
    reached: seen(2),
    shown: 'Let me look.',
  },
}

/** What holds for a cancelled run, whatever it was doing. */
function assertCancelled({ faults, result }: Ran, running: Running, shown: string): void {
  assert.deepEqual(faults, [])
  assert.deepEqual([result.status, result.stop_reason, result.error], ['cancelled', 'cancelled', null])
  assert.equal(result.text, shown)
  if (shown !== '') {
    const said = result.messages.flatMap((message) => (message.role === 'assistant' ? message.content : []))
    assert.ok(
      said.some((part) => part.type === 'text' && part.text === shown),
      'what was shown is kept',
    )
  }
  const screen = screenOf(running.stream.events)
  assert.equal(screen.get(result.steps) || screen.get(1) || '', shown)
  const done = running.stream.events.filter(({ event }) => event === 'done')
  assert.equal(done.length, 1)
}

async function assertLetGo(running: Running): Promise<void> {
  const { key, live } = running
  const last = live?.received(key).at(-1)
  const ended = await within(last?.closed ?? Promise.resolve('cut'), () => 'the provider still writes')
  assert.equal(ended, 'cut', 'the connection is closed while the provider writes')
}

for (const [phase, { plays, reached, shown }] of Object.entries(phases)) {
  test(`a run that is cancelled ${phase} ends at once and leaves nothing open`, async () => {
    await everyVendor(async ({ provider }) => {
      const conversation = new Conversation(await world.open())
      conversation.user('Where is order 77?')
      const running = await conversation.start(provider, plays)
      await reached(running)
      const ran = await running.cancel()
      assertCancelled(ran, running, shown)
      await assertLetGo(running)
      const attempt = ran.result.usage.attempts.at(-1)
      assert.deepEqual([attempt?.error_code, attempt?.status, attempt?.estimated], ['cancelled', 'unknown', true])
      const { tools } = await world.open()
      assert.deepEqual(tools.calls('find_client', conversation.session), [], 'a cut call is not made')
      await goesOn(conversation, provider, { key: running.key })
    })
  })
}

test('a run that is cancelled in the queue of its key asks nobody', async () => {
  await everyVendor(async ({ provider }) => {
    const first = new Conversation(await world.open())
    first.user('Where is order 77?')
    const holding = await first.start(provider, [{ text: 'I hold', hang: true }])
    await holding.stream.event('delta')
    const second = new Conversation(await world.open())
    second.user('And order 78?')
    const waiting = await second.start(provider, [], { key: holding.key })
    await waiting.stream.event('wait', ({ reason }) => reason === 'queue')
    const ran = await waiting.cancel()
    assert.deepEqual([ran.result.status, ran.result.text, ran.result.usage.attempts], ['cancelled', '', []])
    assert.equal(ran.received.length, 1, 'only the first run has asked')
    assertCancelled(await holding.cancel(), holding, 'I hold')
    await goesOn(second, provider, { key: holding.key })
    await goesOn(first, provider, { key: holding.key })
  })
})

test('a run that is cancelled in the pause before a retry does not retry', async () => {
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const busy = (answer: VendorAnswer) => answer.status(503, { error: { message: 'busy' } }, { 'retry-after': '30' })
    const running = await conversation.start(provider, [busy])
    await running.stream.event('wait', ({ reason }) => reason === 'retry')
    const ran = await running.cancel()
    assert.equal(ran.result.status, 'cancelled')
    assert.equal(ran.received.length, 1)
    assert.deepEqual(
      ran.result.usage.attempts.map(({ status, http_status: code }) => [status, code]),
      [['failed', 503]],
    )
    // The provider asked for a pause that holds for the key: another one.
    await goesOn(conversation, provider)
  })
})

test('CA-02, CA-08: a run that is cancelled in a tool says what may have happened', async () => {
  await everyVendor(async (vendor) => {
    const { provider } = vendor
    const { tools } = await world.open()
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const calls = [
      { tool: 'find_order', args: ARGS },
      { tool: 'hangs', args: {} },
      { tool: 'find_client', args: { name: 'Ann' } },
    ]
    const running = await conversation.start(provider, [{ thinking: 'Three.', text: 'Let me look.', calls }])
    await tools.called('hangs', conversation.session)
    const ran = await running.cancel()
    assertCancelled(ran, running, 'Let me look.')
    const statuses = new Map(ran.result.tool_calls.map(({ status, tool }) => [tool, status]))
    assert.equal(statuses.get('hangs'), 'unknown' satisfies ToolCallRecord['status'])
    assert.equal(calls.length - ran.result.tool_calls.length, vendor.oneCall ? 1 : 0, 'every call that was asked for')
    await goesOn(conversation, provider, { key: running.key })
  })
})

test('a cancel behind the finish word of an answer keeps the whole answer', async () => {
  const waits = ({ path }: Vendor) => path.endsWith('/chat/completions')
  await everyVendor(async ({ provider }) => {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const running = await conversation.start(provider, [
      (answer) => {
        answer.thinking('I know.')
        answer.text('It is shipped.')
        answer.finish({ end: false })
      },
    ])
    await running.stream.event('delta')
    const { faults, result } = await running.cancel()
    assert.deepEqual(faults, [])
    // The word may be on its way yet: then it is a cancel in the text.
    assert.ok(result.status === 'completed' || result.status === 'cancelled', result.status)
    assert.equal(result.text, 'It is shipped.')
    assert.equal(result.messages.length, 1)
    await goesOn(conversation, provider, { key: running.key })
  }, builtVendors.filter(waits))
})

test('a run that is cancelled while its access token is fetched asks nobody', async (t) => {
  const live = (await world.open()).live('gigachat')
  if (live?.tokens == null) return t.skip('gigachat is not built')
  const conversation = new Conversation(await world.open())
  conversation.user('Where is order 77?')
  const { key } = conversation.target('gigachat', [{ text: 'Never.' }])
  live.tokens.silentFor.add(key)
  const running = await conversation.start('gigachat', [], { key })
  await live.tokens.asked(key)
  const ran = await running.cancel()
  assert.deepEqual([ran.result.status, ran.received.length], ['cancelled', 0])
  assert.equal(ran.result.usage.total_tokens, 0)
  live.tokens.silentFor.delete(key)
  await goesOn(conversation, 'gigachat', { key })
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
