import { test } from 'node:test'
import assert from 'node:assert/strict'
import { check, Faults, MAX_FAULTS } from '../../src/contract/check.ts'
import { exactNumber } from '../../src/contract/json.ts'
import { StoredMessage } from '../../src/contract/message.ts'
import { RunResult } from '../../src/contract/result.ts'
import { RunRequestBody } from '../../src/contract/run-request-body.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { streamEvents } from '../../src/contract/stream-event.ts'
import { LateResult, ToolAnswer, ToolCallBody } from '../../src/contract/tool-exchange.ts'

const KNOWN = new Set([
  'type', 'enum', 'const', 'properties', 'required', 'additionalProperties', 'items', 'minItems', 'maxItems',
  'maxProperties', 'minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'pattern', 'format', 'oneOf',
  'discriminator', 'description', 'x-secret',
]) // prettier-ignore

function unknownKeywords(schema: unknown, path: string): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const found: string[] = []
  for (const [keyword, value] of Object.entries(schema)) {
    if (!KNOWN.has(keyword)) found.push(`${path}/${keyword}`)
    if (keyword === 'properties') {
      for (const [name, property] of Object.entries(value as object))
        found.push(...unknownKeywords(property, `${path}/${name}`))
    }
    if (keyword === 'items' || keyword === 'additionalProperties')
      found.push(...unknownKeywords(value, `${path}/${keyword}`))
    if (keyword === 'oneOf')
      for (const branch of value as object[]) found.push(...unknownKeywords(branch, `${path}/oneOf`))
  }
  return found
}

test('every keyword of every schema on the wire is one that is checked', () => {
  const schemas = { RunRequestBody, StoredMessage, RunResult, ToolAnswer, ToolCallBody, LateResult, ...streamEvents }
  for (const [name, schema] of Object.entries(schemas)) assert.deepEqual(unknownKeywords(schema, name), [])
})

function faultsOf(schema: Keywords, value: never): string[] {
  const faults = new Faults()
  check(schema, value, 'x', faults)
  return faults.list.map(({ path, message }) => `${path}: ${message}`)
}

const cases: [string, Keywords, unknown, string[]][] = [
  ['a whole number out of range', { type: 'integer', minimum: 1, maximum: 9 }, 10, ['x: must be a whole number from 1 to 9; got 10']],
  ['a text for a number', { type: 'integer', minimum: 1, maximum: 9 }, 'ten', ['x: must be a whole number from 1 to 9; got "ten"']],
  ['a fraction for a whole number', { type: 'integer' }, 1.5, ['x: must be a whole number; got 1.5']],
  ['an empty string where null is meant', { type: ['string', 'null'], minLength: 1 }, '', [
    'x: must not be empty: leave it out or send null where none is meant; got ""',
  ]],
  ['a secret is never quoted', { type: 'string', 'x-secret': true }, 7, ['x: must be a string; got a number']],
  ['a word that is none of the set', { type: 'string', enum: ['a', 'b'] }, 'c', ['x: must be one of "a", "b"; got "c"']],
  ['an unknown field', { type: 'object', properties: {}, additionalProperties: false }, { odd: 1 }, ['x.odd: unknown field']],
  ['an odd unknown key is quoted', { type: 'object', additionalProperties: false }, { 'a b': 1 }, ['x["a b"]: unknown field']],
  ['__proto__ is an unknown field like any other', { type: 'object', additionalProperties: false }, JSON.parse('{"__proto__":1}'), [
    'x.__proto__: unknown field',
  ]],
  ['a missing field', { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] }, {}, ['x.a: is required: true or false']],
  ['toString is not taken for a field that is there', { type: 'object', properties: { toString: { type: 'string' } }, required: ['toString'] }, {}, [
    'x.toString: is required: a string',
  ]],
  ['a date without a zone', { type: 'string', format: 'date-time' }, '2026-11-30T12:00:00', [
    'x: must be a date and time with its zone, such as "2026-11-30T12:00:00.000Z"; got "2026-11-30T12:00:00"',
  ]],
  ['a text for an object is not quoted: it may be an address or a header', { type: ['object', 'null'] }, 'https://h.example/?key=SECRET', [
    'x: must be an object or null; got a string',
  ]],
  ['a text for a list is not quoted either', { type: 'array' }, 'sk-SECRET', ['x: must be an array; got a string']],
  ['a number that nothing bounds may be any', {}, exactNumber('-1e400'), []],
  ['a number beyond every double is above a bound', { type: 'number', exclusiveMinimum: 0 }, exactNumber('-1e400'), [
    'x: must be a number above 0; got -1e400',
  ]],
  ...['2026-02-30T12:00:00Z', '2026-02-29T12:00:00Z', '2026-04-31T12:00:00+02:00', '2026-11-30T24:00:00Z', '2026-11-30T12:00:00+24:00'].map(
    (text): [string, Keywords, unknown, string[]] => [`${text}, which is no time of any calendar,`, { type: 'string', format: 'date-time' }, text, [
      `x: must be a date and time with its zone, such as "2026-11-30T12:00:00.000Z"; got "${text}"`,
    ]],
  ),
  ['a leap day is a day', { type: 'string', format: 'date-time' }, '2028-02-29T23:59Z', []],
  ['a day that does not exist', { type: 'string', format: 'date-time' }, '2026-13-30T12:00:00Z', [
    'x: must be a date and time with its zone, such as "2026-11-30T12:00:00.000Z"; got "2026-13-30T12:00:00Z"',
  ]],
] // prettier-ignore

for (const [name, schema, value, expected] of cases) {
  test(`${name} is told`, () => assert.deepEqual(faultsOf(schema, value as never), expected))
}

test('a tag that is none of the union is told with what it may be', () => {
  assert.deepEqual(faultsOf(StoredMessage as unknown as Keywords, { role: 'system' } as never), [
    'x.role: must be one of "user", "assistant", "tool"; got "system"',
  ])
})

test(`no more than ${MAX_FAULTS} faults are listed, however many there are`, () => {
  const many = Array.from({ length: 100_000 }, () => 1)
  assert.equal(faultsOf({ type: 'array', items: { type: 'string' } }, many as never).length, MAX_FAULTS)
})
