/** Several calls that the model wrote as one: taken apart on the way in, put together on the way back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { AssistantPart, StoredMessage } from '../../../src/contract/message.ts'
import { responsesRequest } from '../../../src/providers/openai-responses/request.ts'
import { dialectCall, tool, user, type CallFacts } from '../dialect-call.ts'
import { stored } from '../vendor-history.ts'
import { read } from './hear.ts'

const FACTS: CallFacts = { provider: 'openai', model: 'gpt-5.5', tools: [tool('get_weather'), tool('get_time')] }
const use = (recipient_name: unknown, parameters: unknown) => ({ recipient_name, parameters })
const BOTH = [use('functions.get_weather', { city: 'Oslo' }), use('get_time', {})]

function answer(name: string, written: string, facts: CallFacts = FACTS) {
  const item = { type: 'function_call', call_id: 'call_w', name, arguments: written, status: 'completed' }
  return read(dialectCall(facts), [
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { status: 'completed', output: [] } },
  ])
}

function namesOf({ parts }: ReturnType<typeof answer>) {
  return parts.map((part) => (part.type === 'tool_call' ? part.tool : part.type))
}

/** The messages that the engine makes of an answer and of a result for each of its calls. */
function history(reading: ReturnType<typeof answer>): StoredMessage[] {
  const message = stored(reading, 'openai', 'gpt-5.5')
  const results = message.content.flatMap((part): StoredMessage[] =>
    part.type === 'tool_call' ? [{ role: 'tool', call_id: part.call_id, tool: part.tool, result: part.tool }] : [],
  )
  return [user('x'), message, ...results]
}

function sent(messages: readonly StoredMessage[], facts: CallFacts = FACTS): JsonObject[] {
  const { body } = responsesRequest(dialectCall({ ...facts, messages }))
  return (JSON.parse(body) as { input: JsonObject[] }).input.slice(1)
}

const WEATHER = '{"result":"get_weather"}'
const TIME = '{"result":"get_time"}'

for (const name of ['parallel', 'multi_tool_use.parallel']) {
  test(`the calls inside ${name} are run, and the one call goes back with one output`, () => {
    const written = JSON.stringify({ tool_uses: BOTH }, null, 1)
    const whole = answer(name, written)
    assert.deepEqual(whole.parts, [
      {
        type: 'tool_call',
        tool: 'get_weather',
        args: { city: 'Oslo' },
        argsText: '{"city":"Oslo"}',
        fault: null,
        provider_data: { family: 'openai', id: 'call_w', wrapper: { name, arguments: written, calls: 2 } },
      },
      {
        type: 'tool_call',
        tool: 'get_time',
        args: {},
        argsText: '{}',
        fault: null,
        provider_data: { family: 'openai', wrapped: true },
      },
    ])
    assert.equal(whole.stop, 'tool_calls')
    assert.deepEqual(sent(history(whole)), [
      { type: 'function_call', call_id: 'call_w', name: name.replace('.', '_'), arguments: written },
      { type: 'function_call_output', call_id: 'call_w', output: `[${WEATHER},${TIME}]` },
    ])
  })
}

test('calls beside a wrapper, and a second wrapper under the same id, keep their own outputs', () => {
  const wrapper = (call_id: string) => ({
    type: 'function_call',
    call_id,
    name: 'parallel',
    arguments: JSON.stringify({ tool_uses: BOTH }),
  })
  const plain = { type: 'function_call', call_id: 'call_p', name: 'get_time', arguments: '{}' }
  const items = [plain, wrapper('call_w'), wrapper('call_w'), plain]
  const whole = read(dialectCall(FACTS), [
    ...items.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
    { type: 'response.completed', response: { status: 'completed', output: [] } },
  ])
  assert.deepEqual(
    sent(history(whole)).map(({ type, call_id, output }) => [type, call_id, output]),
    [
      ['function_call', 'call_p', undefined],
      ['function_call', 'call_w', undefined],
      ['function_call', 'call_4', undefined],
      ['function_call', 'call_6', undefined],
      ['function_call_output', 'call_p', TIME],
      ['function_call_output', 'call_w', `[${WEATHER},${TIME}]`],
      ['function_call_output', 'call_4', `[${WEATHER},${TIME}]`],
      ['function_call_output', 'call_6', TIME],
    ],
  )
})

test('to another family each call inside goes by itself', () => {
  const messages = history(answer('parallel', JSON.stringify({ tool_uses: BOTH })))
  const items = sent(messages, { ...FACTS, profile: (row) => ({ ...row, family: 'other' }) })
  assert.deepEqual(items, [
    { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call', call_id: 'call_2', name: 'get_time', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_1', output: WEATHER },
    { type: 'function_call_output', call_id: 'call_2', output: TIME },
  ])
})

test('where a history lost one of the calls inside, the others go by themselves', () => {
  const [asked, message, first] = history(answer('parallel', JSON.stringify({ tool_uses: BOTH })))
  assert.ok(asked !== undefined && message?.role === 'assistant' && first !== undefined)
  const items = sent([asked, { ...message, content: message.content.slice(0, 1) }, first])
  assert.deepEqual(items, [
    { type: 'function_call', call_id: 'call_w', name: 'get_weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call_output', call_id: 'call_w', output: WEATHER },
  ])
  const other = message.content.map((part, at) => (at === 1 ? { ...part, provider_data: { family: 'openai' } } : part))
  assert.deepEqual(
    sent([asked, { ...message, content: other as AssistantPart[] }, first]).map(({ name }) => name),
    ['get_weather', 'get_time', undefined, undefined],
  )
  for (const calls of [0, -1, 1.5, 1e9, 'x', null]) {
    const content: AssistantPart[] = message.content.map((part) =>
      part.type === 'tool_call' && part.provider_data?.['wrapper'] !== undefined
        ? { ...part, provider_data: { ...part.provider_data, wrapper: { name: 'parallel', arguments: '{}', calls } } }
        : part,
    )
    assert.equal(sent([asked, { ...message, content }, first]).length, 4, String(calls))
  }
})

test('a declared tool of that name is that tool', () => {
  const facts: CallFacts = { ...FACTS, tools: [tool('parallel')] }
  assert.deepEqual(namesOf(answer('parallel', JSON.stringify({ tool_uses: BOTH }), facts)), ['parallel'])
})

test('a wrapper that cannot be read stays one call of an unknown tool', () => {
  const many = Array.from({ length: 257 }, () => use('f', {}))
  for (const tool_uses of [[], [...BOTH, use('', {})], [use('f', 'x')], [use(7, {})], ['x'], many, undefined]) {
    assert.deepEqual(namesOf(answer('parallel', JSON.stringify({ tool_uses }))), ['parallel'])
  }
  const broken = answer('parallel', '{"tool_uses":[{"recipient_name"')
  assert.partialDeepStrictEqual(broken.parts, [{ tool: 'parallel', args: null, fault: 'not_json' }])
  assert.deepEqual(namesOf(answer('other', JSON.stringify({ tool_uses: BOTH }))), ['other'])
})

test('arguments inside a wrapper keep the digits of their numbers', () => {
  const { parts } = answer(
    'parallel',
    '{"tool_uses":[{"recipient_name":"functions.get_time","parameters":{"n":12345678901234567890}}]}',
  )
  assert.equal(parts[0]?.type === 'tool_call' && parts[0].argsText, '{"n":12345678901234567890}')
})
