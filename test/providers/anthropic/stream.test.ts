/** Answers of the Messages API, written for these tests after what servers were seen to send. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from '../../../src/contract/json.ts'
import { dialectCall, listen, read } from '../dialect-call.ts'

const CALL = dialectCall({ provider: 'anthropic', model: 'claude-opus-4-8' })

const start = (usage: object = { input_tokens: 10, output_tokens: 1 }, more: object = {}) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null, usage, ...more },
})
const open = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, delta: object) => ({ type: 'content_block_delta', index, delta })
const json = (index: number, partial_json: string) => delta(index, { type: 'input_json_delta', partial_json })
const words = (index: number, text: string) => delta(index, { type: 'text_delta', text })
const stop = (index: number) => ({ type: 'content_block_stop', index })
const finish = (stop_reason: string | null, usage: object | undefined = { output_tokens: 7 }) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null },
  usage,
})
const END = { type: 'message_stop' }
const TEXT = open(0, { type: 'text', text: '' })
const TOOL = (index: number, input: object = {}) =>
  open(index, { type: 'tool_use', id: `toolu_${index}`, name: 'f', input })

function reading(...events: unknown[]) {
  return read(CALL, events)
}

test('PS-07: a call without any argument delta, and one with an empty one, has no arguments', () => {
  const { parts, stop: why } = reading(
    start(),
    TOOL(0),
    stop(0),
    TOOL(1),
    json(1, ''),
    stop(1),
    finish('tool_use'),
    END,
  )
  assert.equal(why, 'tool_calls')
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && [part.args, part.fault, part.provider_data]),
    [
      [{}, null, { family: 'anthropic', id: 'toolu_0' }],
      [{}, null, { family: 'anthropic', id: 'toolu_1' }],
    ],
  )
})

/** The calls of an answer: their tool, and their arguments or the fault in their place. */
function callsOf(...events: unknown[]) {
  return reading(start(), ...events, finish('tool_use'), END).parts.flatMap((part) =>
    part.type === 'tool_call' ? [[part.tool, part.fault ?? part.args]] : [],
  )
}

const ROME = '{"city":"Rome"}'

for (const [what, events] of Object.entries({
  'the index is a text in one of them': [{ ...TOOL(0), index: '0' }, json(0, ROME), stop(0)],
  'the index leads to nothing': [TOOL(1), json(0, ROME), stop(1)],
  'there is no index': [TOOL(0), { type: 'content_block_delta', delta: json(0, ROME).delta }, stop(0)],
  'the index is that of a text': [TEXT, words(0, 'Let me'), stop(0), TOOL(1), json(0, ROME), stop(1)],
  'words come under the index of the call': [TOOL(0), words(0, 'Let me'), json(0, ROME), stop(0)],
  'there are two pieces, one astray': [TOOL(1), json(1, '{"city":'), json(7, '"Rome"}'), stop(1)],
})) {
  test(`PS-04: arguments are those of the call that is open where ${what}`, () => {
    assert.deepEqual(callsOf(...events), [['f', { city: 'Rome' }]])
  })
}

test('PS-04: with two open calls a stray tail spoils the last, and no call is run with half its arguments', () => {
  assert.deepEqual(callsOf(TOOL(0), json(0, '{"x'), TOOL(1), json(1, '{}'), json(5, '":1}'), stop(0), stop(1)), [
    ['f', 'not_json'],
    ['f', 'not_json'],
  ])
})

test('words under the index of a call are shown, and are a text of their own', () => {
  const { heard, parts } = reading(start(), TOOL(0), words(0, 'Let me'), stop(0), finish('tool_use'), END)
  assert.equal(heard.shown(), 'Let me')
  assert.deepEqual(
    parts.map(({ type }) => type),
    ['tool_call', 'text'],
  )
})

test('arguments of a tool of the provider own are no arguments of the call before it', () => {
  const server = open(1, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} })
  assert.deepEqual(callsOf(TOOL(0), stop(0), server, json(1, '{"query":"x"}'), stop(1)), [['f', {}]])
})

test('LC-08: arguments that are no text are judged as the value they are, and never taken for none', () => {
  const value = (partial_json: unknown) =>
    callsOf(TOOL(0), delta(0, { type: 'input_json_delta', partial_json }), stop(0))
  assert.deepEqual(value({ city: 'Rome' }), [['f', { city: 'Rome' }]])
  for (const other of [42, true, [], [1]]) assert.deepEqual(value(other), [['f', 'not_object']])
  assert.deepEqual(value(null), [['f', {}]])
  const long =
    '{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":{"n":12345678901234567890}}}'
  assert.equal(JSON.stringify(callsOf(TOOL(0), long, stop(0))), '[["f",{"n":12345678901234567890}]]')
})

test('the input of a block start counts only where no delta follows, with all its digits', () => {
  const whole =
    '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890}}}'
  const { parts } = reading(
    start(),
    whole,
    stop(0),
    TOOL(1, { old: 1 }),
    json(1, '{"new":1}'),
    stop(1),
    finish('tool_use'),
    END,
  )
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && JSON.stringify(part.args)),
    ['{"n":12345678901234567890}', '{"new":1}'],
  )
})

test('PS-15: a stream cut inside the arguments is no answer, its call is cut, and its input usage is kept', () => {
  const { complete, parts, usage, fault } = reading(start(), TOOL(0), json(0, '{"city":"Ro'))
  assert.deepEqual([complete, fault], [false, null])
  assert.partialDeepStrictEqual(parts[0] ?? {}, {
    type: 'tool_call',
    args: null,
    fault: 'cut',
    argsText: '{"city":"Ro',
  })
  assert.deepEqual(usage, {
    known: 'input',
    tokens: {
      input_tokens: 10,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      total_tokens: 10,
    },
  })
})

test('a call whose arguments had not begun when the stream broke is cut, not empty', () => {
  assert.partialDeepStrictEqual(reading(start(), TOOL(0)).parts[0] ?? {}, { args: null, fault: 'cut' })
  const full = reading(start(), TOOL(0), stop(0), finish('max_tokens'), END)
  assert.equal(full.stop, 'length')
  assert.partialDeepStrictEqual(full.parts[0] ?? {}, { args: null, fault: 'cut' })
})

test('an answer cut by its length cuts the last call only', () => {
  const { parts } = reading(start(), TOOL(0), stop(0), TOOL(1), stop(1), finish('max_tokens'), END)
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && part.fault),
    [null, 'cut'],
  )
})

test('HI-06: thinking keeps its order, its joined signature and its redacted data', () => {
  const { parts, heard } = reading(
    start(),
    open(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'hm' }),
    delta(0, { type: 'signature_delta', signature: 'AB' }),
    delta(0, { type: 'signature_delta', signature: 'CD==' }),
    stop(0),
    open(1, { type: 'redacted_thinking', data: 'EmwK' }),
    stop(1),
    TOOL(2),
    stop(2),
    open(3, { type: 'thinking', thinking: '', signature: '' }),
    delta(3, { type: 'signature_delta', signature: 'only' }),
    stop(3),
    TOOL(4),
    stop(4),
    finish('tool_use'),
    END,
  )
  assert.deepEqual(
    parts.map((part) => (part.type === 'tool_call' ? part.provider_data?.['id'] : part)),
    [
      { type: 'reasoning', text: 'hm', provider_data: { family: 'anthropic', type: 'thinking', signature: 'ABCD==' } },
      { type: 'reasoning', text: '', provider_data: { family: 'anthropic', type: 'redacted_thinking', data: 'EmwK' } },
      'toolu_2',
      { type: 'reasoning', text: '', provider_data: { family: 'anthropic', type: 'thinking', signature: 'only' } },
      'toolu_4',
    ],
  )
  assert.equal(heard.thought(), 'hm')
})

test('tools that the provider runs itself are no calls; their blocks give no part', () => {
  const {
    parts,
    stop: why,
    heard,
  } = reading(
    start(),
    open(0, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
    json(0, '{"query":"x"}'),
    stop(0),
    open(1, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
    stop(1),
    open(2, { type: 'text', text: '' }),
    words(2, 'Found.'),
    stop(2),
    finish('end_turn'),
    END,
  )
  assert.deepEqual([parts, why, heard.reader.started], [[{ type: 'text', text: 'Found.' }], 'end_turn', true])
})

test('a message that is whole in its start is an answer, and its digits are kept', () => {
  const {
    complete,
    parts,
    stop: why,
    usage,
    rawUsage,
  } = reading(
    '{"type":"message_start","message":{"id":"msg_1","content":[{"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890}}],"stop_reason":"tool_use","usage":{"input_tokens":0,"output_tokens":0}}}',
    END,
  )
  assert.deepEqual(
    [complete, why, JSON.stringify(parts[0]?.type === 'tool_call' && parts[0].args)],
    [true, 'tool_calls', '{"n":12345678901234567890}'],
  )
  assert.deepEqual([usage, rawUsage], [null, { input_tokens: 0, output_tokens: 0 }])
})

test('PS-20: a message as one JSON document is read like a stream, losslessly', () => {
  const heard = listen(CALL)
  const parsed = parseJson(
    '{"id":"msg_1","type":"message","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"f","input":{"n":12345678901234567890}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}',
  )
  assert.ok(parsed.ok)
  heard.reader.document(parsed.value)
  assert.equal(heard.reader.progress, 'closed')
  const { complete, parts, usage } = heard.reader.end()
  assert.deepEqual([complete, heard.shown(), usage?.known, usage?.tokens.total_tokens], [true, 'Hi', 'all', 5])
  assert.equal(JSON.stringify(parts[1]?.type === 'tool_call' && parts[1].args), '{"n":12345678901234567890}')
})

test('a document that is an error, or nothing known, is a fault', () => {
  const error = listen(CALL)
  error.reader.document({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
  assert.equal(error.reader.end().fault?.class, 'overloaded')
  const odd = listen(CALL)
  odd.reader.document([1, 2])
  assert.equal(odd.reader.end().fault?.class, 'malformed')
})

test('PS-17: an error event after text fails the attempt; its usage and its text are kept, what follows is not read', () => {
  const { complete, fault, parts, usage, heard } = reading(
    start(),
    TEXT,
    words(0, 'Half'),
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    words(0, ' more'),
    finish('end_turn'),
    END,
  )
  assert.equal(complete, false)
  assert.deepEqual(fault, {
    class: 'overloaded',
    detail: 'overloaded_error: Overloaded',
    status: null,
    retryAfterMs: null,
    repair: null,
  })
  assert.deepEqual([parts, usage?.known, heard.shown()], [[{ type: 'text', text: 'Half' }], 'input', 'Half'])
})

test('an error as the first event, in a foreign shape, or with nothing in it is a fault as well', () => {
  assert.equal(reading({ error: { message: 'x', code: 429 } }).fault?.class, 'rate')
  const heard = listen(CALL)
  heard.reader.event('error', '{}')
  assert.deepEqual([heard.reader.progress, heard.reader.end().fault?.class], ['closed', 'malformed'])
})

test('PS-27: events are known by the type inside; what nobody knows is passed over', () => {
  const { complete, heard } = reading(
    start(),
    { type: 'ping' },
    { type: 'brand_new', x: 1 },
    [],
    'null',
    TEXT,
    delta(0, { type: 'citations_delta', citation: {} }),
    words(0, 'Hi'),
    stop(0),
    finish('end_turn'),
    END,
  )
  assert.deepEqual([complete, heard.shown()], [true, 'Hi'])
})

test('no event of any shape makes the reader throw', () => {
  for (const hole of [undefined, null, 1, 'x', [], {}, [null]]) {
    const events = [
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'error',
    ]
    const { fault } = reading(
      ...events
        .slice(0, -1)
        .map((type) => ({ type, message: hole, index: hole, content_block: hole, delta: hole, usage: hole })),
    )
    assert.equal(fault, null)
    assert.notEqual(reading({ type: 'error', error: hole }).fault, null)
    reading(start(hole as object, { content: [hole], id: hole }), open(0, { type: 'tool_use', input: hole }), END)
  }
})

test('PS-34: a refusal without content, with the stop of a block that never began, is an answer', () => {
  const { complete, fault, parts, stop: why, rawStop } = reading(start(), stop(0), finish('refusal'), END)
  assert.deepEqual([complete, fault, parts, why, rawStop], [true, null, [], 'refusal', 'refusal'])
})

test('PS-35: every stop reason has its word, and an unknown one keeps the text', () => {
  const why = (reason: string) => reading(start(), TEXT, words(0, 'x'), stop(0), finish(reason), END).stop
  assert.deepEqual(
    [
      'end_turn',
      'max_tokens',
      'stop_sequence',
      'pause_turn',
      'refusal',
      'model_context_window_exceeded',
      'zzz_new',
      'toString',
    ].map(why),
    ['end_turn', 'length', 'stop_sequence', 'paused', 'refusal', 'length', 'other', 'other'],
  )
})

test('PS-35: a window that was full before any text came is an overflow', () => {
  const { complete, fault } = reading(start(), finish('model_context_window_exceeded'), END)
  assert.deepEqual([complete, fault?.class], [false, 'context_overflow'])
})

test('PS-31: calls decide, not the word', () => {
  assert.equal(reading(start(), finish('tool_use'), END).stop, 'end_turn')
  assert.equal(reading(start(), TOOL(0), stop(0), finish('end_turn'), END).stop, 'tool_calls')
})

test('PS-36: an empty answer is an answer', () => {
  const { complete, parts, stop: why, usage } = reading(start(), finish('end_turn', { output_tokens: 2 }), END)
  assert.deepEqual([complete, parts, why, usage?.tokens.output_tokens], [true, [], 'end_turn', 2])
})

test('PS-27: an event without a type is of the type that it is named after', () => {
  const heard = listen(CALL)
  for (const { type, ...more } of [start(), TEXT, words(0, 'Hi'), stop(0), finish('end_turn'), END])
    heard.reader.event(type, JSON.stringify(more))
  const { complete, parts } = heard.reader.end()
  assert.deepEqual([complete, parts], [true, [{ type: 'text', text: 'Hi' }]])
})

test('the end mark of another API is passed over: before message_stop it ends nothing, and alone it makes nothing whole', () => {
  const said = [start(), TEXT, words(0, 'Hi'), stop(0), finish('end_turn')]
  assert.equal(reading(...said, '[DONE]', END).complete, true)
  const { complete, fault } = reading(...said, '[DONE]')
  assert.deepEqual([complete, fault], [false, null])
})

test('PS-43: an event that does not parse fails the attempt; nothing after it is read', () => {
  const { complete, fault, usage, heard } = reading(
    start(),
    TEXT,
    words(0, 'a'),
    '{"type":"content_blo: keepalive',
    words(0, 'b'),
    END,
  )
  assert.deepEqual([complete, fault?.class, heard.shown(), usage?.known], [false, 'malformed', 'a', 'input'])
})

test('only message_stop ends an answer, and nothing after it is read', () => {
  const heard = listen(CALL)
  for (const event of [start(), TEXT, words(0, 'a'), stop(0), finish('end_turn')])
    heard.reader.event(undefined, JSON.stringify(event))
  assert.equal(heard.reader.progress, 'open')
  heard.reader.event(undefined, JSON.stringify(END))
  assert.equal(heard.reader.progress, 'closed')
  heard.reader.event(undefined, JSON.stringify(words(0, 'b')))
  heard.reader.document({ content: [] })
  assert.equal(heard.reader.end().parts.length, 1)
})

test('message_stop without any stop reason is an interruption, and the word may come with the message itself', () => {
  const cut = reading(start(), TEXT, words(0, 'Half an'), stop(0), END)
  assert.deepEqual([cut.complete, cut.fault, cut.parts], [false, null, [{ type: 'text', text: 'Half an' }]])
  const unsaid = reading(start(), TEXT, words(0, 'Half an'), stop(0), finish(null), END)
  assert.equal(unsaid.complete, false)
  assert.equal(
    reading(start(undefined, { stop_reason: 'end_turn' }), TEXT, words(0, 'All'), stop(0), END).complete,
    true,
  )
})

test('a second message inside the first is a fault, unless it is the same one again', () => {
  assert.equal(reading(start(), start(), TEXT, words(0, 'a'), finish('end_turn'), END).complete, true)
  const other = { ...start(), message: { ...start().message, id: 'msg_2' } }
  assert.equal(reading(start(), other).fault?.class, 'malformed')
})

test('JS-03: an emoji in two half escapes is shown whole', () => {
  const { heard, parts } = reading(
    start(),
    TEXT,
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude42!"}}',
    finish('end_turn'),
    END,
  )
  assert.deepEqual([heard.pieces, parts], [['🙂!'], [{ type: 'text', text: '🙂!' }]])
})

test('AC-03: cached tokens stand beside the input, not in it', () => {
  const { usage } = reading(
    start({ input_tokens: 3, cache_creation_input_tokens: 12_304, cache_read_input_tokens: 0, output_tokens: 1 }),
    TEXT,
    words(0, 'x'),
    finish('end_turn', { output_tokens: 550, cache_creation_input_tokens: null }),
    END,
  )
  assert.deepEqual(usage, {
    known: 'all',
    tokens: {
      input_tokens: 3,
      cache_read_tokens: 0,
      cache_write_tokens: 12_304,
      output_tokens: 550,
      reasoning_tokens: 0,
      total_tokens: 12_857,
    },
  })
})

test('AC-03: cache writes that are told by their classes alone are the sum of those', () => {
  const { usage } = reading(
    start({ input_tokens: 3, cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 50 } }),
    finish('end_turn', { output_tokens: 5 }),
    END,
  )
  assert.deepEqual(
    [usage?.tokens.cache_write_tokens, usage?.cacheWriteLong, usage?.tokens.total_tokens],
    [150, 50, 158],
  )
})

test('AC-04: thinking is a part of the output, and later totals replace earlier ones', () => {
  const { usage } = reading(
    start({ input_tokens: 100, output_tokens: 5 }),
    TEXT,
    words(0, 'x'),
    finish(null, { output_tokens: 40 }),
    finish('end_turn', { input_tokens: 120, output_tokens: 136, output_tokens_details: { thinking_tokens: 31 } }),
    END,
  )
  assert.deepEqual(
    [
      usage?.tokens.input_tokens,
      usage?.tokens.output_tokens,
      usage?.tokens.reasoning_tokens,
      usage?.tokens.total_tokens,
    ],
    [120, 136, 31, 256],
  )
})

test('passes that the figures leave out are counted, those that are in them are not counted again', () => {
  const iterations = [
    { type: 'compaction', input_tokens: 1000, output_tokens: 50, cache_creation: { ephemeral_1h_input_tokens: 7 } },
    { type: 'message', input_tokens: 120, output_tokens: 30 },
    { type: 'advisor_message', input_tokens: '200', output_tokens: 8, cache_read_input_tokens: 3 },
    { input_tokens: 5000 },
    null,
  ]
  const { usage } = reading(
    start({ input_tokens: 120, output_tokens: 1 }),
    TEXT,
    words(0, 'x'),
    finish('end_turn', { output_tokens: 30, iterations }),
    END,
  )
  assert.deepEqual(
    [usage?.tokens.input_tokens, usage?.tokens.cache_read_tokens, usage?.tokens.output_tokens, usage?.cacheWriteLong],
    [1320, 3, 88, 7],
  )
})

test('AC-06: usage that is missing, negative or all zero for an answer with content is unknown', () => {
  const usage = (first: object | null, last: object | undefined) =>
    reading(start(first as object), TEXT, words(0, 'x'), finish('end_turn', last), END).usage
  assert.equal(usage(null, undefined), null)
  assert.equal(usage({ input_tokens: -1, output_tokens: 1 }, { output_tokens: 4 }), null)
  assert.equal(usage({ input_tokens: 0, output_tokens: 0 }, { output_tokens: 0 }), null)
  assert.equal(usage({ input_tokens: '12', output_tokens: 1 }, { output_tokens: 4 })?.tokens.total_tokens, 16)
})

test('LC-14: arguments over a mebibyte are not kept, nor are calls beyond 256', () => {
  const piece = 'x'.repeat(64 * 1024)
  const huge = reading(
    start(),
    TOOL(0),
    json(0, '{"a":"'),
    ...Array.from({ length: 17 }, () => json(0, piece)),
    json(0, '"}'),
    stop(0),
    finish('tool_use'),
    END,
  )
  assert.partialDeepStrictEqual(huge.parts[0] ?? {}, { fault: 'too_large', args: null, argsText: '' })
  assert.ok(huge.heard.reader.outputLength > 1_100_000)
  const many = reading(start(), ...Array.from({ length: 300 }, (_, index) => TOOL(index)), finish('tool_use'), END)
  assert.equal(many.parts.length, 256)
})

test('what has come is counted in UTF-16 units, and the answer begins with its first text, thought or call', () => {
  const heard = listen(CALL)
  const send = (event: unknown) => heard.reader.event(undefined, JSON.stringify(event))
  for (const event of [start(), { type: 'ping' }, TEXT, words(0, '')]) send(event)
  assert.deepEqual([heard.reader.started, heard.reader.outputLength], [false, 0])
  for (const event of [words(0, 'ab🙂'), TOOL(1), json(1, '{"a":1}')]) send(event)
  assert.deepEqual([heard.reader.started, heard.reader.outputLength], [true, 11])
})

test('text of a block that was never opened is text all the same', () => {
  assert.equal(reading(start(), words(3, 'Hi'), finish('end_turn'), END).heard.shown(), 'Hi')
})

test('blocks that take turns stand in the order in which they were shown, and none is lost', () => {
  const { heard, parts } = reading(
    start(),
    TEXT,
    words(0, 'a'),
    open(1, { type: 'thinking', thinking: '' }),
    delta(1, { type: 'thinking_delta', thinking: 'hm' }),
    open(2, { type: 'text', text: 'b' }),
    words(0, 'c'),
    words(0, 'd'),
    open(2, { type: 'text', text: 'e' }),
    finish('end_turn'),
    END,
  )
  assert.equal(heard.shown(), 'abcde')
  assert.deepEqual(
    parts.map((part) => part.type !== 'tool_call' && part.text),
    ['a', 'hm', 'b', 'cd', 'e'],
  )
})

test('LC-14: calls beyond 256 are not kept, and what is said behind them is', () => {
  const many = Array.from({ length: 258 }, (_, at) => [TOOL(at), stop(at)]).flat()
  const { heard, parts } = reading(start(), ...many, json(999, '{"n":1}'), words(300, 'Hi'), finish('tool_use'), END)
  assert.equal(parts.filter((part) => part.type === 'tool_call').length, 256)
  assert.ok(parts.every((part) => part.type !== 'tool_call' || part.argsText === ''))
  assert.deepEqual([heard.shown(), parts.at(-1)], ['Hi', { type: 'text', text: 'Hi' }])
})

test('AC-03: an input that turns out to be read from the cache as a whole is counted once', () => {
  const told = { input_tokens: 0, cache_read_input_tokens: 9000, cache_creation_input_tokens: 0, output_tokens: 7 }
  const { usage } = reading(
    start({ input_tokens: 9000, output_tokens: 1 }),
    TEXT,
    words(0, 'x'),
    finish('end_turn', told),
    END,
  )
  assert.deepEqual(usage?.tokens, {
    input_tokens: 0,
    cache_read_tokens: 9000,
    cache_write_tokens: 0,
    output_tokens: 7,
    reasoning_tokens: 0,
    total_tokens: 9007,
  })
})
