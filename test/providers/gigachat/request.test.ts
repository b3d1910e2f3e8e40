/** The request to GigaChat's v1 API, byte for byte where bytes are promised. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { AssistantMessage, AssistantPart, StoredMessage, ToolMessage } from '../../../src/contract/message.ts'
import { gigachatRequest } from '../../../src/providers/gigachat/request.ts'
import { tool, user, type CallFacts } from '../dialect-call.ts'
import { bodyOf, gigachatCall, messagesOf } from './gigachat-call.ts'
import { cpuMs } from '../../cpu-time.ts'

const orders = {
  ...tool('find_order', { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }),
  description: 'Find one order',
}

function asks(tool: string, args: AssistantPart, more: Partial<AssistantMessage> = {}): AssistantMessage {
  return { role: 'assistant', content: [args], ...more, provider: tool }
}

function called(call_id: string, tool: string, args: object): AssistantPart {
  return { type: 'tool_call', call_id, tool, args: args as never }
}

function result(call_id: string, tool: string, result: unknown): ToolMessage {
  return { role: 'tool', call_id, tool, result: result as never }
}

const state = { family: 'gigachat', functions_state_id: '0199e210-2f13-744c-8fe5-c9a19fe27db7' }

test('a whole request, literally', () => {
  const { body, headers, url, warnings } = gigachatRequest(
    gigachatCall({
      system: 'You help with orders.',
      tools: [orders],
      cacheKey: 'session-hash',
      messages: [
        user('Where is order 77?'),
        asks('gigachat', called('call_1', 'find_order', { id: '77' }), { provider_data: state }),
        result('call_1', 'find_order', { status: 'shipped' }),
      ],
    }),
  )
  assert.equal(url, 'https://api.giga.chat/v1/chat/completions')
  assert.deepEqual(headers, {
    'content-type': 'application/json',
    accept: 'text/event-stream',
    'user-agent': 'theloop',
    'x-session-id': 'session-hash',
  })
  assert.equal(
    body,
    '{"model":"GigaChat-2-Max","stream":true,' +
      '"functions":[{"name":"find_order","description":"Find one order","parameters":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}}],' +
      '"function_call":"auto","messages":[' +
      '{"role":"system","content":"You help with orders."},' +
      '{"role":"user","content":"Where is order 77?"},' +
      '{"role":"assistant","content":"","function_call":{"name":"find_order","arguments":{"id":"77"}},"functions_state_id":"0199e210-2f13-744c-8fe5-c9a19fe27db7"},' +
      '{"role":"function","content":"{\\"result\\":{\\"status\\":\\"shipped\\"}}","name":"find_order"}]}',
  )
  assert.deepEqual(warnings, [])
})

test('without tools nothing is said of functions, and without a session the run is the session', () => {
  const { body, headers } = gigachatRequest(gigachatCall())
  assert.equal(body, '{"model":"GigaChat-2-Max","stream":true,"messages":[{"role":"user","content":"hello"}]}')
  assert.equal(headers['x-session-id'], 'run_01J00000000000000000000000')
})

test('the authorization key stands nowhere in the request', () => {
  const call = gigachatCall({ apiKey: 'SECRET-KEY' })
  assert.ok(!JSON.stringify(gigachatRequest(call)).includes('SECRET-KEY'))
})

test('a base URL may end in /v1, name the old address or be the host alone', () => {
  const urls = ['https://gigachat.devices.sberbank.ru/api/v1', 'https://h.example', 'https://h.example/v1'].map(
    (baseUrl) => gigachatRequest(gigachatCall({ baseUrl })).url,
  )
  assert.deepEqual(urls, [
    'https://gigachat.devices.sberbank.ru/api/v1/chat/completions',
    'https://h.example/v1/chat/completions',
    'https://h.example/v1/chat/completions',
  ])
})

test('a step without tools keeps the functions and chooses none of them', () => {
  const auto = bodyOf({ tools: [orders] })
  const none = bodyOf({ tools: [orders], toolChoice: 'none' })
  assert.deepEqual(none['functions'], auto['functions'])
  assert.equal(auto['function_call'], 'auto')
  assert.equal(none['function_call'], 'none')
})

test('names and schemas go as the API takes them, in tools, calls and results alike', () => {
  const facts: CallFacts = {
    tools: [tool('web_search', { anyOf: [{ properties: { q: { type: ['string', 'null'] } } }] })],
    messages: [
      user('q'),
      { role: 'assistant', content: [called('c', 'web_search', { q: 'x' })] },
      result('c', 'web_search', []),
    ],
  }
  assert.deepEqual(bodyOf(facts)['functions'], [
    { name: 'fn_web_search', parameters: { type: 'object', properties: { q: { type: 'string' } } } },
  ])
  assert.deepEqual(messagesOf(facts), [
    { role: 'user', content: 'q' },
    { role: 'assistant', content: '', function_call: { name: 'fn_web_search', arguments: { q: 'x' } } },
    { role: 'function', name: 'fn_web_search', content: '{"result":[]}' },
  ])
})

test('HI-14: calls that stood side by side become pairs, in the order of the calls', () => {
  const messages: StoredMessage[] = [
    user('go'),
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'foreign', provider_data: { family: 'anthropic', signature: 's' } },
        { type: 'text', text: 'Looking.' },
        called('a', 'f', { n: 1 }),
        called('b', 'g', {}),
      ],
      provider_data: { family: 'openai', functions_state_id: 'foreign' },
    },
    result('b', 'g', null),
    user('hurry'),
    { role: 'tool', call_id: 'a', tool: 'f', is_error: true, error: 'no such thing' },
  ]
  assert.deepEqual(messagesOf({ messages }), [
    { role: 'user', content: 'go' },
    { role: 'assistant', content: 'Looking.', function_call: { name: 'f', arguments: { n: 1 } } },
    { role: 'function', name: 'f', content: '{"error":"no such thing"}' },
    { role: 'assistant', content: '', function_call: { name: 'g', arguments: {} } },
    { role: 'function', name: 'g', content: '{"result":null}' },
    { role: 'user', content: 'hurry' },
  ])
})

test('HI-04: neighbours of one role are one message, and nothing of them is lost', () => {
  const messages: StoredMessage[] = [
    user('a'),
    user('b'),
    { role: 'assistant', content: [{ type: 'reasoning', text: 'hm' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'One moment.' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'Now.' }, called('c', 'f', {})], provider_data: state },
    result('c', 'f', 1),
    user(' '),
    { role: 'assistant', content: [{ type: 'text', text: ' ' }, called('d', 'f', {})] },
    result('d', 'f', ''),
  ]
  assert.deepEqual(messagesOf({ messages, note: 'be brief', system: ' ' }), [
    { role: 'user', content: 'a\n\nb' },
    {
      role: 'assistant',
      content: 'One moment.\n\nNow.',
      function_call: { name: 'f', arguments: {} },
      functions_state_id: state.functions_state_id,
    },
    { role: 'function', name: 'f', content: '{"result":1}' },
    { role: 'assistant', content: '', function_call: { name: 'f', arguments: {} } },
    { role: 'function', name: 'f', content: '{"result":""}' },
    { role: 'user', content: 'be brief' },
  ])
})

test('the state id of a text answer goes back too; a foreign one and a repaired request have none', () => {
  const said = (provider_data: object): StoredMessage => ({
    role: 'assistant',
    content: [{ type: 'text', text: 'drawn' }],
    provider_data: provider_data as never,
  })
  const messages = [user('a'), said(state), user('b'), said({ ...state, family: 'kimi' }), user('c')]
  const ids = (facts: CallFacts) =>
    (messagesOf({ messages, ...facts }) as { functions_state_id?: string }[]).map((one) => one.functions_state_id)
  assert.deepEqual(ids({}), [undefined, state.functions_state_id, undefined, undefined, undefined])
  assert.deepEqual(ids({ repairs: new Set(['no_state_id'] as const) }), Array(5).fill(undefined))
})

test('HI-13: images and files are stand-ins, with a warning each', () => {
  const call = gigachatCall({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', url: 'https://i.example/x.png', mime_type: 'image/png' },
          { type: 'file', data: 'AA==', mime_type: 'application/pdf', name: 'a.pdf' },
        ],
        created_at: '2026-11-30T10:00:00.000Z',
      },
    ],
  })
  const { body, warnings } = gigachatRequest(call)
  assert.deepEqual(JSON.parse(body).messages, [
    {
      role: 'user',
      content: 'See\n[image omitted: this model reads text only]\n[file omitted: this model reads text only]',
    },
  ])
  assert.deepEqual(
    warnings.map(({ code, path }) => [code, path]),
    [
      ['part_replaced', 'messages[0].content[1]'],
      ['part_replaced', 'messages[0].content[2]'],
    ],
  )
})

test('params go as the API takes them, and each change is told', () => {
  const call = gigachatCall({
    params: {
      temperature: 0,
      top_p: 0.5,
      max_output_tokens: 512,
      thinking: 'max',
      parallel_tool_calls: true,
      stop: ['x'],
      seed: 1,
      extra: { profanity_check: false, update_interval: 0.1 },
    },
  })
  const { body, warnings } = gigachatRequest(call)
  assert.equal(
    body,
    '{"model":"GigaChat-2-Max","stream":true,"max_tokens":512,"reasoning_effort":"high","temperature":0.001,"top_p":0.5,' +
      '"messages":[{"role":"user","content":"hello"}],"profanity_check":false,"update_interval":0.1}',
  )
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['llm.params.temperature', 'llm.params.stop', 'llm.params.seed', 'llm.params.parallel_tool_calls'],
  )
  assert.equal(bodyOf({ params: { thinking: 'off' } })['reasoning_effort'], undefined)
  assert.equal(bodyOf({ params: { thinking: 'low' } })['reasoning_effort'], 'low')
})

test('arguments keep their digits, and lone surrogates are mended in what travels as text', () => {
  const args = { n: (JSON as unknown as { rawJSON(text: string): never }).rawJSON('12345678901234567890') }
  const { body } = gigachatRequest(
    gigachatCall({
      messages: [user('a\ud83d'), { role: 'assistant', content: [called('c', 'f', args)] }, result('c', 'f', '\udc00')],
    }),
  )
  assert.ok(body.includes('"arguments":{"n":12345678901234567890}'))
  assert.ok(body.includes('a\\ufffd') && body.includes('{\\"result\\":\\"\\\\ufffd\\"}'))
  assert.ok(!body.includes('\\ud83d') && !body.includes('\\udc00'))
})

// ------------------------------------------------------------------------------------------ what holds of every request

const words = fc.constantFrom('', ' ', 'a', 'б🙂')
interface Step {
  readonly said: string
  readonly own: boolean
  readonly tools: readonly string[]
  readonly reversed: boolean
  readonly meanwhile: string | null
  readonly next: string
}
const step: fc.Arbitrary<Step> = fc.record({
  said: words,
  own: fc.boolean(),
  tools: fc.array(fc.constantFrom('f', 'web_search', 'odd name!', '1'), { maxLength: 3 }),
  reversed: fc.boolean(),
  meanwhile: fc.option(words),
  next: fc.constantFrom('next', 'ещё'),
})

function stepMessages({ said, own, tools, reversed, meanwhile, next }: Step, number: number): StoredMessage[] {
  const calls = tools.map((name, at) => called(`call_${number}_${at}`, name, { said }))
  const results = tools.map((name, at) => result(`call_${number}_${at}`, name, said))
  return [
    {
      role: 'assistant',
      content: [{ type: 'text', text: said }, ...calls],
      provider_data: { ...state, family: own ? 'gigachat' : 'glm' },
    },
    ...(meanwhile === null || tools.length === 0 ? [] : [user(meanwhile)]),
    ...(reversed ? results.toReversed() : results),
    // An answer that said nothing leaves two messages of the user, which no real conversation goes on from.
    ...(tools.length > 0 && said === '' ? [] : [user(next)]),
  ]
}

function conversation(steps: readonly Step[]): StoredMessage[] {
  return [user('begin'), ...steps.flatMap(stepMessages)]
}

interface Sent {
  readonly role: string
  readonly content: unknown
  readonly name?: string
  readonly function_call?: { readonly name: string; readonly arguments: unknown }
}

test('every conversation becomes a request that the API takes', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 6 }), fc.option(fc.constant('note')), (steps, note) => {
      const sent = messagesOf({ messages: conversation(steps), system: 's', note }) as Sent[]
      assert.equal(sent[0]?.role, 'system')
      for (const [at, { role, content, name, function_call: called }] of sent.entries()) {
        assert.equal(typeof content, 'string')
        assert.ok(role === 'function' || role !== sent[at + 1]?.role, 'two neighbours of one role')
        assert.equal(role === 'function', sent[at - 1]?.function_call !== undefined, 'a call without its result')
        if (role === 'function') {
          assert.equal(name, sent[at - 1]?.function_call?.name)
          assert.equal(typeof JSON.parse(String(content)), 'object')
        } else assert.ok(called !== undefined || String(content).trim() !== '', 'an empty message')
        if (called !== undefined) assert.match(called.name, /^[a-zA-Z][a-zA-Z0-9_-]*$/)
      }
      assert.ok(['user', 'function'].includes(sent.at(-1)?.role ?? ''))
    }),
  )
})

test('HI-04: a longer conversation begins with the bytes of the shorter one', () => {
  const spoken = step.filter(({ said, tools }) => said.trim() !== '' || tools.length > 0)
  fc.assert(
    fc.property(fc.array(spoken, { minLength: 1, maxLength: 6 }), (steps) => {
      const of = (some: readonly Step[]) =>
        gigachatRequest(gigachatCall({ messages: conversation(some), system: 's', tools: [orders] })).body.slice(0, -2)
      const [shorter, longer] = [of(steps.slice(0, -1)), of(steps)]
      assert.ok(longer.startsWith(shorter), `${shorter}\n${longer}`)
    }),
  )
})

test('a hundred thousand neighbours are merged in no time that hurts', () => {
  const messages = Array.from({ length: 100_000 }, () => user('x'.repeat(100)))
  const began = cpuMs()
  const [only] = messagesOf({ messages }) as Sent[]
  assert.equal(String(only?.content).length, 100_000 * 102 - 2)
  assert.ok(cpuMs() - began < 5_000)
})

test('the same call gives the same bytes', () => {
  const facts: CallFacts = { tools: [orders], messages: conversation([]), note: 'n', params: { temperature: 0.1 } }
  assert.deepEqual(gigachatRequest(gigachatCall(facts)), gigachatRequest(gigachatCall(facts)))
})
