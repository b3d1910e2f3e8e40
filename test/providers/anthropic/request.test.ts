/** Requests to the Messages API, byte for byte. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AssistantMessage, StoredMessage } from '../../../src/contract/message.ts'
import type { JsonObject } from '../../../src/contract/json.ts'
import { anthropicRequest } from '../../../src/providers/anthropic/request.ts'
import { dialectCall, tool, user, type CallFacts } from '../dialect-call.ts'

const OPUS = 'claude-opus-4-8'
const CACHED = { cache_control: { type: 'ephemeral' } }

interface Body {
  readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[]
  readonly [field: string]: unknown
}

function request(facts: CallFacts) {
  return anthropicRequest(dialectCall({ provider: 'anthropic', model: OPUS, ...facts }))
}

function bodyOf(facts: CallFacts): Body {
  return JSON.parse(request(facts).body) as Body
}

/** Content of the messages without cache marks. */
function talk(facts: CallFacts): unknown[] {
  const unmarked = (key: string, value: unknown) => (key === 'cache_control' ? undefined : value)
  const { messages } = JSON.parse(request(facts).body, unmarked) as Body
  return messages.map(({ role, content }) => [role, ...content])
}

function assistant(content: AssistantMessage['content'], model = OPUS): StoredMessage {
  return { role: 'assistant', content, provider: 'anthropic', model }
}

function call(call_id: string, args: JsonObject = {}, id?: string) {
  const provider_data = id === undefined ? {} : { provider_data: { family: 'anthropic', id } }
  return { type: 'tool_call', call_id, tool: 'getOrders', args, ...provider_data } as const
}

function thinking(text: string, signature: string, family = 'anthropic') {
  return { type: 'reasoning', text, provider_data: { family, type: 'thinking', signature } } as const
}

function result(call_id: string, value: unknown): StoredMessage {
  return { role: 'tool', call_id, tool: 'getOrders', result: value as string }
}

const text = (text: string) => ({ type: 'text', text }) as const
const TEXT = (words: string) => ({ type: 'text', text: words })
const RESULT = (tool_use_id: string, content: string) => ({ type: 'tool_result', tool_use_id, content })

test('a whole request: address, headers and every byte of the body', () => {
  const { url, headers, body, warnings } = request({
    system: 'You help.',
    tools: [tool('a'), { ...tool('getOrders'), description: 'Finds orders' }],
    messages: [
      user('Where is 12345?'),
      assistant([text('Let me see.'), call('call_1', { id: '12345' }, 'toolu_01')]),
      result('call_1', { state: 'sent' }),
    ],
    params: {
      thinking: 'high',
      stop: ['END'],
      parallel_tool_calls: false,
      max_output_tokens: 4096,
      extra: { metadata: { user_id: 'u' } },
    },
    note: 'Answer now.',
  })
  assert.equal(url, 'https://api.anthropic.com/v1/messages')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'anthropic-version': '2023-06-01',
    'x-api-key': 'sk-test',
  })
  assert.deepEqual(warnings, [])
  assert.equal(
    body,
    '{"model":"claude-opus-4-8","max_tokens":4096,"stream":true,' +
      '"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},"stop_sequences":["END"],' +
      '"system":[{"type":"text","text":"You help.","cache_control":{"type":"ephemeral"}}],' +
      '"tools":[{"name":"a","input_schema":{"type":"object","properties":{}}},' +
      '{"name":"getOrders","description":"Finds orders","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}],' +
      '"tool_choice":{"type":"auto","disable_parallel_tool_use":true},' +
      '"messages":[{"role":"user","content":[{"type":"text","text":"Where is 12345?","cache_control":{"type":"ephemeral"}}]},' +
      '{"role":"assistant","content":[{"type":"text","text":"Let me see."},{"type":"tool_use","id":"toolu_01","name":"getOrders","input":{"id":"12345"}}]},' +
      '{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","content":"{\\"result\\":{\\"state\\":\\"sent\\"}}","cache_control":{"type":"ephemeral"}},' +
      '{"type":"text","text":"Answer now."}]}],"metadata":{"user_id":"u"}}',
  )
})

test('RF-16: the request goes to the base URL it was given', () => {
  assert.equal(request({ baseUrl: 'https://gateway.example/coding' }).url, 'https://gateway.example/coding/v1/messages')
})

test('a key goes as the profile says, or not at all', () => {
  const bearer = request({ profile: (row) => ({ ...row, auth: 'bearer' }) }).headers
  assert.deepEqual([bearer['authorization'], bearer['x-api-key']], ['Bearer sk-test', undefined])
  assert.equal(request({ apiKey: null }).headers['x-api-key'], undefined)
})

test('HI-18: a model that binds its thinking gets the opt-in and its beta header on every request', () => {
  const { headers, body } = request({ model: 'claude-opus-5-5' })
  assert.equal(headers['anthropic-beta'], 'thinking-binding-controls-2026-08-01')
  assert.deepEqual((JSON.parse(body) as Body)['thinking'], {
    type: 'adaptive',
    display: 'summarized',
    block_binding: { prefix_mismatch_behavior: 'drop_block' },
  })
})

test('HI-18: the repair leaves all thinking out, tells so, and changes nothing else', () => {
  const messages = [user('a'), assistant([thinking('hm', 'SIG'), call('call_1', {}, 'toolu_1')]), result('call_1', 1)]
  const repaired = request({ messages, repairs: new Set(['no_reasoning']) })
  assert.ok(request({ messages }).body.includes('SIG'))
  assert.ok(!repaired.body.includes('SIG') && repaired.body.includes('toolu_1'))
  assert.deepEqual(
    repaired.warnings.map(({ code }) => code),
    ['reasoning_dropped'],
  )
  assert.deepEqual(request({ repairs: new Set(['no_reasoning']) }).warnings, [])
})

test('HI-03: parallel results go in one message, in call order, before the text of the user', () => {
  const messages = [user('x'), assistant([call('a'), call('b')]), result('b', 'B'), result('a', 'A'), user('and?')]
  assert.deepEqual(talk({ messages }), [
    ['user', TEXT('x')],
    [
      'assistant',
      { type: 'tool_use', id: 'a', name: 'getOrders', input: {} },
      { type: 'tool_use', id: 'b', name: 'getOrders', input: {} },
    ],
    ['user', RESULT('a', '{"result":"A"}'), RESULT('b', '{"result":"B"}'), TEXT('and?')],
  ])
})

test('HI-04: messages of one role in a row are one message', () => {
  const messages = [
    user('a'),
    user('b'),
    assistant([thinking('only', 'S')]),
    assistant([text('c')]),
    assistant([text('d'), call('x')]),
    result('x', 1),
  ]
  assert.deepEqual(talk({ messages }), [
    ['user', TEXT('a'), TEXT('b')],
    ['assistant', TEXT('c'), TEXT('d'), { type: 'tool_use', id: 'x', name: 'getOrders', input: {} }],
    ['user', RESULT('x', '{"result":1}')],
  ])
})

test('HI-05: foreign thinking, and that of another model, is left out; text and calls stay', () => {
  const answer = (model: string, family: string) =>
    talk({ messages: [user('x'), assistant([thinking('hm', 'S', family), text('hi')], model), user('y')] })[1]
  assert.deepEqual(answer(OPUS, 'anthropic'), [
    'assistant',
    { type: 'thinking', thinking: 'hm', signature: 'S' },
    TEXT('hi'),
  ])
  assert.deepEqual(answer('claude-opus-5', 'anthropic'), ['assistant', TEXT('hi')])
  assert.deepEqual(answer(OPUS, 'glm'), ['assistant', TEXT('hi')])
})

test('HI-06: own blocks go back in their order and byte for byte, also those without any text', () => {
  const redacted = {
    type: 'reasoning',
    text: '',
    provider_data: { family: 'anthropic', type: 'redacted_thinking', data: 'EmwK+/=' },
  } as const
  const content = [
    thinking('', 'sig\u00e9=='),
    redacted,
    call('1', {}, 'toolu_1'),
    thinking(' b\n', 'S2'),
    call('2', {}, 'toolu_2'),
  ]
  assert.deepEqual(talk({ messages: [user('x'), assistant(content), result('1', 1), result('2', 2)] })[1], [
    'assistant',
    { type: 'thinking', thinking: '', signature: 'sig\u00e9==' },
    { type: 'redacted_thinking', data: 'EmwK+/=' },
    { type: 'tool_use', id: 'toolu_1', name: 'getOrders', input: {} },
    { type: 'thinking', thinking: ' b\n', signature: 'S2' },
    { type: 'tool_use', id: 'toolu_2', name: 'getOrders', input: {} },
  ])
})

test('thinking without a signature, and thinking at the end of a message, is left out', () => {
  const messages = [user('x'), assistant([thinking('a', ''), text('hi'), thinking('b', 'S')]), user('y')]
  assert.deepEqual(talk({ messages })[1], ['assistant', TEXT('hi')])
  const lenient = talk({
    messages,
    profile: (row) => ({ ...row, anthropic: { ...row.anthropic, emptySignature: true } }),
  })
  assert.deepEqual(lenient[1], ['assistant', { type: 'thinking', thinking: 'a', signature: '' }, TEXT('hi')])
})

test('a family that demands thinking on every call gets the words of its row where there is none', () => {
  const facts: CallFacts = {
    messages: [user('x'), assistant([text('hi')]), user('y'), assistant([call('a')]), result('a', 1)],
    profile: (row) => ({ ...row, reasoningFill: { text: '[none]', on: 'calls' } }),
  }
  const said = talk(facts) as [string, ...{ type: string }[]][]
  assert.deepEqual(said[1], ['assistant', TEXT('hi')])
  assert.deepEqual(said[3]?.[1], { type: 'thinking', thinking: '[none]', signature: '' })
})

test('HI-09: blank text blocks are left out, and the cache mark stands on a real block', () => {
  const messages = [user('x'), assistant([text(''), call('a'), text(' \n')]), result('a', ''), user('  ')]
  const { messages: sent } = bodyOf({ messages })
  assert.deepEqual(sent.slice(1), [
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'getOrders', input: {} }] },
    { role: 'user', content: [{ ...RESULT('a', '{"result":""}'), ...CACHED }] },
  ])
})

test('an error result says so to the model and to the API', () => {
  const messages: StoredMessage[] = [
    user('x'),
    assistant([call('a')]),
    { role: 'tool', call_id: 'a', tool: 'getOrders', is_error: true, error: 'no' },
  ]
  assert.deepEqual(talk({ messages })[2], ['user', { ...RESULT('a', '{"error":"no"}'), is_error: true }])
})

test('a conversation that the assistant opened begins with a user message all the same', () => {
  assert.deepEqual(talk({ messages: [assistant([text('Hello!')]), user('hi')] }), [
    ['user', TEXT('[start of the conversation]')],
    ['assistant', TEXT('Hello!')],
    ['user', TEXT('hi')],
  ])
})

test('PS-35: a paused answer goes on from the words of a user, who stands last in every request', () => {
  const messages = [user('x'), assistant([text('Searching…')])]
  assert.deepEqual(talk({ messages }).at(-1), ['user', TEXT('Please continue.')])
  assert.deepEqual(talk({ messages, note: 'n' }).at(-1), ['user', TEXT('n')])
})

test('the note is the last block of the last user message, and the cached prefix ends before it', () => {
  const { messages } = bodyOf({ messages: [user('x')], note: 'now' })
  assert.deepEqual(messages, [{ role: 'user', content: [{ ...TEXT('x'), ...CACHED }, TEXT('now')] }])
})

test('at most four cache marks: tools, system, the end of the history and the end of the request before', () => {
  const rounds = ['a', 'b', 'c'].flatMap((id) => [assistant([call(id)]), result(id, 1)])
  const { body } = request({ system: 's', tools: [tool('t')], messages: [user('x'), ...rounds] })
  assert.equal(body.split('"cache_control"').length - 1, 4)
  const marked = (JSON.parse(body) as Body).messages.map(({ content }) =>
    content.some((block) => 'cache_control' in block),
  )
  assert.deepEqual(marked, [false, false, false, false, true, false, true])
})

test('a step without tools keeps them in the request, or leaves them out where the row says so', () => {
  const facts: CallFacts = { tools: [tool('t')], toolChoice: 'none', params: { parallel_tool_calls: false } }
  const kept = bodyOf(facts)
  assert.deepEqual([(kept['tools'] as []).length, kept['tool_choice']], [1, { type: 'none' }])
  const omitted = bodyOf({ ...facts, profile: (row) => ({ ...row, toolChoiceNone: 'omit_tools' }) })
  assert.deepEqual([omitted['tools'], omitted['tool_choice']], [undefined, undefined])
  const none = bodyOf({ toolChoice: 'none' })
  assert.deepEqual([none['tools'], none['tool_choice']], [undefined, undefined])
})

test('images and files go in the form of the API; what it cannot read becomes a short text with a warning', () => {
  const { body, warnings } = request({
    messages: [
      {
        role: 'user',
        created_at: '2026-11-30T10:00:00.000Z',
        content: [
          { type: 'image', data: 'iVBO', mime_type: 'image/png' },
          { type: 'image', url: 'https://h/a.webp', mime_type: 'image/webp' },
          { type: 'file', data: 'JVBE', mime_type: 'application/pdf', name: 'a.pdf' },
          { type: 'file', url: 'https://h/a.pdf', mime_type: 'application/pdf' },
          { type: 'file', data: Buffer.from('a;b\nä').toString('base64'), mime_type: 'text/csv', name: 'a.csv' },
          { type: 'file', data: 'UEsD', mime_type: 'application/zip', name: 'a.zip' },
          { type: 'image', data: 'PHN2', mime_type: 'image/svg+xml' },
        ],
      },
    ],
  })
  assert.deepEqual((JSON.parse(body) as Body).messages[0]?.content, [
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
    { type: 'image', source: { type: 'url', url: 'https://h/a.webp' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.pdf' },
    { type: 'document', source: { type: 'url', url: 'https://h/a.pdf' } },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a;b\nä' }, title: 'a.csv' },
    TEXT('[file omitted: this model does not read application/zip]'),
    { ...TEXT('[image omitted: this model does not read image/svg+xml]'), ...CACHED },
  ])
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [
      ['part_replaced', 'messages[0].content[5]'],
      ['part_replaced', 'messages[0].content[6]'],
    ],
  )
})

test('digits, keys of prototypes and odd texts of stored calls go as they are, lone halves as U+FFFD', () => {
  const args = JSON.parse('{"__proto__":{"x":1},"t":"\\ud83d"}') as JsonObject
  const { body } = request({ messages: [user('x'), assistant([call('a', args)]), result('a', 'é')] })
  assert.ok(body.includes('"input":{"__proto__":{"x":1},"t":"\\ufffd"}'), body)
})

test('a thinking budget leaves room for the answer, or is left out with a warning', () => {
  const facts = (max_output_tokens: number): CallFacts => ({
    model: 'claude-opus-4-5',
    params: { thinking: 'max', max_output_tokens },
  })
  assert.deepEqual(bodyOf(facts(64_000))['thinking'], { type: 'enabled', budget_tokens: 31_000 })
  assert.deepEqual(bodyOf(facts(8_192))['thinking'], { type: 'enabled', budget_tokens: 7_168 })
  const small = request(facts(2_000))
  assert.equal((JSON.parse(small.body) as Body)['thinking'], undefined)
  assert.match(small.warnings[0]?.message ?? '', /thinking needs a max_output_tokens of at least 2048/)
})

test('a thinking budget does not begin inside a tool loop of another model', () => {
  const facts = (model: string): CallFacts => ({
    model: 'claude-opus-4-5',
    params: { thinking: 'low' },
    messages: [user('x'), assistant([thinking('hm', 'S'), call('a')], model), result('a', 1)],
  })
  assert.notEqual(bodyOf(facts('claude-opus-4-5'))['thinking'], undefined)
  const foreign = request(facts('claude-sonnet-4-5'))
  assert.equal((JSON.parse(foreign.body) as Body)['thinking'], undefined)
  assert.match(foreign.warnings[0]?.message ?? '', /thinking cannot begin inside a tool loop/)
})

test('the own fields of a caller lie over the body', () => {
  const body = bodyOf({ params: { extra: { max_tokens: 7, top_k: 5, script: [] } } })
  assert.deepEqual([body['max_tokens'], body['top_k'], body['script']], [7, 5, undefined])
})
