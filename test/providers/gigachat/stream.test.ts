/** Answers of GigaChat's v1 API, in every form that is documented or was seen. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunk, DONE, listenTo, readAnswer } from './gigachat-call.ts'

const usage = { prompt_tokens: 278, completion_tokens: 35, total_tokens: 313, precached_prompt_tokens: 12 }

test('text comes in phrases, with usage on the last chunk', () => {
  const {
    complete,
    heard,
    parts,
    rawStop,
    rawUsage,
    stop,
    usage: counted,
    ...rest
  } = readAnswer([
    chunk({ content: 'Order 77 ', role: 'assistant' }),
    chunk({ content: 'is shipped.' }),
    chunk({ content: '' }, 'stop', usage),
    DONE,
  ])
  assert.deepEqual(heard.pieces, ['Order 77 ', 'is shipped.'])
  assert.deepEqual(parts, [{ type: 'text', text: 'Order 77 is shipped.' }])
  assert.deepEqual([complete, stop, rawStop], [true, 'end_turn', 'stop'])
  assert.deepEqual(rawUsage, usage)
  assert.equal(counted?.known, 'all')
  assert.deepEqual(
    { fault: rest.fault, refusal: rest.refusal, id: rest.responseId, data: rest.provider_data },
    { fault: null, refusal: null, id: null, data: null },
  )
})

test('AC-03: tokens from the cache come on top of the prompt tokens', () => {
  const { usage: counted } = readAnswer([chunk({ content: 'x' }, 'stop', usage), DONE])
  assert.deepEqual(counted?.tokens, {
    input_tokens: 278,
    cache_read_tokens: 12,
    cache_write_tokens: 0,
    output_tokens: 35,
    reasoning_tokens: 0,
    total_tokens: 325,
  })
})

test('AC-06: usage that is missing, empty or nonsense is not known', () => {
  for (const odd of [
    undefined,
    null,
    {},
    { total_tokens: 15 },
    { prompt_tokens: -1, completion_tokens: 2 },
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ]) {
    const { usage: counted } = readAnswer([{ ...chunk({ content: 'x' }, 'stop'), usage: odd }, DONE])
    assert.equal(counted, null, JSON.stringify(odd))
  }
  const half = readAnswer([chunk({ content: 'x' }, 'stop', { prompt_tokens: '10' }), DONE]).usage
  assert.deepEqual([half?.known, half?.tokens.input_tokens, half?.tokens.output_tokens], ['input', 10, 0])
})

const called = {
  role: 'assistant',
  content: '',
  function_call: { name: 'find_order', arguments: { id: '77' } },
  functions_state_id: 'fs-1',
}
const call = { type: 'tool_call', tool: 'find_order', args: { id: '77' }, argsText: '{"id":"77"}', fault: null }

test('PS-44: a call comes whole, its arguments an object, with a state id to be kept', () => {
  const { parts, provider_data, stop } = readAnswer([chunk(called, 'function_call', usage), DONE])
  assert.deepEqual(parts, [{ ...call, provider_data: null }])
  assert.equal(stop, 'tool_calls')
  assert.deepEqual(provider_data, { family: 'gigachat', functions_state_id: 'fs-1' })
})

test('PS-40: content that is a list of parts is their text', () => {
  const parts = [
    { type: 'text', text: 'Order 77 ' },
    { type: 'text', text: 'is shipped.' },
  ]
  const { heard, stop } = readAnswer([chunk({ content: parts }, 'tool_calls', usage), DONE])
  assert.deepEqual([heard.pieces.join(''), stop], ['Order 77 is shipped.', 'end_turn'])
})

test('LC-08: arguments that are no object are judged as the value they are, and never taken for none', () => {
  for (const value of [42, true, [1]]) {
    const odd = { ...called, function_call: { name: 'find_order', arguments: value } }
    const { parts } = readAnswer([chunk(odd, 'function_call', usage), DONE])
    assert.deepEqual(
      parts.map((part) => part.type === 'tool_call' && [part.args, part.fault]),
      [[null, 'not_object']],
    )
  }
})

test('PS-44: the same as one JSON document', () => {
  const { heard: _, ...streamed } = readAnswer([chunk(called, 'function_call', usage), DONE])
  const { reader } = listenTo()
  reader.document({
    choices: [{ message: called, index: 0, finish_reason: 'function_call' }],
    object: 'chat.completion',
    usage,
  })
  assert.equal(reader.progress, 'closed')
  assert.deepEqual(reader.end(), streamed)
})

test('the finish reason may come after the call, and the call again with it', () => {
  const { parts, stop, complete } = readAnswer([chunk(called), chunk(called, 'function_call'), DONE])
  assert.deepEqual(parts, [{ ...call, provider_data: null }])
  assert.deepEqual([stop, complete], ['tool_calls', true])
})

test('calls decide, not the word beside them', () => {
  assert.equal(readAnswer([chunk(called, 'stop')]).stop, 'tool_calls')
  assert.equal(readAnswer([chunk({ content: 'x' }, 'function_call')]).stop, 'end_turn')
  assert.equal(readAnswer([chunk({ content: 'x' }, 'unheard_of')]).stop, 'other')
})

test('arguments as text, in pieces, are read all the same', () => {
  const piece = (name: string, args: unknown) => chunk({ function_call: { name, arguments: args } })
  const { parts } = readAnswer([piece('f', '{"a":'), piece('', '1}'), chunk({}, 'function_call'), DONE])
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && [part.tool, part.args, part.fault]),
    [['f', { a: 1 }, null]],
  )
  const none = readAnswer([chunk({ function_call: { name: 'f' } }, 'function_call'), DONE])
  assert.deepEqual(none.parts[0]?.type === 'tool_call' && none.parts[0].args, {})
})

test('two calls are two, of one name or of two', () => {
  const one = (name: string, n: number) => chunk({ function_call: { name, arguments: { n } } })
  const { parts } = readAnswer([one('f', 1), one('f', 2), one('g', 2), chunk({}, 'function_call'), DONE])
  assert.deepEqual(
    parts.map((part) => part.type === 'tool_call' && [part.tool, part.args]),
    [
      ['f', { n: 1 }],
      ['f', { n: 2 }],
      ['g', { n: 2 }],
    ],
  )
})

test('names come back as those of the tools', () => {
  const { parts } = readAnswer([chunk({ function_call: { name: 'fn_web_search', arguments: {} } }, 'function_call')])
  assert.equal(parts[0]?.type === 'tool_call' && parts[0].tool, 'web_search')
})

test('a number of the arguments keeps its digits', () => {
  const data = `{"choices":[{"delta":{"function_call":{"name":"f","arguments":{"n":12345678901234567890}}},"index":0,"finish_reason":"function_call"}]}`
  const { parts } = readAnswer([data, DONE])
  assert.equal(parts[0]?.type === 'tool_call' && parts[0].argsText, '{"n":12345678901234567890}')
})

test('reasoning comes in its own field, or in tags inside the content', () => {
  const own = readAnswer([
    chunk({ role: 'assistant', content: '', reasoning_content: 'Check the order.' }),
    chunk({ content: 'Shipped.', reasoning_content: null }, 'stop'),
  ])
  const tagged = readAnswer([
    chunk({ content: '<thi' }),
    chunk({ content: 'nk>Check the order.</think>\n\nShipped.' }, 'stop'),
  ])
  for (const { heard, parts } of [own, tagged]) {
    assert.deepEqual(parts, [
      { type: 'reasoning', text: 'Check the order.' },
      { type: 'text', text: 'Shipped.' },
    ])
    assert.equal(heard.thought(), 'Check the order.')
    assert.equal(heard.shown(), 'Shipped.')
  }
})

test('the blacklist is a refusal, with the words that stand for the answer', () => {
  const { complete, parts, stop } = readAnswer([chunk({ content: 'Не люблю менять тему, но…' }, 'blacklist'), DONE])
  assert.deepEqual([complete, stop], [true, 'refusal'])
  assert.deepEqual(parts, [{ type: 'text', text: 'Не люблю менять тему, но…' }])
})

test('length cuts an answer, and a call it cuts is not run', () => {
  assert.equal(readAnswer([chunk({ content: 'x' }, 'length')]).stop, 'length')
  const { parts } = readAnswer([chunk({ function_call: { name: 'f', arguments: '{"a":"b' } }, 'length'), DONE])
  assert.equal(parts[0]?.type === 'tool_call' && parts[0].fault, 'cut')
})

test('finish reason error is a failed attempt that may be tried again', () => {
  const { complete, fault } = readAnswer([chunk({ content: 'x' }), chunk({}, 'error', usage), DONE])
  assert.deepEqual([complete, fault?.class], [false, 'malformed'])
})

test('what a built-in function says while it works is no answer', () => {
  const { heard } = readAnswer([
    chunk({ role: 'function_in_progress', content: '{"seconds_left":12}' }),
    chunk({ role: 'search_result', content: 'found' }),
    chunk({ role: 'assistant', content: 'Here.' }, 'stop'),
  ])
  assert.equal(heard.shown(), 'Here.')
})

test('a stream without its end is no answer, and a call in it is not whole', () => {
  const cut = readAnswer([chunk({ content: 'x' })])
  assert.deepEqual([cut.complete, cut.fault], [false, null])
  const open = readAnswer([chunk({ function_call: { name: 'f' } })])
  assert.equal(open.parts[0]?.type === 'tool_call' && open.parts[0].fault, 'cut')
})

test('PS-45: a finish reason is enough, [DONE] alone too, but not for nothing', () => {
  assert.equal(readAnswer([chunk({ content: 'x' }, 'stop')]).complete, true)
  assert.equal(readAnswer([chunk({ content: 'x' }), DONE]).complete, true)
  const nothing = readAnswer([DONE])
  assert.deepEqual([nothing.complete, nothing.fault?.class], [false, 'malformed'])
  assert.equal(readAnswer([chunk({ content: '' }, 'stop'), DONE]).complete, true)
})

test('progress tells what is still to come, and nothing is read after the end', () => {
  const { reader, shown } = listenTo()
  const event = (value: object | string) =>
    reader.event(undefined, typeof value === 'string' ? value : JSON.stringify(value))
  event('')
  event(chunk({ role: 'assistant', content: '' }))
  assert.deepEqual([reader.progress, reader.started, reader.outputLength], ['open', false, 0])
  event(chunk({ content: 'ab' }))
  assert.deepEqual([reader.progress, reader.started, reader.outputLength], ['open', true, 2])
  event(chunk({}, 'stop'))
  assert.equal(reader.progress, 'finished')
  event({ choices: [], usage })
  event(DONE)
  assert.equal(reader.progress, 'closed')
  event(chunk({ content: 'late' }))
  assert.equal(shown(), 'ab')
  assert.deepEqual(reader.end().rawUsage, usage)
})

test('a call starts an answer, and its arguments count as output', () => {
  const { reader } = listenTo()
  reader.event(undefined, JSON.stringify(chunk(called)))
  assert.deepEqual([reader.started, reader.outputLength], [true, '{"id":"77"}'.length])
})

test('an error inside a 200 answer is a fault, in every shape', () => {
  const cases: [unknown, string][] = [
    [{ status: 500, message: 'Internal Server Error' }, 'server'],
    [{ status: 429, message: 'Too many requests' }, 'rate'],
    [{ status: 401, message: 'Token has expired' }, 'auth'],
    [{ status: 413, message: 'Payload too large' }, 'context_overflow'],
    [{ error: { message: 'x', code: 503 } }, 'overloaded'],
  ]
  for (const [body, expected] of cases) {
    const streamed = readAnswer([chunk({ content: 'a' }), body, chunk({ content: 'b' }, 'stop')])
    assert.deepEqual([streamed.complete, streamed.fault?.class], [false, expected])
    assert.equal(streamed.heard.shown(), 'a')
    const { reader } = listenTo()
    reader.document(body as never)
    assert.equal(reader.end().fault?.class, expected)
  }
  const named = listenTo()
  named.reader.event('error', '{}')
  assert.equal(named.reader.end().fault?.class, 'malformed')
})

test('PS-43: an event that is no JSON fails the attempt; so does a document that is nothing', () => {
  assert.equal(readAnswer([chunk({ content: 'a' }), '{"choices":[{"de']).fault?.class, 'malformed')
  for (const body of [{}, [], { choices: [] }, { choices: [{ index: 1, message: { content: 'x' } }] }]) {
    const { reader } = listenTo()
    reader.document(body)
    assert.equal(reader.end().fault?.class, 'malformed', JSON.stringify(body))
  }
})

test('no shape of a chunk makes the reader throw', () => {
  const odd = [null, 1, '"x"', [], {}, { choices: null }, { choices: [null] }, { choices: [{}] }, { usage: 3 }]
  const deltas = [null, 3, { content: 7 }, { content: null, role: 9 }, { function_call: [] }, { function_call: null }]
  const { fault, parts } = readAnswer([
    ...odd,
    ...deltas.map((delta) => ({ choices: [{ delta, index: 0 }] })),
    { choices: [{ delta: { function_call: { name: 3, arguments: null } }, finish_reason: 3 }] },
    chunk({ content: 'x' }, 'stop'),
  ])
  assert.equal(fault, null)
  assert.deepEqual(parts, [{ type: 'text', text: 'x' }])
})

test('a whole message at the end of a stream says nothing twice', () => {
  const { heard } = readAnswer([
    chunk({ content: 'ab' }),
    { choices: [{ message: { role: 'assistant', content: 'ab' }, index: 0, finish_reason: 'stop' }] },
  ])
  assert.equal(heard.shown(), 'ab')
})

test('what only the whole message at the end holds is a part of the answer', () => {
  const call = { name: 'find_order', arguments: { id: '77' } }
  const last = { choices: [{ message: { content: 'I look.', function_call: call }, finish_reason: 'function_call' }] }
  const found = readAnswer([chunk({ content: 'I look.' }), last, DONE])
  assert.deepEqual(
    found.parts.map((part) => (part.type === 'tool_call' ? part.args : part.text)),
    ['I look.', { id: '77' }],
  )
  const thought = readAnswer([chunk({ reasoning_content: 'hm' }), last, DONE])
  assert.deepEqual(
    thought.parts.map((part) => (part.type === 'tool_call' ? part.args : part.text)),
    ['hm', 'I look.', { id: '77' }],
  )
  const called = readAnswer([chunk({ content: '', function_call: call }), last, DONE])
  assert.equal(called.parts.filter((part) => part.type === 'tool_call').length, 1)
})
