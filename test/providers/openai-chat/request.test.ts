/** Requests to chat completions servers, byte for byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { AssistantMessage, StoredMessage } from '../../../src/contract/message.ts'
import { chatRequest } from '../../../src/providers/openai-chat/request.ts'
import type { ChatRules } from '../../../src/providers/profile.ts'
import { dialectCall, tool, user, type CallFacts } from '../dialect-call.ts'
import { cpuMs } from '../../cpu-time.ts'

const FAMILY = 'openai-compatible'

interface Body {
  readonly messages: readonly Record<string, unknown>[]
  readonly [field: string]: unknown
}

function request(facts: CallFacts) {
  return chatRequest(dialectCall(facts))
}

function bodyOf(facts: CallFacts): Body {
  return JSON.parse(request(facts).body) as Body
}

function chat(rules: Partial<ChatRules>): Pick<CallFacts, 'profile'> {
  return { profile: (row) => ({ ...row, chat: { ...row.chat, ...rules } }) }
}

function assistant(content: AssistantMessage['content'], model = 'some-model'): StoredMessage {
  return { role: 'assistant', content, provider: 'openai-compatible', model }
}

function call(call_id: string, args: JsonObject = {}, provider_data?: JsonObject) {
  return {
    type: 'tool_call',
    call_id,
    tool: 'f',
    args,
    ...(provider_data === undefined ? {} : { provider_data: { family: FAMILY, ...provider_data } }),
  } as const
}

function thought(text: string, data: JsonObject) {
  return { type: 'reasoning', text, provider_data: { family: FAMILY, ...data } } as const
}

function result(call_id: string, value: string): StoredMessage {
  return { role: 'tool', call_id, tool: 'f', result: value }
}

const NOTHING = { body: {}, thinks: false }
const text = (words: string) => ({ type: 'text', text: words }) as const
const CALL = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } })
const RESULT = (tool_call_id: string, content: string) => ({ role: 'tool', tool_call_id, content })

test('a whole request: address, headers and every byte of the body', () => {
  const { url, headers, body, warnings } = request({
    system: 'You help.',
    tools: [tool('a'), { ...tool('f'), description: 'Finds orders' }],
    messages: [
      user('Where is 12345?'),
      assistant([text('Let me see.'), call('call_1', { id: '12345' }, { id: 'native_1' })]),
      result('call_1', 'sent'),
    ],
    params: {
      temperature: 0.2,
      top_p: 0.9,
      stop: ['END'],
      seed: 7,
      parallel_tool_calls: false,
      max_output_tokens: 4096,
      extra: { user: 'u' },
    },
    note: 'Answer now.',
  })
  assert.equal(url, 'https://llm.example/v1/chat/completions')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    authorization: 'Bearer sk-test',
  })
  assert.deepEqual(warnings, [])
  assert.equal(
    body,
    '{"model":"some-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"temperature":0.2,"top_p":0.9,' +
      '"stop":["END"],"seed":7,' +
      '"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}},' +
      '{"type":"function","function":{"name":"f","description":"Finds orders","parameters":{"type":"object","properties":{}}}}],' +
      '"parallel_tool_calls":false,' +
      '"messages":[{"role":"system","content":"You help."},{"role":"user","content":"Where is 12345?"},' +
      '{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"native_1","type":"function","function":{"name":"f","arguments":"{\\"id\\":\\"12345\\"}"}}]},' +
      '{"role":"tool","tool_call_id":"native_1","content":"{\\"result\\":\\"sent\\"}"},' +
      '{"role":"user","content":"Answer now."}],"user":"u"}',
  )
})

test('the smallest request says nothing that was not asked for', () => {
  assert.equal(
    request({ messages: [user('hi')], profile: (row) => ({ ...row, chat: { ...row.chat, streamOptions: false } }) })
      .body,
    '{"model":"some-model","stream":true,"messages":[{"role":"user","content":"hi"}]}',
  )
})

test('a key goes as the profile says, or not at all', () => {
  assert.equal(request({ apiKey: null }).headers['authorization'], undefined)
  assert.equal(request({ provider: 'scripted' }).headers['authorization'], undefined)
  const named = request({ profile: (row) => ({ ...row, auth: 'x-api-key' }) }).headers
  assert.deepEqual([named['authorization'], named['x-api-key']], [undefined, 'sk-test'])
})

test('RF-15: the repair leaves stream_options out', () => {
  assert.equal(bodyOf({ repairs: new Set(['no_stream_options']) })['stream_options'], undefined)
  const renamed = bodyOf({ repairs: new Set(['other_max_tokens']), params: { max_output_tokens: 9 } })
  assert.deepEqual([renamed['max_tokens'], renamed['max_completion_tokens']], [undefined, 9])
})

test('the names of fields are those of the row', () => {
  const body = bodyOf({
    ...chat({ maxTokensField: 'max_completion_tokens' }),
    params: { max_output_tokens: 9 },
  })
  assert.deepEqual([body['max_completion_tokens'], body['max_tokens']], [9, undefined])
  const own = bodyOf({
    params: { thinking: 'low' },
    profile: (row) => ({
      ...row,
      extraBody: { reasoning_split: true },
      thinking: {
        off: NOTHING,
        low: { body: { reasoning_effort: 'low' }, thinks: true },
        medium: NOTHING,
        high: NOTHING,
        max: NOTHING,
        unsaid: NOTHING,
      },
    }),
  })
  assert.deepEqual([own['reasoning_split'], own['reasoning_effort']], [true, 'low'])
})

test('thinking is left out with a warning where the row knows no way to say it', () => {
  assert.deepEqual(request({ params: { thinking: 'high' } }).warnings, [
    {
      code: 'param_dropped',
      message: 'thinking is not taken and was left out (model some-model)',
      path: 'llm.params.thinking',
    },
  ])
})

test('HI-14: results stand after their calls, in call order; a user text between them comes after', () => {
  const { messages } = bodyOf({
    messages: [user('x'), assistant([call('a'), call('b')]), result('b', 'B'), user('hurry'), result('a', 'A')],
  })
  assert.deepEqual(messages.slice(1), [
    { role: 'assistant', content: null, tool_calls: [CALL('a'), CALL('b')] },
    RESULT('a', '{"result":"A"}'),
    RESULT('b', '{"result":"B"}'),
    { role: 'user', content: 'hurry' },
  ])
})

test('PS-07, HI-15: what goes back of a call is always a JSON object', () => {
  const broken = { ...call('a'), args_text: '{"a":' } as const
  assert.deepEqual(
    bodyOf({ messages: [user('x'), assistant([broken]), result('a', 'A')] }).messages[1]?.['tool_calls'],
    [CALL('a')],
  )
})

test('JS-05: arguments are written anew from their value, digits and odd keys kept', () => {
  const args = JSON.parse('{"a":1,"a":2,"__proto__":{"x":1}}') as JsonObject
  assert.deepEqual(
    bodyOf({ messages: [user('x'), assistant([call('a', args)]), result('a', 'A')] }).messages[1]?.['tool_calls'],
    [CALL('a', '{"a":2,"__proto__":{"x":1}}')],
  )
})

test('HI-11: of one native id on every turn the first call keeps it; results follow their calls', () => {
  const round = (call_id: string) => [assistant([call(call_id, {}, { id: 'call_0' })]), result(call_id, call_id)]
  const sent = bodyOf({ messages: [user('x'), ...round('call_A'), ...round('call_B')] }).messages
  assert.deepEqual(sent.slice(1), [
    { role: 'assistant', content: null, tool_calls: [CALL('call_0')] },
    RESULT('call_0', '{"result":"call_A"}'),
    { role: 'assistant', content: null, tool_calls: [CALL('call_B')] },
    RESULT('call_B', '{"result":"call_B"}'),
  ])
})

test('content of a message that only calls is null or empty, as the row says', () => {
  const messages = [user('x'), assistant([call('a')]), result('a', 'A')]
  const content = (emptyContent: ChatRules['emptyContent']) =>
    bodyOf({ messages, ...chat({ emptyContent }) }).messages[1]
  assert.deepEqual([content(null)?.['content'], content('')?.['content']], [null, ''])
})

test('HI-09: blank texts and messages without content and calls are left out', () => {
  const messages = [
    user('x'),
    assistant([thought('hm', { field: 'reasoning' })]),
    assistant([text(' ')]),
    user(' '),
    user('y'),
  ]
  assert.deepEqual(bodyOf({ messages }).messages, [
    { role: 'user', content: 'x' },
    { role: 'user', content: 'y' },
  ])
})

test('HI-04: messages of one role in a row are one where the row demands alternation', () => {
  const messages = [
    user('a'),
    user('b'),
    assistant([text('c')]),
    assistant([text('d'), call('x')]),
    result('x', '1'),
    user('e'),
  ]
  const alternating = bodyOf({ messages, note: 'n', ...chat({ alternates: true }) }).messages
  assert.deepEqual(alternating, [
    { role: 'user', content: 'a\n\nb' },
    { role: 'assistant', content: 'c\n\nd', tool_calls: [CALL('x')] },
    RESULT('x', '{"result":"1"}'),
    { role: 'user', content: 'e\n\nn' },
  ])
  assert.equal(bodyOf({ messages, note: 'n' }).messages.length, 7)
})

test('parallel results are never merged, and an image keeps its list when texts are merged', () => {
  const image: StoredMessage = {
    role: 'user',
    created_at: '2026-11-30T10:00:00.000Z',
    content: [{ type: 'image', data: 'iVBO', mime_type: 'image/png' }],
  }
  const messages = [assistant([call('a'), call('b')]), result('a', '1'), result('b', '2'), image]
  const sent = bodyOf({ messages, note: 'n', ...chat({ alternates: true }) }).messages
  assert.deepEqual(sent.slice(1), [
    RESULT('a', '{"result":"1"}'),
    RESULT('b', '{"result":"2"}'),
    { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }, text('n')] },
  ])
})

test('HI-04: of many neighbours texts are one text up to the first image, and 20,000 of them are one in a moment', () => {
  const shown: StoredMessage = {
    role: 'user',
    created_at: '2026-11-30T10:00:00.000Z',
    content: [{ type: 'image', data: 'iVBO', mime_type: 'image/png' }, text('e')],
  }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }
  const mixed = [user('a'), user('b'), shown, user('c'), user('d'), shown]
  assert.deepEqual(bodyOf({ messages: mixed, ...chat({ alternates: true }) }).messages, [
    { role: 'user', content: [text('a\n\nb'), image, text('e'), text('c'), text('d'), image, text('e')] },
  ])
  const words = 'words '.repeat(20)
  const before = cpuMs()
  const many = [...Array.from({ length: 20_000 }, () => user(words)), ...Array.from({ length: 20_000 }, () => shown)]
  const merged = bodyOf({ messages: many, ...chat({ alternates: true }) }).messages
  // Put together anew with each neighbour it would take half a minute.
  assert.ok(cpuMs() - before < 3000)
  assert.deepEqual(
    merged.map(({ content }) => Array.isArray(content) && content.length),
    [1 + 40_000],
  )
})

test('HI-05: own reasoning goes back in the field it came from; foreign reasoning and that of another model does not', () => {
  const answer = (part: AssistantMessage['content'][number], model = 'some-model') =>
    bodyOf({ messages: [user('x'), assistant([part, text('hi')], model), user('y')] }).messages[1]
  for (const field of ['reasoning_content', 'reasoning', 'reasoning_text']) {
    assert.deepEqual(answer(thought('hm', { field })), { role: 'assistant', content: 'hi', [field]: 'hm' })
  }
  const details = [{ type: 'reasoning.text', text: 'hm', signature: 'S' }]
  assert.deepEqual(answer(thought('hm', { field: 'reasoning', details })), {
    role: 'assistant',
    content: 'hi',
    reasoning_details: details,
  })
  assert.deepEqual(answer(thought('hm', { field: 'content' })), {
    role: 'assistant',
    content: [{ type: 'thinking', thinking: [text('hm')] }, text('hi')],
  })
  const none = { role: 'assistant', content: 'hi' }
  assert.deepEqual(answer(thought('hm', { field: 'tags' })), none)
  assert.deepEqual(answer(thought('hm', { field: 'reasoning' }), 'other-model'), none)
  assert.deepEqual(answer(thought('hm', { field: 'reasoning', family: 'anthropic' })), none)
})

test('reasoning goes to every model of a family where the row says so, and to none where the row or a repair does', () => {
  const facts: CallFacts = {
    messages: [user('x'), assistant([thought('hm', { field: 'reasoning' }), text('hi')], 'older'), user('y')],
  }
  const field = (more: CallFacts) => bodyOf({ ...facts, ...more }).messages[1]?.['reasoning']
  assert.equal(field({ profile: (row) => ({ ...row, reasoningGoesTo: 'family' }) }), 'hm')
  assert.equal(field({ model: 'older', profile: (row) => ({ ...row, reasoningGoesTo: 'nobody' }) }), undefined)
  const repaired = request({
    ...facts,
    repairs: new Set(['no_reasoning']),
    profile: (row) => ({ ...row, reasoningGoesTo: 'family' }),
  })
  assert.ok(!repaired.body.includes('hm'))
  assert.deepEqual(
    repaired.warnings.map(({ code }) => code),
    ['reasoning_dropped'],
  )
})

test('a family that demands reasoning gets the words of its row where there is none, empty ones too', () => {
  const messages = [user('x'), assistant([text('hi')]), user('y'), assistant([call('a')]), result('a', '1')]
  const filled = (on: 'calls' | 'all') =>
    bodyOf({ messages, profile: (row) => ({ ...row, reasoningFill: { text: '', on } }) }).messages.map(
      (message) => message['reasoning_content'],
    )
  assert.deepEqual(filled('calls'), [undefined, undefined, undefined, '', undefined])
  assert.deepEqual(filled('all'), [undefined, '', undefined, '', undefined])
})

test('a signature that came with a call goes back on that call', () => {
  const extra_content = { google: { thought_signature: 'AY89' } }
  const messages = [user('x'), assistant([call('a', {}, { id: 'n', extra_content })]), result('a', '1')]
  assert.deepEqual(bodyOf({ messages }).messages[1]?.['tool_calls'], [{ ...CALL('n'), extra_content }])
  const foreign = [user('x'), assistant([call('a', {}, { id: 'n', extra_content, family: 'other' })]), result('a', '1')]
  assert.deepEqual(bodyOf({ messages: foreign }).messages[1]?.['tool_calls'], [CALL('a')])
})

test('HI-13: parts that a model cannot take become a short text, with a warning', () => {
  const message: StoredMessage = {
    role: 'user',
    created_at: '2026-11-30T10:00:00.000Z',
    content: [
      text('look'),
      { type: 'image', url: 'https://h/a.png', mime_type: 'image/png' },
      { type: 'file', data: 'JVBE', mime_type: 'application/pdf', name: 'a.pdf' },
    ],
  }
  const blind = request({ messages: [message], profile: (row) => ({ ...row, reads: [] }) })
  assert.deepEqual((JSON.parse(blind.body) as Body).messages, [
    {
      role: 'user',
      content: 'look\n[image omitted: this model reads text only]\n[file omitted: this model reads text only]',
    },
  ])
  assert.deepEqual(
    blind.warnings.map(({ code, path }) => [code, path]),
    [
      ['part_replaced', 'messages[0].content[1]'],
      ['part_replaced', 'messages[0].content[2]'],
    ],
  )
  const seeing = bodyOf({ messages: [message], profile: (row) => ({ ...row, reads: ['image/*', 'application/pdf'] }) })
  assert.deepEqual(seeing.messages[0]?.['content'], [
    text('look'),
    { type: 'image_url', image_url: { url: 'https://h/a.png' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
  ])
})

test('a step without tools keeps them in the request, or leaves them out where the row says so', () => {
  const facts: CallFacts = { tools: [tool('t')], toolChoice: 'none' }
  assert.deepEqual([bodyOf(facts)['tool_choice'], (bodyOf(facts)['tools'] as []).length], ['none', 1])
  const omitted = bodyOf({ ...facts, profile: (row) => ({ ...row, toolChoiceNone: 'omit_tools' }) })
  assert.deepEqual([omitted['tools'], omitted['tool_choice']], [undefined, undefined])
  const none = bodyOf({ toolChoice: 'none', params: { parallel_tool_calls: true } })
  assert.deepEqual([none['tools'], none['tool_choice'], none['parallel_tool_calls']], [undefined, undefined, undefined])
})

test('JS-03: lone halves of pairs leave as U+FFFD, wherever they stand', () => {
  const { body } = request({
    system: 's\ud83d',
    messages: [user('u\udc00'), assistant([call('a', { k: '\ud800' })]), result('a', 'r\ud83d')],
    params: { extra: { x: '\ud83d' } },
  })
  assert.ok(body.isWellFormed() && !/\\ud[89a-f]/.test(body))
  assert.equal(body.split('ufffd').length - 1, 5)
})
