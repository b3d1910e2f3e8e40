/** Tools as providers take them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { objectSchema, wireSchema, wireToolName } from '../../src/providers/tool-definition.ts'

test('a schema that is an object with properties goes as it is', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  assert.equal(objectSchema(schema), schema)
})

test('HI-17: a root without type or properties gets them, and keeps the rest', () => {
  assert.deepEqual(objectSchema({}), { type: 'object', properties: Object.create(null) as object })
  assert.equal(
    JSON.stringify(objectSchema({ title: 'a', additionalProperties: false })),
    '{"title":"a","additionalProperties":false,"type":"object","properties":{}}',
  )
})

test('HI-17: a reference at the root is followed, also one that a union holds, and one that goes in a circle ends', () => {
  const $defs = { a: { $ref: '#/$defs/b' }, b: { properties: { x: { $ref: '#/$defs/c' } }, required: ['x'] }, c: {} }
  const told = '"type":"object","properties":{"x":{"$ref":"#/$defs/c"}}'
  const written = (schema: JsonObject) =>
    JSON.stringify(objectSchema(schema)).replace(`"$defs":${JSON.stringify($defs)},`, '')
  assert.equal(written({ $ref: '#/$defs/a', $defs }), `{${told},"required":["x"]}`)
  assert.equal(written({ type: 'object', $ref: '#/$defs/b', $defs }), `{${told},"required":["x"]}`)
  assert.equal(written({ oneOf: [{ $ref: '#/$defs/b' }, { type: 'object' }], $defs }), `{${told}}`)
  assert.equal(written({ $ref: '#/$defs/none', $defs }), '{"type":"object","properties":{}}')
  assert.equal(JSON.stringify(objectSchema({ $ref: '#' })), '{"type":"object","properties":{}}')
})

test('HI-17: whole values and negations are not told at the root, where providers refuse them', () => {
  const properties = { a: { type: 'string' } }
  const schema = { type: 'object', properties, enum: [{ a: 'x' }], const: { a: 'x' }, not: { required: ['b'] } }
  assert.equal(JSON.stringify(objectSchema(schema)), JSON.stringify({ type: 'object', properties }))
})

test('HI-17: unions at the root become one object; only what every reading demands is required', () => {
  const a = { properties: { a: { type: 'string' } }, required: ['a'] }
  const b = { properties: { b: { type: 'number' } }, required: ['b'] }
  const own = { type: 'object', properties: { own: {} }, required: ['own'] }
  assert.equal(
    JSON.stringify(objectSchema({ ...own, anyOf: [a, b] })),
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"},"own":{}},"required":["own"]}',
  )
  assert.equal(
    JSON.stringify(objectSchema({ allOf: [a, b] })),
    '{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["a","b"]}',
  )
})

const told = (schema: JsonObject, typedSchemas = false) => wireSchema(schema, { typedSchemas })

test('HI-17: a list says what it holds, at any depth; a schema that leaves nothing out goes as it is', () => {
  const whole = { type: 'object', properties: { a: { type: 'array', items: { anyOf: [{ type: 'null' }] } } } }
  assert.equal(told(whole), whole)
  const properties = {
    list: { type: ['array', 'null'] },
    deep: { anyOf: [{ type: 'object', properties: { inner: { type: 'array', items: { type: 'array' } } } }, true] },
    pair: { type: 'array', items: [{ type: 'number' }, true], additionalItems: false },
    any: true,
    none: false,
  }
  assert.deepEqual(JSON.parse(JSON.stringify(told({ type: 'object', properties })['properties'])), {
    list: { type: ['array', 'null'], items: {} },
    deep: {
      anyOf: [{ type: 'object', properties: { inner: { type: 'array', items: { type: 'array', items: {} } } } }, {}],
    },
    pair: { type: 'array', prefixItems: [{ type: 'number' }, {}], items: false },
    any: {},
    none: false,
  })
})

test('HI-17: where every node needs a type it gets one, from its values or its words', () => {
  const properties = {
    any: {},
    words: { description: 'x' },
    level: { enum: [1, 2] },
    only: { const: null },
    inner: { required: ['a'], properties: { a: true } },
    list: { minItems: 1, items: [true] },
    union: { type: 'string', anyOf: [{ maxLength: 3 }, { type: 'null' }] },
    other: { $ref: '#/$defs/o' },
    never: false,
    map: { type: 'object', additionalProperties: {} },
  }
  const made = told({ type: 'object', properties, $defs: { o: { oneOf: [{ minimum: 1 }, {}] } } }, true)
  assert.deepEqual(JSON.parse(JSON.stringify(made)), {
    type: 'object',
    properties: {
      any: { type: 'string' },
      words: { type: 'string', description: 'x' },
      level: { type: 'number', enum: [1, 2] },
      only: { type: 'null', const: null },
      inner: { type: 'object', required: ['a'], properties: { a: { type: 'string' } } },
      list: { type: 'array', minItems: 1, prefixItems: [{ type: 'string' }] },
      union: { anyOf: [{ type: 'string', maxLength: 3 }, { type: 'null' }] },
      other: { $ref: '#/$defs/o' },
      map: { type: 'object', additionalProperties: true },
    },
    $defs: { o: { oneOf: [{ type: 'number', minimum: 1 }, { type: 'string' }] } },
  })
  const once = { type: 'object', properties }
  assert.equal(told(once, true), told(once, true))
})

test('JS-02: a property named __proto__ is a property', () => {
  const schema = JSON.parse('{"oneOf":[{"properties":{"__proto__":{"type":"string"}}}]}') as { oneOf: [] }
  assert.equal(JSON.stringify(objectSchema(schema)), '{"type":"object","properties":{"__proto__":{"type":"string"}}}')
})

test('a name that a model invented is made one that providers take back', () => {
  assert.equal(wireToolName('getOrders'), 'getOrders')
  assert.equal(wireToolName('get orders!'), 'get_orders_')
  assert.equal(wireToolName('x'.repeat(200)), 'x'.repeat(64))
})
