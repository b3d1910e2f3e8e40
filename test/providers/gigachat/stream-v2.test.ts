/** Answers in the form of GigaChat's v2 API: messages of parts, told apart by the names of their events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { Reading } from '../../../src/providers/dialect.ts'
import type { Heard } from '../dialect-call.ts'
import { listenTo } from './gigachat-call.ts'

const DELTA = 'response.message.delta'
const DONE = 'response.message.done'
const usage = {
  input_tokens: 69,
  input_tokens_details: { prompt_tokens: 69, cached_tokens: 12 },
  output_tokens: 50,
  total_tokens: 119,
}

function readEvents(...events: readonly (readonly [name: string, data: object | string])[]): Reading & Heard {
  const heard = listenTo()
  for (const [name, data] of events) heard.reader.event(name, typeof data === 'string' ? data : JSON.stringify(data))
  return { ...heard, ...heard.reader.end() }
}

function says(text: string, role = 'assistant'): object {
  return { model: 'GigaChat-2-Max', messages: [{ role, content: [{ text }] }] }
}

function calls(...parts: readonly object[]): object {
  return {
    messages: [{ role: 'assistant', tool_state_id: 'ts-1', content: parts.map((call) => ({ function_call: call })) }],
    finish_reason: 'function_call',
    usage,
  }
}

test('text of v2 comes in messages, and is whole with the event that says so', () => {
  const reading = readEvents(
    [DELTA, says('Order 77 ')],
    [DELTA, says('is shipped.')],
    [DONE, { finish_reason: 'stop', usage }],
  )
  assert.deepEqual(reading.pieces, ['Order 77 ', 'is shipped.'])
  assert.deepEqual([reading.complete, reading.stop, reading.rawStop], [true, 'end_turn', 'stop'])
  assert.deepEqual(reading.rawUsage, usage)
  assert.deepEqual(reading.usage?.tokens, {
    input_tokens: 69,
    cache_read_tokens: 12,
    cache_write_tokens: 0,
    output_tokens: 50,
    reasoning_tokens: 0,
    total_tokens: 131,
  })
})

test('the last event of v2 is an end without a finish reason too, and nothing else is', () => {
  assert.equal(readEvents([DELTA, says('Hi')], [DONE, {}]).complete, true)
  assert.equal(readEvents([DELTA, says('Hi')]).complete, false)
  assert.equal(readEvents([DONE, {}]).fault?.class, 'malformed')
})

test('parallel calls of v2 are told apart by their ids, also where they are the same', () => {
  const one = { name: 'find_order', arguments: { id: '77' } }
  const { parts, provider_data, stop } = readEvents([
    DONE,
    calls({ ...one, id: 'a' }, { ...one, id: 'b' }, { id: 'c', name: 'find_client', arguments: { name: 'Ann' } }),
  ])
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && [part.tool, part.args]),
    [
      ['find_order', { id: '77' }],
      ['find_order', { id: '77' }],
      ['find_client', { name: 'Ann' }],
    ],
  )
  assert.equal(stop, 'tool_calls')
  assert.deepEqual(provider_data, { family: 'gigachat', functions_state_id: 'ts-1' })
})

test('what the last event of v2 repeats is not said twice', () => {
  const f = { name: 'f', arguments: { n: 1 } }
  const g = { name: 'f', arguments: { n: 2 } }
  const message = { role: 'assistant', content: [{ text: 'One moment.' }, { function_call: f }, { function_call: g }] }
  const { parts, shown } = readEvents([DELTA, { messages: [message] }], [DONE, { ...calls(f, g), messages: [message] }])
  assert.equal(shown(), 'One moment.')
  assert.deepEqual(
    parts.map((part) => part.type),
    ['text', 'tool_call', 'tool_call'],
  )
})

test('reasoning of v2 is a message of its own', () => {
  const { parts, shown, thought } = readEvents(
    [DELTA, says('Check the order.', 'reasoning')],
    [DELTA, says('It is shipped.')],
    [DONE, { finish_reason: 'stop' }],
  )
  assert.deepEqual([thought(), shown()], ['Check the order.', 'It is shipped.'])
  assert.deepEqual(
    parts.map((part) => part.type),
    ['reasoning', 'text'],
  )
})

test('a number of the arguments keeps its digits in v2 too', () => {
  const big =
    '{"messages":[{"role":"assistant","content":[{"function_call":{"name":"f","arguments":{"n":12345678901234567890}}}]}]}'
  const { parts } = readEvents([DELTA, big], [DONE, { finish_reason: 'function_call' }])
  assert.equal(parts[0]?.type === 'tool_call' && parts[0].argsText, '{"n":12345678901234567890}')
})

test('an answer of v2 may be one document, and hold nothing that can be said', () => {
  const { reader } = listenTo()
  reader.document(calls({ name: 'f', arguments: {} }) as JsonObject)
  assert.equal(reader.progress, 'closed')
  assert.deepEqual([reader.end().complete, reader.end().stop], [true, 'tool_calls'])
  const odd = { messages: [null, 1, { content: [null, { files: [{ id: 'x' }] }, { text: 5 }] }], finish_reason: 'stop' }
  const { parts, fault } = readEvents([DELTA, odd], [DONE, {}])
  assert.deepEqual([parts, fault], [[], null])
})
