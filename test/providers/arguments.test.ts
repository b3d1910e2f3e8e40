/** What arguments a text holds, and that none is ever guessed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { readArguments } from '../../src/providers/arguments.ts'
import { dialectCall, read } from './dialect-call.ts'
import { readAnswer } from './gigachat/gigachat-call.ts'
import { read as readResponse } from './openai-responses/hear.ts'

function args(text: string): unknown {
  const read = readArguments(text, 'whole')
  return read.fault ?? JSON.parse(JSON.stringify(read.args))
}

test('PS-07: nothing at all and white space are a call without arguments', () => {
  assert.deepEqual(args(''), {})
  assert.deepEqual(args(' \n'), {})
})

test('PS-07: nothing at all is a cut call where the answer may have ended before the arguments began', () => {
  assert.deepEqual(readArguments('', 'open'), { args: null, fault: 'cut' })
  assert.deepEqual(readArguments('', 'may'), { args: {}, fault: null })
})

test('PS-08: two whole objects glued together are no arguments', () => {
  assert.equal(args('{"q":"A"}{"q":"B"}'), 'not_json')
  assert.equal(args('{"q":"A"} {"q":"A"} {"q":"B"}'), 'not_json')
})

test('JS-03: half a surrogate pair is U+FFFD in values and in keys, a whole one stays', () => {
  assert.deepEqual(args('{"a":"\\ud83d","b":["\\ude42x","\\ud83d\\ude42"],"k\\ud800":1}'), {
    a: '\ufffd',
    b: ['\ufffdx', '🙂'],
    'k\ufffd': 1,
  })
  assert.deepEqual(args('{"a":"\\\\ud83d"}'), { a: '\\ud83d' })
  const twice = '{"n":12345678901234567890,"a":"\ud83d"}'.repeat(2)
  assert.equal(JSON.stringify(readArguments(twice, 'whole').args), '{"n":12345678901234567890,"a":"\ufffd"}')
  assert.deepEqual(args(JSON.stringify('{"a":"\\ud83d"}')), { a: '\ufffd' })
})

test('the same object sent twice or more is that object', () => {
  assert.deepEqual(args('{"a":"}{"}{"a":"}{"}'), { a: '}{' })
  assert.deepEqual(args('{"a":1}\n{"a":1}{"a":1}'), { a: 1 })
  assert.deepEqual(args('{"a":"\\"}"}{"a":"\\"}"}'), { a: '"}' })
})

test('a copy of an object may be written in another way, and what is not the same object is none', () => {
  assert.deepEqual(args('{"a":1,"b":"é"} {"b": "\\u00e9", "a": 1.0}\n'), { a: 1, b: 'é' })
  for (const other of [
    '{"a":2}',
    '{"a":1,"b":1}',
    '{"a":"1"}',
    '[{"a":1}]',
    '{"a":1',
    '{a:1}',
    '{"a":1}{"a":2}',
    '"x"',
  ])
    assert.equal(args(`{"a":1} ${other}`), 'not_json', other)
})

test('LC-08: an object inside a string is unwrapped once; what else is no object is told', () => {
  assert.deepEqual(args('"{\\"city\\":\\"Rome\\"}"'), { city: 'Rome' })
  assert.equal(args(JSON.stringify(JSON.stringify('{"city":"Rome"}'))), 'not_object')
  for (const text of ['[]', 'null', '42', '"Rome"', 'true', '[{"a":1}]', '"[1]"'])
    assert.equal(args(text), 'not_object', text)
})

test('LC-09: what is missing is never guessed', () => {
  assert.equal(args('{"to":"all@corp.example","body":"Hel'), 'not_json')
  assert.deepEqual(readArguments('{"to":"all@corp.example","body":"Hel', 'may'), { args: null, fault: 'cut' })
  for (const text of [
    '{"a":1',
    '{"a":',
    '{a:1}',
    "{'a':1}",
    '{"a":1,}',
    'file_path=foo',
    '{{"a":1}}',
    '{"a":1} and more',
    '}{"a":1}',
  ]) {
    assert.equal(args(text), 'not_json', text)
  }
})

test('LC-09: what stands after a whole object and means nothing is dropped', () => {
  for (const tail of [',', ' ,\n', '<|tool_call_end|>', '<|im_end|>\n', '</s>']) {
    assert.deepEqual(args(`{"a":"<|x|>"}${tail}`), { a: '<|x|>' }, tail)
    assert.equal(args(`[1]${tail}`), 'not_json', tail)
  }
})

test('LC-09: no strict beginning of an object is ever taken for arguments', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (object, share) => {
        const whole = JSON.stringify(object)
        const cut = whole.slice(0, Math.max(1, Math.floor(share * (whole.length - 1))))
        assert.deepEqual(readArguments(cut, 'whole'), { args: null, fault: 'not_json' })
        assert.deepEqual(args(whole), JSON.parse(whole))
      },
    ),
  )
})

test('JS-02: keys of prototypes are data', () => {
  const read = readArguments('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}', 'whole')
  assert.equal(JSON.stringify(read.args), '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}')
  assert.equal(({} as Record<string, unknown>)['x'], undefined)
})

test('JS-04: arguments that nest too deep are no arguments, and the process lives', () => {
  const bomb = '{"a":'.repeat(20_000) + '1' + '}'.repeat(20_000)
  assert.equal(args(bomb), 'not_json')
})

test('JS-05: of the same key twice the last one stands', () => {
  assert.deepEqual(args('{"amount":10,"amount":9999}'), { amount: 9999 })
})

test('digits that a double cannot hold are kept', () => {
  const read = readArguments('{"id":12345678901234567890,"sum":0.12345678901234567890}', 'whole')
  assert.equal(JSON.stringify(read.args), '{"id":12345678901234567890,"sum":0.12345678901234567890}')
})

test('JS-04: a call whose arguments come as a value that nests too deep is one that cannot be read, at every API', () => {
  const claude = dialectCall({ provider: 'anthropic', model: 'claude-opus-4-8' })
  const usage = { input_tokens: 1, output_tokens: 1 }
  const tail = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage },
    { type: 'message_stop' },
  ]
  const head = { type: 'message_start', message: { id: 'm', content: [], usage } }
  const block = (input: string) =>
    `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":${input}}}`
  const ended = { type: 'response.completed', response: { id: 'r', status: 'completed', output: [], usage } }
  for (const depth of [150, 30_000]) {
    const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const calls = `[{"index":0,"id":"x","function":{"name":"f","arguments":${deep}}}]`
    const piece = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${deep}}}`
    const item = `{"type":"function_call","call_id":"c","name":"f","arguments":${deep},"status":"completed"}`
    const delta = `{"function_call":{"name":"f","arguments":${deep}}}`
    for (const { complete, parts } of [
      read(dialectCall({}), [`{"choices":[{"delta":{"tool_calls":${calls}},"finish_reason":"tool_calls"}]}`]),
      read(claude, [head, block(deep), ...tail]),
      read(claude, [head, block('{}'), piece, ...tail]),
      readResponse(dialectCall({ provider: 'openai', model: 'gpt-5.5' }), [
        `{"type":"response.output_item.done","output_index":0,"item":${item}}`,
        ended,
      ]),
      readAnswer([`{"choices":[{"delta":${delta},"finish_reason":"function_call"}]}`]),
    ]) {
      const faults = parts.map((part) => (part.type === 'tool_call' ? [part.tool, part.fault] : part.type))
      assert.deepEqual([complete, faults], [true, [['f', 'not_json']]])
    }
  }
})
