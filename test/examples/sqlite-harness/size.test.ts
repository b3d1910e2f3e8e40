/**
 * What the example's README promises of its length: a person can read all of it in half an hour.
 *
 * Counted is server code: each line of each `.ts` file of the example that is neither blank nor only a comment. Left out are
 * `data/` (the demo's rows and sentences) and `scripted/` (the stand-in for a model), which an integrator throws away, and
 * `page/` (what the browser runs). `schema.sql` is a table of contents and not code.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { filesBelow, root, withoutComments } from '../../source-text.ts'

const MOST_LINES = 1200
/** The formatter's width leaves the lines inside of SQL alone; no line is made longer to have fewer of them. */
const LONGEST_LINE = 120

const server = [...filesBelow('examples/sqlite-harness', ['.ts'])].filter(
  ([path]) => !/^(data|scripted|page)\//.test(path),
)
/** Without those that are blank or all comment. */
const codeLines = (text: string) =>
  withoutComments(text)
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')

test('the server of the example is as short as its README says, line by line', () => {
  assert.ok(server.length > 15, 'the files were read')
  const counts = server.map(([path, text]) => [path, codeLines(text).length] as const)
  const total = counts.reduce((sum, [, lines]) => sum + lines, 0)
  assert.ok(total < MOST_LINES, `${total} lines: ${JSON.stringify(Object.fromEntries(counts))}`)
  const long = server.flatMap(([, text]) => codeLines(text).filter((line) => line.length > LONGEST_LINE))
  assert.deepEqual(long, [])
  const readme = readFileSync(`${root}examples/sqlite-harness/README.md`, 'utf8')
  assert.ok(readme.includes(`under ${MOST_LINES.toLocaleString('en')} lines of code`), 'the README names the figure')
})

test('only code is counted', () => {
  const text = ['/** A', ' * comment. */', '', 'const one = 1 // why', '  // a remark', '/* x */', 'run()'].join('\n')
  assert.equal(codeLines(text).length, 2)
})
