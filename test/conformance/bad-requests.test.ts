/**
 * SPEC §2.3, §3, §4.4, failures ID-03: malformed requests, each answered 400 with exactly the paths of its faults, before
 * anybody is asked anything. A case is a set of edits to one request that is right; the paths are those of the edits, unless
 * the case says otherwise.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { exactNumber, type Json, type JsonObject } from '../../src/contract/json.ts'
import { AT, errorOf, runBody, user } from './engine-client.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine()

const KEY = 'one-key-for-all-of-them'
/** Nobody listens there, and nobody is ever asked. */
const NOWHERE = 'http://127.0.0.1:1'

function goodBody(): JsonObject {
  return runBody({
    idempotency_key: KEY,
    origin_request_id: 'msg_1',
    history_revision: 1,
    llm: {
      provider: 'openai-compatible',
      model: 'm',
      api_key: 'sk-SECRET',
      base_url: `${NOWHERE}/v1`,
      profile: null,
      params: { temperature: 1, stop: ['END'], extra: {} },
      pricing: { currency: 'USD', input: 1, output: 2 },
      fallbacks: [{ provider: 'scripted', model: 'x', params: { extra: { script: [[{ text: 'Hi.' }]] } } }],
    },
    system: '',
    messages: [
      user('One?'),
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look.' },
          { type: 'tool_call', call_id: 'c1', tool: 'getOrders', args: {} },
        ],
      },
      { role: 'tool', call_id: 'c1', tool: 'getOrders', result: 1 },
      user('Two?'),
    ],
    tools: [
      { name: 'getOrders', input_schema: { type: 'object' }, url: `${NOWHERE}/a`, headers: { 'X-Shop': '1' } },
      { name: 'createReturn', url: `${NOWHERE}/b`, effect: 'write' },
    ],
    output: { schema: null, blocks: {} },
    limits: { max_steps: 3 },
    stream: { tool_names: false },
    callback: { url: `${NOWHERE}/c`, headers: { 'X-Shop': '1' } },
    meta: { session_id: 's', timezone: 'Europe/London' },
    wait: false,
  })
}

const ABSENT = Symbol('absent')
type Edits = Readonly<Record<string, Json | typeof ABSENT>>
type Case = readonly [what: string, edits: Edits, paths?: readonly string[]]

/** Sets what stands at a path such as `messages[0].content`. The empty path is the whole body. */
function edited(edits: Edits, from: JsonObject = goodBody()): Json {
  let body: Json = from
  for (const [path, value] of Object.entries(edits)) {
    const keys = path.split(/[.[\]]+/).filter((key) => key !== '')
    const last = keys.pop()
    if (last === undefined) {
      body = value as Json
      continue
    }
    let place = body as Record<string, Json>
    for (const key of keys) place = place[key] as Record<string, Json>
    if (value === ABSENT) delete place[last]
    else place[last] = value
  }
  return body
}

const long = (length: number) => 'x'.repeat(length)
const message = (parts: JsonObject): JsonObject => ({ ...user('Two?'), ...parts })
const content = (...parts: Json[]): JsonObject => message({ content: parts })
const image = (parts: JsonObject): JsonObject => content({ type: 'image', mime_type: 'image/png', ...parts })
const schema = (parts: JsonObject): JsonObject => ({ type: 'object', ...parts })
const deep = (levels: number): JsonObject => (levels === 0 ? {} : { items: deep(levels - 1) })
const call = (id: string): JsonObject => ({ type: 'tool_call', call_id: id, tool: 'getOrders', args: {} })
const says = (...parts: Json[]): JsonObject => ({ role: 'assistant', content: parts })
const answers = (id: string): JsonObject => ({ role: 'tool', call_id: id, tool: 'getOrders', result: 1 })

const cases: readonly Case[] = [
  ['the body is a list', { '': [] }],
  ['the body is a text', { '': 'run' }],
  ['the body is a number', { '': 7 }],
  ['the body is null', { '': null }],
  ['the body is empty', { '': {} }, ['contract_version', 'idempotency_key', 'llm', 'messages']],
  ['a field that does not exist', { temperature: 1 }],
  ['a field with an odd name', { 'odd name': 1 }, ['["odd name"]']],

  ['no contract_version', { contract_version: ABSENT }],
  ['contract_version null', { contract_version: null }],
  ['contract_version as a number', { contract_version: 1 }],
  ['another contract_version', { contract_version: '2' }],
  ['no idempotency_key', { idempotency_key: ABSENT }],
  ['idempotency_key null', { idempotency_key: null }],
  ['idempotency_key empty', { idempotency_key: '' }],
  ['idempotency_key too long', { idempotency_key: long(201) }],
  ['idempotency_key a number', { idempotency_key: 81 }],
  ['origin_request_id empty', { origin_request_id: '' }],
  ['origin_request_id too long', { origin_request_id: long(201) }],
  ['history_revision a text', { history_revision: '7' }],
  ['history_revision a fraction', { history_revision: 7.5 }],
  ['system a number', { system: 5 }],
  ['wait a text', { wait: 'yes' }],

  ['no llm', { llm: ABSENT }],
  ['llm null', { llm: null }],
  ['llm a text', { llm: 'sk-SECRET' }],
  ['a fallback a text', { 'llm.fallbacks[0]': 'sk-SECRET' }],
  ['no provider', { 'llm.provider': ABSENT }],
  ['an unknown provider', { 'llm.provider': 'acme' }],
  ['no model', { 'llm.model': ABSENT }],
  ['model empty', { 'llm.model': '' }],
  ['model too long', { 'llm.model': long(201) }],
  ['api_key empty', { 'llm.api_key': '' }],
  ['api_key a number', { 'llm.api_key': 12345 }],
  ['api_key with a line break', { 'llm.api_key': 'sk-SECRET\r\nX-Evil: 1' }],
  ['no base_url where one is needed', { 'llm.base_url': null }],
  ['base_url empty', { 'llm.base_url': '' }],
  ['base_url that is no URL', { 'llm.base_url': 'llm.example.com' }],
  ['base_url with a query', { 'llm.base_url': `${NOWHERE}/v1?key=SECRET` }],
  ['base_url with white space in it', { 'llm.base_url': `${NOWHERE} ` }],
  ['base_url with a port that is none', { 'llm.base_url': 'http://127.0.0.1:99999/v1' }],
  ['base_url with a user', { 'llm.base_url': 'http://u:SECRET@127.0.0.1:1' }],
  ['base_url of another scheme', { 'llm.base_url': 'ftp://127.0.0.1/' }],
  ['base_url of a host that is not listed', { 'llm.base_url': 'https://llm.example.com/v1' }],
  [
    'base_url for a provider of its own',
    { 'llm.provider': 'anthropic', 'llm.base_url': 'https://evil.example' },
    ['llm.base_url'],
  ],
  [
    'a provider without any key',
    { 'llm.provider': 'anthropic', 'llm.api_key': null, 'llm.base_url': null },
    ['llm.api_key'],
  ],
  ['an unknown profile', { 'llm.profile': 'toaster' }],
  [
    'a profile for a provider that takes none',
    { 'llm.provider': 'anthropic', 'llm.profile': 'vllm', 'llm.base_url': null },
    ['llm.profile'],
  ],
  ['a field of llm that does not exist', { 'llm.temprature': 0.2 }],
  ['params a list', { 'llm.params': [] }],
  ['temperature too high', { 'llm.params.temperature': 2.1 }],
  ['temperature below nothing', { 'llm.params.temperature': -0.1 }],
  ['temperature a text', { 'llm.params.temperature': '0.2' }],
  ['top_p above one', { 'llm.params.top_p': 1.01 }],
  ['max_output_tokens nothing', { 'llm.params.max_output_tokens': 0 }],
  ['max_output_tokens a fraction', { 'llm.params.max_output_tokens': 1.5 }],
  ['an unknown word for thinking', { 'llm.params.thinking': 'deep' }],
  ['thinking empty', { 'llm.params.thinking': '' }],
  ['parallel_tool_calls a text', { 'llm.params.parallel_tool_calls': 'no' }],
  ['stop a text', { 'llm.params.stop': 'END' }],
  ['too many stops', { 'llm.params.stop': Array.from({ length: 17 }, (_, n) => `s${n}`) }],
  ['a stop that is empty', { 'llm.params.stop[0]': '' }],
  ['seed a fraction', { 'llm.params.seed': 0.5 }],
  ['extra a list', { 'llm.params.extra': [] }],
  ['a param that does not exist', { 'llm.params.max_tokens': 100 }],
  ['pricing without a currency', { 'llm.pricing.currency': ABSENT }],
  ['a price below nothing', { 'llm.pricing.input': -1 }],
  ['a price null', { 'llm.pricing.output': null }],
  ['a price a text', { 'llm.pricing.cache_read': '0.3' }],
  ['fallbacks an object', { 'llm.fallbacks': {} }],
  ['too many fallbacks', { 'llm.fallbacks': Array.from({ length: 9 }, () => ({ provider: 'scripted', model: 'x' })) }],
  ['a fallback without a model', { 'llm.fallbacks[0].model': ABSENT }],
  ['a fallback of an unknown provider', { 'llm.fallbacks[0].provider': 'acme' }],
  ['fallbacks of a fallback', { 'llm.fallbacks[0].fallbacks': [] }],
  ['base_url for scripted', { 'llm.fallbacks[0].base_url': NOWHERE }],
  ['a script that is no list', { 'llm.fallbacks[0].params.extra.script': 'hello' }],
  [
    'a move that does not exist',
    { 'llm.fallbacks[0].params.extra.script': [[{ sing: 'la' }]] },
    ['llm.fallbacks[0].params.extra.script[0][0]'],
  ],

  ['no messages', { messages: ABSENT }],
  ['messages null', { messages: null }],
  ['messages empty', { messages: [] }],
  ['messages an object', { messages: {} }],
  ['a message that is a text', { 'messages[3]': 'Two?' }],
  ['a message without a role', { 'messages[3].role': ABSENT }],
  ['a message of an unknown role', { 'messages[3].role': 'system' }],
  ['content a text', { 'messages[3].content': 'Two?' }],
  ['content empty', { 'messages[3].content': [] }],
  [
    'content blank',
    { 'messages[3]': content({ type: 'text', text: ' \n' }, { type: 'text', text: '' }) },
    ['messages[3].content'],
  ],
  ['a part of an unknown type', { 'messages[3].content[0].type': 'video' }],
  ['a part without a type', { 'messages[3].content[0].type': ABSENT }],
  ['a text part without a text', { 'messages[3].content[0].text': ABSENT }],
  ['a text part with a number', { 'messages[3].content[0].text': 12 }],
  ['no created_at', { 'messages[3].created_at': ABSENT }],
  ['created_at null', { 'messages[3].created_at': null }],
  ['created_at without a time', { 'messages[3].created_at': '2026-11-30' }],
  ['created_at without a zone', { 'messages[3].created_at': '2026-11-30T09:15:01' }],
  ['created_at that does not exist', { 'messages[3].created_at': '2026-13-30T09:15:01Z' }],
  ['created_at in seconds', { 'messages[3].created_at': 1796030101 }],
  ['an image from nowhere', { 'messages[3]': image({}) }, ['messages[3].content[0]']],
  [
    'an image from two places',
    { 'messages[3]': image({ url: 'https://x.example/a', data: 'aGk=' }) },
    ['messages[3].content[0]'],
  ],
  ['an image with an empty url', { 'messages[3]': image({ url: '' }) }, ['messages[3].content[0].url']],
  ['HI-13: an image at no address', { 'messages[3]': image({ url: 'label.png' }) }, ['messages[3].content[0].url']],
  [
    'HI-13: an image whose address holds it',
    { 'messages[3]': image({ url: 'data:image/png;base64,SECRET12' }) },
    ['messages[3].content[0].url'],
  ],
  ...['data:image/png;base64,SECRET12', 'SECRET', 'SECRET_-', 'SECR ET1', 'SECR\nET12', '====', 'SE=RET12'].map(
    (data): Case => [
      `HI-13: an image that is no base64: ${JSON.stringify(data)}`,
      { 'messages[3]': image({ data }) },
      ['messages[3].content[0].data'],
    ],
  ),
  [
    'HI-13: a file that is no base64',
    { 'messages[3]': content({ type: 'file', data: '%PDF-SECRET', mime_type: 'application/pdf' }) },
    ['messages[3].content[0].data'],
  ],
  ...['', ' \n', '\u00a0', '\u200b\ufeff\u2060'].map((blank): Case => [
    `HI-09: a user message of nothing but ${JSON.stringify(blank)}`,
    { 'messages[3]': content({ type: 'text', text: blank }, { type: 'text', text: '' }) },
    ['messages[3].content'],
  ]),
  [
    'a file without a type',
    { 'messages[3]': content({ type: 'file', data: 'aGk=' }) },
    ['messages[3].content[0].mime_type'],
  ],
  ['an assistant message without content', { 'messages[1].content': ABSENT }],
  [
    'an assistant message that says nothing',
    { 'messages[1]': says({ type: 'text', text: ' ' }), 'messages[2]': user('x') },
    ['messages[1].content'],
  ],
  ['an unknown stop_reason', { 'messages[1].stop_reason': 'done' }],
  ['seq below nothing', { 'messages[1].seq': -1 }],
  ['a call without arguments', { 'messages[1].content[1].args': ABSENT }],
  ['a call with a list of arguments', { 'messages[1].content[1].args': [] }],
  ['a call id that is empty', { 'messages[1].content[1].call_id': '' }],
  ['provider_data a text', { 'messages[1].content[1].provider_data': 'toolu_1' }],
  ['HI-01: a call without an answer', { 'messages[2]': user('Never mind.') }, ['messages[1].content[1]']],
  [
    'HI-01: a call without an answer at the end',
    { messages: [user('One?'), says(call('c1'))] },
    ['messages[1].content[0]', 'messages[1].role'],
  ],
  ['HI-02: an answer to nothing', { messages: [answers('c1'), user('Two?')] }, ['messages[0].call_id']],
  [
    'HI-02: an answer before its call',
    { messages: [answers('c1'), says(call('c1')), user('x')] },
    ['messages[0].call_id', 'messages[1].content[0]'],
  ],
  [
    'HI-02: an answer to another call',
    { 'messages[2].call_id': 'c2' },
    ['messages[2].call_id', 'messages[1].content[1]'],
  ],
  ['an answer that comes twice', { 'messages[3]': answers('c1') }, ['messages[3].call_id']],
  ['an answer of another tool', { 'messages[2].tool': 'createReturn' }],
  ['an answer without a result', { 'messages[2].result': ABSENT }],
  ['an error without words', { 'messages[2].is_error': true }, ['messages[2].error']],
  ['an error beside a result', { 'messages[2].error': 'declined by user' }],
  ['an error that is empty', { 'messages[2].error': '' }],
  ['an answer of no call', { 'messages[2].call_id': ABSENT }],
  [
    'HI-12: one call id twice in a message',
    { 'messages[1]': says(call('c1'), call('c1')) },
    ['messages[1].content[1].call_id'],
  ],
  [
    'HI-16: a question while a call is open',
    { messages: [user('One?'), says(call('c1')), user('Two?'), answers('c1')] },
    ['messages[1].content[0]', 'messages[3].call_id'],
  ],
  [
    'HI-01, HI-02: faults of a history beside parts of it that are wrong in form',
    {
      messages: [
        content({ type: 'text', text: 5 }),
        says(call('c1'), call('c2')),
        answers('c2'),
        content({ type: 'image', mime_type: 'image/png', url: '' }, { type: 'image', mime_type: 'image/png' }),
        answers('c1'),
        says({ type: 'text', text: 'So.' }, { type: 'sound' }, call('c3')),
        answers('c4'),
        { role: 'robot' },
        answers('c5'),
        user('Two?'),
        answers('c6'),
        says(call('c7')),
        { ...answers('c7'), tool: '' },
        answers('c8'),
        says(call('c9')),
      ],
    },
    [
      'messages[0].content[0].text',
      'messages[1].content[0]',
      'messages[3].content[0].url',
      'messages[3].content[1]',
      'messages[4].call_id',
      'messages[5].content[1].type',
      'messages[7].role',
      'messages[10].call_id',
      'messages[12].tool',
      'messages[14].content[0]',
      'messages[14].role',
    ],
  ],
  ['the last message is the assistant’s', { 'messages[3]': says({ type: 'text', text: 'Hm.' }) }, ['messages[3].role']],

  ['tools an object', { tools: {} }],
  ['too many tools', { tools: Array.from({ length: 129 }, (_, n) => ({ name: `t${n}`, url: `${NOWHERE}/t` })) }],
  ['a tool without a name', { 'tools[0].name': ABSENT }],
  ['a tool with an empty name', { 'tools[0].name': '' }],
  ['a tool name with a space', { 'tools[0].name': 'get orders' }],
  ['a tool name too long', { 'tools[0].name': long(65) }],
  ['a tool name that stands twice', { 'tools[1].name': 'getOrders' }],
  ['a description that is a number', { 'tools[0].description': 5 }],
  ['a description too long', { 'tools[0].description': long(20_001) }],
  ['input_schema a list', { 'tools[0].input_schema': [] }],
  ['input_schema a text', { 'tools[0].input_schema': 'object' }],
  ['a schema whose root is no object', { 'tools[0].input_schema': { type: 'array' } }, ['tools[0].input_schema/type']],
  ['a schema of an unknown type', { 'tools[0].input_schema': { type: 'dict' } }, ['tools[0].input_schema/type']],
  [
    'a $ref that leaves the document',
    { 'tools[0].input_schema': schema({ properties: { a: { $ref: 'https://evil.example/s#/x' } } }) },
    ['tools[0].input_schema/properties/a/$ref'],
  ],
  [
    'a $ref to nothing',
    { 'tools[0].input_schema': schema({ properties: { a: { $ref: '#/$defs/none' } } }) },
    ['tools[0].input_schema/properties/a/$ref'],
  ],
  [
    'JS-02: a pattern that looks around',
    { 'tools[0].input_schema': schema({ properties: { id: { pattern: '(?=a)b' } } }) },
    ['tools[0].input_schema/properties/id/pattern'],
  ],
  [
    'a pattern that is none',
    { 'tools[0].input_schema': schema({ properties: { id: { pattern: '(' } } }) },
    ['tools[0].input_schema/properties/id/pattern'],
  ],
  [
    'a pattern with too large a count',
    { 'tools[0].input_schema': schema({ properties: { id: { pattern: 'a{1001}' } } }) },
    ['tools[0].input_schema/properties/id/pattern'],
  ],
  [
    'a schema too deep',
    { 'tools[0].input_schema': schema({ properties: { a: deep(40) } }) },
    [`tools[0].input_schema/properties/a${'/items'.repeat(31)}`],
  ],
  ['a schema too large', { 'tools[0].input_schema': schema({ description: long(65_536) }) }, ['tools[0].input_schema']],
  ['a schema that leads back to itself', { 'tools[0].input_schema': schema({ $ref: '#' }) }, ['tools[0].input_schema']],
  ['a tool without a url', { 'tools[0].url': ABSENT }],
  ['a tool url that is empty', { 'tools[0].url': '' }],
  ['a tool url that is none', { 'tools[0].url': '/orders' }],
  ['a tool url over plain http', { 'tools[0].url': 'http://shop.example.com/a?token=SECRET' }],
  ['a tool url that is not listed', { 'tools[0].url': 'https://shop.example.com/a?token=SECRET' }],
  ['a tool url with a user', { 'tools[0].url': 'http://u:SECRET@127.0.0.1:1/a' }],
  ['headers a list', { 'tools[0].headers': [] }],
  ['headers a text', { 'tools[0].headers': 'Authorization: Bearer SECRET' }],
  ['a tool a text', { 'tools[0]': 'https://shop.example.com/a?token=SECRET' }],
  ['a header value that is a number', { 'tools[0].headers.X-Shop': 1 }],
  [
    'a header of an odd name with a number',
    { 'tools[0].headers': { 'x-a.b': 5, [`x-${long(70)}`]: 6 } },
    ['tools[0].headers["x-a.b"]', `tools[0].headers["x-${long(62)}"]`],
  ],
  [
    'TH-10: a header value outside Latin-1',
    { 'tools[0].headers': { Authorization: 'Bearer ключ' } },
    ['tools[0].headers.Authorization'],
  ],
  [
    'TH-10: a header value with a line break',
    { 'tools[0].headers': { 'X-A': 'SECRET\r\nX-Evil: 1' } },
    ['tools[0].headers.X-A'],
  ],
  [
    'a header value with white space at its end',
    { 'tools[0].headers': { 'X-A': 'SECRET ' } },
    ['tools[0].headers.X-A'],
  ],
  ['a header name that is none', { 'tools[0].headers': { 'X Y': '1' } }, ['tools[0].headers["X Y"]']],
  ['a header that stands twice', { 'tools[0].headers': { 'X-A': '1', 'x-a': '2' } }, ['tools[0].headers.x-a']],
  [
    'too many headers',
    { 'tools[0].headers': Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`X-${n}`, '1'])) },
  ],
  ['an unknown effect', { 'tools[0].effect': 'delete' }],
  ['a tool timeout too short', { 'tools[0].timeout_ms': 99 }],
  ['a tool timeout too long', { 'tools[0].timeout_ms': 3_600_001 }],
  ['a label that is empty', { 'tools[0].label': '' }],
  ['a label too long', { 'tools[0].label': long(201) }],
  ['repeatable a text', { 'tools[0].repeatable': 'yes' }],
  ['a field of a tool that does not exist', { 'tools[0].parameters': {} }],

  ['output.schema a text', { 'output.schema': 'object' }],
  ['output.blocks a list', { 'output.blocks': [] }],
  ['a block without a schema', { 'output.blocks': { chart: {} } }, ['output.blocks.chart.schema']],
  ['a field of output that does not exist', { 'output.format': 'json' }],
  ['limits a list', { limits: [] }],
  ['max_steps below nothing', { 'limits.max_steps': -1 }],
  ['max_steps too many', { 'limits.max_steps': 1001 }],
  ['a day that does not exist', { 'messages[0].created_at': '2026-02-30T12:00:00Z' }],
  ['an hour that does not exist', { 'messages[0].created_at': '2026-11-30T24:00:00Z' }],
  ['max_steps a word', { 'limits.max_steps': 'ten' }],
  ['max_tool_calls too many', { 'limits.max_tool_calls': 10_001 }],
  ['timeout_ms too short', { 'limits.timeout_ms': 99 }],
  ['timeout_ms too long', { 'limits.timeout_ms': 86_400_001 }],
  ['max_output_tokens_total nothing', { 'limits.max_output_tokens_total': 0 }],
  ['max_total_tokens a fraction', { 'limits.max_total_tokens': 10.5 }],
  ['max_cost nothing', { 'limits.max_cost': 0 }],
  [
    'a price that nobody can reckon with',
    { 'llm.pricing': { currency: 'USD', input: 1e150, output: 1 } },
    ['llm.pricing.input'],
  ],
  ['max_cost a text', { 'limits.max_cost': '1.00' }],
  ['tool_result_max_bytes too few', { 'limits.tool_result_max_bytes': 255 }],
  ['tool_result_max_bytes too many', { 'limits.tool_result_max_bytes': 10_485_761 }],
  ['final_answer a number', { 'limits.final_answer': 1 }],
  ['approval_ttl_ms too short', { 'limits.approval_ttl_ms': 999 }],
  ['an unknown word for on_cancel', { 'limits.on_cancel': 'keep' }],
  ['loop_guard a list', { 'limits.loop_guard': [] }],
  ['a limit that does not exist', { 'limits.max_turns': 5 }],
  ['stream a text', { stream: 'all' }],
  ['stream.tool_names a text', { 'stream.tool_names': 'yes' }],
  ['a field of stream that does not exist', { 'stream.tools': true }],
  ['callback a text', { callback: `${NOWHERE}/c?token=SECRET` }],
  ['callback without a url', { 'callback.url': ABSENT }],
  ['a callback url that is not listed', { 'callback.url': 'https://shop.example.com/c?token=SECRET' }],
  [
    'a callback header with a line break',
    { 'callback.headers': { Authorization: 'a\nb SECRET' } },
    ['callback.headers.Authorization'],
  ],
  ['a field of callback that does not exist', { 'callback.method': 'PUT' }],
  ['meta a list', { meta: [] }],
  ['session_id empty', { 'meta.session_id': '' }],
  ['session_id too long', { 'meta.session_id': long(501) }],
  ['session_id a number', { 'meta.session_id': 7 }],
  ['tenant_id empty', { 'meta.tenant_id': '' }],
  ...['+05:00', 'Mars/Olympus', 'America/New York', 'Etc/Unknown', 'GMT+7', '', 'BST', 'UTC+05:45', 5, false, []].map(
    (zone): Case => [`TZ-02: the time zone ${JSON.stringify(zone)}`, { 'meta.timezone': zone }],
  ),
  ['meta too large', { 'meta.blob': long(16_400) }, ['meta']],
]

test('the table holds at least a hundred requests, and the one they are made from is right', async () => {
  assert.ok(cases.length >= 100, `${cases.length} cases`)
  const client = await engine.client()
  const answer = await client.post({ ...goodBody(), idempotency_key: 'another', callback: null, meta: {} })
  assert.equal(answer.status, 202, answer.text)
  await client.cancel(answer.json<{ run_id: string }>().run_id)
})

for (const [what, edits, paths = Object.keys(edits)] of cases) {
  test(`§2.3 400: ${what}`, async () => {
    const client = await engine.client()
    const answer = await client.post(JSON.stringify(edited(edits)))
    const { details = [], message: sentence } = errorOf(answer, 400, 'invalid_request')
    assert.deepEqual(details.map(({ path }) => path).toSorted(), [...paths].toSorted(), answer.text)
    assert.ok(details.every((fault) => fault.message.length > 5))
    assert.ok(sentence.includes(details[0]?.message ?? '?'))
    assert.doesNotMatch(answer.text, /SECRET/)
  })
}

test('§2.3 JS-02: a key named __proto__ is an unknown field like any other', async () => {
  const client = await engine.client()
  const text = JSON.stringify(goodBody()).replace('{', '{"__proto__":{"wait":true},"constructor":1,')
  const { details } = errorOf(await client.post(text), 400, 'invalid_request')
  assert.deepEqual(
    details?.map(({ path }) => path),
    ['__proto__', 'constructor'],
  )
})

test('§2.3 JS-05: of a key that stands twice the last one counts, also for what is refused', async () => {
  const client = await engine.client()
  const text = JSON.stringify(goodBody()).replace(/\}$/, ',"callback":{"url":"https://evil.example/"}}')
  const { details } = errorOf(await client.post(text), 400, 'invalid_request')
  assert.deepEqual(
    details?.map(({ path }) => path),
    ['callback.url'],
  )
})

/** Each pair stands in one part of the request: the fault of form must not hide the other one. */
const pairs: readonly Case[] = [
  ['a tool’s name and another tool’s address', { 'tools[0].name': 'a b', 'tools[1].url': 'https://shop.example.com/' }],
  [
    'a tool’s label and its own schema',
    { 'tools[0].label': '', 'tools[0].input_schema': { type: 'array' } },
    ['tools[0].label', 'tools[0].input_schema/type'],
  ],
  [
    'a param and a fallback’s address',
    { 'llm.params.temperature': 5, 'llm.fallbacks[0].base_url': 'https://evil.example/' },
  ],
  [
    'a message’s date and another’s missing answer',
    { 'messages[0].created_at': 'never', 'messages[2]': user('x') },
    ['messages[0].created_at', 'messages[1].content[1]'],
  ],
  ['a limit and what a cancel does', { 'limits.max_steps': 'ten', 'limits.on_cancel': 'stop' }],
  ['an id in meta and its time zone', { 'meta.session_id': 7, 'meta.timezone': '+05:00' }],
  [
    'a callback’s header and its address',
    { 'callback.headers.X-Shop': 1, 'callback.url': 'https://shop.example.com/' },
  ],
]

for (const [what, edits, paths = Object.keys(edits)] of pairs) {
  test(`§2.3 one wrong field hides no fault of another: ${what}`, async () => {
    const client = await engine.client()
    const answer = await client.post(JSON.stringify(edited(edits)))
    const { details = [] } = errorOf(answer, 400, 'invalid_request')
    assert.deepEqual(details.map(({ path }) => path).toSorted(), [...paths].toSorted())
  })
}

test('§2.3 what is open stays open: unknown fields in meta, extra, schemas and stored messages are no faults', async () => {
  const client = await engine.client()
  const stored = {
    ...message({ created_at: AT, future: { a: 1 } }),
    content: [{ type: 'text', text: 'Hi', future: 1 }],
  }
  const body = {
    ...goodBody(),
    idempotency_key: 'open',
    llm: { provider: 'scripted', model: 'echo', params: { extra: { anything: [1] } } },
    messages: [stored],
    tools: [{ name: 'a', url: NOWHERE, input_schema: schema({ 'x-anything': 1 }) }],
    callback: null,
    meta: { anything: { at: 'all' } },
  }
  assert.equal((await client.post(body)).status, 202)
})

test('ID-03 after all these refusals the key is not burnt, the session is free, and nobody was asked anything', async () => {
  const client = await engine.client()
  const process = await engine.process()
  const scripted = { provider: 'scripted', model: 'echo' }
  const answer = await client.post({ ...goodBody(), llm: scripted, callback: null })
  assert.equal(answer.status, 202, answer.text)
  const { run_id } = answer.json<{ run_id: string }>()
  await process.line((line) => line['event'] === 'ended' && line['run_id'] === run_id)
  const begun = process.lines.filter(({ event }) => event === 'accepted')
  // The right request above, the open one, and this one.
  assert.equal(begun.length, 3)
  assert.ok(!process.lines.some(({ event }) => event === 'tool_called' || event === 'callback_attempt'))
})

/** Every place of a body, deepest last: `messages`, `messages[0]`, `messages[0].content` … */
function placesOf(value: Json, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return []
  const entries = Object.entries(value as JsonObject)
  return entries.flatMap(([key, item]) => {
    const place = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    return [place, ...placesOf(item, place)]
  })
}

const UNKNOWN: JsonObject = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`unknown ${n}`, n]))
const ODD_VALUES: readonly Json[] = [
  ...([null, true, 0, -1, 1.5, 1e300, '', 'x', 'a\u0000b', '\ud800', [], [null], [[]], ['x'], {}] as Json[]),
  ...([{ a: 1 }, { 'x-a.b': 5 }, { '': { '': null } }, { type: 'text' }, { $ref: '#' }, { constructor: 1 }] as Json[]),
  UNKNOWN,
]

test('§2.3 where more may be wrong than is told, the sentence does not say that all of it is', async () => {
  const client = await engine.client()
  const odd = (count: number) => Object.fromEntries(Array.from({ length: count }, (_none, at) => [`odd_${at}`, 1]))
  for (const [count, told] of [
    [49, /^the request has 49 faults: .* all of them stand in details$/],
    [80, /^the request has at least 50 faults: .* the first of them stand in details, more may follow$/],
  ] as const) {
    const { message, details } = errorOf(
      await client.post(JSON.stringify({ ...goodBody(), ...odd(count) })),
      400,
      'invalid_request',
    )
    assert.match(message, told)
    assert.equal(details?.length, Math.min(count, 50))
  }
})

test('§2.3 whatever stands in whatever place, the answer is 202 or a 400 with its paths, and never a bug', async () => {
  const client = await engine.client()
  const quick = { ...goodBody(), llm: { provider: 'scripted', model: 'x', params: {}, fallbacks: [] }, callback: null }
  const edit = fc.record({ place: fc.constantFrom(...placesOf(quick)), value: fc.constantFrom(ABSENT, ...ODD_VALUES) })
  const property = fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
    // Deepest first, so that no edit falls into what another has put there.
    const ordered = edits.toSorted((left, right) => right.place.length - left.place.length)
    const fresh = { ...quick, idempotency_key: randomUUID(), meta: { timezone: 'UTC' } }
    const places = ordered.filter(({ place }) => !/^(idempotency_key|wait|meta)/.test(place))
    const body = edited(Object.fromEntries(places.map(({ place, value }) => [place, value])), structuredClone(fresh))
    const answer = await client.post(JSON.stringify(body))
    if (answer.status === 202) return
    const { details = [] } = errorOf(answer, 400, 'invalid_request')
    assert.ok(details.length > 0 && details.length <= 50, answer.text)
  })
  await fc.assert(property, { numRuns: 600 })
})

test('§2.3 a number that no double holds, in whatever place, is taken or is a 400, and never a bug', async () => {
  const client = await engine.client()
  const quick = { ...goodBody(), llm: { provider: 'scripted', model: 'x', params: {}, fallbacks: [] }, callback: null }
  const params = { temperature: 1, top_p: 1, max_output_tokens: 1, seed: 1, extra: { any: 1 } }
  const body = { ...quick, llm: { ...quick.llm, params }, meta: { timezone: 'UTC', any: 1 } }
  for (const place of placesOf(body).filter((one) => !/^(idempotency_key|wait|meta.timezone)/.test(one))) {
    for (const digits of ['0.30000000000000000004', '-1e400', '1e-400', '12345678901234567890']) {
      const fresh = { ...structuredClone(body), idempotency_key: randomUUID() }
      const answer = await client.post(JSON.stringify(edited({ [place]: exactNumber(digits) }, fresh)))
      if (answer.status !== 202) errorOf(answer, 400, 'invalid_request')
    }
  }
})

test('the engine of this file ended in peace', () => engine.finish())
