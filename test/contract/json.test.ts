import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  exactNumber,
  isJsonObject,
  isRawNumber,
  MAX_JSON_DEPTH,
  parseJson,
  rounded,
  type Json,
} from '../../src/contract/json.ts'
import { cpuMs } from '../cpu-time.ts'

function parsed(text: string): Json {
  const outcome = parseJson(text)
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.reason)
  return outcome.value
}

for (const number of [
  '12345678901234567890',
  '-9007199254740993',
  '0.1234567890123456789',
  '3.14159265358979323846',
  '1e400',
  '-1E+999',
  '1e-400',
  '123456789012345.678901',
  '100000000000000000001',
]) {
  test(`the digits of ${number} survive reading and writing`, () => {
    for (const text of [number, `{"a":[${number}]}`, `{"a":${number},"b":1}`])
      assert.equal(JSON.stringify(parsed(text)), text)
  })
}

test('numbers a double holds are ordinary numbers', () => {
  for (const text of ['1', '0.1', '-0', '1.50', '9007199254740991', '1e21', '1.0e3', '12345678901234560000']) {
    assert.equal(isRawNumber(parsed(`[${text}]`)), false)
    assert.equal(typeof (parsed(`[${text}]`) as Json[])[0], 'number', text)
  }
})

test('long digits inside strings are no numbers', () => {
  assert.equal(parsed('"12345678901234567890"'), '12345678901234567890')
  assert.deepEqual(parsed('{"a":"x, 12345678901234567890"}'), { a: 'x, 12345678901234567890' })
})

test('JS-05: of a key that stands twice the last wins', () => {
  assert.deepEqual(parsed('{"amount":10,"amount":9999}'), { amount: 9999 })
})

test('JS-02: __proto__ and friends are data', () => {
  const text = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1,"n":12345678901234567890}'
  const value = parsed(text)
  assert.equal(JSON.stringify(value), text)
  assert.equal(JSON.stringify(rounded(value)), text.replace('12345678901234567890', '12345678901234567000'))
  assert.equal(({} as { x?: number }).x, undefined)
})

test('JS-04: a nesting bomb is a value that says so', () => {
  const bomb = '['.repeat(100_000) + ']'.repeat(100_000)
  assert.deepEqual(parseJson(bomb), { ok: false, reason: `nested deeper than ${MAX_JSON_DEPTH} levels` })
  assert.equal(parseJson('['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH)).ok, true)
  assert.equal(parseJson('['.repeat(MAX_JSON_DEPTH + 1) + ']'.repeat(MAX_JSON_DEPTH + 1)).ok, false)
})

test('JS-04: levels are counted in the text, so that a bomb of megabytes is told at once and never built', () => {
  const brackets = 16_777_216
  const levels = MAX_JSON_DEPTH + 1
  const started = cpuMs()
  for (const bomb of ['['.repeat(brackets), '{"a":'.repeat(brackets / 4), '['.repeat(levels) + ' '.repeat(brackets)]) {
    assert.deepEqual(parseJson(bomb), { ok: false, reason: `nested deeper than ${MAX_JSON_DEPTH} levels` })
  }
  assert.ok(cpuMs() - started < 200)
})

test('JS-04: brackets inside strings are no levels, whatever is escaped there', () => {
  for (const text of [
    '['.repeat(1000),
    '\\',
    '"',
    '\\"'.repeat(200),
    `${'\\'.repeat(99)}"${'{'.repeat(500)}`,
    ']'.repeat(300),
  ]) {
    const value = { [text]: [text, { a: text }] }
    assert.deepEqual(parsed(JSON.stringify(value)), value)
  }
  const deepest = `${'{"a[":'.repeat(MAX_JSON_DEPTH - 1)}["]"]${'}'.repeat(MAX_JSON_DEPTH - 1)}`
  assert.equal(parseJson(deepest).ok, true)
  assert.equal(parseJson(`[${deepest}]`).ok, false)
})

test('JS-04: the levels counted in a text are those of its value', () => {
  const depthOf = (value: unknown): number =>
    typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = JSON.stringify(value)
      const depth = depthOf(value)
      assert.equal(parseJson(text, depth).ok, true)
      if (depth > 0) assert.equal(parseJson(text, depth - 1).ok, false)
    }),
  )
})

test('a text that is no JSON is told by its place, never by its words', () => {
  const outcome = parseJson('{"api_key":"sk-secret", oops}')
  assert.ok(!outcome.ok)
  assert.match(outcome.reason, /^not valid JSON at position \d+$/)
})

test('every JSON value comes back as it went', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      assert.equal(JSON.stringify(parsed(JSON.stringify(value))), JSON.stringify(value))
    }),
  )
})

test('every integer and decimal keeps its value digit by digit', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,40})(\.\d{0,30}[1-9])?$/)
  fc.assert(
    fc.property(digits, (text) => {
      const written = JSON.stringify(parsed(`[${text}]`)).slice(1, -1)
      if (written === text) return
      // Written otherwise only where a double holds exactly this decimal.
      assert.ok(Number(written) === Number(text), `${written} for ${text}`)
      assert.ok(text.replace(/\D/g, '').replace(/^0+/, '').length <= 17 || text.endsWith('0'), text)
    }),
  )
})

test('an exact number is a double where that holds the digits, else a raw number', () => {
  assert.equal(exactNumber('0.00345'), 0.00345)
  assert.equal(JSON.stringify(exactNumber('0.12345678901234567891')), '0.12345678901234567891')
})

test('a raw number is no object', () => {
  const raw = (parsed('[12345678901234567890]') as Json[])[0] ?? null
  assert.equal(isRawNumber(raw), true)
  assert.equal(isJsonObject(raw), false)
})

test('JS-04: a number of a million digits is read in linear time, wherever its zeros stand', () => {
  const zeros = '0'.repeat(1_000_000)
  const started = cpuMs()
  for (const number of [`1.${zeros}1`, `0.${zeros}1`, `1${zeros}1`, `1${zeros}.${zeros}`, `1.${zeros}`]) {
    assert.ok(parseJson(`{"n":${number}}`).ok)
  }
  assert.equal(JSON.stringify(parsed(`[1.${zeros}1]`)), `[1.${zeros}1]`)
  assert.equal(JSON.stringify(parsed(`[1.${zeros}]`)), '[1]')
  assert.ok(cpuMs() - started < 2000)
})
