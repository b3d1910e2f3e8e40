/**
 * What is handed out beside the source: the npm package and the files that make a container. Judged as text: no test packs a
 * package or builds an image.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { settingNames } from '../src/settings.ts'
import { filesBelow, root } from './source-text.ts'

const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  readonly files: readonly string[]
  readonly bin: Readonly<Record<string, string>>
}
const packed = (path: string) => manifest.files.some((entry) => path === entry || path.startsWith(`${entry}/`))

test('what the package lists is there', () => {
  assert.deepEqual(
    manifest.files.filter((entry) => entry !== 'dist' && !existsSync(`${root}${entry}`)),
    [],
  )
  assert.equal(manifest.bin['theloop'], './dist/bin.js')
  assert.match(read('src/bin.ts'), /^#!\/usr\/bin\/env node\n/)
})

test('the installed theloop says which Node it needs, to one that is too old, and else is the engine', () => {
  const bin = `${root}src/bin.ts`
  const run = (...before: readonly string[]) =>
    spawnSync(process.execPath, [...before, bin, 'replay'], { env: {}, encoding: 'utf8' })
  const version = 'Object.defineProperty(process.versions, "node", { value: "23.11.1" })'
  const old = run('--import', `data:text/javascript,${encodeURIComponent(version)}`)
  assert.deepEqual([old.status, old.stdout], [1, ''])
  assert.equal(old.stderr, 'theloop: needs Node 24 or newer, and this is Node 23.11.1\n')
  const engine = run()
  assert.equal(engine.status, 2)
  assert.match(engine.stderr, /replay/)
})

test('the oldest Node is the same in the package, in what is installed and in the image', () => {
  const { engines } = JSON.parse(read('package.json')) as { readonly engines: { readonly node: string } }
  const oldest = /OLDEST = (\d+)/.exec(read('src/bin.ts'))?.[1]
  assert.equal(engines.node, `>=${oldest}`)
  assert.match(read('Dockerfile'), new RegExp(`FROM node:${oldest}\\b`))
})

test('every link of a packed document leads to a packed file', () => {
  const documents = [...filesBelow('', ['.md'])].filter(([path]) => packed(path))
  assert.ok(documents.some(([path]) => path === 'README.md') && documents.length >= 10)
  const outside: string[] = []
  for (const [path, text] of documents) {
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      const full = new URL(target, `file:///${path}`).pathname.slice(1).replace(/\/$/, '')
      if (!packed(full)) outside.push(`${path}: ${target}`)
    }
  }
  assert.deepEqual(outside, [])
})

const compose = read('compose.yaml')
const dockerfile = read('Dockerfile')
const variables = new Map(
  [...compose.matchAll(/^ {6}([A-Z][A-Z0-9_]*): (.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
)

test('compose.yaml sets nothing but settings', () => {
  assert.ok(variables.size >= 8)
  assert.deepEqual(
    [...variables.keys()].filter((name) => !settingNames.includes(name)),
    [],
  )
})

test('compose.yaml keeps runs and the journal in a volume, in folders that the image has for its user', () => {
  const [, name = '', at = ''] = /volumes:\n +- (\w+):(\S+)\n/.exec(compose) ?? []
  assert.match(compose, new RegExp(`^volumes:\\n {2}${name}:$`, 'm'))
  for (const folder of ['STATE_DIR', 'LOG_DIR'].map((variable) => variables.get(variable) ?? variable)) {
    assert.ok(folder.startsWith(`${at}/`), folder)
    assert.match(dockerfile, new RegExp(`RUN mkdir -p .*${folder}\\b.*chown -R node:node ${at}\\n`))
  }
  assert.ok(dockerfile.indexOf('mkdir -p') < dockerfile.indexOf('USER node'))
})
