/** Names of arguments that Anthropic refuses, on their way out and back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { AssistantMessage } from '../../../src/contract/message.ts'
import { anthropicRequest } from '../../../src/providers/anthropic/request.ts'
import { renamed, toolNames, turnedRound } from '../../../src/providers/anthropic/property-names.ts'
import { dialectCall, read, tool, user } from '../dialect-call.ts'

const TAKEN = /^[a-zA-Z0-9_.-]{1,64}$/

const odd = tool('odd', {
  type: 'object',
  properties: { 'order id': { type: 'string' }, order_id: {}, 'order/id': {}, заказ: { properties: { 'a b': {} } } },
  required: ['order id', 'order_id'],
})

function callOf(name: string, args: JsonObject): AssistantMessage {
  return { role: 'assistant', content: [{ type: 'tool_call', call_id: 'call_1', tool: name, args }] }
}

function sent(provider: 'anthropic' | 'kimi', ...history: AssistantMessage[]) {
  const answer = { role: 'tool', call_id: 'call_1', tool: 'odd', result: 1 } as const
  const messages = [user('x'), ...history.flatMap((message) => [message, answer])]
  const model = provider === 'kimi' ? 'kimi-k3' : 'claude-opus-5-5'
  const { body } = anthropicRequest(dialectCall({ provider, model, tools: [odd], messages }))
  return JSON.parse(body) as {
    tools: { input_schema: { properties: JsonObject; required: string[] } }[]
    messages: { content: { input?: JsonObject }[] }[]
  }
}

test('HI-17: an argument whose name Anthropic refuses goes under another one, in the schema and in the history', () => {
  const { messages, tools } = sent('anthropic', callOf('odd', { order_id: 1, 'order id': 2, 'a b': 3 }))
  assert.deepEqual(tools[0]?.input_schema.properties, {
    order_id_2: { type: 'string' },
    order_id: {},
    order_id_3: {},
    _____: { properties: { 'a b': {} } },
  })
  assert.deepEqual(tools[0]?.input_schema.required, ['order_id_2', 'order_id'])
  assert.equal(JSON.stringify(messages[1]?.content[0]?.input), '{"order_id":1,"order_id_2":2,"a b":3}')
})

test('HI-17: the arguments of a call come back under the names that its tool has', () => {
  const call = dialectCall({ provider: 'anthropic', model: 'claude-opus-5-5', tools: [odd] })
  const { parts } = read(call, [
    { type: 'message_start', message: { id: 'm', content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'odd', input: {} } },
    {
      type: 'content_block_delta',
      index: 0,
      delta: {
        type: 'input_json_delta',
        partial_json: '{"order_id_2":"a","order_id":12345678901234567890,"_____":{"a b":1}}',
      },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  ])
  const [part] = parts
  assert.ok(part?.type === 'tool_call')
  assert.equal(JSON.stringify(part.args), '{"order id":"a","order_id":12345678901234567890,"заказ":{"a b":1}}')
})

test('a vendor that takes any name is sent the names as they are', () => {
  const { messages, tools } = sent('kimi', callOf('odd', { 'order id': 2 }))
  assert.deepEqual(Object.keys(tools[0]?.input_schema.properties ?? {}), ['order id', 'order_id', 'order/id', 'заказ'])
  assert.equal(JSON.stringify(messages[1]?.content.at(-1)?.input), '{"order id":2}')
})

test('whatever the names, each goes out as one that is taken, no two as the same, and comes back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.oneof(fc.string({ maxLength: 80 }), fc.constantFrom('a_b', 'a b', '__proto__'))),
      (own) => {
        const properties = Object.fromEntries(own.map((name) => [name, {}]))
        const names = toolNames([tool('t', { type: 'object', properties })], TAKEN).get('t')
        const args = Object.fromEntries(own.map((name, at) => [name, at]))
        const wire = renamed(args, names)
        assert.equal(Object.keys(wire).length, own.length)
        assert.ok(Object.keys(wire).every((name) => TAKEN.test(name)))
        assert.equal(JSON.stringify(renamed(wire, turnedRound(names))), JSON.stringify(args))
      },
    ),
  )
})
