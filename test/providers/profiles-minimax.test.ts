/** MiniMax over both of its wire formats: requests as they leave, answers as they come, and errors inside HTTP 200. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anthropicFault } from '../../src/providers/anthropic/errors.ts'
import type { FaultClass } from '../../src/providers/dialect.ts'
import { cpuMs } from '../cpu-time.ts'
import { dialectCall, listen, read, tool, user } from './dialect-call.ts'
import { askOf, at, failureOf, openQuickChain, startProvider } from './chain.ts'
import { FOREIGN, result, sent, stored, TOOLS } from './vendor-history.ts'

const M3 = { provider: 'minimax', model: 'MiniMax-M3' } as const

const CALLS = [
  { type: 'message_start', message: { id: 'm1', role: 'assistant', content: [], usage: { input_tokens: 210 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Check order.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnLTE=' } },
  { type: 'content_block_stop', index: 0 },
  {
    type: 'content_block_start',
    index: 1,
    content_block: { type: 'tool_use', id: 'call_function_x7_1', name: 'find_order', input: {} },
  },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"id":"77"}' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'message_delta',
    delta: { stop_reason: 'tool_use' },
    usage: { input_tokens: 210, output_tokens: 55, cache_read_input_tokens: 1024, cache_creation_input_tokens: 0 },
  },
  { type: 'message_stop' },
]

test('a tool turn: the whole second request, signature as it came, no tool type and no tool choice', () => {
  const reading = read(dialectCall({ ...M3, tools: TOOLS }), CALLS)
  assert.deepEqual(reading.usage, {
    tokens: {
      input_tokens: 210,
      cache_read_tokens: 1024,
      cache_write_tokens: 0,
      output_tokens: 55,
      reasoning_tokens: 0,
      total_tokens: 1289,
    },
    known: 'all',
  })
  const { url, headers, body, warned } = sent({
    ...M3,
    tools: TOOLS,
    params: { temperature: 0, thinking: 'off', stop: ['END'], parallel_tool_calls: false },
    messages: [
      user('Where is order 77?'),
      stored(reading, 'minimax', 'MiniMax-M3'),
      result('call_1', 'find_order', 'sent'),
    ],
  })
  assert.equal(url, 'https://api.minimax.io/anthropic/v1/messages')
  assert.equal(headers['x-api-key'], 'sk-test')
  assert.equal(headers['authorization'], undefined)
  assert.deepEqual(body, {
    model: 'MiniMax-M3',
    max_tokens: 32_000,
    stream: true,
    thinking: { type: 'disabled' },
    temperature: 0.01,
    tools: [
      { name: 'find_order', description: 'Find one order', input_schema: { type: 'object', properties: {} } },
      { name: 'find_client', input_schema: { type: 'object', properties: {} } },
    ],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Where is order 77?' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Check order.', signature: 'c2lnLTE=' },
          { type: 'tool_use', id: 'call_function_x7_1', name: 'find_order', input: { id: '77' } },
        ],
      },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 'call_function_x7_1', content: '{"result":{"status":"sent"}}' }],
      },
    ],
  })
  assert.deepEqual(warned, [
    'temperature was sent as 0.01, the nearest value that is taken (model MiniMax-M3)',
    'stop is not taken and was left out (model MiniMax-M3)',
    'parallel_tool_calls is not taken and was left out (model MiniMax-M3)',
  ])
})

test('a thought goes back to the model that had it, unsigned too; to no other model, and none stands in for another vendor’s', () => {
  const unsigned = CALLS.filter((_, index) => index !== 3)
  const message = stored(read(dialectCall({ ...M3, tools: TOOLS }), unsigned), 'minimax', 'MiniMax-M3')
  const messages = [user('x'), message, result('call_1', 'find_order', 'y')]
  const types = (model: string) => {
    const content = sent({ provider: 'minimax', model, messages }).body.messages[1]?.['content']
    return Array.isArray(content) ? content.map((block: { readonly type: string }) => block.type) : []
  }
  assert.deepEqual(types('MiniMax-M3'), ['thinking', 'tool_use'])
  assert.deepEqual(types('MiniMax-M3.1-Flash'), ['tool_use'])
  const foreign = JSON.stringify(sent({ ...M3, messages: FOREIGN }).body)
  assert.ok(!foreign.includes('thinking') && !foreign.includes('secret'))
  // Foreign ids fit already and stay the same on every turn.
  assert.ok(foreign.includes('"id":"call_A"') && foreign.includes('"tool_use_id":"call_B"'))
})

test('a step without tools goes without them', () => {
  const { body } = sent({ ...M3, tools: TOOLS, toolChoice: 'none' })
  assert.deepEqual([body['tools'], body['tool_choice']], [undefined, undefined])
})

const CHAT = { server: 'minimax', model: 'MiniMax-M3' } as const

const CHUNKS = [
  {
    id: 'm1',
    choices: [
      {
        index: 0,
        delta: {
          role: 'assistant',
          name: 'MiniMax AI',
          content: '',
          reasoning_content: 'Check ',
          reasoning_details: [
            { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text: 'Check ' },
          ],
        },
        finish_reason: null,
      },
    ],
    usage: null,
  },
  {
    choices: [
      {
        index: 0,
        delta: {
          content: '',
          reasoning_content: 'both.',
          reasoning_details: [
            { type: 'reasoning.text', id: 'reasoning-text-1', format: 'MiniMax-response-v1', index: 0, text: 'both.' },
          ],
        },
      },
    ],
  },
  { choices: [{ index: 0, delta: { content: 'One moment.' }, finish_reason: null }] },
  {
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            {
              index: 0,
              id: 'call_function_x7_1',
              type: 'function',
              function: { name: 'find_order', arguments: '{"id":"77"}' },
            },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  {
    choices: [],
    usage: {
      total_tokens: 431,
      prompt_tokens: 350,
      completion_tokens: 81,
      prompt_tokens_details: { cached_tokens: 256 },
      completion_tokens_details: { reasoning_tokens: 33 },
    },
    base_resp: { status_code: 0, status_msg: '' },
  },
]

test('PS-38, PS-45: over chat completions reasoning is asked for apart, comes twice, is read once and goes back as it came', () => {
  const reading = read(dialectCall({ ...CHAT, tools: TOOLS }), CHUNKS)
  assert.deepEqual([reading.complete, reading.fault], [true, null])
  assert.equal(reading.heard.thought(), 'Check both.')
  assert.equal(reading.heard.shown(), 'One moment.')
  assert.deepEqual(reading.usage?.tokens, {
    input_tokens: 94,
    cache_read_tokens: 256,
    cache_write_tokens: 0,
    output_tokens: 81,
    reasoning_tokens: 33,
    total_tokens: 431,
  })
  const { url, body } = sent({
    ...CHAT,
    params: { thinking: 'high', max_output_tokens: 9000 },
    messages: [user('x'), stored(reading, 'openai-compatible', 'MiniMax-M3'), result('call_1', 'find_order', 'sent')],
  })
  assert.equal(url, 'https://api.minimax.io/v1/chat/completions')
  assert.deepEqual(body, {
    model: 'MiniMax-M3',
    stream: true,
    stream_options: { include_usage: true },
    max_completion_tokens: 9000,
    thinking: { type: 'adaptive' },
    messages: [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: 'One moment.',
        reasoning_details: [
          {
            type: 'reasoning.text',
            id: 'reasoning-text-1',
            format: 'MiniMax-response-v1',
            index: 0,
            text: 'Check both.',
          },
        ],
        tool_calls: [
          { id: 'call_function_x7_1', type: 'function', function: { name: 'find_order', arguments: '{"id":"77"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_function_x7_1', content: '{"result":{"status":"sent"}}' },
    ],
    reasoning_split: true,
  })
})

test('arguments that were wrapped into one field are the arguments, where nothing else can be meant', () => {
  const find = tool('find_order', { type: 'object', properties: { id: {}, note: { type: 'string' } } })
  const heard = (provider: 'minimax' | 'anthropic', args: object) => {
    const call = dialectCall({ provider, model: 'MiniMax-M3', tools: [find] })
    const { parts } = read(
      call,
      CALLS.map((event) => (event.index === 1 && event.delta ? argsOf(args) : event)),
    )
    return parts.flatMap((part) => (part.type === 'tool_call' ? [JSON.stringify(part.args)] : [])).join()
  }
  const argsOf = (args: object) => ({
    type: 'content_block_delta',
    index: 1,
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) },
  })
  assert.equal(heard('minimax', { result: '{"id":12345678901234567890}' }), '{"id":12345678901234567890}')
  assert.equal(heard('minimax', { arguments: '{}' }), '{}')
  for (const meant of [
    { note: '{"id":1}' },
    { result: '{"id":1}', id: 2 },
    { result: '{"other":1}' },
    { result: '["id"]' },
    { result: 'id' },
    { result: { id: 1 } },
    {},
  ]) {
    assert.equal(heard('minimax', meant), JSON.stringify(meant))
  }
  assert.equal(heard('anthropic', { result: '{"id":1}' }), '{"result":"{\\"id\\":1}"}')
})

test('PS-38: tags inside the text, cut in two, are reasoning all the same', () => {
  const text = (content: string) => ({ choices: [{ index: 0, delta: { content } }] })
  const { heard } = read(dialectCall(CHAT), [text('<thi'), text('nk>hm</th'), text('ink>\n\nHi'), '[DONE]'])
  assert.deepEqual([heard.thought(), heard.shown()], ['hm', 'Hi'])
})

const NUMBERS: Readonly<Record<number, FaultClass>> = {
  1000: 'server',
  1001: 'timeout',
  1002: 'rate',
  1004: 'auth',
  1008: 'quota',
  1013: 'server',
  1026: 'content',
  1033: 'server',
  1039: 'rate',
  1041: 'rate',
  1042: 'bad_request',
  2013: 'bad_request',
  2045: 'rate',
  2049: 'auth',
  2056: 'quota',
}

test('PS-42: its numbers mean the same in brackets under any status and in base_resp under HTTP 200, over either format', () => {
  for (const [number, expected] of Object.entries(NUMBERS)) {
    const error = { type: 'rate_limit_error', message: `words (${number})`, http_code: '429' }
    const body = JSON.stringify({ type: 'error', error, request_id: 'r' })
    assert.equal(anthropicFault(429, {}, body, 0).class, expected, number)
    const inside = { choices: null, base_resp: { status_code: Number(number), status_msg: 'words' } }
    for (const call of [dialectCall(M3), dialectCall(CHAT)]) {
      const { reader } = listen(call)
      reader.document(inside)
      const reading = reader.end()
      assert.deepEqual([reading.complete, reading.fault?.class], [false, expected], number)
      assert.equal(read(call, [inside]).fault?.class, expected, `${number} in a stream`)
    }
  }
})

test('PS-42: an answer of HTTP 200 that says "no money" is one request and a quota', async (t) => {
  const { ask } = openQuickChain(t)
  const provider = await startProvider(t, (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}'),
  )
  const failure = failureOf(await ask(askOf([at(provider, { ...M3, api_key: 'k' })])))
  assert.deepEqual([failure.code, provider.seen.length], ['provider_quota', 1])
})

test('pieces of reasoning_details that each hold the whole text so far are one text, and those that do not are joined', () => {
  const call = dialectCall({ server: 'minimax', model: 'MiniMax-M3' })
  const piece = (text: string, index = 0) => ({
    choices: [{ index: 0, delta: { reasoning_details: [{ type: 'reasoning.text', id: `r${index}`, index, text }] } }],
  })
  const end = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }
  const thoughts = (...texts: string[]) => {
    const { heard, parts } = read(call, [...texts.map((text) => piece(text)), end])
    const [part] = parts
    assert.ok(part?.type === 'reasoning')
    const details = part.provider_data?.['details'] as { text: string }[]
    return [heard.thought(), part.text, ...details.map(({ text }) => text)]
  }
  assert.deepEqual(thoughts('Check', 'Check both', 'Check both.'), Array(3).fill('Check both.'))
  assert.deepEqual(thoughts('Check ', 'both', ', Check both'), Array(3).fill('Check both, Check both'))
  const { heard } = read(call, [piece('One'), piece('One more'), piece('Two', 1), piece('Two more', 1), end])
  assert.equal(heard.thought(), 'One moreTwo more')

  const elsewhere = dialectCall({ server: 'openrouter' })
  assert.equal(read(elsewhere, [piece('ha'), piece('haha'), end]).heard.thought(), 'hahaha')
})

test('a second piece that happens to begin like the first is no repetition, and a long text of such pieces takes no time', () => {
  const detail = (text: string) => ({
    choices: [{ index: 0, delta: { reasoning_details: [{ type: 'reasoning.text', id: 'r0', index: 0, text }] } }],
  })
  const words = ['The', 'Then ', ...Array.from({ length: 40_000 }, () => 'more ')]
  const from = cpuMs()
  const { parts } = read(dialectCall({ server: 'minimax', model: 'MiniMax-M3' }), [
    ...words.map(detail),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    '[DONE]',
  ])
  assert.ok(cpuMs() - from < 2_000)
  const [part] = parts
  assert.ok(part?.type === 'reasoning')
  assert.deepEqual(part.provider_data?.['details'], [
    { type: 'reasoning.text', id: 'r0', index: 0, text: words.join('') },
  ])
})
