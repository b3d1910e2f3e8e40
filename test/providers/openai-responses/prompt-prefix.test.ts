/**
 * What must hold of every request, whatever the conversation: it is one that the API takes, and a longer conversation begins
 * with the bytes of the shorter one, so that caches hold and the model keeps its own reasoning.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { AssistantPart, StoredMessage } from '../../../src/contract/message.ts'
import { responsesRequest } from '../../../src/providers/openai-responses/request.ts'
import { dialectCall, tool, user, type CallFacts } from '../dialect-call.ts'

const words = fc.constantFrom('', ' ', 'a', 'б🙂', '\ud83d', '"]}', '\\u')

const step = fc.record({
  model: fc.constantFrom('gpt-5.5', 'gpt-6.2-sol'),
  family: fc.constantFrom('openai', 'anthropic'),
  before: words,
  encrypted: fc.option(fc.constantFrom('', 'gAAA')),
  nativeIds: fc.array(fc.constantFrom('call_0', 'call_1', 'a:b', 'an id'), { maxLength: 3 }),
  wrapped: fc.boolean(),
  spaced: fc.boolean(),
  reversed: fc.boolean(),
  meanwhile: fc.option(words),
  phase: fc.constantFrom('', 'commentary'),
  user: fc.constantFrom('next', 'ещё'),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** The messages of one step; ends so that a provider may be asked. */
function messagesOf(one: Step, number: number): StoredMessage[] {
  const size = one.nativeIds.length
  const calls = one.nativeIds.map((id, at) => ({
    type: 'tool_call' as const,
    call_id: `call_${number}_${at}`,
    tool: at === 0 ? 'f' : 'odd name!',
    args: { text: one.before },
    provider_data: {
      family: one.family,
      ...(one.wrapped && at > 0 ? { wrapped: true } : { id }),
      ...(one.wrapped && at === 0 ? { wrapper: { name: 'parallel', arguments: '{}', calls: size } } : {}),
      ...(one.spaced ? { arguments: JSON.stringify({ text: one.before }, null, 1) } : {}),
    },
  }))
  const item = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: one.encrypted }
  const thought: AssistantPart[] =
    one.encrypted === null ? [] : [{ type: 'reasoning', text: 'hm', provider_data: { family: one.family, item } }]
  const results = calls.map(({ call_id, tool }) => ({ role: 'tool' as const, call_id, tool, result: one.before }))
  return [
    {
      role: 'assistant',
      content: [...thought, { type: 'text', text: one.before }, ...calls, ...thought],
      model: one.model,
      provider: 'openai',
      provider_data: { family: one.family, phases: [one.phase] },
    },
    ...(one.meanwhile === null || size === 0 ? [] : [user(one.meanwhile)]),
    ...(one.reversed ? results.toReversed() : results),
    ...(size > 0 && one.before === '' ? [] : [user(one.user)]),
  ]
}

function conversation(steps: readonly Step[]): StoredMessage[] {
  return [user('begin'), ...steps.flatMap(messagesOf)]
}

const FACTS: CallFacts = { provider: 'openai', model: 'gpt-6.2-sol', system: 's', tools: [tool('f')], cacheKey: 'k' }

interface Item {
  readonly type?: string
  readonly role?: string
  readonly call_id?: string
  readonly name?: string
  readonly arguments?: string
  readonly content?: readonly { readonly text: string }[]
}

test('every conversation becomes a request that the API takes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), fc.option(fc.constant('note')), (steps, note) => {
      const { body } = responsesRequest(dialectCall({ ...FACTS, messages: conversation(steps), note }))
      assert.ok(body.isWellFormed() && !/[^\\](?:\\\\)*\\ud[89a-f]/.test(body))
      const { input } = JSON.parse(body) as { input: Item[] }
      assert.equal(input.at(-1)?.role === 'user' || input.at(-1)?.type === 'function_call_output', true)
      const open = new Set<string>()
      const seen = new Set<string>()
      for (const [at, item] of input.entries()) {
        assert.ok(!('id' in item))
        if (item.type === 'message' || item.role === 'user')
          assert.ok(item.content?.every(({ text }) => text.trim() !== ''))
        if (item.type === 'function_call') {
          const { call_id = '', name = '', arguments: args = '' } = item
          assert.match(call_id, /^[\x21-\x7e]{1,64}$/)
          assert.match(name, /^[a-zA-Z0-9_-]{1,64}$/)
          assert.ok(!seen.has(call_id), call_id)
          assert.equal(typeof JSON.parse(args), 'object')
          seen.add(call_id)
          open.add(call_id)
        } else if (item.type === 'function_call_output') {
          assert.ok(open.delete(item.call_id ?? ''), 'an output answers a call before it, once')
        } else if (item.role === 'user') {
          assert.equal(open.size, 0, 'every call is answered before the user speaks')
        } else if (item.type === 'reasoning') {
          assert.ok(['message', 'function_call'].includes(input[at + 1]?.type ?? ''), 'reasoning leads to something')
        }
      }
      assert.equal(open.size, 0)
    }),
  )
})

/** Every item that is sent, in order. */
function flat(facts: CallFacts): string[] {
  const { input } = JSON.parse(responsesRequest(dialectCall(facts)).body) as { input: unknown[] }
  return input.map((item) => JSON.stringify(item))
}

test('HI-04: a longer conversation begins with the bytes of the shorter one, note or not', () => {
  const facts = fc.array(step, { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(facts, (steps) => {
      const before = { ...FACTS, messages: conversation(steps.slice(0, -1)) }
      const fewer = flat(before)
      const all = flat({ ...FACTS, messages: conversation(steps), toolChoice: 'none', note: 'n' })
      assert.deepEqual(all.slice(0, fewer.length), fewer)
      assert.deepEqual(flat({ ...before, note: 'n' }).slice(0, -1), fewer)
    }),
  )
})

test('what stands before the conversation is the same on every step', () => {
  const rest = (facts: CallFacts) => {
    const {
      input: _input,
      tool_choice: _choice,
      ...body
    } = JSON.parse(responsesRequest(dialectCall({ ...FACTS, ...facts })).body) as {
      input: unknown
      tool_choice: unknown
    }
    return JSON.stringify(body)
  }
  assert.equal(rest({ messages: [user('a')] }), rest({ messages: [user('b')], note: 'n', toolChoice: 'none' }))
})

test('the same call gives the same bytes', () => {
  const facts = { ...FACTS, messages: conversation([]), note: 'n' }
  assert.deepEqual(responsesRequest(dialectCall(facts)), responsesRequest(dialectCall(facts)))
})
