/** Answers of the Responses API, written for these tests after what servers were seen to send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../../src/contract/json.ts'
import { messageOf } from '../../../src/providers/answer-message.ts'
import { dialectCall, tool } from '../dialect-call.ts'
import { hear, read } from './hear.ts'
import { cpuMs } from '../../cpu-time.ts'

const CALL = dialectCall({ provider: 'openai', model: 'gpt-5.5', tools: [tool('get_weather')] })

const event = (type: string, more: object = {}) => ({ type: `response.${type}`, ...more })
const added = (output_index: number, item: object) => event('output_item.added', { output_index, item })
const done = (output_index: number, item: object) => event('output_item.done', { output_index, item })
const words = (output_index: number, delta: string, content_index = 0) =>
  event('output_text.delta', { output_index, content_index, delta })
const args = (output_index: number, delta: string) => event('function_call_arguments.delta', { output_index, delta })
const thought = (output_index: number, delta: string, summary_index = 0) =>
  event('reasoning_summary_text.delta', { output_index, summary_index, delta })
const message = (text: string, more: object = {}) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
})
const call = (call_id: string, text: string, more: object = {}) => ({
  type: 'function_call',
  id: 'fc_1',
  call_id,
  name: 'get_weather',
  arguments: text,
  status: 'completed',
  ...more,
})
const USAGE = { input_tokens: 5, output_tokens: 1, total_tokens: 6 }
const end = (more: object = {}) =>
  event('completed', {
    response: { id: 'resp_1', status: 'completed', output: [], usage: USAGE, error: null, ...more },
  })
const cut = (reason: string) =>
  event('incomplete', {
    response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason }, usage: USAGE },
  })

function reading(...events: unknown[]) {
  return read(CALL, events)
}

function callsOf(...events: unknown[]) {
  const { parts } = reading(...events)
  return parts.flatMap((part) => (part.type === 'tool_call' ? [[part.tool, part.args, part.fault]] : []))
}

test('a whole answer: reasoning, text and a call, in their order, with what must go back', () => {
  const item = {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'Hm.' }],
    encrypted_content: 'gA',
  }
  const { heard, ...rest } = reading(
    event('created', { response: { id: 'resp_1', usage: null } }),
    added(0, { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'half' }),
    thought(0, 'Hm'),
    thought(0, '.'),
    done(0, item),
    added(1, { type: 'message', content: [], phase: 'commentary' }),
    words(1, 'Let me '),
    words(1, 'see.'),
    done(1, message('Let me see.', { phase: 'commentary' })),
    added(2, call('call_1', '')),
    args(2, '{"city":'),
    args(2, '"Oslo"}'),
    done(2, call('call_1', '{"city":"Oslo"}')),
    end(),
  )
  assert.deepEqual([heard.pieces, heard.thought()], [['Let me ', 'see.'], 'Hm.'])
  assert.deepEqual(rest, {
    complete: true,
    parts: [
      { type: 'reasoning', text: 'Hm.', provider_data: { family: 'openai', item } },
      { type: 'text', text: 'Let me see.' },
      {
        type: 'tool_call',
        tool: 'get_weather',
        args: { city: 'Oslo' },
        argsText: '{"city":"Oslo"}',
        fault: null,
        provider_data: { family: 'openai', id: 'call_1' },
      },
    ],
    stop: 'tool_calls',
    rawStop: 'completed',
    usage: {
      tokens: {
        input_tokens: 5,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        output_tokens: 1,
        reasoning_tokens: 0,
        total_tokens: 6,
      },
      known: 'all',
    },
    rawUsage: USAGE,
    refusal: null,
    fault: null,
    responseId: 'resp_1',
    provider_data: { family: 'openai', phases: ['commentary'] },
  })
})

test('PS-05: items are told apart by output_index, whatever their ids do', () => {
  const { heard, parts } = reading(
    added(0, { type: 'message', id: 'a' }),
    event('output_text.delta', { output_index: 0, item_id: 'b', delta: 'On' }),
    event('output_text.delta', { output_index: 0, item_id: 'c', delta: 'e' }),
    done(0, { ...message('One'), id: 'd' }),
    end(),
  )
  assert.deepEqual([heard.shown(), parts.length], ['One', 1])
})

test('PS-27: without output_index an event belongs to the item its id names, without both to the one before it', () => {
  const named = (item_id: string, delta: string) => event('function_call_arguments.delta', { item_id, delta })
  assert.deepEqual(
    callsOf(
      event('output_item.added', { item: { ...call('x', ''), id: 'fc_1' } }),
      event('output_item.added', { item: { ...call('y', ''), id: 'fc_2' } }),
      named('fc_1', '{"a":'),
      named('fc_2', '{"b":2}'),
      named('fc_1', '1}'),
      end(),
    ),
    [
      ['get_weather', { a: 1 }, null],
      ['get_weather', { b: 2 }, null],
    ],
  )
  const { heard } = reading(
    event('output_item.added', { item: { type: 'message' } }),
    event('output_text.delta', { delta: 'Hi' }),
    end(),
  )
  assert.equal(heard.shown(), 'Hi')
})

test('an index that only some events tell, and ids beside it, lead to the same item', () => {
  const delta = (more: object) => event('output_text.delta', { delta: 'x', ...more })
  const item = { ...message('xx'), id: 'm' }
  for (const [first, next, last] of [
    [{ output_index: 0 }, { item_id: 'm' }, { output_index: 0 }],
    [{}, { output_index: 0, item_id: 'm' }, {}],
    [{}, { item_id: 'm' }, { output_index: 0 }],
    [{}, { item_id: 'other' }, { item_id: 'third' }],
  ]) {
    const { heard, parts } = reading(
      event('output_item.added', { ...first, item: { type: 'message', id: 'm' } }),
      delta({ ...next }),
      delta({ ...next }),
      event('output_item.done', { ...last, item }),
      end({ output: [item] }),
    )
    assert.deepEqual([heard.shown(), parts.length], ['xx', 1])
  }
})

test('an index that is told late is known from then on', () => {
  const { heard, parts } = reading(
    event('output_item.added', { item: { type: 'message', id: 'm' } }),
    event('output_text.delta', { output_index: 0, item_id: 'm', delta: 'Hel' }),
    event('output_text.delta', { output_index: 0, delta: 'lo' }),
    done(0, message('Hello')),
    end(),
  )
  assert.deepEqual([heard.pieces, parts], [['Hel', 'lo'], [{ type: 'text', text: 'Hello' }]])
})

test('servers that number every item 0 still send several', () => {
  const { parts, heard } = reading(
    added(0, { type: 'reasoning', summary: [] }),
    thought(0, 'Hm.'),
    done(0, { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }),
    added(0, { type: 'message' }),
    words(0, 'One'),
    done(0, message('One')),
    added(0, { type: 'message' }),
    words(0, 'Two'),
    done(0, message('Two')),
    done(0, call('a', '{"n":1}')),
    done(0, call('b', '{"n":2}')),
    end(),
  )
  assert.deepEqual([heard.thought(), heard.pieces], ['Hm.', ['One', 'Two']])
  assert.deepEqual(
    parts.map(({ type }) => type),
    ['reasoning', 'text', 'text', 'tool_call', 'tool_call'],
  )
})

test('pieces of another kind under the same index are of another item, also where no item was opened', () => {
  const { parts } = reading(thought(0, 'Hm.'), words(0, 'Hi'), args(0, '{}'), end())
  assert.deepEqual(
    parts.map((part) => part.type !== 'tool_call' && part.text),
    ['Hm.', 'Hi'],
  )
})

test('PS-27: an event without a type is of the type that it is named after', () => {
  const heard = hear(CALL)
  const untyped = ({ type, ...more }: { readonly type: string }) => heard.reader.event(type, JSON.stringify(more))
  untyped(words(0, 'Hi'))
  untyped(end())
  const { complete, parts } = heard.reader.end()
  assert.deepEqual([complete, parts], [true, [{ type: 'text', text: 'Hi' }]])
})

test('a second response inside the first is no answer, and is not glued to it', () => {
  const begins = event('created', { response: { id: 'resp_1' } })
  const { complete, fault, heard } = reading(begins, words(0, 'One'), begins, words(0, 'Two'), end())
  assert.deepEqual([complete, fault?.class, heard.shown()], [false, 'malformed', 'One'])
  assert.equal(reading(begins, begins, words(0, 'One'), end()).complete, true)
})

test('LC-03: what has no name is a call of no tool where it has an id and arguments, else it is none', () => {
  assert.deepEqual(callsOf(args(0, '{}'), end()), [])
  assert.deepEqual(callsOf(done(1, call('a', '', { name: '' })), end()), [])
  assert.deepEqual(callsOf(done(1, call('a', '{"x":1}', { name: null })), end()), [['', { x: 1 }, null]])
})

test('PS-04: arguments that lead to no call are those of the open one, which is not run without them', () => {
  const empty = call('a', '')
  const city = '{"city":"Oslo"}'
  for (const events of [
    [added(0, empty), args(1, city), done(0, empty)],
    [added(0, empty), args(1, '{"city":'), args(1, '"Oslo"}'), done(0, empty)],
    [added(0, empty), event('function_call_arguments.done', { output_index: 4, arguments: city }), done(0, empty)],
    [added(0, empty), event('function_call_arguments.delta', { output_index: 0, delta: { city: 'Oslo' } })],
  ])
    assert.deepEqual(callsOf(...events, end()), [['get_weather', { city: 'Oslo' }, null]])
  // A call that is whole takes no more, and the next one has its own.
  assert.deepEqual(callsOf(done(0, call('a', '{"a":1}')), args(1, '{"b":2}'), done(1, call('b', '{"b":2}')), end()), [
    ['get_weather', { a: 1 }, null],
    ['get_weather', { b: 2 }, null],
  ])
})

test('LC-08: arguments that are no text are judged as the value they are, and never taken for none', () => {
  for (const value of [42, true, [1]])
    assert.deepEqual(callsOf(done(0, call('a', '', { arguments: value })), end()), [
      ['get_weather', null, 'not_object'],
    ])
})

test('servers without deltas: each form of a whole part is shown, once', () => {
  const text = { output_index: 0, content_index: 0, text: 'Hello' }
  const forms = [
    [event('output_text.done', text)],
    [done(0, message('Hello'))],
    [event('output_text.done', text), event('output_text.done', text), done(0, message('Hello'))],
    [end({ output: [message('Hello')] })],
    [words(0, 'Hel'), event('output_text.done', text), done(0, message('Hello')), end({ output: [message('Hello')] })],
    [words(0, 'Hel'), end({ output: [message('Hello')] })],
  ]
  for (const events of forms) {
    const { heard, parts } = reading(...events, end())
    assert.deepEqual([heard.shown(), parts], ['Hello', [{ type: 'text', text: 'Hello' }]])
  }
})

test('a call whose arguments come whole, in the event, the item or the end of the response, is that call', () => {
  const whole = '{"city":"Oslo"}'
  const forms = [
    [added(0, call('a', '')), event('function_call_arguments.done', { output_index: 0, arguments: whole })],
    [event('function_call_arguments.done', { output_index: 0, arguments: whole, name: 'get_weather', call_id: 'a' })],
    [done(0, call('a', whole))],
    [added(0, call('a', '')), args(0, '{"ci'), done(0, call('a', whole))],
    [added(0, call('a', '')), end({ output: [call('a', whole)] })],
    [words(1, 'Hi'), end({ output: [message('Hi'), call('a', whole)] })],
  ]
  for (const events of forms) assert.deepEqual(callsOf(...events, end()), [['get_weather', { city: 'Oslo' }, null]])
})

test('the whole arguments stand, whatever the deltas said', () => {
  assert.deepEqual(callsOf(added(0, call('a', '')), args(0, '{"a":1'), done(0, call('a', '{"b":2}')), end()), [
    ['get_weather', { b: 2 }, null],
  ])
  // An empty whole says nothing against what has come.
  assert.deepEqual(callsOf(added(0, call('a', '')), args(0, '{"a":1}'), done(0, call('a', '')), end()), [
    ['get_weather', { a: 1 }, null],
  ])
})

test('PS-07: a call without arguments is called with none', () => {
  for (const text of ['', ' ', '{}']) {
    assert.deepEqual(callsOf(added(0, call('a', '')), done(0, call('a', text)), end()), [['get_weather', {}, null]])
  }
})

test('PS-08, LC-08: two objects glued, and what is no object, are no arguments', () => {
  assert.deepEqual(callsOf(done(0, call('a', '{"q":"A"}{"q":"B"}')), done(1, call('b', '[1]')), end()), [
    ['get_weather', null, 'not_json'],
    ['get_weather', null, 'not_object'],
  ])
})

test('arguments that are the object itself keep the digits of their numbers', () => {
  const item = '{"type":"function_call","call_id":"a","name":"f","arguments":{"n":12345678901234567890}}'
  for (const events of [
    [`{"type":"response.output_item.done","output_index":0,"item":${item}}`, end()],
    [`{"type":"response.completed","response":{"status":"completed","output":[${item}]}}`],
  ]) {
    const [part] = reading(...events).parts
    assert.ok(part?.type === 'tool_call')
    assert.deepEqual([JSON.stringify(part.args), part.fault], ['{"n":12345678901234567890}', null])
  }
})

test('HI-12: one id twice in a single answer is two calls', () => {
  assert.deepEqual(callsOf(done(0, call('x', '{"n":1}')), done(1, call('x', '{"n":2}')), end()), [
    ['get_weather', { n: 1 }, null],
    ['get_weather', { n: 2 }, null],
  ])
})

test('LC-14: calls beyond 256 and arguments beyond a megabyte are not kept', () => {
  const many = Array.from({ length: 300 }, (_, at) => done(at, call(`c${at}`, '{}')))
  assert.equal(callsOf(...many, end()).length, 256)
  const behind = reading(...many, done(300, message('Hi')), end())
  assert.deepEqual([behind.heard.shown(), behind.parts.at(-1)], ['Hi', { type: 'text', text: 'Hi' }])
  const long = `{"a":"${'x'.repeat(1024 * 1024)}"}`
  assert.deepEqual(callsOf(added(0, call('a', '')), args(0, long), done(0, call('a', long)), end()), [
    ['get_weather', null, 'too_large'],
  ])
})

test('arguments that lead to no call, however many, take time by their number', () => {
  const many = Array.from({ length: 300 }, (_, at) => done(at, call(`c${at}`, '{}')))
  const strays = Array.from({ length: 40_000 }, (_, at) => args(1000 + at, '1'))
  const from = cpuMs()
  reading(...many, ...strays, end())
  assert.ok(cpuMs() - from < 1_000)
})

test('PS-15: a stream that breaks inside a call has no answer, and the call is cut', () => {
  const { complete, parts, usage, fault, rawUsage } = reading(added(0, call('a', '')), args(0, '{"city":"Ro'))
  assert.deepEqual([complete, usage, fault, rawUsage], [false, null, null, null])
  assert.partialDeepStrictEqual(parts, [{ type: 'tool_call', args: null, fault: 'cut' }])
  assert.partialDeepStrictEqual(reading(added(0, call('a', ''))).parts, [{ args: null, fault: 'cut' }])
})

test('a call that the provider calls incomplete is cut, though its arguments can be read', () => {
  const { parts, stop } = reading(done(0, call('a', '{}', { status: 'incomplete' })), cut('max_output_tokens'))
  assert.partialDeepStrictEqual(parts, [{ args: null, fault: 'cut' }])
  assert.equal(stop, 'length')
})

test('an answer cut by length keeps the calls that were whole and cuts the last one', () => {
  assert.deepEqual(
    callsOf(
      done(0, call('a', '{"n":1}')),
      added(1, call('b', '')),
      args(1, '{"n":'),
      done(2, call('c', '{"n"')),
      cut('max_output_tokens'),
    ),
    [
      ['get_weather', { n: 1 }, null],
      ['get_weather', null, 'cut'],
      ['get_weather', null, 'cut'],
    ],
  )
})

test('PS-35: why a response is incomplete', () => {
  const stop = (reason: string) => {
    const { complete, rawStop, stop } = reading(words(0, 'x'), cut(reason))
    return [complete, rawStop, stop]
  }
  assert.deepEqual(['max_output_tokens', 'content_filter', 'steered', 'zzz_new', 'toString'].map(stop), [
    [true, 'max_output_tokens', 'length'],
    [true, 'content_filter', 'refusal'],
    [true, 'steered', 'other'],
    [true, 'zzz_new', 'other'],
    [true, 'toString', 'other'],
  ])
  const untold = reading(words(0, 'x'), event('incomplete', { response: {} }))
  assert.deepEqual([untold.complete, untold.rawStop, untold.stop], [true, 'incomplete', 'other'])
})

test('the status inside the response counts where the event is called otherwise', () => {
  const { rawStop, stop } = reading(
    words(0, 'x'),
    end({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
  )
  assert.deepEqual([rawStop, stop], ['max_output_tokens', 'length'])
  // Some servers leave the status at what it was at the beginning.
  assert.equal(reading(words(0, 'x'), end({ status: 'in_progress' })).complete, true)
  assert.equal(reading(words(0, 'x'), event('completed')).complete, true)
})

test('PS-34: a refusal is told apart from the answer, and becomes its text where there is none', () => {
  const refused = [
    added(0, { type: 'message' }),
    event('refusal.delta', { output_index: 0, content_index: 0, delta: 'I ca' }),
    event('refusal.delta', { output_index: 0, content_index: 0, delta: 'nnot.' }),
    event('refusal.done', { output_index: 0, content_index: 0, refusal: 'I cannot.' }),
    done(0, { type: 'message', content: [{ type: 'refusal', refusal: 'I cannot.' }] }),
    end(),
  ]
  const answer = reading(...refused)
  assert.deepEqual([answer.refusal, answer.stop, answer.heard.shown(), answer.parts], ['I cannot.', 'refusal', '', []])
  assert.deepEqual(messageOf(answer, 0).message.parts, [{ type: 'text', text: 'I cannot.' }])
  const beside = reading(words(1, 'Well. '), ...refused)
  assert.deepEqual([beside.stop, beside.heard.shown()], ['refusal', 'Well. '])
  const whole = reading(end({ output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }] }))
  assert.equal(whole.refusal, 'No.')
})

test('PS-37: only reasoning is an answer without text; usage as reported is kept', () => {
  const item = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'gA' }
  const { complete, parts, stop, usage } = reading(
    added(0, { type: 'reasoning' }),
    done(0, item),
    end({ usage: { input_tokens: 9, output_tokens: 0, total_tokens: 9 } }),
  )
  assert.deepEqual([complete, stop, usage?.known, usage?.tokens.output_tokens], [true, 'end_turn', 'all', 0])
  assert.deepEqual(parts, [{ type: 'reasoning', text: '', provider_data: { family: 'openai', item } }])
})

test('PS-39: reasoning that is there as a summary and as itself is shown once', () => {
  const raw = (delta: string) => event('reasoning_text.delta', { output_index: 0, content_index: 0, delta })
  const item = {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'plan' }],
    content: [{ type: 'reasoning_text', text: 'plan!' }],
  }
  const first = reading(thought(0, 'pl'), raw('plan!'), thought(0, 'an'), done(0, item), end())
  assert.equal(first.heard.thought(), 'plan')
  const second = reading(raw('pl'), thought(0, 'plan'), raw('a'), done(0, item), end())
  assert.equal(second.heard.thought(), 'plan!')
  assert.equal(reading(done(0, item), end()).heard.thought(), 'plan')
  assert.deepEqual(first.parts, [{ type: 'reasoning', text: 'plan', provider_data: { family: 'openai', item } }])
})

test('the parts of a summary are paragraphs', () => {
  const summary = ['One', 'Two'].map((text) => ({ type: 'summary_text', text }))
  const { heard, parts } = reading(
    thought(0, 'On', 0),
    thought(0, 'e', 0),
    event('reasoning_summary_text.done', { output_index: 0, summary_index: 0, text: 'One' }),
    thought(0, 'Tw', 1),
    event('reasoning_summary_text.done', { output_index: 0, summary_index: 1, text: 'Two' }),
    done(0, { type: 'reasoning', summary }),
    end(),
  )
  assert.equal(heard.thought(), 'One\n\nTwo')
  assert.partialDeepStrictEqual(parts, [{ text: 'One\n\nTwo' }])
  assert.equal(reading(done(0, { type: 'reasoning', summary }), end()).heard.thought(), 'One\n\nTwo')
})

test('reasoning is kept as its last event tells it, never as its first', () => {
  const partial = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'begin' }
  const whole = { ...partial, encrypted_content: 'whole', status: null, later: { field: 1 } }
  assert.deepEqual(reading(added(0, partial), done(0, whole), end()).parts, [
    { type: 'reasoning', text: '', provider_data: { family: 'openai', item: whole } },
  ])
  // A summary alone cannot go back, nor what never ended; what was shown of them stays.
  const alone = {
    type: 'reasoning',
    id: 'rs',
    summary: [{ type: 'summary_text', text: 'Hm' }],
    encrypted_content: null,
  }
  assert.deepEqual(reading(done(0, alone), end()).parts, [
    { type: 'reasoning', text: 'Hm', provider_data: { family: 'openai' } },
  ])
  assert.deepEqual(reading(added(0, partial), thought(0, 'Hm'), end()).parts, [
    { type: 'reasoning', text: 'Hm', provider_data: { family: 'openai' } },
  ])
})

test('encrypted content that only the end of the response holds is taken from there, by id or else by place', () => {
  const reasoning = (id: string, more: object = {}) => ({ type: 'reasoning', id, summary: [], ...more })
  const kept = (...output: object[]) =>
    reading(
      done(0, reasoning('rs_1', { encrypted_content: null })),
      done(1, message('a')),
      done(2, reasoning('rs_2')),
      done(3, reasoning('rs_3', { encrypted_content: 'own' })),
      done(4, message('b')),
      end({ output }),
    ).parts.map((part) => part.type === 'reasoning' && part.provider_data?.['item'])
  const crypt = (id: string, encrypted_content: string) => reasoning(id, { encrypted_content })
  const expected = [crypt('rs_1', 'X'), false, crypt('rs_2', 'Y'), crypt('rs_3', 'own'), false]
  assert.deepEqual(kept(crypt('rs_1', 'X'), message('a'), crypt('rs_2', 'Y'), crypt('rs_3', 'Z')), expected)
  assert.deepEqual(kept(crypt('rs_2', 'Y'), crypt('rs_1', 'X')), expected)
  assert.deepEqual(kept(crypt('new_1', 'X'), crypt('new_2', 'Y'), crypt('new_3', 'Z')), expected)
  const nameless = (...contents: string[]) => contents.map((content) => crypt('', content))
  const [first, second] = reading(
    ...[0, 1].map((at) => done(at, reasoning(''))),
    end({ output: nameless('X', 'Y') }),
  ).parts.map((part) => part.type === 'reasoning' && part.provider_data?.['item'])
  assert.deepEqual([first, second], nameless('X', 'Y'))
  const open = { type: 'reasoning', id: 'rs', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] }
  assert.deepEqual(reading(done(0, open), end({ output: [open] })).parts, [
    { type: 'reasoning', text: 'Hm', provider_data: { family: 'openai', item: open } },
  ])
})

test('tools that the provider runs, custom tools and unknown items are no part of the answer', () => {
  const { parts, complete, heard } = reading(
    ...['web_search_call', 'custom_tool_call', 'mcp_call', 'zzz_new'].flatMap((type, at) => [
      added(at, { type, name: 'get_weather', call_id: 'x' }),
      event('custom_tool_call_input.delta', { output_index: at, delta: 'rm -rf' }),
      event(`${type}.completed`, { output_index: at, error: { message: 'no error of the response' } }),
      done(at, { type, name: 'get_weather', call_id: 'x', arguments: '{}' }),
    ]),
    event('zzz.new', { delta: 'x' }),
    { type: 'keepalive', sequence_number: 3 },
    {},
    [],
    null,
    7,
    done(9, message('Hi')),
    end(),
  )
  assert.deepEqual([parts, complete, heard.shown()], [[{ type: 'text', text: 'Hi' }], true, 'Hi'])
})

test('a stream that was taken up in the middle, and one without sequence numbers, are whole at their end', () => {
  const { complete, responseId, parts } = reading(
    event('in_progress', { sequence_number: 1, response: { id: 'resp_0' } }),
    words(0, 'Hi'),
    done(0, message('Hi')),
    end(),
  )
  assert.deepEqual([complete, responseId, parts.length], [true, 'resp_1', 1])
})

test('PS-13: the end closes, and what comes after it is not read', () => {
  const { heard, fault } = reading(
    words(0, 'Hi'),
    end(),
    '[DONE]',
    words(0, '!'),
    { type: 'error', message: 'x' },
    'rubbish',
  )
  assert.deepEqual([heard.reader.progress, heard.shown(), fault], ['closed', 'Hi', null])
})

test('an end mark of another API is no end of a response', () => {
  const { complete, fault, heard } = reading(words(0, 'Hi'), ' [DONE] ')
  assert.deepEqual([complete, fault, heard.reader.progress], [false, null, 'closed'])
})

test('PS-43: an event that is no JSON fails the attempt', () => {
  const { fault, complete, heard } = reading(words(0, 'a'), '{"type":"response.outp: keepalive', words(0, 'b'), end())
  assert.deepEqual([fault?.class, complete, heard.shown()], ['malformed', false, 'a'])
  assert.deepEqual(reading('', words(0, 'a'), end()).complete, true)
})

test('PS-17, PS-18: an error inside the stream fails the attempt, in every shape it comes in', () => {
  const error = { type: 'insufficient_quota', code: 'insufficient_quota', message: 'no money', param: null }
  const shapes = [
    { type: 'error', sequence_number: 2, error },
    { type: 'error', code: error.code, message: error.message, param: null },
    { type: 'error', response: { error } },
    { error },
    event('failed', { response: { id: 'resp_1', status: 'failed', error, usage: null } }),
    event('completed', { response: { status: 'completed', error } }),
  ]
  for (const shape of shapes) {
    const { fault, complete, heard } = reading(words(0, 'Half'), shape, end())
    assert.deepEqual([fault?.class, complete, heard.reader.progress], ['quota', false, 'closed'], JSON.stringify(shape))
    assert.match(fault?.detail ?? '', /insufficient_quota: no money$/)
  }
})

test('an error without words, and a response that ended without an answer, are failures of the server', () => {
  const classes = [
    event('failed', { response: { status: 'failed', error: null } }),
    event('failed'),
    event('cancelled', { response: { status: 'cancelled' } }),
    end({ status: 'cancelled' }),
    { type: 'error' },
  ].map((last) => reading(last).fault?.class)
  assert.deepEqual(classes, ['server', 'server', 'server', 'server', 'server'])
  const heard = hear(CALL)
  heard.reader.event('error', '{"oops":1}')
  assert.equal(heard.reader.end().fault?.class, 'malformed')
})

test('an error that encrypted reasoning brought can be repaired', () => {
  const { fault } = reading({
    type: 'error',
    error: { code: 'invalid_encrypted_content', message: 'could not be verified' },
  })
  assert.equal(fault?.repair, 'no_reasoning')
})

test('usage that came with a failure is kept', () => {
  const { usage, rawUsage } = reading(
    event('failed', { response: { status: 'failed', error: { code: 'server_error', message: 'x' }, usage: USAGE } }),
  )
  assert.deepEqual([usage?.known, usage?.tokens.total_tokens, rawUsage], ['all', 6, USAGE])
})

test('PS-20: a whole JSON document is read like a stream', () => {
  const document = (body: unknown) => {
    const heard = hear(CALL)
    const parsed = parseJson(JSON.stringify(body))
    assert.ok(parsed.ok)
    heard.reader.document(parsed.value)
    return { ...heard.reader.end(), heard }
  }
  const output = [{ type: 'reasoning', summary: [], encrypted_content: 'gA' }, message('Hi'), call('a', '{"n":1}')]
  const answer = document({ id: 'resp_1', object: 'response', status: 'completed', error: null, output, usage: USAGE })
  assert.deepEqual(
    [answer.complete, answer.stop, answer.heard.shown(), answer.responseId, answer.usage?.known],
    [true, 'tool_calls', 'Hi', 'resp_1', 'all'],
  )
  assert.deepEqual(
    answer.parts.map(({ type }) => type),
    ['reasoning', 'text', 'tool_call'],
  )
  assert.equal(answer.heard.reader.started, true)
  assert.equal(document({ output: [message('Hi')] }).complete, true)
  assert.equal(document({ error: { code: 'insufficient_quota', message: 'x' } }).fault?.class, 'quota')
  assert.equal(document({ status: 'queued', output: [] }).fault?.class, 'server')
  assert.equal(document({ status: 'failed', output: [], error: { code: 'server_error' } }).fault?.class, 'server')
  assert.equal(document({ choices: [] }).fault?.class, 'malformed')
  assert.equal(document([]).fault?.class, 'malformed')
})

test('the model has started with its first word, thought, item or call, not with an empty message', () => {
  const started = (...events: object[]) => {
    const heard = hear(CALL)
    for (const one of events) heard.reader.event(undefined, JSON.stringify(one))
    return heard.reader.started
  }
  const message = added(0, { type: 'message', content: [] })
  assert.equal(started(event('created', { response: {} }), event('in_progress', { response: {} })), false)
  assert.equal(started(message, words(0, '')), false)
  assert.equal(started(message, words(0, 'x')), true)
  assert.equal(started(added(0, { type: 'reasoning', summary: [] })), true)
  assert.equal(started(added(0, call('a', ''))), true)
  assert.equal(started(added(0, { type: 'web_search_call' })), true)
})

test('output is counted once: text, refusal, reasoning and arguments', () => {
  const { heard } = reading(
    thought(0, '12'),
    done(0, { type: 'reasoning', summary: [{ type: 'summary_text', text: '123' }] }),
    words(1, '12'),
    done(1, {
      type: 'message',
      content: [
        { type: 'output_text', text: '123' },
        { type: 'refusal', refusal: '1' },
      ],
    }),
    added(2, call('a', '')),
    args(2, '{}'),
    done(2, call('a', '{} ')),
    end(),
  )
  assert.equal(heard.reader.outputLength, 3 + 3 + 1 + 3)
})

test('JS-03: one emoji as two half escapes in two deltas is shown whole', () => {
  const halves = [
    '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"a\\ud83d"}',
    '{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"\\ude42b"}',
  ]
  assert.deepEqual(reading(...halves, end()).heard.pieces, ['a', '🙂b'])
  // The half that waits is part of the whole text that follows.
  assert.deepEqual(reading(halves[0], done(0, message('a🙂b')), end()).heard.pieces, ['a', '🙂b'])
  const lone = reading(words(0, 'a\ud83d'), words(0, 'b'), done(0, message('a\ud83db')), end())
  assert.equal(lone.heard.shown(), 'a\ufffdb')
})

test('the phase of each text is kept beside the message, blank texts left out', () => {
  const { provider_data, parts } = reading(
    done(0, message('I look.', { phase: 'commentary' })),
    done(1, message(' \n', { phase: 'commentary' })),
    done(2, message('So.')),
    done(3, message('Done.', { phase: 'final_answer' })),
    end(),
  )
  assert.equal(parts.length, 4)
  assert.deepEqual(provider_data, { family: 'openai', phases: ['commentary', '', 'final_answer'] })
  assert.equal(reading(done(0, message('Hi', { phase: null })), end()).provider_data, null)
  const early = reading(added(0, { type: 'message', phase: 'commentary' }), done(0, message('Hi')), end())
  assert.deepEqual(early.provider_data?.['phases'], ['commentary'])
})

test('arguments written otherwise than the engine would are kept as they are, for the way back', () => {
  const kept = (text: string) => {
    const [part] = reading(done(0, call('a', text)), end()).parts
    return part?.type === 'tool_call' ? part.provider_data?.['arguments'] : undefined
  }
  assert.deepEqual(['{"a":1}', '{"a": 1}', '', '{"a":1},', '{"a":"\\ud83d\\ude42"}', '{"a":1,"a":2}'].map(kept), [
    undefined,
    '{"a": 1}',
    undefined,
    undefined,
    undefined,
    '{"a":1,"a":2}',
  ])
})

test('an answer in very many pieces, each told again as a whole, takes time in proportion', () => {
  const pieces = Array.from({ length: 40_000 }, () => words(0, 'word '))
  const wholes = Array.from({ length: 40_000 }, () =>
    event('output_text.done', { output_index: 0, content_index: 0, text: 'word ' }),
  )
  const before = cpuMs()
  assert.equal(reading(...pieces, ...wholes, end()).heard.shown().length, 200_000)
  assert.ok(cpuMs() - before < 5_000)
})

test('an item that first speaks after a later one stands behind it', () => {
  const { fault, heard, parts } = reading(
    added(0, message('')),
    added(1, message('')),
    words(1, 'first'),
    done(1, message('first')),
    done(0, message(', second')),
    end(),
  )
  assert.equal(fault, null)
  assert.equal(heard.shown(), 'first, second')
  assert.deepEqual(parts, [
    { type: 'text', text: 'first' },
    { type: 'text', text: ', second' },
  ])
})

test('an item that goes on after a later one has spoken cannot be put in order: it is no answer', () => {
  const { complete, fault } = reading(
    added(0, message('')),
    words(0, 'a'),
    added(1, message('')),
    words(1, 'b'),
    words(0, 'c'),
    end(),
  )
  assert.deepEqual([complete, fault?.class], [false, 'malformed'])
  const repeated = reading(added(0, message('')), words(0, 'a'), words(1, 'b'), done(0, message('a')), end())
  assert.deepEqual([repeated.complete, repeated.heard.shown()], [true, 'ab'])
})

test('what a fault quotes of an answer is bounded and well-formed', () => {
  const { fault } = reading(event('failed', { response: { status: `\uD83D${'x'.repeat(900)}` } }))
  assert.ok((fault?.detail.length ?? 999) <= 200 && fault?.detail.isWellFormed())
  const half = hear(CALL)
  half.reader.document({ output: [], status: '\uD83D' })
  assert.ok(half.reader.end().fault?.detail.isWellFormed())
})

test('a response that failed says so as its stop reason', () => {
  const { complete, fault, rawStop } = reading(
    event('failed', { response: { status: 'failed', error: { code: 'server_error', message: 'Sorry' } } }),
  )
  assert.deepEqual([complete, fault?.class, rawStop], [false, 'server', 'failed'])
})
