/** Which schemas go to a vendor as a grammar, and what of them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { fitted, type Subset } from '../../src/providers/schema-subset.ts'
import { ANTHROPIC_STRICT, GIGACHAT_STRICT, OPENAI_STRICT } from '../../src/providers/schema-subsets.ts'
import { checkValue } from '../../src/tools/arguments.ts'
import { anthropicFault, gigachatFault, openaiFault } from '../fakes/vendors/answer-form.ts'

const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  ...more,
})
const TEXT: JsonObject = { type: 'string' }

const subsets = [
  ['openai', OPENAI_STRICT, openaiFault],
  ['anthropic', ANTHROPIC_STRICT, anthropicFault],
  ['gigachat', GIGACHAT_STRICT, gigachatFault],
] as const

/** For each vendor: whether it is sent, and whether whole. */
function verdicts(schema: JsonObject): string {
  return subsets
    .map(([name, subset]) => [name, fitted(schema, subset)] as const)
    .map(([name, made]) => `${name} ${made === null ? 'no' : made.whole ? 'whole' : 'loosened'}`)
    .join(', ')
}

test('an object is closed where the vendor wants that, and left open where it does not know the word', () => {
  const schema = object({ a: TEXT })
  const plain = (subset: Subset): unknown => JSON.parse(JSON.stringify(fitted(schema, subset)))
  assert.deepEqual(plain(OPENAI_STRICT), { schema: { ...schema, additionalProperties: false }, whole: true })
  assert.deepEqual(plain(GIGACHAT_STRICT), { schema, whole: true })
  const closed = object({ a: TEXT }, { additionalProperties: false })
  assert.equal(verdicts(closed), 'openai whole, anthropic whole, gigachat loosened')
})

const cases: Readonly<Record<string, readonly [JsonObject, string]>> = {
  'a property that may be absent': [
    object({ a: TEXT, b: TEXT }, { required: ['a'] }),
    'openai no, anthropic whole, gigachat whole',
  ],
  'more of them than are taken': [
    object(Object.fromEntries(Array.from({ length: 25 }, (_, at) => [`p${at}`, TEXT])), { required: [] }),
    'openai no, anthropic no, gigachat whole',
  ],
  'a bound of a number': [
    object({ a: { type: 'integer', minimum: 1 } }),
    'openai whole, anthropic loosened, gigachat whole',
  ],
  'a bound of a text': [
    object({ a: { type: 'string', maxLength: 9 } }),
    'openai loosened, anthropic loosened, gigachat whole',
  ],
  'one item at least, and two': [
    object({ a: { type: 'array', items: TEXT, minItems: 1 }, b: { type: 'array', items: TEXT, minItems: 2 } }),
    'openai whole, anthropic loosened, gigachat whole',
  ],
  'a pattern with a word border': [
    object({ a: { type: 'string', pattern: '\\bx' } }),
    'openai loosened, anthropic loosened, gigachat loosened',
  ],
  'a format that is known to some': [
    object({ a: { type: 'string', format: 'uri' } }),
    'openai loosened, anthropic whole, gigachat loosened',
  ],
  remarks: [
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...object({ a: { type: 'string', default: 'x', examples: ['y'] } }),
    },
    'openai whole, anthropic whole, gigachat whole',
  ],
  'a value that may be null': [
    object({ a: { type: ['string', 'null'] } }),
    'openai whole, anthropic whole, gigachat no',
  ],
  'a union': [
    object({ a: { anyOf: [object({ b: TEXT }), { type: 'null' }] } }),
    'openai whole, anthropic whole, gigachat no',
  ],
  'a union at the root': [{ type: 'object', anyOf: [object({ a: TEXT })] }, 'openai no, anthropic no, gigachat no'],
  'a list that leads to itself': [
    {
      ...object({ a: { $ref: '#/$defs/n' } }),
      $defs: { n: object({ next: { anyOf: [{ $ref: '#/$defs/n' }, { type: 'null' }] } }) },
    },
    'openai whole, anthropic no, gigachat no',
  ],
  'a reference that leads on': [
    { ...object({ a: { $ref: '#/$defs/n', description: 'one' } }), $defs: { n: TEXT } },
    'openai whole, anthropic whole, gigachat no',
  ],
  'the root again': [
    object({ a: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }),
    'openai whole, anthropic no, gigachat no',
  ],
  'a reference to nothing': [object({ a: { $ref: '#/$defs/n' } }), 'openai no, anthropic no, gigachat no'],
  'a reference beside a bound': [
    { ...object({ a: { $ref: '#/$defs/n', maxLength: 1 } }), $defs: { n: TEXT } },
    'openai no, anthropic no, gigachat no',
  ],
  'an object of any fields': [object({ a: { type: 'object' } }), 'openai no, anthropic no, gigachat no'],
  'a map': [
    object({ a: { type: 'object', properties: {}, additionalProperties: TEXT } }),
    'openai no, anthropic no, gigachat no',
  ],
  'a list of anything': [object({ a: { type: 'array' } }), 'openai no, anthropic no, gigachat no'],
  anything: [object({ a: {} }), 'openai no, anthropic no, gigachat no'],
  'a word that no vendor knows': [
    object({ a: { type: 'string', not: { const: 'x' } } }),
    'openai no, anthropic no, gigachat no',
  ],
  'fields demanded that are not declared': [
    object({ a: TEXT }, { required: ['a', 'b'] }),
    'openai no, anthropic no, gigachat no',
  ],
  'an enum of numbers': [
    object({ a: { type: 'integer', enum: [1, 2] } }),
    'openai whole, anthropic whole, gigachat no',
  ],
  'an enum of objects': [
    object({ a: { type: 'object', properties: {}, enum: [{}] } }),
    'openai no, anthropic no, gigachat no',
  ],
}

for (const [name, [schema, expected]] of Object.entries(cases)) {
  test(`what becomes of a schema with ${name}`, () => {
    assert.equal(verdicts(schema), expected)
    for (const [, subset, fault] of subsets) {
      const made = fitted(schema, subset)
      if (made !== null) assert.equal(fault(made.schema), null)
    }
  })
}

test('a schema deeper or larger than OpenAI compiles is not sent to it', () => {
  const deep = (levels: number): JsonObject => object({ a: levels === 1 ? TEXT : deep(levels - 1) })
  assert.notEqual(fitted(deep(9), OPENAI_STRICT), null)
  assert.equal(fitted(deep(10), OPENAI_STRICT), null)
  const values = (count: number, letters: number) =>
    object({ a: { type: 'string', enum: Array.from({ length: count }, (_, at) => String(at).padStart(letters, '0')) } })
  assert.notEqual(fitted(values(1_000, 13), OPENAI_STRICT), null)
  assert.equal(fitted(values(1_001, 4), OPENAI_STRICT), null)
  assert.equal(fitted(values(1_000, 14), OPENAI_STRICT), null)
})

test('a property named __proto__ is one', () => {
  const schema = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
  ) as JsonObject
  const made = fitted(schema, OPENAI_STRICT)
  assert.deepEqual(JSON.parse(JSON.stringify(made?.schema)), { ...schema, additionalProperties: false })
})

const leaf = fc.constantFrom<JsonObject>(
  { type: 'string' },
  { type: 'string', enum: ['a', 'b'] },
  { type: 'string', minLength: 2 },
  { type: 'integer', minimum: 0 },
  { type: ['boolean', 'null'] },
  { type: 'number', multipleOf: 2 },
  {},
  { type: 'object' },
  { $ref: '#/$defs/d' },
  { oneOf: [{ type: 'string' }] },
)
const { schema } = fc.letrec<{ schema: JsonObject; node: JsonObject }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    leaf,
    tie('schema'),
    tie('node').map((items) => ({ type: 'array', items })),
    fc.tuple(tie('node'), tie('node')).map((anyOf) => ({ anyOf })),
  ),
  schema: fc
    .tuple(
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('node'), { maxKeys: 3 }),
      fc.boolean(),
      fc.constantFrom<JsonObject>({}, { additionalProperties: false }, { additionalProperties: true }),
    )
    .map(([properties, all, more]) =>
      object(properties, { required: all ? Object.keys(properties) : Object.keys(properties).slice(1), ...more }),
    ),
}))
const value: fc.Arbitrary<Json> = fc.jsonValue({ maxDepth: 3, depthSize: 'small' }).map((any) => any as Json)
const named = fc.dictionary(
  fc.constantFrom('a', 'b', 'c', 'd'),
  fc.oneof(value, fc.constantFrom<Json>('a', 'xy', 1, null, [], ['a'], { a: 'a' })),
)

test('what is sent is taken by the vendor, and what fits it fits the schema of the caller', () => {
  fc.assert(
    fc.property(schema, fc.array(named, { maxLength: 8 }), (inner, values) => {
      const whole = { ...inner, $defs: { d: { type: 'string' } } }
      for (const [name, subset, fault] of subsets) {
        const made = fitted(name === 'gigachat' ? inner : whole, subset)
        if (made === null) continue
        assert.equal(fault(made.schema), null, `${name} ${JSON.stringify(whole)}`)
        assert.deepEqual(fitted(made.schema, subset)?.schema, made.schema)
        if (!made.whole) continue
        for (const one of values) {
          if (checkValue(made.schema, one).length === 0) assert.deepEqual(checkValue(whole, one), [], name)
        }
      }
    }),
    { numRuns: 400 },
  )
})
