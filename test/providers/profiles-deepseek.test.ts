/** DeepSeek: requests as they leave, answers as they come, errors, and the field that must never be missing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialectCall, read, user } from './dialect-call.ts'
import {
  askOf,
  at,
  data,
  DONE,
  FIN,
  failureOf,
  inTurn,
  openQuickChain,
  startProvider,
  stream,
  textOf,
  TX,
} from './chain.ts'
import { FOREIGN, result, sent, stored, TOOLS } from './vendor-history.ts'

const FLASH = { provider: 'deepseek', model: 'deepseek-flash' } as const

const CALLS = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: null, reasoning_content: '' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: { content: null, reasoning_content: 'I need the ' }, finish_reason: null }] },
  { choices: [{ index: 0, delta: { content: null, reasoning_content: 'order first.' }, finish_reason: null }] },
  {
    choices: [
      {
        index: 0,
        delta: {
          content: null,
          tool_calls: [
            { index: 0, id: 'call_00_a1', type: 'function', function: { name: 'find_order', arguments: '' } },
          ],
        },
        finish_reason: null,
      },
    ],
  },
  { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{"id":' } }] } }] },
  { choices: [{ index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: ' "77"}' } }] } }] },
  {
    choices: [{ index: 0, delta: { content: '', reasoning_content: null }, finish_reason: 'tool_calls' }],
    usage: {
      prompt_tokens: 300,
      completion_tokens: 44,
      total_tokens: 344,
      prompt_cache_hit_tokens: 256,
      prompt_cache_miss_tokens: 44,
      completion_tokens_details: { reasoning_tokens: 20 },
    },
  },
  '[DONE]',
]

test('a tool turn with thinking: the whole second request, byte for byte what came', () => {
  const reading = read(dialectCall({ ...FLASH, tools: TOOLS }), CALLS)
  assert.deepEqual(reading.usage, {
    tokens: {
      input_tokens: 44,
      cache_read_tokens: 256,
      cache_write_tokens: 0,
      output_tokens: 44,
      reasoning_tokens: 20,
      total_tokens: 344,
    },
    known: 'all',
  })
  const { url, headers, body, warned } = sent({
    ...FLASH,
    system: 'You help with orders.',
    tools: TOOLS,
    params: { thinking: 'low', max_output_tokens: 16_000, temperature: 0.2 },
    messages: [user('Where is order 77?'), stored(reading, ...owner), result('call_1', 'find_order', 'shipped')],
  })
  assert.equal(url, 'https://api.deepseek.com/chat/completions')
  assert.equal(headers['authorization'], 'Bearer sk-test')
  assert.deepEqual(body, {
    model: 'deepseek-flash',
    stream: true,
    stream_options: { include_usage: true },
    max_tokens: 16_000,
    thinking: { type: 'enabled' },
    reasoning_effort: 'low',
    tools: [
      {
        type: 'function',
        function: { name: 'find_order', description: 'Find one order', parameters: { type: 'object', properties: {} } },
      },
      { type: 'function', function: { name: 'find_client', parameters: { type: 'object', properties: {} } } },
    ],
    messages: [
      { role: 'system', content: 'You help with orders.' },
      { role: 'user', content: 'Where is order 77?' },
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'I need the order first.',
        tool_calls: [
          { id: 'call_00_a1', type: 'function', function: { name: 'find_order', arguments: '{"id":"77"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_00_a1', content: '{"result":{"status":"shipped"}}' },
    ],
  })
  assert.deepEqual(warned, ['temperature is not taken and was left out (model deepseek-flash)'])
})
const owner = ['deepseek', 'deepseek-flash'] as const

test('its reasoning goes back to every model of the family, and on every later turn', () => {
  const reading = read(dialectCall({ ...FLASH, tools: TOOLS }), CALLS)
  const messages = [
    user('Where is order 77?'),
    stored(reading, ...owner),
    result('call_1', 'find_order', 'shipped'),
    user('Thanks. And 78?'),
  ]
  const { body } = sent({ provider: 'deepseek', model: 'deepseek-v4-pro', messages })
  assert.equal(body.messages[1]?.['reasoning_content'], 'I need the order first.')
})

test('the field stands on every assistant message, empty where there was no reasoning, also of another vendor', () => {
  const silent = [CALLS[3], CALLS[4], CALLS[5], { choices: [{ delta: {}, finish_reason: 'tool_calls' }] }]
  const own = [
    user('x'),
    stored(read(dialectCall({ ...FLASH, tools: TOOLS }), silent), ...owner),
    result('call_1', 'find_order', 'shipped'),
  ]
  for (const messages of [own, FOREIGN]) {
    const assistants = sent({ ...FLASH, messages }).body.messages.filter(({ role }) => role === 'assistant')
    assert.ok(assistants.length > 0)
    for (const message of assistants) assert.equal(message['reasoning_content'], '')
  }
  const { body } = sent({ ...FLASH, messages: FOREIGN })
  assert.ok(!JSON.stringify(body).includes('secret'))
  assert.deepEqual(body.messages[1], {
    role: 'assistant',
    content: '',
    reasoning_content: '',
    tool_calls: [
      { id: 'call_A', type: 'function', function: { name: 'find_order', arguments: '{"id":"77"}' } },
      { id: 'call_B', type: 'function', function: { name: 'find_client', arguments: '{}' } },
    ],
  })
})

test('thinking off takes sampling; while it thinks only a narrow top_p, and of the pro model nothing', () => {
  const params = { temperature: 0.2, top_p: 0.5 }
  const fields = (model: string, thinking: 'off' | 'high' | null) => {
    const { body, warned } = sent({ provider: 'deepseek', model, params: { ...params, thinking } })
    return [body['thinking'], body['reasoning_effort'], body['temperature'], body['top_p'], warned.length]
  }
  assert.deepEqual(fields('deepseek-flash', 'off'), [{ type: 'disabled' }, undefined, 0.2, 0.5, 0])
  assert.deepEqual(fields('deepseek-flash', 'high'), [{ type: 'enabled' }, 'high', undefined, 0.95, 2])
  assert.deepEqual(fields('deepseek-flash', null), [undefined, undefined, undefined, 0.95, 2])
  assert.deepEqual(fields('deepseek-v4-pro', null), [undefined, undefined, undefined, undefined, 2])
})

test('a step without tools leaves them out while it thinks, and keeps them with thinking off', () => {
  const step = (thinking: 'off' | null) => {
    const { body } = sent({ ...FLASH, tools: TOOLS, toolChoice: 'none', params: { thinking } })
    return [body['tool_choice'], Array.isArray(body['tools'])]
  }
  assert.deepEqual(step(null), [undefined, false])
  assert.deepEqual(step('off'), ['none', true])
})

test('what it has no field for is left out with a warning', () => {
  const { body, warned } = sent({
    ...FLASH,
    params: { seed: 1, parallel_tool_calls: false, max_output_tokens: 500_000 },
  })
  assert.deepEqual([body['seed'], body['parallel_tool_calls'], body['max_tokens']], [undefined, undefined, 384_000])
  assert.deepEqual(
    warned.map((message) => message.split(' ', 1)[0]),
    ['max_output_tokens', 'seed', 'parallel_tool_calls'],
  )
})

test('refused for reasoning that is not there, it is asked once more without thinking, in that run for good', async (t) => {
  const refusal = JSON.stringify({
    error: {
      message: 'The `reasoning_content` in the thinking mode must be passed back to the API.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_request_error',
    },
  })
  const { ask, tap } = openQuickChain(t)
  const provider = await startProvider(
    t,
    inTurn(
      (response) => response.writeHead(400, { 'content-type': 'application/json' }).end(refusal),
      (response) => stream(response, TX('ok') + FIN() + DONE),
    ),
  )
  const asked = askOf([at(provider, { provider: 'deepseek', model: 'deepseek-flash', api_key: 'sk-a' })], {
    messages: FOREIGN,
  })
  assert.equal(textOf(await ask(asked)), 'ok')
  assert.equal(textOf(await ask({ ...asked, step: 2 })), 'ok')
  const bodies = provider.seen.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  assert.deepEqual(
    bodies.map(({ thinking }) => thinking),
    [undefined, { type: 'disabled' }, { type: 'disabled' }],
  )
  assert.deepEqual(
    tap.told.flatMap((entry) => (entry[0] === 'warn' ? [entry[1]] : [])),
    [
      'thinking was switched off: the model wants reasoning back that this conversation does not have (model deepseek-flash)',
    ],
  )
})

test('a server behind another address that wants the field back is given it', () => {
  const repaired = sent({ model: 'deepseek-v4', messages: FOREIGN, repairs: new Set(['no_thinking']) })
  assert.equal(repaired.body.messages[1]?.['reasoning_content'], '')
  assert.equal(repaired.body.messages[4]?.['reasoning_content'], '')
  assert.deepEqual(repaired.warned, [])
})

test('its errors are read whatever they are called, and only what may pass is tried again', async (t) => {
  const { ask } = openQuickChain(t)
  const body = (message: string) =>
    JSON.stringify({ error: { message, type: 'unknown_error', param: null, code: 'invalid_request_error' } })
  const cases = [
    [400, 'Content Exists Risk', 'content_blocked', 1],
    [400, "This model's maximum context length is 1048576 tokens.", 'context_overflow', 1],
    [402, 'Insufficient Balance', 'provider_quota', 1],
    [422, 'Failed to deserialize the JSON body', 'provider_rejected', 1],
    [429, 'Rate limit reached', 'provider_rate_limited', 3],
    [503, 'Service is too busy', 'provider_overloaded', 3],
  ] as const
  for (const [status, message, code, requests] of cases) {
    const provider = await startProvider(t, (response) =>
      response.writeHead(status, { 'content-type': 'application/octet-stream' }).end(body(message)),
    )
    const failure = failureOf(await ask(askOf([at(provider, { ...FLASH, api_key: 'sk-a' })])))
    assert.deepEqual([failure.code, provider.seen.length], [code, requests], message)
    assert.match(failure.detail, new RegExp(message))
  }
})

test('an error inside a 200 stream, and an end for want of resources, are faults that may pass', () => {
  const busy = read(dialectCall(FLASH), [
    { error: { message: 'Service is too busy', type: 'server_error', param: null, code: 'server_error' } },
  ])
  assert.deepEqual([busy.complete, busy.fault?.class], [false, 'overloaded'])
  const interrupted = read(dialectCall(FLASH), [
    { choices: [{ delta: { content: 'Half' }, finish_reason: null }] },
    { choices: [{ delta: {}, finish_reason: 'insufficient_system_resource' }] },
  ])
  assert.deepEqual([interrupted.complete, interrupted.fault?.class], [false, 'overloaded'])
})

test('blank lines before a whole JSON answer, and keep-alive comments before a stream, are no beginning', async (t) => {
  const { ask } = openQuickChain(t)
  const whole = JSON.stringify({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })
  const provider = await startProvider(
    t,
    inTurn(
      (response) => stream(response, `\n\n\n${whole}`, { type: 'application/json' }),
      (response) => stream(response, `: keep-alive\n\n: keep-alive\n\n${TX('Hi')}${FIN()}${data('[DONE]')}`),
    ),
  )
  const asked = askOf([at(provider, { ...FLASH, api_key: 'sk-a' })])
  assert.equal(textOf(await ask(asked)), 'Hi')
  assert.equal(textOf(await ask({ ...asked, step: 2 })), 'Hi')
})
