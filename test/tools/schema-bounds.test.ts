import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exactNumber, parseJson, type Json, type JsonObject } from '../../src/contract/json.ts'
import { MAX_SCHEMA_DEPTH, MAX_SCHEMAS } from '../../src/tools/read-schema.ts'
import { MAX_SCHEMA_BYTES, schemaFaults } from '../../src/tools/schema-bounds.ts'
import { cpuMs } from '../cpu-time.ts'

function faultAt(schema: JsonObject): [path: string, message: string] {
  const [fault] = schemaFaults(schema)
  assert.ok(fault !== undefined, JSON.stringify(schema).slice(0, 200))
  return [fault.path, fault.message]
}

function refused(schema: JsonObject, path: string, message: RegExp): void {
  const [at, said] = faultAt(schema)
  assert.equal(at, path)
  assert.match(said, message)
}

const fine: readonly JsonObject[] = [
  {},
  { type: 'object' },
  { type: ['object', 'null'] },
  { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' },
  { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'https://example.com/a.json', type: 'object' },
  { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
  { properties: { child: { $ref: '#' }, children: { type: 'array', items: { $ref: '#' } } } },
  { properties: { a: { $ref: '#a' } }, $defs: { any: { $anchor: 'a' } } },
  { $ref: '#/components/schemas/A', components: { schemas: { A: { type: 'object' } } } },
  { properties: { 'a/b~c': { $ref: '#/properties/x%25y' }, 'x%y': true, d: { $ref: '#/properties/a~1b~0c' } } },
  { properties: { a: { title: 'A', examples: [1], nullable: true, 'x-odd': { $ref: 'https://elsewhere' } } } },
]

test('schemas that generators write are accepted', () => {
  for (const schema of fine) assert.deepEqual(schemaFaults(schema), [], JSON.stringify(schema))
})

test('the root must accept objects', () => {
  refused({ type: 'string' }, '/type', /must be "object"/)
  refused({ type: ['array', 'null'] }, '/type', /must be "object"/)
})

test('only 2020-12 and draft-07 are read', () => {
  refused({ $schema: 'http://json-schema.org/draft-04/schema#' }, '/$schema', /2020-12 or draft-07/)
  refused({ $schema: 5 }, '/$schema', /2020-12 or draft-07/)
})

test('size as JSON is bounded, in bytes', () => {
  const empty = { type: 'object', description: '' }
  const free = MAX_SCHEMA_BYTES - JSON.stringify(empty).length
  assert.deepEqual(schemaFaults({ ...empty, description: 'x'.repeat(free) }), [])
  refused({ ...empty, description: 'x'.repeat(free + 1) }, '', /at most 65536 bytes as JSON; got 65537/)
  refused({ ...empty, description: 'ж'.repeat(free / 2 + 1) }, '', /bytes/)
})

test('JS-04: depth is bounded', () => {
  const nested = (levels: number): JsonObject => (levels === 1 ? {} : { properties: { a: nested(levels - 1) } })
  assert.deepEqual(schemaFaults(nested(MAX_SCHEMA_DEPTH)), [])
  const [path, message] = faultAt(nested(MAX_SCHEMA_DEPTH + 1))
  assert.equal(path, '/properties/a'.repeat(MAX_SCHEMA_DEPTH))
  assert.match(message, /nest deeper than 32/)
})

test('the number of schemas is bounded: ten thousand properties are refused at once', () => {
  const wide = (count: number): JsonObject => ({
    properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, true])),
  })
  assert.deepEqual(schemaFaults(wide(MAX_SCHEMAS - 1)), [])
  assert.deepEqual(schemaFaults(wide(MAX_SCHEMAS)), [{ path: '', message: 'must hold at most 2000 schemas' }])
  const started = cpuMs()
  assert.notDeepEqual(schemaFaults(wide(10_000)), [])
  assert.ok(cpuMs() - started < 500)
})

test('a reference that leaves the document is refused, and nothing is fetched', () => {
  for (const $ref of ['https://example.com/a.json', 'file:///etc/passwd', 'other.json#/a', '/absolute', '']) {
    refused({ properties: { a: { $ref } } }, '/properties/a/$ref', /begin with #/)
  }
})

test('what would move the meaning of # is refused', () => {
  refused({ properties: { a: { $id: 'https://evil.example/' } } }, '/properties/a/$id', /only at the root/)
  refused({ properties: { a: { $dynamicRef: '#a' } } }, '/properties/a/$dynamicRef', /use \$ref/)
  refused({ $recursiveRef: '#' }, '/$recursiveRef', /use \$ref/)
})

test('a reference must lead to a schema, by own properties only', () => {
  for (const $ref of [
    '#/nowhere',
    '#/properties/b',
    '#nobody',
    '#/%zz',
    '#/constructor',
    '#/properties/a/toString',
    '#/properties/__proto__',
  ]) {
    refused({ properties: { a: { $ref } } }, '/properties/a/$ref', /nothing stands there/)
  }
  refused({ properties: { a: { $ref: '#/title' } }, title: 'x' }, '/title', /must be a schema/)
})

test('a circle through what judges one value is refused; through a property or an item it is not', () => {
  const circles: JsonObject[] = [
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { anyOf: [{ type: 'object' }, { $ref: '#' }] },
    { oneOf: [{ $ref: '#' }] },
    { not: { $ref: '#' } },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    { if: true, then: { $ref: '#' } },
    { if: { $ref: '#' } },
    { else: { $ref: '#' } },
    { dependentSchemas: { a: { $ref: '#' } } },
    { dependencies: { a: { $ref: '#' } } },
    { allOf: [{ properties: { a: { $ref: '#/$defs/a' } } }], $defs: { a: { not: { $ref: '#/$defs/a' } } } },
    { patternProperties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } },
    { properties: { a: { prefixItems: [{ $ref: '#/$defs/a' }] } }, $defs: { a: { $ref: '#/$defs/a' } } },
    { properties: { a: { contains: { $ref: '#/$defs/a' } } }, $defs: { a: { $ref: '#/$defs/a' } } },
    {
      properties: { a: { $ref: '#/$defs/a' } },
      $defs: { a: { $ref: '#/$defs/b' }, b: { allOf: [{ $ref: '#/$defs/a' }] } },
    },
  ]
  for (const schema of circles) assert.match(faultAt(schema)[1], /leads back to itself/, JSON.stringify(schema))
  const trees: JsonObject[] = [
    { additionalProperties: { $ref: '#' } },
    { properties: { a: { anyOf: [{ type: 'null' }, { $ref: '#' }] } } },
    { properties: { a: { contains: { $ref: '#' }, prefixItems: [{ $ref: '#' }] } } },
  ]
  for (const schema of trees) assert.deepEqual(schemaFaults(schema), [], JSON.stringify(schema))
})

test('a tree of references that doubles at every level is refused', () => {
  const bomb = (levels: number): JsonObject => {
    const defs = Array.from({ length: levels }, (_, index): [string, Json] => {
      const next = { $ref: `#/$defs/d${index + 1}` }
      return [`d${index}`, index === levels - 1 ? {} : { allOf: [next, next] }]
    })
    return { properties: { a: { $ref: '#/$defs/d0' } }, $defs: Object.fromEntries(defs) }
  }
  assert.deepEqual(schemaFaults(bomb(8)), [])
  for (const levels of [14, 30, 600]) assert.match(faultAt(bomb(levels))[1], /unfold into more than 10000/)
})

test('patterns are compiled at once: where one cannot be matched in linear time, the schema is refused', () => {
  assert.deepEqual(schemaFaults({ properties: { a: { pattern: '(a+)+$' } }, patternProperties: { '^x-': true } }), [])
  refused({ properties: { a: { pattern: '^(?=.*\\d).+$' } } }, '/properties/a/pattern', /linear time/)
  refused({ patternProperties: { '(a)\\1': true } }, '/patternProperties/(a)\\1', /linear time/)
  const many = Object.fromEntries(
    Array.from({ length: 10 }, (_, index) => [`a${index}`, { pattern: `a{900}${index}` }]),
  )
  assert.match(faultAt({ properties: many })[1], /too large beside the other patterns/)
})

test('a keyword of a wrong form is told with its place', () => {
  const wrong: [JsonObject, string][] = [
    [{ type: 'any' }, '/type'],
    [{ properties: { a: { type: [] } } }, '/properties/a/type'],
    [{ properties: [] }, '/properties'],
    [{ properties: { a: 'string' } }, '/properties/a'],
    [{ required: true }, '/required'],
    [{ required: [1] }, '/required'],
    [{ properties: { a: { enum: [] } } }, '/properties/a/enum'],
    [{ properties: { a: { enum: 'abc' } } }, '/properties/a/enum'],
    [{ properties: { a: { exclusiveMinimum: true } } }, '/properties/a/exclusiveMinimum'],
    [{ properties: { a: { maxLength: -1 } } }, '/properties/a/maxLength'],
    [{ properties: { a: { minItems: 1.5 } } }, '/properties/a/minItems'],
    [{ properties: { a: { multipleOf: 0 } } }, '/properties/a/multipleOf'],
    [{ properties: { a: { uniqueItems: 'yes' } } }, '/properties/a/uniqueItems'],
    [{ properties: { a: { pattern: 5 } } }, '/properties/a/pattern'],
    [{ properties: { a: { format: 5 } } }, '/properties/a/format'],
    [{ properties: { a: { items: null } } }, '/properties/a/items'],
    [{ allOf: [] }, '/allOf'],
    [{ anyOf: {} }, '/anyOf'],
    [{ dependentRequired: { a: 'b' } }, '/dependentRequired/a'],
    [{ dependencies: { a: 5 } }, '/dependencies/a'],
    [{ $defs: [] }, '/$defs'],
    [{ $ref: 5 }, '/$ref'],
  ]
  for (const [schema, path] of wrong) assert.equal(faultAt(schema)[0], path, JSON.stringify(schema))
})

test('every fault is told, up to fifty, and long names are cut', () => {
  assert.deepEqual(
    schemaFaults({ type: 'any', required: 5, properties: { a: 5 } }).map(({ path }) => path),
    ['/type', '/required', '/properties/a'],
  )
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`p${index}`, 'string']))
  assert.equal(schemaFaults({ properties: many }).length, 50)
  assert.ok(faultAt({ properties: { ['x'.repeat(5000)]: 5 } })[0].length < 100)
})

test('JS-02: names such as __proto__ are names of properties', () => {
  const parsed = parseJson('{"properties":{"__proto__":{"type":"string"},"constructor":{"type":"any"}}}')
  assert.ok(parsed.ok)
  assert.deepEqual(
    schemaFaults(parsed.value as JsonObject).map(({ path }) => path),
    ['/properties/constructor/type'],
  )
  assert.deepEqual(schemaFaults({ properties: { a: { type: 'constructor' } } }).length, 1)
})

test('numbers with more digits than a double holds are read', () => {
  assert.deepEqual(schemaFaults({ properties: { a: { maximum: exactNumber('12345678901234567890') } } }), [])
})

test('in draft-07 what stands beside $ref does not count', () => {
  const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' }
  const schema = { properties: { a: { $ref: '#/definitions/a', type: 'nonsense' } }, definitions: { a: {} } }
  assert.deepEqual(schemaFaults({ ...draft7, ...schema }), [])
  assert.equal(faultAt(schema)[0], '/properties/a/type')
})
