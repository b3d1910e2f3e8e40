/** The checker against another implementation of JSON Schema, on schemas and values made up at random. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Validator } from '@cfworker/json-schema'
import * as fc from 'fast-check'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { judge } from '../../src/tools/check-arguments.ts'
import { MAX_SENTENCE_LENGTH, MAX_SENTENCES } from '../../src/tools/fault-sentences.ts'
import { boundedSchema } from '../../src/tools/schema-bounds.ts'

const name = fc.constantFrom('a', 'b', 'c', '__proto__', 'toString')
const scalar = fc.oneof(
  fc.constantFrom<Json>(null, true, false, 0, 1, 2, 1.5, -1, '', 'a', 'ab', 'abc', '🙂'),
  fc.integer({ min: -5, max: 5 }),
)

const values = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)),
  ),
}))

const count = fc.integer({ min: 0, max: 3 })
const pattern = fc.constantFrom('^a', 'b$', 'a|c', '^$', '^[a-b]+$')

const schemas = fc.letrec<{ schema: Json; map: JsonObject; list: Json[] }>((tie) => ({
  map: fc.array(fc.tuple(name, tie('schema')), { maxLength: 2 }).map((pairs) => Object.fromEntries(pairs)),
  list: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
  schema: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.boolean(),
    fc.record<Record<string, Json>>(
      {
        type: fc.oneof(
          fc.constantFrom<Json>('string', 'number', 'integer', 'object', 'array', 'null', 'boolean'),
          fc.constant<Json>(['string', 'object']),
        ),
        enum: fc.array(values.value, { minLength: 1, maxLength: 3 }),
        const: values.value,
        minimum: fc.integer({ min: -2, max: 2 }),
        exclusiveMaximum: fc.integer({ min: -2, max: 3 }),
        multipleOf: fc.constantFrom(0.5, 1, 2),
        minLength: count,
        maxLength: count,
        pattern,
        minItems: count,
        maxItems: count,
        uniqueItems: fc.boolean(),
        minProperties: count,
        maxProperties: count,
        required: fc.array(name, { maxLength: 2 }),
      },
      { requiredKeys: [] },
    ),
    fc.record<Record<string, Json>>(
      {
        properties: tie('map'),
        patternProperties: fc
          .array(fc.tuple(pattern, tie('schema')), { maxLength: 2 })
          .map((pairs) => Object.fromEntries(pairs)),
        additionalProperties: tie('schema'),
        propertyNames: tie('schema'),
        dependentSchemas: tie('map'),
        dependentRequired: fc
          .array(fc.tuple(name, fc.array(name, { maxLength: 2 })), { maxLength: 2 })
          .map((pairs) => Object.fromEntries(pairs)),
        items: tie('schema'),
        prefixItems: tie('list'),
        contains: tie('schema'),
      },
      { requiredKeys: [] },
    ),
    fc.record<Record<string, Json>>(
      {
        allOf: tie('list'),
        anyOf: tie('list'),
        oneOf: tie('list'),
        not: tie('schema'),
        if: tie('schema'),
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
        then: tie('schema'),
        else: tie('schema'),
        $ref: fc.constant('#/$defs/shared'),
        properties: tie('map'),
      },
      { requiredKeys: [] },
    ),
  ),
}))

/** The value stands below a field, so that the root accepts objects and `$ref` does not lead back to itself. */
function documentOf(schema: Json, shared: Json): JsonObject {
  return { type: 'object', properties: { value: schema }, $defs: { shared } }
}

test('the verdict is that of another validator, and a fault always has a sentence', () => {
  const withoutReferences = schemas.schema.filter((schema) => !JSON.stringify(schema).includes('$ref'))
  fc.assert(
    fc.property(schemas.schema, withoutReferences, values.value, (schema, shared, value) => {
      const document = documentOf(schema, shared)
      const bounded = boundedSchema(document)
      assert.ok(bounded.ok, JSON.stringify(document))
      const judged = judge(bounded.root, { value })
      const oracle = new Validator(structuredClone(document) as object, '2020-12', false).validate({ value })
      assert.equal(judged.kind === 'fits', oracle.valid, JSON.stringify({ document, value, judged, oracle }, null, 1))
      if (judged.kind === 'fits') return
      assert.ok(judged.kind === 'faults')
      assert.ok(judged.sentences.length > 0 && judged.sentences.length <= MAX_SENTENCES)
      for (const sentence of judged.sentences) {
        assert.ok(sentence.length <= MAX_SENTENCE_LENGTH && sentence.isWellFormed() && sentence.endsWith('.'), sentence)
      }
    }),
    { numRuns: 500 },
  )
})
