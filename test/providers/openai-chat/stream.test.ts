/** Answers of chat completions servers, written for these tests after what servers were seen to send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../../src/contract/json.ts'
import { dialectCall, listen, read, tool, type CallFacts } from '../dialect-call.ts'

const CALL = dialectCall({ tools: [tool('get_weather'), tool('list_orders')] })

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const TX = (content: unknown) => chunk({ content })
const TC = (index: number, id: string | undefined, name: string | undefined, args: unknown) =>
  chunk({
    tool_calls: [
      {
        index,
        ...(id === undefined ? {} : { id, type: 'function' }),
        function: { ...(name === undefined ? {} : { name }), arguments: args },
      },
    ],
  })
const FIN = (finish_reason: string | null) => chunk({}, { finish_reason })
const USAGE = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } }
const DONE = '[DONE]'

function reading(...events: unknown[]) {
  return read(CALL, events)
}

function tagged(...events: unknown[]) {
  const facts: CallFacts = { profile: (row) => ({ ...row, chat: { ...row.chat, thinkTags: true } }) }
  return read(dialectCall(facts), events)
}

test('one call that stands where a list of them belongs is that call, with all digits of its arguments', () => {
  const told = '{"index":0,"id":"c1","function":{"name":"get_weather","arguments":{"n":12345678901234567890}}}'
  const { parts } = reading(`{"choices":[{"index":0,"delta":{"tool_calls":${told}}}]}`, FIN('tool_calls'), DONE)
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && [part.tool, JSON.stringify(part.args)]),
    [['get_weather', '{"n":12345678901234567890}']],
  )
})

test('PS-09: chunks whose choices are null, absent or empty are nothing', () => {
  const events = [
    { choices: null },
    { usage: null },
    { choices: [], prompt_filter_results: [] },
    {},
    [],
    null,
    7,
    'null',
  ]
  const { complete, fault, usage, heard } = reading(...events, TX('Hi'), FIN('stop'), USAGE)
  assert.deepEqual([complete, fault, heard.shown(), usage?.tokens.total_tokens], [true, null, 'Hi', 6])
})

test('PS-10: after a finish reason late usage and the end mark are read', () => {
  const heard = listen(CALL)
  const send = (event: unknown) =>
    heard.reader.event(undefined, typeof event === 'string' ? event : JSON.stringify(event))
  send(TX('ok'))
  assert.equal(heard.reader.progress, 'open')
  send(FIN('length'))
  assert.equal(heard.reader.progress, 'finished')
  send(USAGE)
  assert.equal(heard.reader.progress, 'finished')
  send(DONE)
  assert.equal(heard.reader.progress, 'closed')
  const { complete, stop, usage } = heard.reader.end()
  assert.deepEqual([complete, stop, usage?.known], [true, 'length', 'all'])
})

test('PS-11: an empty finish reason is none', () => {
  const { complete, heard, rawStop } = reading(
    chunk({ content: 'a' }, { finish_reason: '' }),
    chunk({ content: 'b' }, { finish_reason: 'null' }),
    FIN('stop'),
  )
  assert.deepEqual([complete, heard.shown(), rawStop], [true, 'ab', 'stop'])
  assert.equal(reading(chunk({ content: 'a' }, { finish_reason: '' })).complete, false)
})

test('PS-13: the end mark closes, and what comes after it is not read', () => {
  for (const mark of ['[DONE]', '[done]']) assert.deepEqual(reading(TX('Hi'), FIN('stop'), mark, 'rubbish').fault, null)
  const { heard, fault } = reading(TX('Hi'), FIN('stop'), ' [DONE] ', TX('!'), { error: { message: 'x' } }, 'rubbish')
  assert.deepEqual([heard.reader.progress, heard.shown(), fault], ['closed', 'Hi', null])
})

test('PS-17: an error after text fails the attempt, whatever finish reason came before', () => {
  for (const before of [[], [FIN('stop')]]) {
    const { complete, fault, parts } = reading(
      TX('Half an ans'),
      ...before,
      {
        error: { code: 502, message: 'Provider disconnected' },
        choices: [{ delta: { content: '' }, finish_reason: 'error' }],
      },
      DONE,
    )
    assert.deepEqual(
      [complete, fault?.class, fault?.detail, parts.length],
      [false, 'server', '502: Provider disconnected', 1],
    )
  }
})

test('PS-18: an error as the only event is classed by its code', () => {
  const { fault, heard } = reading({ error: { message: 'Rate limit exceeded: free-models-per-day', code: 429 } })
  assert.deepEqual([fault?.class, fault?.status, heard.reader.progress], ['rate', null, 'closed'])
})

test('errors in the other shapes: a named event, an object that is one, a list, an x_groq member', () => {
  const named = listen(CALL)
  named.reader.event('error', '{"error":{"message":"x","code":"tool_use_failed"}}')
  assert.equal(named.reader.end().fault?.class, 'malformed')
  const empty = listen(CALL)
  empty.reader.event('error', '{}')
  assert.equal(empty.reader.end().fault?.class, 'malformed')
  assert.equal(reading({ object: 'error', message: 'x', code: 400 }).fault?.class, 'bad_request')
  assert.equal(reading([{ error: { code: 503, message: 'x' } }]).fault?.class, 'overloaded')
  assert.equal(reading({ choices: [], x_groq: { error: 'over capacity' } }).fault?.class, 'overloaded')
  assert.equal(reading(TX('x'), { choices: [], error: null }, FIN('stop')).fault, null)
})

test('what comes in one chunk with an error is kept', () => {
  const { usage, rawUsage } = reading(TX('x'), { ...USAGE, error: { message: 'Token limit reached', code: 400 } })
  assert.deepEqual([usage?.tokens.input_tokens, rawUsage], [5, USAGE.usage])
})

test('PS-19: a stream without a finish reason and an end mark is no answer, and an end mark alone is a fault', () => {
  assert.deepEqual([reading().complete, reading().fault], [false, null])
  assert.equal(reading(TX('cut')).complete, false)
  assert.equal(reading(DONE).fault?.class, 'malformed')
})

test('an end mark without a finish reason makes a whole answer of what came', () => {
  const text = reading(TX('Hi'), DONE)
  assert.deepEqual([text.complete, text.stop, text.rawStop], [true, 'end_turn', null])
  const call = reading(TC(0, 'c', 'list_orders', '{}'), DONE)
  assert.deepEqual([call.complete, call.stop], [true, 'tool_calls'])
})

test('PS-20: a completion as one JSON document is read like a stream, losslessly', () => {
  const heard = listen(CALL)
  const parsed = parseJson(
    '{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[{"id":"t","type":"function","function":{"name":"f","arguments":{"n":12345678901234567890}}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}',
  )
  assert.ok(parsed.ok)
  heard.reader.document(parsed.value)
  assert.equal(heard.reader.progress, 'closed')
  const { complete, parts, usage, responseId } = heard.reader.end()
  assert.deepEqual([complete, heard.pieces, usage?.tokens.total_tokens, responseId], [true, ['Hi'], 3, 'c1'])
  assert.equal(parts[1]?.type === 'tool_call' && parts[1].argsText, '{"n":12345678901234567890}')
})

test('a document that is an error, or no completion, is a fault', () => {
  const classOf = (body: object) => {
    const heard = listen(CALL)
    heard.reader.document(body as never)
    return heard.reader.end().fault?.class
  }
  assert.equal(classOf({ error: { code: 'insufficient_quota', message: 'x' } }), 'quota')
  assert.equal(classOf([{ error: { code: 429, message: 'x' } }]), 'rate')
  assert.equal(classOf({ choices: [] }), 'malformed')
  assert.equal(classOf({ hello: 1 }), 'malformed')
})

test('PS-42: an error in base_resp is a fault, and a base_resp of 0 is none', () => {
  const { fault, complete } = reading({
    choices: null,
    base_resp: { status_code: 1008, status_msg: 'insufficient balance' },
  })
  assert.deepEqual([fault?.class, fault?.detail, complete], ['quota', 'insufficient balance (1008)', false])
  const ok = { ...USAGE, base_resp: { status_code: 0, status_msg: '' } }
  assert.equal(reading(TX('x'), FIN('stop'), ok).fault, null)
})

test('PS-31: calls decide, not the word', () => {
  const stop = (...events: unknown[]) => reading(...events).stop
  assert.equal(stop(TX('Done.'), FIN('tool_calls')), 'end_turn')
  assert.equal(stop(TC(0, 'c', 'list_orders', '{}'), FIN('stop')), 'tool_calls')
  assert.equal(stop(TC(0, 'c', 'list_orders', '{"a'), FIN('length')), 'length')
})

test('PS-33: the last text may come with the finish reason, which may come twice', () => {
  const { heard, complete, stop } = reading(
    TX('Hello '),
    chunk({ content: 'world' }, { finish_reason: 'stop' }),
    FIN('stop'),
    DONE,
  )
  assert.deepEqual([heard.shown(), complete, stop], ['Hello world', true, 'end_turn'])
  assert.equal(reading(TX('x'), FIN('length'), FIN('stop')).stop, 'length')
})

test('PS-33: another answer behind the end of the first is not glued to it', () => {
  const under = (id: string, event: object) => ({ id, ...event })
  const { heard, parts, usage } = reading(
    under('a', TX('Hi')),
    under('a', FIN('stop')),
    under('b', TX('Hi')),
    under('b', TC(0, 'c', 'list_orders', '{}')),
    under('b', USAGE),
    DONE,
  )
  assert.deepEqual([heard.shown(), parts.length, usage?.tokens.total_tokens], ['Hi', 1, 6])
  // What goes on under the same id, or under none, was only said late.
  assert.equal(reading(under('a', TX('Hi')), under('a', FIN('stop')), under('a', TX('!')), DONE).heard.shown(), 'Hi!')
  assert.equal(reading(TX('Hi'), FIN('stop'), TX('!'), DONE).heard.shown(), 'Hi!')
})

test('PS-34: what a filter stopped is a refusal in every word for it', () => {
  for (const word of [
    'content_filter: PROHIBITED_CONTENT',
    'PROHIBITED_CONTENT',
    'BLOCKLIST',
    'SPII',
    'RECITATION',
    'SAFETY',
  ])
    assert.equal(reading(FIN(word), DONE).stop, 'refusal', word)
  assert.equal(reading(TX({ type: 'refusal', refusal: 'No.' }), FIN('stop')).refusal, 'No.')
})

test('PS-34: a refusal is told apart from the answer and decides the stop reason', () => {
  const { parts, refusal, stop, usage, heard } = reading(
    chunk({ refusal: 'I ca' }),
    chunk({ refusal: "n't." }),
    FIN('stop'),
    USAGE,
  )
  assert.deepEqual([parts, refusal, stop, usage?.known, heard.shown()], [[], "I can't.", 'refusal', 'all', ''])
  assert.equal(reading(TX('x'), FIN('content_filter')).stop, 'refusal')
  assert.equal(reading(TX('x'), FIN('sensitive')).stop, 'refusal')
})

test('PS-35: the words of other servers are known, and an unknown one keeps the text', () => {
  const stop = (word: string) => reading(TX('x'), FIN(word)).stop
  assert.deepEqual(
    ['eos', 'STOP', 'max_tokens', 'model_length', 'model_context_window_exceeded', 'zzz_new', 'toString'].map(stop),
    ['end_turn', 'end_turn', 'length', 'length', 'length', 'other', 'other'],
  )
  assert.equal(reading(FIN('model_context_window_exceeded')).fault?.class, 'context_overflow')
  assert.deepEqual(
    ['network_error', 'error', 'insufficient_system_resource'].map((word) => reading(TX('x'), FIN(word)).fault?.class),
    ['server', 'server', 'overloaded'],
  )
})

test('PS-37: only reasoning is an answer without text; usage as reported is kept', () => {
  const { complete, parts, heard, usage } = reading(
    ...Array.from({ length: 1000 }, () => chunk({ reasoning_content: 'hm ' })),
    FIN('stop'),
    { choices: [], usage: { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 } },
  )
  assert.deepEqual([complete, heard.shown(), usage?.tokens.output_tokens, usage?.known], [true, '', 0, 'all'])
  assert.deepEqual(parts, [
    {
      type: 'reasoning',
      text: 'hm '.repeat(1000),
      provider_data: { family: 'openai-compatible', field: 'reasoning_content' },
    },
  ])
})

test('reasoning is read from the first field that holds any, and shown once', () => {
  for (const field of ['reasoning_content', 'reasoning', 'reasoning_text']) {
    const { parts } = reading(chunk({ [field]: 'hm' }), FIN('stop'))
    assert.deepEqual(parts, [{ type: 'reasoning', text: 'hm', provider_data: { family: 'openai-compatible', field } }])
  }
  assert.equal(
    reading(
      chunk({ reasoning: 'hm', reasoning_content: 'hm' }),
      chunk({ reasoning: '!', reasoning_content: '!' }),
      FIN('stop'),
    ).heard.thought(),
    'hm!',
  )
})

test('reasoning_details are joined piece by piece, kept whole, and are the words where no field holds any', () => {
  const detail = (more: object) => ({ type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1', ...more })
  const { parts, heard } = reading(
    chunk({ reasoning_details: [detail({ text: 'a' })] }),
    chunk({ reasoning_details: [detail({ text: 'b', signature: null })] }),
    chunk({ reasoning_details: [detail({ text: '', signature: 'SIG' })] }),
    chunk({ reasoning_details: [detail({ text: '', signature: null })] }),
    chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'X', index: 1 }] }),
    chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'Y', index: 1 }] }),
    chunk({ reasoning_details: [{ type: 'reasoning.summary', summary: 'c', index: 2 }] }),
    FIN('stop'),
  )
  assert.equal(heard.thought(), 'abc')
  assert.deepEqual(parts[0]?.type === 'reasoning' && parts[0].provider_data, {
    family: 'openai-compatible',
    field: 'reasoning_details',
    details: [
      detail({ text: 'ab', signature: 'SIG' }),
      { type: 'reasoning.encrypted', data: 'X', index: 1 },
      { type: 'reasoning.encrypted', data: 'Y', index: 1 },
      { type: 'reasoning.summary', summary: 'c', index: 2 },
    ],
  })
})

test('details beside a field are kept, and only the field is shown; encrypted details alone are kept as well', () => {
  const both = reading(
    chunk({ reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0 }] }),
    FIN('stop'),
  )
  assert.equal(both.heard.thought(), 'hm')
  assert.partialDeepStrictEqual(both.parts[0] ?? {}, {
    provider_data: { field: 'reasoning', details: [{ text: 'hm' }] },
  })
  const secret = reading(
    chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'X' }] }),
    TX('Hi'),
    FIN('stop'),
  )
  assert.partialDeepStrictEqual(secret.parts[0] ?? {}, {
    type: 'reasoning',
    text: '',
    provider_data: { details: [{ data: 'X' }] },
  })
})

test('PS-38: reasoning between tags is no text where the profile knows of them; elsewhere tags are text', () => {
  const events = [TX('<thi'), TX('nk>secret</th'), TX('ink>\n\nAnswer'), FIN('stop')]
  const { heard, parts } = tagged(...events)
  assert.deepEqual([heard.shown(), heard.thought()], ['Answer', 'secret'])
  assert.partialDeepStrictEqual(parts[0] ?? {}, { type: 'reasoning', provider_data: { field: 'tags' } })
  assert.equal(reading(...events).heard.shown(), '<think>secret</think>\n\nAnswer')
  assert.equal(tagged(TX('2 < 3 and <b>'), FIN('stop')).heard.shown(), '2 < 3 and <b>')
  assert.equal(tagged(TX('<thi'), FIN('stop')).heard.shown(), '<thi')
})

test('PS-39: the same reasoning in the content and in a field is shown once', () => {
  const { heard } = tagged(
    chunk({ content: '<think>pl', reasoning_content: 'pl' }),
    chunk({ content: 'an</think>Hi', reasoning_content: 'an' }),
    FIN('stop'),
  )
  assert.deepEqual([heard.shown(), heard.thought()], ['Hi', 'plan'])
})

test('PS-40: content that is a list gives text and thinking', () => {
  const { heard, parts } = reading(
    TX([
      {
        type: 'thinking',
        thinking: [
          { type: 'text', text: 'h' },
          { type: 'text', text: 'm' },
        ],
      },
      { type: 'text', text: 'Hi' },
      null,
      3,
      { type: 'reference', reference_ids: [1] },
    ]),
    TX('!'),
    FIN('stop'),
  )
  assert.deepEqual([heard.shown(), heard.thought()], ['Hi!', 'hm'])
  assert.partialDeepStrictEqual(parts[0] ?? {}, { provider_data: { field: 'content' } })
})

test('PS-40: content that is a part alone, a list of strings, or a text inside an object is that text', () => {
  for (const content of [
    { type: 'text', text: 'Hi' },
    ['H', 'i'],
    [{ type: 'text', text: { value: 'Hi', annotations: [] } }],
    [{ type: 'output_text', text: 'Hi' }],
  ])
    assert.equal(reading(TX(content), FIN('stop')).heard.shown(), 'Hi', JSON.stringify(content))
})

test('PS-41, PI-02: tool markup in text is text and never a call', () => {
  for (const markup of [
    '<|tool_calls_section_begin|>functions.f:0',
    '<tool_call>{"name":"f","arguments":{}}</tool_call>',
    '{"tool_calls":[{"id":"x"}]}',
  ]) {
    const { parts, stop } = reading(TX(markup), FIN('stop'))
    assert.deepEqual([parts, stop], [[{ type: 'text', text: markup }], 'end_turn'])
  }
})

test('PS-43: an event that does not parse fails the attempt; nothing after it is read', () => {
  const { complete, fault, heard } = reading(
    TX('a'),
    '{"choices":[{"delta":{"cont: keepalive',
    'ent":"b"}}]}',
    FIN('stop'),
    DONE,
  )
  assert.deepEqual([complete, fault?.class, heard.shown(), heard.reader.progress], [false, 'malformed', 'a', 'closed'])
})

test('PS-45: a finish reason alone makes a whole answer', () => {
  const { complete, usage, heard } = reading(TX('Hi'), FIN('stop'))
  assert.deepEqual([complete, usage, heard.shown()], [true, null, 'Hi'])
})

test('HI-12: two calls under one id are two calls', () => {
  const entry = (index: number) => ({ index, id: 'x', function: { name: 'list_orders', arguments: '{}' } })
  const { parts } = reading(chunk({ tool_calls: [entry(0), entry(1)] }), FIN('tool_calls'))
  assert.equal(parts.length, 2)
})

test('a call of the API before tool calls is a call, and an empty one beside text is none', () => {
  const legacy = (wire: object) => chunk({ function_call: wire })
  const { parts, stop } = reading(
    legacy({ name: 'list_orders', arguments: '' }),
    legacy({ arguments: '{"a"' }),
    legacy({ name: 'list_orders', arguments: ':1}' }),
    FIN('function_call'),
  )
  assert.deepEqual([stop, parts.length], ['tool_calls', 1])
  assert.partialDeepStrictEqual(parts[0] ?? {}, {
    tool: 'list_orders',
    args: { a: 1 },
    provider_data: { family: 'openai-compatible' },
  })
  assert.equal(
    reading(chunk({ content: 'Hi', function_call: { name: '', arguments: '' } }), FIN('stop')).parts.length,
    1,
  )
})

test('arguments that come as an object keep their digits', () => {
  const event =
    '{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":{"n":12345678901234567890}}}]}}]}'
  const { parts } = reading(event, FIN('tool_calls'))
  assert.equal(parts[0]?.type === 'tool_call' && JSON.stringify(parts[0].args), '{"n":12345678901234567890}')
})

test('of several choices the first one is read; a whole message in place of a delta is read once', () => {
  const many = {
    choices: [
      { index: 1, delta: { content: 'B' } },
      { index: 0, delta: { content: 'A' } },
    ],
  }
  assert.equal(reading(many, FIN('stop')).heard.shown(), 'A')
  const whole = { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] }
  assert.equal(reading(whole).heard.shown(), 'Hi')
  assert.equal(reading(TX('Hi'), whole).heard.shown(), 'Hi')
})

test('null, empty and odd content is nothing', () => {
  const { heard } = reading(
    chunk({ role: 'assistant', content: null }),
    TX(''),
    TX(7),
    TX({}),
    chunk({ reasoning: null, refusal: null, tool_calls: null }),
    FIN('stop'),
  )
  assert.deepEqual([heard.pieces, heard.reader.started, heard.reader.outputLength], [[], false, 0])
})

test('no event of any shape makes the reader throw', () => {
  for (const hole of [undefined, null, 1, 'x', [], {}, [null], [[]]]) {
    const shapes = [
      { choices: hole },
      { choices: [hole] },
      chunk({ content: hole, tool_calls: hole, function_call: hole, reasoning_details: hole }),
      chunk({ tool_calls: [hole] }),
      chunk({ content: [hole] }),
      chunk({ tool_calls: [{ index: hole, id: hole, function: hole }] }),
      chunk({ reasoning_details: [hole] }),
      chunk({}, { finish_reason: hole }),
      { usage: hole, id: hole, x_groq: hole, base_resp: hole },
    ]
    assert.equal(
      reading(...shapes, TX('ok'), DONE)
        .heard.shown()
        .endsWith('ok'),
      true,
    )
  }
})

test('JS-03: an emoji in two half escapes is shown whole, and a half at the end is dropped', () => {
  const half = (escape: string) => `{"choices":[{"index":0,"delta":{"content":"${escape}"}}]}`
  assert.deepEqual(reading(half('\\ud83d'), half('\\ude42!'), FIN('stop')).heard.pieces, ['🙂!'])
  const { heard, parts } = reading(half('a\\ud83d'), FIN('stop'))
  assert.deepEqual([heard.pieces, parts], [['a'], [{ type: 'text', text: 'a' }]])
})

test('what has come is counted in UTF-16 units, reasoning and arguments included', () => {
  const { heard } = reading(
    TX('🙂'),
    chunk({ reasoning: 'abc' }),
    TC(0, 'c', 'list_orders', '{}'),
    chunk({ refusal: 'no' }),
    FIN('stop'),
  )
  assert.deepEqual([heard.reader.outputLength, heard.reader.started], [9, true])
})

test('a choice whose index comes as digits is choice 0, and choice 1 is none', () => {
  const { parts } = read(dialectCall({}), [
    { choices: [{ index: '0', delta: { content: 'Hi' } }] },
    { choices: [{ index: '1', delta: { content: 'there' } }] },
    { choices: [{ index: '0', delta: {}, finish_reason: 'stop' }] },
  ])
  assert.deepEqual(parts, [{ type: 'text', text: 'Hi' }])
})

test('what only the whole message at the end holds is a part of the answer', () => {
  const entry = { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
  const last = { choices: [{ message: { content: 'I look.', tool_calls: [entry] }, finish_reason: 'tool_calls' }] }
  const found = reading(TX('I look.'), last, DONE)
  assert.deepEqual(found.heard.pieces, ['I look.'])
  assert.deepEqual(
    found.parts.map((part) => (part.type === 'tool_call' ? part.args : part.text)),
    ['I look.', { city: 'Oslo' }],
  )
  const thought = reading(chunk({ reasoning_content: 'hm' }), last, DONE)
  assert.deepEqual(
    thought.parts.map((part) => (part.type === 'tool_call' ? part.args : part.text)),
    ['hm', 'I look.', { city: 'Oslo' }],
  )
  const once = reading(TC(0, 'c1', 'get_weather', '{"city":"Oslo"}'), last, DONE)
  assert.equal(once.parts.filter((part) => part.type === 'tool_call').length, 1)
})
