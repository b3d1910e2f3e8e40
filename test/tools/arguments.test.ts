import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isJsonObject, parseJson, type Json, type JsonObject } from '../../src/contract/json.ts'
import { checkArguments } from '../../src/tools/arguments.ts'
import { schemaFaults } from '../../src/tools/schema-bounds.ts'
import { readTool } from './tool-order.ts'
import { cpuMs } from '../cpu-time.ts'

/** The faults of arguments by a schema that was accepted at POST /runs. */
function faults(schema: JsonObject, args: JsonObject): readonly string[] {
  assert.deepEqual(schemaFaults(schema), [])
  return checkArguments(readTool({ input_schema: schema }), args)
}

/** The faults of one argument `a`. */
function faultsOf(schema: Json, value: Json): readonly string[] {
  return faults({ properties: { a: schema } }, { a: value })
}

function parsed(text: string): JsonObject {
  const json = parseJson(text)
  assert.ok(json.ok && isJsonObject(json.value))
  return json.value
}

const orders: JsonObject = {
  type: 'object',
  additionalProperties: false,
  required: ['orderId'],
  properties: {
    orderId: { type: 'string', minLength: 3 },
    limit: { type: 'integer', minimum: 1, maximum: 100 },
    status: { enum: ['new', 'paid', 'shipped'] },
    lines: { type: 'array', items: { type: 'object', required: ['sku'], properties: { sku: { type: 'string' } } } },
  },
}

test('arguments that fit have no faults', () => {
  assert.deepEqual(faults(orders, { orderId: '123', limit: 5, status: 'paid', lines: [{ sku: 'a' }] }), [])
  assert.deepEqual(faults({}, { anything: [1, { b: null }] }), [])
})

test('LC-08: each fault is one sentence: where, what is wanted, what was got', () => {
  assert.deepEqual(
    faults(orders, { orderId: 5, limit: 1000, status: 'lost', lines: [{ sku: 'a' }, {}], colour: 'red' }),
    [
      'orderId: must be a string; got 5.',
      'limit: must be at most 100; got 1000.',
      'status: must be one of "new", "paid", "shipped"; got "lost".',
      'lines[1].sku: is missing; it is required: a string.',
      'colour: no such field; known here: "orderId", "limit", "status", "lines".',
    ],
  )
  assert.deepEqual(faults(orders, {}), ['orderId: is missing; it is required: a string.'])
})

test('every keyword has its sentence', () => {
  const cases: [Json, Json, string][] = [
    [{ type: ['string', 'null'] }, 5, 'a: must be a string or null; got 5.'],
    [{ type: 'integer', minimum: 1, maximum: 9 }, 1.5, 'a: must be a whole number from 1 to 9; got 1.5.'],
    [{ type: 'boolean' }, 'yes', 'a: must be true or false; got "yes".'],
    [{ type: 'array' }, {}, 'a: must be an array; got an object.'],
    [{ const: 'x' }, 'y', 'a: must be "x"; got "y".'],
    [{ minLength: 3 }, 'ab', 'a: must have at least 3 characters; got 2.'],
    [{ maxLength: 1 }, '🙂🙂', 'a: must have at most 1 characters; got 2.'],
    [{ pattern: '^[A-Z]+$' }, 'abc', 'a: must match the pattern ^[A-Z]+$; got "abc".'],
    [{ format: 'date' }, 'tomorrow', 'a: must be a date such as "2026-11-30"; got "tomorrow".'],
    [{ minimum: 1 }, 0, 'a: must be at least 1; got 0.'],
    [{ exclusiveMinimum: 0 }, 0, 'a: must be above 0; got 0.'],
    [{ exclusiveMaximum: 5 }, 5, 'a: must be below 5; got 5.'],
    [{ multipleOf: 0.5 }, 0.7, 'a: must be a multiple of 0.5; got 0.7.'],
    [{ minItems: 1 }, [], 'a: must have at least 1 items; got 0.'],
    [{ maxItems: 1 }, [1, 2], 'a: must have at most 1 items; got 2.'],
    [
      { uniqueItems: true },
      [{ x: 1, y: 2 }, 5, { y: 2, x: 1 }],
      'a: must hold no item twice; items 0 and 2 are the same.',
    ],
    [{ contains: { type: 'string' } }, [1], 'a: must hold at least 1 of: a string; got 0.'],
    [{ contains: { type: 'string' }, maxContains: 1 }, ['x', 'y'], 'a: must hold at most 1 of: a string; got 2.'],
    [{ prefixItems: [{ type: 'string' }], items: false }, ['x', 'y'], 'a[1]: must not be given.'],
    [{ minProperties: 1 }, {}, 'a: must have at least 1 fields; got 0.'],
    [{ maxProperties: 0 }, { x: 1 }, 'a: must have at most 0 fields; got 1.'],
    [{ dependentRequired: { x: ['y'] } }, { x: 1 }, 'a.y: is missing; it is required where "x" is given.'],
    [
      { propertyNames: { pattern: '^x' } },
      { y: 1 },
      'a.y: no field may have this name: a name must be one that matches ^x.',
    ],
    [{ patternProperties: { '^n': { type: 'number' } } }, { n1: 'x' }, 'a.n1: must be a number; got "x".'],
    [{ not: { type: 'string' } }, 'x', 'a: must not be a string; got "x".'],
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    [{ if: { type: 'string' }, then: { minLength: 2 } }, 'x', 'a: must have at least 2 characters; got 1.'],
    [{ if: { type: 'string' }, else: { const: 1 } }, 2, 'a: must be 1; got 2.'],
    [
      { oneOf: [{ type: 'number' }, { minimum: 1 }] },
      5,
      'a: must fit exactly one of its 2 forms; it fits numbers 1 and 2.',
    ],
    [{ unevaluatedProperties: false, properties: { x: true } }, { y: 1 }, 'a.y: no such field; known here: "x".'],
    [{ unevaluatedItems: false, prefixItems: [true] }, [1, 2], 'a[1]: must not be given.'],
    [false, 1, 'a: must not be given.'],
  ]
  for (const [schema, value, sentence] of cases) {
    assert.deepEqual(faultsOf(schema, value), [sentence], JSON.stringify(schema))
  }
})

test('where one branch is clearly meant its own faults are told, else what the branches are', () => {
  const payment = {
    oneOf: [
      {
        type: 'object',
        required: ['kind', 'number'],
        properties: { kind: { const: 'card' }, number: { type: 'string' } },
      },
      { type: 'object', required: ['kind', 'iban'], properties: { kind: { const: 'bank' }, iban: { type: 'string' } } },
    ],
  }
  assert.deepEqual(faultsOf(payment, { kind: 'card' }), ['a.number: is missing; it is required: a string.'])
  assert.deepEqual(faultsOf(payment, { kind: 'cash' }), [
    'a: must be an object with "kind": "card" and "number" or an object with "kind": "bank" and "iban"; got an object, which is none of these.',
  ])
  assert.deepEqual(faultsOf({ anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] }, 'x'), [
    'a: must have at least 2 characters; got 1.',
  ])
  assert.deepEqual(faultsOf({ anyOf: [{ type: 'string' }, { type: 'null' }] }, 5), [
    'a: must be a string or null; got 5, which is none of these.',
  ])
  assert.deepEqual(faultsOf({ anyOf: [{ pattern: '^a' }, { pattern: '^b' }] }, 'c').length, 1)
})

test('patterns below not, anyOf and if are judged where they stand', () => {
  assert.deepEqual(faultsOf({ not: { pattern: '^secret' } }, 'open'), [])
  assert.equal(faultsOf({ not: { pattern: '^secret' } }, 'secret-1').length, 1)
  assert.deepEqual(faultsOf({ anyOf: [{ pattern: '^a' }, { pattern: '^b' }] }, 'bc'), [])
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  assert.equal(faultsOf({ if: { pattern: '^a' }, then: { maxLength: 1 } }, 'ab').length, 1)
  assert.deepEqual(faultsOf({ patternProperties: { '^x-': true }, additionalProperties: false }, { 'x-a': 1 }), [])
  assert.equal(faultsOf({ patternProperties: { '^x-': true }, additionalProperties: false }, { y: 1 }).length, 1)
})

test('unevaluatedProperties and unevaluatedItems judge what no schema that fits has judged', () => {
  const branch = { anyOf: [{ properties: { x: true }, required: ['z'] }, true], unevaluatedProperties: false }
  assert.deepEqual(faultsOf(branch, { x: 1, z: 1 }), ['a.z: no such field; none is known here.'])
  const failing = { anyOf: [{ properties: { x: true }, not: true }, true], unevaluatedProperties: false }
  assert.deepEqual(faultsOf(failing, { x: 1 }), ['a.x: no such field; none is known here.'])
  const both = { anyOf: [{ properties: { x: true } }, { properties: { y: true } }], unevaluatedProperties: false }
  assert.deepEqual(faultsOf(both, { x: 1, y: 1 }), [])
  const nested = { allOf: [{ properties: { x: true }, unevaluatedProperties: true }], unevaluatedProperties: false }
  assert.deepEqual(faultsOf(nested, { x: 1, y: 1 }), [])
  assert.deepEqual(faultsOf({ if: { properties: { x: true } }, unevaluatedProperties: false }, { x: 1 }), [])
  assert.equal(faultsOf({ not: { properties: { x: false } }, unevaluatedProperties: false }, { x: 1 }).length, 1)
  assert.deepEqual(faultsOf({ contains: { type: 'string' }, unevaluatedItems: { type: 'number' } }, ['x', 1]), [])
  assert.equal(faultsOf({ anyOf: [{ prefixItems: [true] }], unevaluatedItems: false }, ['x', 1]).length, 1)
})

test('LC-08: an object sent as its text inside a string is told so', () => {
  assert.deepEqual(faultsOf({ type: 'object' }, '{"city":"Rome"}'), [
    'a: must be an object; got a string with JSON in it: send the value itself, not its text.',
  ])
})

test('at most ten sentences of at most 300 characters, always the same', () => {
  const args = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`${'🙂'.repeat(100)}${index}`, index]))
  const told = faults({ additionalProperties: { type: 'string' } }, { ...args, ['x'.repeat(1000)]: 1 })
  assert.equal(told.length, 10)
  for (const sentence of told) assert.ok(sentence.length <= 300 && sentence.isWellFormed(), sentence)
  assert.deepEqual(faults({ additionalProperties: { type: 'string' } }, { ...args, ['x'.repeat(1000)]: 1 }), told)
  const [long = ''] = faultsOf(
    { enum: Array.from({ length: 100 }, (_, index) => `value number ${index}`) },
    'y'.repeat(1000),
  )
  assert.ok(long.length <= 300, String(long.length))
  for (const end of ['', 'x']) {
    const smiles = Array.from({ length: 20 }, (_, index) => `${'🙂'.repeat(20)}${index}${end}`)
    const [cut = ''] = faultsOf({ enum: smiles }, 'y')
    assert.ok(cut.isWellFormed(), cut)
  }
  assert.equal(faultsOf({ allOf: [{ type: 'string' }, { type: 'string' }] }, 5).length, 1)
})

test('a fault below a long path keeps the end of the path', () => {
  let schema: JsonObject = { type: 'string' }
  let value: Json = 5
  for (let level = 0; level < 20; level += 1) {
    schema = { type: 'object', properties: { someLongerName: schema } }
    value = { someLongerName: value }
  }
  const [sentence = ''] = faultsOf(schema, value)
  assert.match(sentence, /^….*someLongerName: must be a string; got 5\.$/)
})

test('enum and const compare values, not their texts', () => {
  assert.deepEqual(faultsOf({ enum: [{ x: 1, y: [2] }] }, { y: [2], x: 1 }), [])
  assert.equal(faultsOf({ enum: ['[]', '{}', 'null', '1'] }, []).length, 1)
  assert.equal(faultsOf({ enum: ['[]', '{}', 'null', '1'] }, null).length, 1)
  assert.equal(faultsOf({ const: 1 }, '1').length, 1)
  assert.deepEqual(faultsOf({ uniqueItems: true }, [[], '[]', 1, '1', true, 'true', null, 'null']), [])
})

test('numbers are judged by their digits', () => {
  assert.deepEqual(faultsOf({ multipleOf: 0.01 }, 19.99), [])
  assert.deepEqual(faultsOf({ multipleOf: 0.01 }, 1e300), [])
  assert.equal(faultsOf({ multipleOf: 0.01 }, 19.995).length, 1)
  assert.deepEqual(faultsOf({ type: 'integer' }, 1e3), [])
  assert.deepEqual(faultsOf({ const: 0 }, -0), [])
})

test('numbers that a double cannot hold are judged as the double nearest to them', () => {
  assert.deepEqual(faults({ properties: { a: { type: 'integer' } } }, parsed('{"a":12345678901234567890}')), [])
  assert.equal(faults({ properties: { a: { type: 'string' } } }, parsed('{"a":12345678901234567890}')).length, 1)
  const exact = parsed('{"properties":{"a":{"const":12345678901234567890}}}')
  assert.deepEqual(faults(exact, parsed('{"a":12345678901234567890}')), [])
})

test('the formats that mean one thing everywhere are checked, others are annotations', () => {
  const cases: [string, string[], string[]][] = [
    ['date', ['2026-11-30', '2024-02-29'], ['2026-02-29', '2026-13-01', '30.11.2026', '2026-11-31', '']],
    [
      'date-time',
      ['2026-11-30T12:00:00Z', '2026-11-30t12:00:00.5+03:00'],
      ['2026-11-30', '2026-11-30T12:00:00', '2026-11-30T25:00:00Z'],
    ],
    ['uuid', ['123e4567-e89b-12d3-a456-426614174000'], ['123e4567', '{123e4567-e89b-12d3-a456-426614174000}']],
    ['email', ['a@b.co', 'имя@пример.рф'], ['a', 'a@', '@b', 'a b@c.d']],
    ['ipv4', ['192.0.2.1'], ['256.0.0.1', '1.2.3', '1.2.3.4.']],
    ['uri', ['https://example.com/?a=b', 'urn:isbn:1'], ['/path', 'example.com', 'https://a b']],
    ['phone', ['anything'], []],
    ['constructor', ['anything'], []],
    ['__proto__', ['anything'], []],
  ]
  for (const [format, good, bad] of cases) {
    for (const text of good) assert.deepEqual(faultsOf({ format }, text), [], `${format} ${text}`)
    for (const text of bad) assert.equal(faultsOf({ format }, text).length, 1, `${format} ${text}`)
    assert.deepEqual(faultsOf({ format }, 5), [])
  }
})

test('JS-02: __proto__, constructor and friends are data', () => {
  const args = parsed('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}')
  assert.deepEqual(faults({}, args), [])
  assert.deepEqual(faults({ additionalProperties: false }, args).length, 3)
  assert.deepEqual(faults({ required: ['__proto__', 'constructor', 'toString'] }, args), [])
  assert.equal(faults({ required: ['__proto__', 'constructor', 'hasOwnProperty'] }, {}).length, 3)
  assert.deepEqual(faults(parsed('{"properties":{"__proto__":{"type":"string"}}}'), parsed('{"__proto__":{"x":1}}')), [
    '__proto__: must be a string; got an object.',
  ])
  assert.deepEqual(faults({ dependentRequired: { toString: ['a'] } }, {}), [])
  assert.equal(Object.hasOwn(Object.prototype, 'x'), false)
})

test('JS-02: (a+)+$ answers at once', () => {
  const started = cpuMs()
  assert.deepEqual(faultsOf({ pattern: '(a+)+$' }, `${'a'.repeat(40)}b`).length, 1)
  assert.ok(cpuMs() - started < 100)
})

const TOO_COSTLY = ['The value is too large or too deep to be checked: send fewer or shorter values.']

test('JS-04: what schema and arguments multiply to is cut off', () => {
  let deep: JsonObject = {}
  for (let level = 0; level < 120; level += 1) deep = { a: deep }
  const doubling: JsonObject[] = [
    { allOf: [{ properties: { a: { $ref: '#' } } }, { properties: { a: { $ref: '#' } } }] },
    { properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } }, required: ['a'] },
    { properties: { a: { not: { not: { $ref: '#' } } } }, anyOf: [{ properties: { a: { $ref: '#' } } }, false] },
  ]
  const long = Array.from({ length: 100_000 }, (_, index) => ({ index }))
  const costly: [JsonObject, JsonObject][] = [
    ...doubling.map((schema): [JsonObject, JsonObject] => [schema, deep]),
    [{ properties: { a: { allOf: Array.from({ length: 500 }, () => ({ uniqueItems: true })) } } }, { a: long }],
    [{ properties: { a: { allOf: Array.from({ length: 50 }, () => ({ uniqueItems: true })) } } }, { a: [long] }],
    [{ properties: { a: { pattern: '^(?:a|b)*a(?:a|b){12}$' } } }, { a: 'ab'.repeat(50_000) }],
    [{ properties: { a: { items: { multipleOf: 1e-300 } } } }, { a: long.map(() => 1.7e308) }],
    [
      { properties: { a: { allOf: Array.from({ length: 900 }, () => ({ minLength: 1 })) } } },
      { a: 'x'.repeat(1_000_000) },
    ],
  ]
  for (const [schema, args] of costly) {
    const started = cpuMs()
    assert.deepEqual(faults(schema, args), TOO_COSTLY, JSON.stringify(schema).slice(0, 100))
    assert.ok(cpuMs() - started < 2000)
  }
})

test('a long chain of references cannot overflow the stack', () => {
  const defs = Array.from({ length: 1500 }, (_, index): [string, Json] => [
    `d${index}`,
    index === 1499 ? { properties: { a: { $ref: '#/$defs/d0' } } } : { $ref: `#/$defs/d${index + 1}` },
  ])
  const schema = { $ref: '#/$defs/d0', $defs: Object.fromEntries(defs) }
  assert.deepEqual(faults(schema, { a: { a: {} } }), TOO_COSTLY)
})

test('honest large arguments are checked', () => {
  const rows = Array.from({ length: 5000 }, (_, index) => ({ id: index, name: `row ${index}` }))
  const schema = {
    properties: {
      rows: {
        type: 'array',
        uniqueItems: true,
        items: { type: 'object', properties: { id: { type: 'integer' }, name: { type: 'string' } } },
      },
    },
  }
  assert.deepEqual(faults(schema, { rows }), [])
  assert.deepEqual(faultsOf({ type: 'string', pattern: '^\\S' }, 'text '.repeat(20_000)), [])
  assert.deepEqual(faultsOf({ enum: Array.from({ length: 3000 }, (_, index) => index) }, 2999), [])
})

test('a schema that was never accepted does not throw', () => {
  const broken = checkArguments(readTool({ input_schema: { properties: 5 } }), { a: 1 })
  assert.deepEqual(broken, ['Its schema itself is broken, so nothing fits it: do not try again.'])
})

test('draft-07 and 2020-12 differ in what stands beside $ref', () => {
  const schema = {
    properties: { a: { $ref: '#/definitions/text', maxLength: 1 } },
    definitions: { text: { type: 'string' } },
  }
  assert.equal(faults(schema, { a: 'xy' }).length, 1)
  assert.deepEqual(faults({ ...schema, $schema: 'http://json-schema.org/draft-07/schema#' }, { a: 'xy' }), [])
})

test('draft-07 tuples and dependencies are understood', () => {
  assert.equal(faultsOf({ items: [{ type: 'string' }], additionalItems: false }, ['x', 1]).length, 1)
  assert.deepEqual(faultsOf({ items: [{ type: 'string' }] }, ['x', 1]), [])
  assert.deepEqual(faultsOf({ items: { type: 'string' }, additionalItems: false }, ['x', 'y']), [])
  assert.equal(faultsOf({ dependencies: { x: ['y'], z: { required: ['w'] } } }, { x: 1, z: 1 }).length, 2)
})
