/** Appendix A of SPEC.md, both ways: each obligation has its place in this harness and a test, and none is named that is not there. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { root } from '../../source-text.ts'

const read = (pattern: string) => globSync(pattern, { cwd: root }).map((path) => readFileSync(`${root}${path}`, 'utf8'))
const numbersIn = (text: string) => [...text.matchAll(/A\.(\d+)/g)].map(([, number]) => Number(number))
const sorted = (numbers: readonly number[]) => [...new Set(numbers)].toSorted((left, right) => left - right)

const appendix = /^## Appendix A[\s\S]*?^## /m.exec(read('SPEC.md')[0] ?? '')?.[0] ?? ''
const owed = [...appendix.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number))

test('each obligation of a harness is named where this one keeps it', () => {
  assert.ok(owed.length > 10, 'the appendix was read')
  const code = read('examples/sqlite-harness/**/*.{ts,js,sql}').join('\n')
  const named = [...code.matchAll(/Obligation (A\.\d+)/g)].flatMap(([, name = '']) => numbersIn(name))
  assert.deepEqual(sorted(named), owed)
})

test('each obligation of a harness has a test that names it', () => {
  const tests = read('test/examples/sqlite-harness/*.test.ts').join('\n')
  const names = [...tests.matchAll(/\btest\(\s*['`]((?:A\.\d+(?:, )?)+):/g)].map(([, name = '']) => name)
  assert.deepEqual(sorted(names.flatMap(numbersIn)), owed)
})
