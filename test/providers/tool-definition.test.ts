/** Tools as providers take them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { objectSchema, wireToolName } from '../../src/providers/tool-definition.ts'

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

test('JS-02: a property named __proto__ is a property', () => {
  const schema = JSON.parse('{"oneOf":[{"properties":{"__proto__":{"type":"string"}}}]}') as { oneOf: [] }
  assert.equal(JSON.stringify(objectSchema(schema)), '{"type":"object","properties":{"__proto__":{"type":"string"}}}')
})

test('a name that a model invented is made one that providers take back', () => {
  assert.equal(wireToolName('getOrders'), 'getOrders')
  assert.equal(wireToolName('get orders!'), 'get_orders_')
  assert.equal(wireToolName('x'.repeat(200)), 'x'.repeat(64))
})
