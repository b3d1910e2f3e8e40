/** Kimi over its layer of the Messages API: requests as they leave, answers as they come, and what it must always be sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicFault } from '../../src/providers/anthropic/errors.ts'
import { dialectCall, read, tool, user, type CallFacts } from './dialect-call.ts'
import { FOREIGN, result, sent, stored, TOOLS } from './vendor-history.ts'

const KIMI = { provider: 'kimi', model: 'kimi-k3.1-pro' } as const

const start = (usage: object) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null, usage },
})
const delta = (index: number, piece: object) => ({ type: 'content_block_delta', index, delta: piece })
const stop = (index: number) => ({ type: 'content_block_stop', index })
const call = (index: number, id: string, name: string, partial_json: string) => [
  { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } },
  delta(index, { type: 'input_json_delta', partial_json }),
  stop(index),
]
const end = (stop_reason: string, usage: object) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]

/** An unsigned thought, words and two calls; usage in both places. */
const CALLS = [
  start({ input_tokens: 120, output_tokens: 0, cache_read_input_tokens: 768, cache_creation_input_tokens: 0 }),
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  delta(0, { type: 'thinking_delta', thinking: 'Two lookups.' }),
  stop(0),
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  delta(1, { type: 'text_delta', text: 'Let me check.' }),
  stop(1),
  ...call(2, 'find_order:0', 'find_order', '{"id":"77"}'),
  { type: 'ping' },
  ...call(3, 'find_client:1', 'find_client', '{}'),
  ...end('tool_use', {
    input_tokens: 120,
    output_tokens: 96,
    cache_read_input_tokens: 768,
    cache_creation_input_tokens: 256,
    cache_creation: { ephemeral_5m_input_tokens: 56, ephemeral_1h_input_tokens: 200 },
  }),
]

function contentOf(message: Record<string, unknown> | undefined): readonly unknown[] {
  return Array.isArray(message?.['content']) ? message['content'] : []
}

test('a tool turn: the whole second request, the thought with an empty signature, ids and order as they came', () => {
  const reading = read(dialectCall({ ...KIMI, tools: TOOLS }), CALLS)
  assert.deepEqual(reading.usage, {
    tokens: {
      input_tokens: 120,
      cache_read_tokens: 768,
      cache_write_tokens: 256,
      output_tokens: 96,
      reasoning_tokens: 0,
      total_tokens: 1240,
    },
    known: 'all',
    cacheWriteLong: 200,
  })
  const { url, headers, body, warned } = sent({
    ...KIMI,
    system: 'You help with orders.',
    tools: TOOLS,
    params: { temperature: 0.2, thinking: 'medium', max_output_tokens: 20_000 },
    messages: [
      user('Where is order 77?'),
      stored(reading, 'kimi', 'kimi-k3.1-pro'),
      result('call_1', 'find_order', 'shipped'),
      result('call_2', 'find_client', 'known'),
    ],
  })
  assert.equal(url, 'https://api.moonshot.ai/anthropic/v1/messages')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'anthropic-version': '2023-06-01',
    authorization: 'Bearer sk-test',
  })
  assert.deepEqual(body, {
    model: 'kimi-k3.1-pro',
    max_tokens: 20_000,
    stream: true,
    output_config: { effort: 'high' },
    system: [{ type: 'text', text: 'You help with orders.' }],
    tools: [
      { name: 'find_order', description: 'Find one order', input_schema: { type: 'object', properties: {} } },
      { name: 'find_client', input_schema: { type: 'object', properties: {} } },
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Where is order 77?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Two lookups.', signature: '' },
          { type: 'text', text: 'Let me check.' },
          { type: 'tool_use', id: 'find_order:0', name: 'find_order', input: { id: '77' } },
          { type: 'tool_use', id: 'find_client:1', name: 'find_client', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'find_order:0', content: '{"result":{"status":"shipped"}}' },
          { type: 'tool_result', tool_use_id: 'find_client:1', content: '{"result":{"status":"known"}}' },
        ],
      },
    ],
  })
  assert.deepEqual(warned, ['temperature is not taken and was left out (model kimi-k3.1-pro)'])
})

test('a signature that did come goes back as it came, also to another model of the family', () => {
  const signed = CALLS.toSpliced(3, 0, delta(0, { type: 'signature_delta', signature: 'c2ln' }))
  const message = stored(read(dialectCall({ ...KIMI, tools: TOOLS }), signed), 'kimi', 'kimi-k3.1-pro')
  const { body } = sent({ provider: 'kimi', model: 'kimi-k3', messages: [user('x'), message, user('y')] })
  const [first] = contentOf(body.messages[1])
  assert.deepEqual(first, { type: 'thinking', thinking: 'Two lookups.', signature: 'c2ln' })
})

test('HI-19: calls of another vendor get a thought and ids that name their tools, the same on the next turn', () => {
  const placeholder = { type: 'thinking', thinking: '[reasoning unavailable]', signature: '' }
  const { body } = sent({ ...KIMI, messages: FOREIGN })
  assert.ok(!JSON.stringify(body).includes('secret') && !JSON.stringify(body).includes('SIG'))
  assert.deepEqual(body.messages.slice(1, 4), [
    {
      role: 'assistant',
      content: [
        placeholder,
        { type: 'tool_use', id: 'functions.find_order:0', name: 'find_order', input: { id: '77' } },
        { type: 'tool_use', id: 'functions.find_client:1', name: 'find_client', input: {} },
      ],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'functions.find_order:0', content: '{"result":{"status":"shipped"}}' },
        { type: 'tool_result', tool_use_id: 'functions.find_client:1', content: '{"result":{"status":"known"}}' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'It is shipped.' }] },
  ])
  const own = stored(read(dialectCall({ ...KIMI, tools: TOOLS }), CALLS), 'kimi', 'kimi-k3.1-pro')
  const later = [...FOREIGN, own, result('call_1', 'find_order', 'shipped'), result('call_2', 'find_client', 'known')]
  assert.deepEqual(sent({ ...KIMI, messages: later }).body.messages.slice(0, 5), body.messages.slice(0, 5))
})

test('a thought of nothing but white space is none: the words that stand for one go instead', () => {
  const blank = CALLS.map((event) =>
    event === CALLS[2] ? delta(0, { type: 'thinking_delta', thinking: ' \n' }) : event,
  )
  const message = stored(read(dialectCall({ ...KIMI, tools: TOOLS }), blank), 'kimi', 'kimi-k3.1-pro')
  const { body } = sent({ ...KIMI, messages: [user('x'), message, result('call_1', 'find_order', 'y')] })
  const [first] = contentOf(body.messages[1])
  assert.deepEqual(first, { type: 'thinking', thinking: '[reasoning unavailable]', signature: '' })
})

test('an id that is made is at most 64 characters, each its own, and names a tool that the request names', () => {
  const name = 'a'.repeat(64)
  const message = (call_id: string, tool: string) => ({
    role: 'assistant' as const,
    content: [{ type: 'tool_call' as const, call_id, tool, args: {} }],
  })
  const messages: CallFacts['messages'] = [
    user('x'),
    message('c1', name),
    result('c1', name, 'y'),
    message('c2', name),
    result('c2', name, 'y'),
    message('c3', 'искать заказ'),
    result('c3', 'искать заказ', 'y'),
  ]
  const { body } = sent({ ...KIMI, tools: [tool(name)], messages })
  const uses = body.messages.flatMap(({ content }) =>
    (content as readonly { readonly type: string; readonly id: string; readonly name: string }[]).filter(
      ({ type }) => type === 'tool_use',
    ),
  )
  assert.deepEqual(
    uses.map(({ id }) => id),
    [`${'a'.repeat(62)}:0`, `${'a'.repeat(62)}:1`, `functions.${uses[2]?.name}:2`],
  )
})

test('nothing said is the least effort and 32,000 tokens; a step without tools says none', () => {
  const { body } = sent({ ...KIMI, tools: TOOLS, toolChoice: 'none' })
  assert.deepEqual(
    [body['output_config'], body['max_tokens'], body['tool_choice'], (body['tools'] as []).length],
    [{ effort: 'low' }, 32_000, { type: 'none' }, 2],
  )
  assert.ok(!JSON.stringify(body).includes('cache_control'))
})

test('at most five stop sequences of 32 bytes', () => {
  const { body, warned } = sent({ ...KIMI, params: { stop: ['a', 'b', 'ж'.repeat(17), 'c', 'd', 'e', 'f'] } })
  assert.deepEqual(body['stop_sequences'], ['a', 'b', 'c', 'd', 'e'])
  assert.equal(warned.length, 2)
})

test('its errors in either shape: no money and a day’s limit are over, overload and a minute’s limit pass', () => {
  const classOf = (status: number, type: string, message: string) =>
    anthropicFault(status, {}, JSON.stringify({ error: { type, message } }), 0).class
  const quota = 'Your account is not active, exceeded current quota, please check your plan and billing details'
  assert.equal(classOf(429, 'exceeded_current_quota_error', quota), 'quota')
  assert.equal(classOf(403, 'permission_denied_error', 'insufficient balance'), 'quota')
  assert.equal(
    classOf(429, 'engine_overloaded_error', 'The engine is currently overloaded, please try again later'),
    'overloaded',
  )
  const limit = (name: string) =>
    `Your account request reached organization ${name} rate limit, current: 1410, limit: 100`
  assert.equal(classOf(429, 'rate_limit_reached_error', limit('TPM')), 'rate')
  assert.equal(classOf(429, 'rate_limit_reached_error', limit('TPD')), 'quota')
  assert.equal(
    classOf(400, 'invalid_request_error', 'Invalid request: total message size 5000000 exceeds limit 4194304'),
    'context_overflow',
  )
  assert.equal(
    classOf(400, 'invalid_request_error', 'Your request exceeded model token limit: 1048576'),
    'context_overflow',
  )
  assert.equal(classOf(404, 'resource_not_found_error', 'retired'), 'not_found')
  const inStream = read(dialectCall(KIMI), [
    start({ input_tokens: 5, output_tokens: 0 }),
    { type: 'error', error: { type: 'overloaded_error', message: 'The engine is currently overloaded' } },
  ])
  assert.deepEqual([inStream.complete, inStream.fault?.class], [false, 'overloaded'])
})
