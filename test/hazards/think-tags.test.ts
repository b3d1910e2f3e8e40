/**
 * PS-38, PS-39: reasoning between `<think>` tags inside the content, at servers whose profile says that they do it. None of it is
 * streamed as text, wherever the tags are cut; what only looks like a tag is text; and it does not go back as words.
 *
 * At every other server the same letters are text.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { AssistantMessage } from '../../src/contract/message.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { compatibleServers } from '../../src/providers/compatible-servers.ts'
import { openStream, screenOf } from '../conformance/event-stream.ts'
import { user } from '../conformance/engine-client.ts'
import { anyChatServer } from '../fakes/vendors/any-chat-server.ts'
import { builtVendors, targetOf } from '../fakes/vendors/built.ts'
import { Conversation } from '../fakes/vendors/conversation.ts'
import { goesOn } from '../fakes/vendors/next-run.ts'
import type { Play } from '../fakes/vendors/turn.ts'
import type { Received } from '../fakes/vendors/vendor-request.ts'
import { startVendor, type LiveVendor } from '../fakes/vendors/vendor-server.ts'
import { sharedWorld } from '../fakes/vendors/vendor-world.ts'

const world = sharedWorld()

function isTagged(profile: string): boolean {
  return builtIn.profile({ ...targetOf('openai-compatible', 'a-model'), profile })?.chat.thinkTags === true
}

const profiles = [...compatibleServers.keys()]
const tagged = profiles.filter(isTagged)
const untagged = profiles.filter((profile) => !isTagged(profile))

const says =
  (...pieces: readonly string[]): Play =>
  (answer) => {
    for (const piece of pieces) answer.text(piece)
    answer.finish()
  }

interface Heard {
  readonly result: RunResult
  /** The text on a reader's screen. */
  readonly screen: string
  readonly reasoning: string
  readonly received: readonly Received[]
}

async function hear(
  server: LiveVendor,
  profile: string,
  messages: readonly JsonObject[],
  ...plays: readonly Play[]
): Promise<Heard> {
  const key = `sk${randomUUID()}`
  server.expect(key, plays)
  const { engine } = await world.open()
  const accepted = await engine.start({
    contract_version: '1',
    idempotency_key: randomUUID(),
    llm: { provider: 'openai-compatible', model: 'a-model', profile, api_key: key, base_url: server.baseUrl },
    messages: [...messages],
    stream: { reasoning: true },
  })
  const events = await (await openStream(accepted.stream_url)).ended()
  const { result } = await engine.view(accepted.run_id)
  assert.ok(result !== null)
  const reasoning = events.map(({ data, event }) => (event === 'reasoning' ? data.text : '')).join('')
  return { result, screen: screenOf(events).get(1) ?? '', reasoning, received: server.received(key) }
}

interface Form {
  readonly pieces: readonly string[]
  readonly text: string
  readonly reasoning: string
}

const forms: Readonly<Record<string, Form>> = {
  whole: { pieces: ['<think>secret</think>Answer'], text: 'Answer', reasoning: 'secret' },
  'cut anywhere': { pieces: '<think>secret</think>\n\nAnswer'.split(''), text: 'Answer', reasoning: 'secret' },
  'cut inside the tags': { pieces: ['<thi', 'nk>secret</th', 'ink>Answer'], text: 'Answer', reasoning: 'secret' },
  'with what looks like a tag inside': {
    pieces: ['<think>a </thin', ' b <', '/think>Answer'],
    text: 'Answer',
    reasoning: 'a </thin b ',
  },
  'with the words of a tag later': {
    pieces: ['<think>secret</think>', 'Write <think> and </think>.'],
    text: 'Write <think> and </think>.',
    reasoning: 'secret',
  },
  'without any': { pieces: ['2 < 3 and <', 'b> and <th', 'ead>'], text: '2 < 3 and <b> and <thead>', reasoning: '' },
  'with an empty thought': { pieces: ['<think>\n</think>', 'Answer'], text: 'Answer', reasoning: '\n' },
}

for (const profile of tagged) {
  test(`${profile}: reasoning between tags is no text, and does not go back as text`, async (t) => {
    const server = await startVendor({ after: (close) => t.after(close) }, anyChatServer)
    for (const [name, form] of Object.entries(forms)) {
      const asked = user('Where is order 77?')
      const { reasoning, result, screen } = await hear(server, profile, [asked], says(...form.pieces))
      assert.deepEqual([result.status, result.text, screen], ['completed', form.text, form.text], name)
      assert.equal(reasoning, form.reasoning, name)
      const [message] = result.messages as unknown as AssistantMessage[]
      assert.equal(message?.content.filter(({ type }) => type === 'text').length, 1, name)
      const history = [asked, ...(result.messages as unknown as JsonObject[]), user('And now?')]
      const next = await hear(server, profile, history, says('On.'))
      assert.deepEqual([next.result.status, next.result.text], ['completed', 'On.'], name)
      assert.equal(next.received[0]?.text.includes('secret'), false, `${name}: what was thought goes back as text`)
    }
  })

  test(`${profile}: PS-39: the same reasoning in two places is shown once`, async (t) => {
    const server = await startVendor({ after: (close) => t.after(close) }, anyChatServer)
    const { reasoning, result } = await hear(server, profile, [user('Hello?')], (answer) => {
      answer.thinking('plan')
      answer.text('<think>plan</think>Hi')
      answer.finish()
    })
    assert.deepEqual([result.status, result.text, reasoning], ['completed', 'Hi', 'plan'])
  })

  test(`${profile}: a thought that never ends is an empty answer`, async (t) => {
    const server = await startVendor({ after: (close) => t.after(close) }, anyChatServer)
    const thought = says('<think>secret', ' and more')
    const { received, result } = await hear(server, profile, [user('Hello?')], thought, says('Hi.'))
    assert.deepEqual([result.status, result.text, received.length], ['completed', 'Hi.', 2])
    assert.equal(JSON.stringify(result.messages).includes('secret'), false)
  })
}

test('at a server whose profile says nothing of tags the same letters are text', async (t) => {
  const server = await startVendor({ after: (close) => t.after(close) }, anyChatServer)
  for (const profile of untagged) {
    const { reasoning, result, screen } = await hear(server, profile, [user('Hello?')], says('<think>x</think>', 'Hi'))
    const text = '<think>x</think>Hi'
    assert.deepEqual([result.status, result.text, screen, reasoning], ['completed', text, text, ''], profile)
  }
})

test('gigachat: reasoning between tags is no text', async (t) => {
  if (!builtVendors.some(({ provider }) => provider === 'gigachat')) return t.skip('gigachat is not built')
  for (const [name, form] of Object.entries(forms)) {
    const conversation = new Conversation(await world.open())
    conversation.user('Where is order 77?')
    const running = await conversation.start('gigachat', [says(...form.pieces)])
    const { faults, result } = await running.ended()
    assert.deepEqual([faults, result.status, result.text], [[], 'completed', form.text], name)
    assert.equal(screenOf(running.stream.events).get(1), form.text, name)
    await goesOn(conversation, 'gigachat')
  }
})

test('there are profiles of both kinds', (t) => {
  t.diagnostic(`tags are read at: ${tagged.join(', ')}; not at: ${untagged.join(', ')}`)
  assert.ok(tagged.length > 0 && untagged.length > 0)
})

test('the engine and the fake vendors end with nothing under way', async () => {
  const { live } = await world.open()
  for (const { provider } of builtVendors) await live(provider)?.quiet()
  await world.close()
})
