/** Requests to the Responses API, byte for byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson, type JsonObject } from '../../../src/contract/json.ts'
import type { AssistantMessage, StoredMessage, UserPart } from '../../../src/contract/message.ts'
import { responsesRequest } from '../../../src/providers/openai-responses/request.ts'
import { dialectCall, tool, user, type CallFacts } from '../dialect-call.ts'

const MODEL = 'gpt-6.2-sol'

interface Body {
  readonly input: readonly JsonObject[]
  readonly [field: string]: unknown
}

function request(facts: CallFacts) {
  return responsesRequest(dialectCall({ provider: 'openai', model: MODEL, ...facts }))
}

function bodyOf(facts: CallFacts): Body {
  return JSON.parse(request(facts).body) as Body
}

function assistant(content: AssistantMessage['content'], more: Partial<AssistantMessage> = {}): StoredMessage {
  return { role: 'assistant', content, provider: 'openai', model: MODEL, ...more }
}

function call(call_id: string, args: JsonObject = {}, provider_data?: JsonObject) {
  return {
    type: 'tool_call',
    call_id,
    tool: 'f',
    args,
    ...(provider_data === undefined ? {} : { provider_data: { family: 'openai', ...provider_data } }),
  } as const
}

function reasoning(item: JsonObject, family = 'openai') {
  return { type: 'reasoning', text: 'shown', provider_data: { family, item } } as const
}

function result(call_id: string, value: string): StoredMessage {
  return { role: 'tool', call_id, tool: 'f', result: value }
}

const text = (words: string) => ({ type: 'text', text: words }) as const
const USER = (words: string) => ({ role: 'user', content: [{ type: 'input_text', text: words }] })
const SAID = (words: string, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: words }],
  ...more,
})
const CALL = (call_id: string, args = '{}', name = 'f') => ({ type: 'function_call', call_id, name, arguments: args })
const OUTPUT = (call_id: string, output: string) => ({ type: 'function_call_output', call_id, output })
const ITEM = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA==' }
const THOUGHT = { type: 'reasoning', summary: [], encrypted_content: 'gAAA==' }

test('a whole request: address, headers and every byte of the body', () => {
  const { url, headers, body, warnings } = request({
    system: 'You help.',
    tools: [tool('a'), { ...tool('f'), description: 'Finds orders' }],
    messages: [
      user('Where is 12345?'),
      assistant([reasoning(ITEM), text('Let me see.'), call('call_1', { id: '12345' }, { id: 'native_1' })], {
        provider_data: { family: 'openai', phases: ['commentary'] },
      }),
      result('call_1', 'sent'),
    ],
    params: {
      thinking: 'medium',
      parallel_tool_calls: false,
      max_output_tokens: 16_000,
      extra: { service_tier: 'flex' },
    },
    cacheKey: 'conv-123',
    note: 'Answer now.',
  })
  assert.equal(url, 'https://api.openai.com/v1/responses')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    authorization: 'Bearer sk-test',
  })
  assert.deepEqual(warnings, [])
  assert.equal(
    body,
    '{"model":"gpt-6.2-sol","stream":true,"store":false,"include":["reasoning.encrypted_content"],' +
      '"stream_options":{"include_obfuscation":false},"max_output_tokens":16000,' +
      '"reasoning":{"effort":"medium","summary":"auto"},"prompt_cache_key":"conv-123",' +
      '"tools":[{"type":"function","name":"a","parameters":{"type":"object","properties":{}},"strict":false},' +
      '{"type":"function","name":"f","description":"Finds orders","parameters":{"type":"object","properties":{}},"strict":false}],' +
      '"parallel_tool_calls":false,' +
      '"input":[{"role":"developer","content":"You help."},' +
      '{"role":"user","content":[{"type":"input_text","text":"Where is 12345?"}]},' +
      '{"type":"reasoning","summary":[],"encrypted_content":"gAAA=="},' +
      '{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Let me see."}],"phase":"commentary"},' +
      '{"type":"function_call","call_id":"native_1","name":"f","arguments":"{\\"id\\":\\"12345\\"}"},' +
      '{"type":"function_call_output","call_id":"native_1","output":"{\\"result\\":\\"sent\\"}"},' +
      '{"role":"user","content":[{"type":"input_text","text":"Answer now."}]}],"service_tier":"flex"}',
  )
})

test('the smallest request: a model that does not reason, without tools, system and session', () => {
  assert.equal(
    request({ model: 'gpt-4.1', messages: [user('hi')] }).body,
    '{"model":"gpt-4.1","stream":true,"store":false,"stream_options":{"include_obfuscation":false},' +
      '"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}',
  )
})

test('RF-16: the request goes to the base URL of its target, with its key or none', () => {
  assert.equal(request({ baseUrl: 'https://h/openai/v1' }).url, 'https://h/openai/v1/responses')
  assert.equal(request({ baseUrl: 'https://h/v1/responses' }).url, 'https://h/v1/responses')
  assert.equal(request({ apiKey: null }).headers['authorization'], undefined)
  assert.equal(request({ profile: (row) => ({ ...row, auth: 'none' }) }).headers['authorization'], undefined)
  const named = request({ profile: (row) => ({ ...row, auth: 'x-api-key' }) }).headers
  assert.deepEqual([named['authorization'], named['x-api-key']], [undefined, 'sk-test'])
})

test('a bound that the API refuses as too small is raised, with a warning', () => {
  const { body, warnings } = request({ params: { max_output_tokens: 1 } })
  assert.match(body, /"max_output_tokens":16,/)
  assert.deepEqual(warnings, [
    {
      code: 'param_dropped',
      message: 'max_output_tokens was sent as 16, the least that is taken (model gpt-6.2-sol)',
      path: 'llm.params.max_output_tokens',
    },
  ])
  assert.match(request({ params: { max_output_tokens: 500_000 } }).body, /"max_output_tokens":128000,/)
})

test('what the API does not know is left out, with a warning each', () => {
  const { body, warnings } = request({
    model: 'gpt-4o',
    params: { stop: ['END'], seed: 7, thinking: 'low', temperature: 0.2, top_p: 0.9 },
  })
  assert.match(body, /"temperature":0.2,"top_p":0.9,/)
  assert.doesNotMatch(body, /"stop"|"seed"|"reasoning"|"include"/)
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['llm.params.thinking', 'llm.params.stop', 'llm.params.seed'],
  )
})

test('tools stay in the request where none may be called', () => {
  const facts: CallFacts = { tools: [tool('f')], params: { parallel_tool_calls: true } }
  const { tools, tool_choice, parallel_tool_calls } = bodyOf({ ...facts, toolChoice: 'none' })
  assert.deepEqual([tools, tool_choice, parallel_tool_calls], [bodyOf(facts)['tools'], 'none', true])
  assert.equal(bodyOf(facts)['tool_choice'], undefined)
  const omitted = bodyOf({ ...facts, toolChoice: 'none', profile: (row) => ({ ...row, toolChoiceNone: 'omit_tools' }) })
  assert.deepEqual([omitted['tools'], omitted['tool_choice']], [undefined, undefined])
  const without = bodyOf({ toolChoice: 'none', params: { parallel_tool_calls: true } })
  assert.deepEqual(
    [without['tools'], without['tool_choice'], without['parallel_tool_calls']],
    [undefined, undefined, undefined],
  )
})

test('HI-17: a schema with a union at its root is rewritten, any other goes as it is', () => {
  const union = tool('u', { type: 'object', anyOf: [{ properties: { a: { type: 'string' } } }] })
  const plain = { type: 'object', properties: { 'order id': { $ref: '#/x' } }, x: 1 }
  const tools = bodyOf({ tools: [union, tool('p', plain)] })['tools'] as JsonObject[]
  assert.deepEqual(
    tools.map(({ parameters, strict }) => [parameters, strict]),
    [
      [{ type: 'object', properties: { a: { type: 'string' } } }, false],
      [plain, false],
    ],
  )
})

test('the note is the last item and changes nothing before it; a blank one is none', () => {
  const facts: CallFacts = { system: 's', tools: [tool('f')], messages: [user('a')], cacheKey: 'k' }
  const { input, ...rest } = bodyOf({ ...facts, note: 'Now.' })
  const { input: before, ...same } = bodyOf(facts)
  assert.deepEqual([input, rest], [[...before, USER('Now.')], same])
  assert.deepEqual(bodyOf({ ...facts, note: ' ' }).input, before)
  assert.equal(bodyOf({ system: ' ' }).input.length, 1)
})

test('HI-03, HI-14: outputs stand behind the calls, in their order, whatever came between them', () => {
  const { input } = bodyOf({
    messages: [
      user('x'),
      assistant([call('call_a'), call('call_b')]),
      result('call_b', 'B'),
      user('hurry'),
      result('call_a', 'A'),
    ],
  })
  assert.deepEqual(input.slice(1), [
    CALL('call_a'),
    CALL('call_b'),
    OUTPUT('call_a', '{"result":"A"}'),
    OUTPUT('call_b', '{"result":"B"}'),
    USER('hurry'),
  ])
})

test('HI-14: words that another family wrote behind a call go before it, own ones stay where they were', () => {
  const content = [call('c1'), text('Behind.')] as const
  const itemsOf = (message: StoredMessage) => bodyOf({ messages: [user('Q'), message, result('c1', '1')] }).input
  const shown = (items: readonly JsonObject[]) => items.slice(-3).map(({ type }) => type)
  const foreign = assistant(content, { provider: 'anthropic', model: 'claude-example' })
  assert.deepEqual(shown(itemsOf(foreign)), ['message', 'function_call', 'function_call_output'])
  const own = assistant([call('c1', {}, { id: 'call_1' }), text('Behind.')])
  assert.deepEqual(shown(itemsOf(own)), ['function_call', 'message', 'function_call_output'])
})

test('HI-01, HI-02: every call has one output, and an output without its call is none', () => {
  const { input } = bodyOf({
    messages: [
      user('x'),
      { role: 'tool', call_id: 'call_9', tool: 'f', result: 1 },
      assistant([call('call_a')]),
      user('y'),
    ],
  })
  assert.deepEqual(input.slice(1, 3), [CALL('call_a'), OUTPUT('call_a', '{"error":"no result was recorded"}')])
  assert.equal(input.length, 4)
})

test('HI-04: messages of one role stay apart, each as it was', () => {
  const { input } = bodyOf({ messages: [user('a'), user('b'), assistant([text('c')]), assistant([text('d')])] })
  assert.deepEqual(input, [USER('a'), USER('b'), SAID('c'), SAID('d')])
})

test('HI-05: reasoning of another family is left out, never sent as text', () => {
  const { input } = bodyOf({
    messages: [
      user('x'),
      assistant([reasoning(ITEM, 'anthropic'), text('a')]),
      assistant([{ type: 'reasoning', text: 'bare' }, text('b')]),
    ],
  })
  assert.deepEqual(input.slice(1), [SAID('a'), SAID('b')])
})

test('HI-05: reasoning goes back to the model that wrote it, and to no other of the family', () => {
  const messages = [user('x'), assistant([reasoning(ITEM), text('a')], { model: 'gpt-5.5' })]
  assert.deepEqual(bodyOf({ model: 'gpt-5.5', messages }).input.slice(1), [THOUGHT, SAID('a')])
  assert.deepEqual(bodyOf({ model: 'gpt-6.2-sol', messages }).input.slice(1), [SAID('a')])
})

test('HI-06: reasoning between calls goes back whole and in its place, without id and status', () => {
  const later = {
    type: 'reasoning',
    id: 'rs_2',
    status: 'completed',
    summary: [{ type: 'summary_text', text: 's' }],
    encrypted_content: 'gBBB',
    content: null,
    later: { field: 1 },
  }
  const { input } = bodyOf({
    messages: [
      user('x'),
      assistant([reasoning(ITEM), call('call_a'), reasoning(later), call('call_b')]),
      result('call_a', 'A'),
      result('call_b', 'B'),
    ],
  })
  assert.deepEqual(input.slice(1, 5), [
    THOUGHT,
    CALL('call_a'),
    { type: 'reasoning', summary: later.summary, encrypted_content: 'gBBB', later: { field: 1 } },
    CALL('call_b'),
  ])
})

test('reasoning that leads to nothing does not go back', () => {
  const { input } = bodyOf({
    messages: [user('x'), assistant([text('a'), reasoning(ITEM), reasoning(ITEM)]), assistant([reasoning(ITEM)])],
  })
  assert.deepEqual(input, [USER('x'), SAID('a')])
})

test('a reasoning item without its list of summaries gets an empty one', () => {
  const { input } = bodyOf({
    messages: [assistant([reasoning({ type: 'reasoning', encrypted_content: 'g' }), text('a')]), user('x')],
  })
  assert.deepEqual(input[0], { type: 'reasoning', encrypted_content: 'g', summary: [] })
})

test('HI-18: the repair leaves all reasoning out, tells of it, and keeps everything else', () => {
  const messages = [
    user('x'),
    assistant([reasoning(ITEM), text('a'), call('call_a', {}, { id: 'n' })], {
      provider_data: { family: 'openai', phases: ['commentary'] },
    }),
    result('call_a', 'A'),
  ]
  const { body, warnings } = request({ messages, repairs: new Set(['no_reasoning']) })
  assert.deepEqual((JSON.parse(body) as Body).input.slice(1), [
    SAID('a', { phase: 'commentary' }),
    CALL('n'),
    OUTPUT('n', '{"result":"A"}'),
  ])
  assert.deepEqual(
    warnings.map(({ code }) => code),
    ['reasoning_dropped'],
  )
  assert.deepEqual(request({ messages: [user('x')], repairs: new Set(['no_reasoning']) }).warnings, [])
})

test('RF-15: the repair leaves stream_options out', () => {
  assert.equal(bodyOf({ repairs: new Set(['no_stream_options']) })['stream_options'], undefined)
})

test('the phase of a text goes back with it to every model of the family, to no other', () => {
  const phases = (provider_data: JsonObject) =>
    bodyOf({
      messages: [
        user('x'),
        assistant([text('a'), text(' '), text('b'), text('c')], { provider_data, model: 'gpt-5.5' }),
      ],
    })
      .input.slice(1)
      .map(({ phase }) => phase)
  assert.deepEqual(phases({ family: 'openai', phases: ['commentary', '', 'final_answer'] }), [
    'commentary',
    undefined,
    'final_answer',
  ])
  assert.deepEqual(phases({ family: 'openai', phases: ['commentary', 7] }), ['commentary', undefined, undefined])
  assert.deepEqual(phases({ family: 'other', phases: ['commentary'] }), [undefined, undefined, undefined])
})

test('HI-09: blank texts are left out, and a message of nothing else is none', () => {
  const { input } = bodyOf({
    messages: [
      user(' '),
      user('x'),
      assistant([text(''), call('call_a')]),
      { role: 'tool', call_id: 'call_a', tool: 'f', result: '' },
      assistant([text(' \n')]),
      user('y'),
    ],
  })
  assert.deepEqual(input, [USER('x'), CALL('call_a'), OUTPUT('call_a', '{"result":""}'), USER('y')])
})

test('HI-11: an id that comes again on a later turn is made anew, with its output', () => {
  const turn = (n: number): StoredMessage[] => [
    assistant([call(`call_${n}`, {}, { id: 'call_0' })]),
    result(`call_${n}`, String(n)),
  ]
  const { input } = bodyOf({ messages: [user('x'), ...turn(1), ...turn(2)] })
  assert.deepEqual(
    input.slice(1).map(({ call_id }) => call_id),
    ['call_0', 'call_0', 'call_2', 'call_2'],
  )
})

test('an id that the API refuses, and one of another family, is made anew', () => {
  const long = 'x'.repeat(65)
  const { input } = bodyOf({
    messages: [
      user('x'),
      assistant([call('call_a', {}, { id: long }), call('call_b', {}, { id: 'an id' })]),
      assistant([{ ...call('call_c'), provider_data: { family: 'anthropic', id: 'toolu_1' } }]),
    ],
  })
  assert.deepEqual(
    input.filter(({ type }) => type === 'function_call').map(({ call_id }) => call_id),
    ['call_a', 'call_b', 'call_c'],
  )
})

test('HI-15: a call whose arguments were none goes back with none', () => {
  const { input } = bodyOf({ messages: [user('x'), assistant([{ ...call('call_a'), args_text: '{"a":' }])] })
  assert.deepEqual(input[1], CALL('call_a', '{}'))
})

test('arguments go back as the model wrote them where that is what is stored', () => {
  const sent = (args: JsonObject, kept: unknown) => {
    const data = { id: 'n', arguments: kept as string }
    return bodyOf({ messages: [user('x'), assistant([call('call_a', args, data)])] }).input[1]?.['arguments']
  }
  assert.equal(sent({ a: 1 }, '{"a": 1}'), '{"a": 1}')
  assert.equal(sent({ a: 2 }, '{"a": 1}'), '{"a":2}')
  assert.equal(sent({ a: 1 }, 'rubbish'), '{"a":1}')
  assert.equal(sent({ a: 1 }, 7), '{"a":1}')
  assert.equal(sent({ a: '🙂' }, '{"a": "\\ud83d\\ude42"}'), '{"a":"🙂"}')
})

test('arguments keep the digits of their numbers', () => {
  const args = parseJson('{"n":12345678901234567890}')
  assert.ok(args.ok)
  assert.match(
    request({ messages: [user('x'), assistant([call('call_a', args.value as JsonObject)])] }).body,
    /"arguments":"\{\\"n\\":12345678901234567890\}"/,
  )
})

test('a tool name that no provider takes back is made legal', () => {
  const { input } = bodyOf({ messages: [user('x'), assistant([{ ...call('call_a'), tool: 'odd name!' }])] })
  assert.deepEqual(input[1], CALL('call_a', '{}', 'odd_name_'))
})

test('pictures and documents are sent, by address or by content', () => {
  const content: UserPart[] = [
    { type: 'image', url: 'https://h/a.png', mime_type: 'image/png' },
    { type: 'image', data: 'QUJD', mime_type: 'image/jpeg' },
    { type: 'file', data: 'QUJD', mime_type: 'image/webp' },
    { type: 'file', data: 'QUJD', mime_type: 'application/pdf', name: 'a.pdf' },
    { type: 'file', data: 'QUJD', mime_type: 'application/pdf' },
    { type: 'file', url: 'https://h/a.pdf', mime_type: 'application/pdf', name: 'a.pdf' },
  ]
  const { body, warnings } = request({ messages: [{ role: 'user', content, created_at: '2026-11-30T10:00:00.000Z' }] })
  assert.deepEqual(warnings, [])
  assert.deepEqual((JSON.parse(body) as Body).input, [
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: 'https://h/a.png', detail: 'auto' },
        { type: 'input_image', image_url: 'data:image/jpeg;base64,QUJD', detail: 'auto' },
        { type: 'input_image', image_url: 'data:image/webp;base64,QUJD', detail: 'auto' },
        { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,QUJD' },
        { type: 'input_file', filename: 'file.pdf', file_data: 'data:application/pdf;base64,QUJD' },
        { type: 'input_file', file_url: 'https://h/a.pdf' },
      ],
    },
  ])
})

test('HI-13: a part that the model does not read is a short text in its place, with a warning', () => {
  const content: UserPart[] = [
    { type: 'text', text: 'see' },
    { type: 'image', data: 'QUJD', mime_type: 'image/tiff' },
    { type: 'image', mime_type: 'image/png' },
  ]
  const { body, warnings } = request({ messages: [{ role: 'user', content, created_at: '2026-11-30T10:00:00.000Z' }] })
  assert.deepEqual(
    (JSON.parse(body) as Body).input[0]?.['content'],
    [
      'see',
      '[image omitted: this model does not read image/tiff]',
      '[image omitted: this model does not read image/png]',
    ].map((words) => ({ type: 'input_text', text: words })),
  )
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [
      ['part_replaced', 'messages[0].content[1]'],
      ['part_replaced', 'messages[0].content[2]'],
    ],
  )
})

test('JS-03: lone surrogates never leave', () => {
  const { body } = request({
    system: '\ud83d',
    messages: [
      user('\ud83d'),
      assistant([text('\ude42'), call('call_a', { a: '\ud83d' })]),
      result('call_a', '\ud83d'),
    ],
  })
  assert.ok(body.isWellFormed() && !/\\ud[89a-f]/.test(body))
})
