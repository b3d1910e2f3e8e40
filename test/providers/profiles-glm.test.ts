/** GLM: requests as they leave, answers as they come, and what its numbered errors mean. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FaultClass } from '../../src/providers/dialect.ts'
import { faultClass } from '../../src/providers/fault-class.ts'
import { providerErrorIn, providerErrorOf } from '../../src/providers/provider-error.ts'
import { dialectCall, read, user } from './dialect-call.ts'
import { FOREIGN, result, sent, stored, TOOLS } from './vendor-history.ts'

const GLM = { provider: 'glm', model: 'glm-5.3' } as const

/** A thought, blank words round it, and both calls whole in one delta. */
const CALLS = [
  { id: 'g1', choices: [{ index: 0, delta: { role: 'assistant', content: '\n' } }] },
  { choices: [{ index: 0, delta: { role: 'assistant', reasoning_content: 'Check the ' } }] },
  { choices: [{ index: 0, delta: { role: 'assistant', reasoning_content: 'order.' } }] },
  {
    choices: [
      {
        index: 0,
        delta: {
          role: 'assistant',
          content: '',
          tool_calls: [
            { index: 0, id: 'call_812', type: 'function', function: { name: 'find_order', arguments: '{"id": "77"}' } },
            { index: 1, id: 'call_813', type: 'function', function: { name: 'find_client', arguments: '{}' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
  },
  {
    choices: [{ index: 0, finish_reason: 'tool_calls', delta: { role: 'assistant', content: '' } }],
    usage: {
      prompt_tokens: 320,
      completion_tokens: 40,
      total_tokens: 360,
      prompt_tokens_details: { cached_tokens: 300 },
    },
  },
  '[DONE]',
]

test('a tool turn: the whole second request, with its reasoning, its calls streamed and without a word it refuses', () => {
  const reading = read(dialectCall({ ...GLM, tools: TOOLS }), CALLS)
  assert.deepEqual(reading.usage?.tokens, {
    input_tokens: 20,
    cache_read_tokens: 300,
    cache_write_tokens: 0,
    output_tokens: 40,
    reasoning_tokens: 0,
    total_tokens: 360,
  })
  const { url, body, warned } = sent({
    ...GLM,
    tools: TOOLS,
    params: { thinking: 'high', temperature: 0, max_output_tokens: 200_000 },
    messages: [
      user('Where is order 77?'),
      stored(reading, 'glm', 'glm-5.3'),
      result('call_1', 'find_order', 'shipped'),
      result('call_2', 'find_client', 'known'),
    ],
  })
  assert.equal(url, 'https://api.z.ai/api/paas/v4/chat/completions')
  assert.deepEqual(body, {
    model: 'glm-5.3',
    stream: true,
    max_tokens: 131_072,
    reasoning_effort: 'high',
    temperature: 0.01,
    tools: [
      {
        type: 'function',
        function: { name: 'find_order', description: 'Find one order', parameters: { type: 'object', properties: {} } },
      },
      { type: 'function', function: { name: 'find_client', parameters: { type: 'object', properties: {} } } },
    ],
    tool_stream: true,
    messages: [
      { role: 'user', content: 'Where is order 77?' },
      {
        role: 'assistant',
        content: '\n',
        reasoning_content: 'Check the order.',
        tool_calls: [
          { id: 'call_812', type: 'function', function: { name: 'find_order', arguments: '{"id":"77"}' } },
          { id: 'call_813', type: 'function', function: { name: 'find_client', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_812', content: '{"result":{"status":"shipped"}}' },
      { role: 'tool', tool_call_id: 'call_813', content: '{"result":{"status":"known"}}' },
    ],
  })
  assert.deepEqual(warned, [
    'max_output_tokens was sent as 131072, the most that is taken (model glm-5.3)',
    'temperature was sent as 0.01, the nearest value that is taken (model glm-5.3)',
  ])
})

test('its reasoning goes back to every model of the family', () => {
  const message = stored(read(dialectCall({ ...GLM, tools: TOOLS }), CALLS), 'glm', 'glm-5.3')
  const { body } = sent({ provider: 'glm', model: 'glm-4.7', messages: [user('x'), message, user('y')] })
  assert.equal(body.messages[1]?.['reasoning_content'], 'Check the order.')
})

test('a history of another vendor goes without its reasoning, and without a stand-in', () => {
  const { body } = sent({ ...GLM, messages: FOREIGN })
  assert.ok(!JSON.stringify(body).includes('reasoning_content'))
  assert.deepEqual(body['reasoning_effort'], 'low')
})

test('it knows no choice but auto: a step without tools goes without them, and nothing of tools is said', () => {
  const { body } = sent({ ...GLM, tools: TOOLS, toolChoice: 'none' })
  assert.deepEqual([body['tools'], body['tool_choice'], body['tool_stream']], [undefined, undefined, undefined])
  assert.equal(sent({ ...GLM, model: 'glm-4.5', tools: TOOLS }).body['tool_stream'], undefined)
})

test('thinking that cannot be off is the least there is, with a warning; older models have a switch', () => {
  const off = sent({ ...GLM, params: { thinking: 'off' } })
  assert.deepEqual([off.body['thinking'], off.body['reasoning_effort']], [undefined, 'low'])
  assert.deepEqual(off.warned, ['thinking cannot be off: the model thinks as little as it can (model glm-5.3)'])
  const older = sent({ provider: 'glm', model: 'glm-4.7', params: { thinking: 'off' } })
  assert.deepEqual([older.body['thinking'], older.warned], [{ type: 'disabled' }, []])
})

test('one stop sequence, and no field that it does not know', () => {
  const { body, warned } = sent({
    ...GLM,
    params: { stop: ['a', 'b'], seed: 3, parallel_tool_calls: true, top_p: 0 },
    tools: TOOLS,
  })
  assert.deepEqual(
    [body['stop'], body['seed'], body['parallel_tool_calls'], body['top_p'], body['stream_options']],
    [['a'], undefined, undefined, 0.01, undefined],
  )
  assert.equal(warned.length, 4)
})

test('its error numbers decide, not the status: 429 is "slow down" and "no money"', () => {
  const classes: Readonly<Record<string, FaultClass>> = {
    '1001': 'auth',
    '1112': 'auth',
    '1113': 'quota',
    '1120': 'server',
    '1210': 'bad_request',
    '1211': 'not_found',
    '1220': 'auth',
    '1234': 'server',
    '1261': 'context_overflow',
    '1301': 'content',
    '1302': 'rate',
    '1303': 'rate',
    '1304': 'quota',
    '1305': 'overloaded',
    '1308': 'quota',
    '1310': 'quota',
    '1312': 'overloaded',
    '1313': 'quota',
  }
  for (const [code, expected] of Object.entries(classes)) {
    const body = { error: { code, message: 'words in any language' } }
    assert.equal(faultClass(providerErrorOf(JSON.stringify(body)), 429), expected, code)
    const error = providerErrorIn(body)
    assert.ok(error !== null)
    assert.equal(faultClass(error, null), expected, `${code} in a stream`)
  }
  assert.equal(faultClass(providerErrorOf('{}'), 434), 'auth')
})

test('the same numbers beside a type are another vendor’s: Mistral’s 1300 is a rate limit', () => {
  const error = { object: 'error', message: 'Rate limit exceeded', type: 'rate_limited', param: null, code: '1300' }
  assert.equal(faultClass(providerErrorOf(JSON.stringify(error)), 429), 'rate')
  const tier = { object: 'error', message: 'Service tier capacity exceeded for this model.', type: 'x', code: '3505' }
  assert.equal(faultClass(providerErrorOf(JSON.stringify(tier)), 429), 'overloaded')
  const model = { object: 'error', message: 'Invalid model: m', type: 'invalid_model', param: null, code: '1500' }
  assert.equal(faultClass(providerErrorOf(JSON.stringify(model)), 400), 'not_found')
})

test('its own finish words: refused content, a broken network, a full window', () => {
  const end = (finish_reason: string, content: string) =>
    read(dialectCall(GLM), [{ choices: [{ index: 0, delta: { content }, finish_reason }] }, '[DONE]'])
  assert.equal(end('sensitive', 'Hm').stop, 'refusal')
  assert.equal(end('network_error', 'Hm').fault?.class, 'server')
  assert.equal(end('model_context_window_exceeded', '').fault?.class, 'context_overflow')
  assert.equal(end('model_context_window_exceeded', 'Hm').stop, 'length')
})
