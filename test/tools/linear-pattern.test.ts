import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePattern, MAX_PATTERN_SIZE, type LinearPattern } from '../../src/tools/linear-pattern.ts'
import { cpuMs } from '../cpu-time.ts'

function pattern(source: string): LinearPattern {
  const compiled = compilePattern(source)
  assert.ok(compiled.ok, source)
  return compiled.pattern
}

test('ECMA escapes and classes mean what they mean in JSON Schema', () => {
  const cases: [string, string, boolean][] = [
    ['^\\d{4}-\\d{2}$', '2026-11', true],
    ['^\\d{4}-\\d{2}$', '2026-11x', false],
    ['b', 'abc', true],
    ['^[\\w-.]+$', 'a-b.c', true],
    ['^\\u0041$', 'A', true],
    ['^\\p{L}+$', 'Привет', true],
    ['^.$', '🙂', true],
    ['^(?<year>\\d+)$', '12', true],
    ['a\\/b', 'a/b', true],
    ['^$', '', true],
  ]
  for (const [source, text, expected] of cases) assert.equal(pattern(source).test(text), expected, source)
})

test('a pattern that linear time cannot do is refused with what to do', () => {
  for (const source of ['(?=a)b', 'a(?!b)', '(?<=a)b', '(a)\\1', 'a{1001}', '(', '[', 'a**']) {
    const compiled = compilePattern(source)
    assert.ok(!compiled.ok, source)
    assert.match(compiled.reason, /linear time: use no look-around/)
  }
})

test('JS-02: nested repeats take linear time', () => {
  const bomb = pattern('(a+)+$')
  const started = cpuMs()
  assert.equal(bomb.test(`${'a'.repeat(40)}b`), false)
  assert.equal(bomb.test(`${'a'.repeat(100_000)}b`), false)
  assert.ok(cpuMs() - started < 1000)
})

test('counted repeats are sized before anything is built', () => {
  assert.equal(pattern('a{1000}').size, 1000)
  assert.equal(pattern('(?:ab){10}c').size > 20, true)
  assert.equal(pattern('[\\]{9}]{3}').size, 3)
  assert.equal(pattern('\\p{L}{1,1000}').size < MAX_PATTERN_SIZE, true)
  for (const source of [
    'a{1000}'.repeat(3),
    '(?:a{30}){80}',
    '('.repeat(5000),
    'a?'.repeat(5000),
    '\\p{L}'.repeat(200),
  ]) {
    const started = cpuMs()
    const compiled = compilePattern(source)
    assert.ok(!compiled.ok, source.slice(0, 20))
    assert.match(compiled.reason, /repeats too much/)
    assert.ok(cpuMs() - started < 500)
  }
})

test('the cost of a text grows with its length and with the pattern, and plain patterns are cheap', () => {
  const plain = pattern('^[a-z]{1,500}$')
  const branching = pattern('^(?:a|b)*a(?:a|b){12}$')
  assert.ok(plain.cost(1000) < 5000)
  assert.ok(branching.cost(1000) > 5 * plain.cost(1000))
  assert.ok(branching.cost(2000) > 1.9 * branching.cost(1000))
  assert.ok(pattern('(?:a{20}|b)*').cost(10) < pattern('(?:a{900}|b)*').cost(10))
})
