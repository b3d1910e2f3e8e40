/**
 * What must hold of every request, whatever the conversation: it is one that the provider takes, and a longer conversation
 * begins with the bytes of the shorter one, so that prompt caches hold.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { AssistantPart, StoredMessage } from '../../src/contract/message.ts'
import { anthropicRequest } from '../../src/providers/anthropic/request.ts'
import { chatRequest } from '../../src/providers/openai-chat/request.ts'
import { dialectCall, tool, user, type CallFacts } from './dialect-call.ts'

const words = fc.constantFrom('', ' ', 'a', 'б🙂', '\ud83d', '"]}', '\\u')
const family = fc.constantFrom('anthropic', 'openai-compatible', 'other')
const model = fc.constantFrom('claude-opus-4-5', 'some-model', 'other')

interface Step {
  readonly model: string
  readonly family: string
  readonly before: string
  readonly thought: string | null
  readonly nativeIds: readonly string[]
  readonly reversed: boolean
  readonly meanwhile: string | null
  readonly user: string
}

const step: fc.Arbitrary<Step> = fc.record({
  model,
  family,
  before: words,
  thought: fc.option(words),
  nativeIds: fc.array(fc.constantFrom('call_0', 'toolu_1', 'a:b', 'x'), { maxLength: 3 }),
  reversed: fc.boolean(),
  meanwhile: fc.option(words),
  user: fc.constantFrom('next', 'ещё'),
})

/** The messages of one step; ends so that a provider may be asked. */
function messagesOf(step: Step, number: number): StoredMessage[] {
  const calls = step.nativeIds.map((id, at) => ({
    type: 'tool_call' as const,
    call_id: `call_${number}_${at}`,
    tool: at === 0 ? 'f' : 'odd name!',
    args: { text: step.before },
    provider_data: { family: step.family, id },
  }))
  const content: AssistantPart[] = [
    ...(step.thought === null
      ? []
      : [
          {
            type: 'reasoning' as const,
            text: step.thought,
            provider_data: { family: step.family, type: 'thinking', signature: 'S', field: 'reasoning' },
          },
        ]),
    { type: 'text', text: step.before },
    ...calls,
  ]
  const results = calls.map(({ call_id, tool }) => ({ role: 'tool' as const, call_id, tool, result: step.before }))
  return [
    { role: 'assistant', content, model: step.model, provider: 'anthropic' },
    ...(step.meanwhile === null || calls.length === 0 ? [] : [user(step.meanwhile)]),
    ...(step.reversed ? results.toReversed() : results),
    ...(calls.length > 0 && step.before === '' ? [] : [user(step.user)]),
  ]
}

interface Block {
  readonly role: string
  readonly type: string
  readonly id?: string
  readonly tool_use_id?: string
  readonly text?: string
}

function conversation(steps: readonly Step[]): StoredMessage[] {
  return [user('begin'), ...steps.flatMap(messagesOf)]
}

test('every conversation becomes a request that the Messages API takes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), fc.option(fc.constant('note')), (steps, note) => {
      const { body } = anthropicRequest(
        dialectCall({
          provider: 'anthropic',
          model: 'claude-opus-4-5',
          messages: conversation(steps),
          system: 's',
          tools: [tool('f')],
          note,
          params: { thinking: 'low' },
        }),
      )
      const { messages } = JSON.parse(body) as { messages: { role: string; content: (Block & { name?: string })[] }[] }
      assert.ok(body.split('"cache_control"').length - 1 <= 4)
      assert.deepEqual(
        messages.map(({ role }) => role),
        messages.map((_, at) => (at % 2 === 0 ? 'user' : 'assistant')),
      )
      assert.equal(messages.length % 2, 1)
      const seen = new Set<string>()
      for (const [at, { content }] of messages.entries()) {
        assert.ok(content.length > 0)
        for (const block of content) if (block.type === 'text') assert.notEqual(block.text?.trim(), '')
        const ids = content.filter(({ type }) => type === 'tool_use').map(({ id = '' }) => id)
        for (const id of ids) {
          assert.ok(/^[a-zA-Z0-9_-]{1,64}$/.test(id) && !seen.has(id), id)
          seen.add(id)
        }
        for (const { type, name = '' } of content) if (type === 'tool_use') assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
        if (ids.length === 0) continue
        const answers = messages[at + 1]?.content.slice(0, ids.length).map(({ tool_use_id }) => tool_use_id)
        assert.deepEqual(answers, ids)
      }
    }),
  )
})

test('every conversation becomes a request that a chat server takes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), (steps) => {
      const { body } = chatRequest(dialectCall({ messages: conversation(steps) }))
      const { messages } = JSON.parse(body) as {
        messages: { role: string; content?: unknown; tool_calls?: { id: string }[]; tool_call_id?: string }[]
      }
      const seen = new Set<string>()
      for (const [at, message] of messages.entries()) {
        if (message.role !== 'assistant') continue
        const ids = (message.tool_calls ?? []).map(({ id }) => id)
        assert.ok(ids.length > 0 || (typeof message.content === 'string' && message.content.trim() !== ''))
        for (const id of ids) {
          assert.ok(!seen.has(id), id)
          seen.add(id)
        }
        assert.deepEqual(
          messages.slice(at + 1, at + 1 + ids.length).map(({ tool_call_id }) => tool_call_id),
          ids,
        )
      }
      assert.equal(messages.filter(({ role }) => role === 'tool').length, seen.size)
      assert.ok(body.isWellFormed() && !/[^\\](?:\\\\)*\\ud[89a-f]/.test(body))
    }),
  )
})

/** Every block or message that is sent, in order, without cache marks. */
function flat(facts: CallFacts): string[] {
  const call = dialectCall(facts)
  const claude = call.profile.dialect === 'anthropic'
  const { body } = claude ? anthropicRequest(call) : chatRequest(call)
  const unmarked = (key: string, value: unknown) => (key === 'cache_control' ? undefined : value)
  const { messages } = JSON.parse(body, unmarked) as { messages: { role: string; content: unknown[] }[] }
  if (!claude) return messages.map((message) => JSON.stringify(message))
  return messages.flatMap(({ role, content }) => content.map((block) => JSON.stringify([role, block])))
}

test('HI-04: a longer conversation begins with the bytes of the shorter one', () => {
  const targets: CallFacts[] = [{ provider: 'anthropic', model: 'claude-opus-4-5' }, { model: 'some-model' }]
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
      for (const target of targets) {
        const all = flat({ ...target, messages: conversation(steps) })
        const fewer = flat({ ...target, messages: conversation(steps.slice(0, -1)) })
        assert.deepEqual(all.slice(0, fewer.length), fewer)
      }
    }),
  )
})

test('the same call gives the same bytes', () => {
  const facts: CallFacts = {
    system: 's',
    tools: [tool('f')],
    messages: conversation([]),
    note: 'n',
    params: { temperature: 0.1 },
  }
  for (const provider of ['anthropic', 'openai-compatible'] as const) {
    const request = provider === 'anthropic' ? anthropicRequest : chatRequest
    assert.deepEqual(request(dialectCall({ ...facts, provider })), request(dialectCall({ ...facts, provider })))
  }
})
