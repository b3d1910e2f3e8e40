/** Schemas as GigaChat takes them: what is rewritten, literally, and that nothing it refuses is ever left. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { JsonObject } from '../../../src/contract/json.ts'
import { functionSchema } from '../../../src/providers/gigachat/function-schema.ts'

/** What becomes of one property. */
function property(schema: JsonObject): unknown {
  const made = functionSchema({ type: 'object', properties: { p: schema } })
  return (made['properties'] as JsonObject)['p']
}

test('a plain schema keeps what the API takes', () => {
  assert.deepEqual(
    functionSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Orders',
      type: 'object',
      description: 'What to find',
      additionalProperties: false,
      properties: {
        id: { type: 'string', description: 'Number', minLength: 3, pattern: '^[0-9]+$', format: 'uuid' },
        day: { type: 'string', format: 'date' },
        count: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
        kind: { type: 'string', enum: ['open', 'closed'] },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
      },
      required: ['id', 'missing', 'id'],
    }),
    {
      type: 'object',
      description: 'What to find',
      properties: {
        id: { type: 'string', description: 'Number', minLength: 3 },
        day: { type: 'string', format: 'date' },
        count: { type: 'integer', minimum: 1, maximum: 50 },
        kind: { type: 'string', enum: ['open', 'closed'] },
        tags: { type: 'array', minItems: 1, items: { type: 'string' } },
      },
      required: ['id'],
    },
  )
})

test('objects get properties, arrays items, and a node without a type one that fits', () => {
  assert.deepEqual(functionSchema({}), { type: 'object', properties: {} })
  assert.deepEqual(functionSchema({ type: 'string' }), { type: 'object', properties: {} })
  const cases: [JsonObject, unknown][] = [
    [{ type: 'object' }, { type: 'object', properties: {} }],
    [{ type: 'array' }, { type: 'array', items: { type: 'string' } }],
    [
      { type: 'array', items: {} },
      { type: 'array', items: { type: 'string' } },
    ],
    [{ prefixItems: [{ type: 'number' }, { type: 'string' }] }, { type: 'array', items: { type: 'number' } }],
    [{ items: [{ type: 'boolean' }] }, { type: 'array', items: { type: 'boolean' } }],
    [{ properties: { a: true } }, { type: 'object', properties: { a: { type: 'string' } } }],
    [{ additionalProperties: { type: 'string' } }, { type: 'object', properties: {} }],
    [{}, { type: 'string' }],
    [{ type: ['null', 'integer', 'string'] }, { type: 'integer' }],
    [{ type: 'null' }, { type: 'string' }],
  ]
  for (const [schema, expected] of cases) assert.deepEqual(property(schema), expected, JSON.stringify(schema))
})

test('an enum of anything but strings is told in words', () => {
  const cases: [JsonObject, unknown][] = [
    [
      { enum: [1, 2, null], description: 'Which.' },
      { type: 'integer', description: 'Which. One of: 1, 2.' },
    ],
    [
      { type: 'boolean', const: true },
      { type: 'boolean', description: 'One of: true.' },
    ],
    [{ const: 'x' }, { type: 'string', enum: ['x'] }],
    [
      { type: 'string', enum: ['a', 1, 'a', null] },
      { type: 'string', enum: ['a'] },
    ],
    [
      { type: ['string', 'null'], enum: ['a', null] },
      { type: 'string', enum: ['a'] },
    ],
  ]
  for (const [schema, expected] of cases) assert.deepEqual(property(schema), expected, JSON.stringify(schema))
})

test('HI-17: unions become one node', () => {
  const a = { type: 'object', properties: { a: { type: 'string' }, x: { type: 'string' } }, required: ['a', 'x'] }
  const b = { type: 'object', properties: { b: { type: 'number' }, x: { type: 'string' } }, required: ['b', 'x'] }
  const cases: [JsonObject, unknown][] = [
    [{ anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] }, { type: 'string', format: 'date' }],
    [
      { oneOf: [{ type: 'null' }, { type: 'integer', description: 'inner' }], description: 'outer' },
      { type: 'integer', description: 'outer' },
    ],
    [{ anyOf: [{ type: 'number', minimum: 1 }, { type: 'string' }] }, { type: 'number', minimum: 1 }],
    [
      {
        anyOf: [
          { type: 'integer', minimum: 1 },
          { type: 'integer', minimum: 9 },
        ],
      },
      { type: 'integer' },
    ],
    [{ anyOf: [{ const: 'a' }, { enum: ['b', 'c'] }] }, { type: 'string', enum: ['a', 'b', 'c'] }],
    [
      { anyOf: [a, b] },
      {
        type: 'object',
        properties: { a: { type: 'string' }, b: { type: 'number' }, x: { type: 'string' } },
        required: ['x'],
      },
    ],
    [
      { allOf: [a, b, { description: 'both' }] },
      {
        type: 'object',
        description: 'both',
        properties: { a: { type: 'string' }, b: { type: 'number' }, x: { type: 'string' } },
        required: ['b', 'x', 'a'],
      },
    ],
  ]
  for (const [schema, expected] of cases) {
    const made = property(schema) as JsonObject
    assert.deepEqual(sorted(made), sorted(expected as JsonObject), JSON.stringify(schema))
  }
  assert.deepEqual(functionSchema({ anyOf: [a, b] })['required'], ['x'])
})

/** The order in which names are demanded means nothing. */
function sorted(node: JsonObject): JsonObject {
  const { required } = node
  return Array.isArray(required) ? { ...node, required: (required as string[]).toSorted() } : node
}

test('HI-17: references are written out, and one that leads back to itself ends', () => {
  const made = functionSchema({
    type: 'object',
    properties: {
      tree: { $ref: '#/$defs/node' },
      also: { $ref: '#/$defs/node', description: 'own' },
      odd: { $ref: '#/no' },
    },
    $defs: {
      node: {
        type: 'object',
        description: 'A node',
        properties: { name: { $ref: '#/definitions/a~1b' }, below: { type: 'array', items: { $ref: '#/$defs/node' } } },
        required: ['name'],
      },
    },
    definitions: { 'a/b': { type: 'string' } },
  })
  const node = {
    type: 'object',
    description: 'A node',
    properties: {
      name: { type: 'string' },
      below: { type: 'array', items: { type: 'object', description: 'A node', properties: {} } },
    },
    required: ['name'],
  }
  assert.deepEqual(made, {
    type: 'object',
    properties: { tree: node, also: { ...node, description: 'own' }, odd: { type: 'string' } },
  })
  assert.deepEqual(functionSchema({ $ref: '#' }), { type: 'object', properties: {} })
})

test('a name such as __proto__ is a property', () => {
  const made = functionSchema(JSON.parse('{"properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}'))
  assert.equal(
    JSON.stringify(made),
    '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
  )
})

test('one schema is rewritten once', () => {
  const schema = { type: 'object', properties: {} }
  assert.equal(functionSchema(schema), functionSchema(schema))
})

const leaf = fc.constantFrom<JsonObject>(
  { type: 'string' },
  { type: ['integer', 'null'] },
  { enum: [1, 'a'] },
  { const: null },
  {},
  { $ref: '#/$defs/x' },
  { $ref: '#' },
  { $ref: 'https://elsewhere.example/y' },
)
const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5 },
    leaf,
    fc.record({
      type: fc.constant('object'),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')),
    }),
    fc.record({ items: tie('schema') }),
    fc.record({ anyOf: fc.array(tie('schema'), { maxLength: 3 }), required: fc.constant(['a', 'b']) }),
    fc.record({ allOf: fc.array(tie('schema'), { maxLength: 3 }), properties: fc.constant({ c: true }) }),
    fc.record({ oneOf: fc.array(tie('schema'), { maxLength: 3 }), $ref: fc.constant('#/$defs/x') }),
  ),
}))

/** Every rule of the API, at every node; gives how many there are. */
function checked(node: JsonObject): number {
  const { type, properties, items, required, enum: values } = node
  assert.ok(['object', 'array', 'string', 'integer', 'number', 'boolean'].includes(type as string))
  for (const key of ['$ref', '$defs', 'anyOf', 'oneOf', 'allOf']) assert.ok(!(key in node))
  assert.equal(properties !== undefined, type === 'object')
  assert.equal(items !== undefined, type === 'array')
  for (const value of (values ?? []) as unknown[]) assert.equal(typeof value, 'string')
  for (const name of (required ?? []) as string[]) assert.ok(Object.hasOwn(properties as object, name))
  const below = [...Object.values((properties ?? {}) as JsonObject), ...(items === undefined ? [] : [items])]
  return below.reduce<number>((sum, child) => sum + checked(child as JsonObject), 1)
}

test('whatever a schema says, the API finds nothing to refuse, and its size is bounded', () => {
  fc.assert(
    fc.property(schema, schema, (root, x) => {
      const made = functionSchema({ ...root, $defs: { x } })
      assert.equal(made['type'], 'object')
      assert.ok(checked(made) <= 10_000)
    }),
  )
})

test('references that multiply a schema end at a bound', () => {
  const level = (below: string): JsonObject => ({
    type: 'object',
    properties: Object.fromEntries('abcdefgh'.split('').map((name) => [name, { $ref: below }])),
  })
  const names = '0123456789'.split('')
  const $defs = Object.fromEntries(names.map((name, at) => [name, level(`#/$defs/${names[at + 1] ?? 'none'}`)]))
  const count = checked(functionSchema({ ...level('#/$defs/0'), $defs }))
  assert.ok(count > 100 && count < 20_000, `${count} nodes`)
})
