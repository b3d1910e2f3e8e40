/**
 * The layers, checked on the text of src/: imports against the table in import-table.ts, and what must stand nowhere.
 *
 * It reads text, so that no parser can fail to see a file; the first test fails when nothing is seen.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importTable, rootFiles, type ImportRule } from './import-table.ts'
import { filesBelow, withoutComments } from './source-text.ts'

interface Import {
  readonly file: string
  /** A path below src/, `node:…`, or a package. */
  readonly target: string
  readonly typeOnly: boolean
}

const STATEMENT = /^[ \t]*(import|export)\s+(type\s+)?(?:[^'"`;=()]*?\sfrom\s*)?['"]([^'"]+)['"]/gm
const CALL = /\bimport\s*\(\s*['"]([^'"]+)['"]/g

function importsOf(file: string, text: string): Import[] {
  const code = withoutComments(text)
  const stated = [...code.matchAll(STATEMENT)].map(([, , type, specifier = '']) => {
    return { file, target: resolve(file, specifier), typeOnly: type !== undefined }
  })
  const called = [...code.matchAll(CALL)].map(([, specifier = '']) => {
    // `import('…').Name` is a type; a real call is awaited or chained with then.
    return {
      file,
      target: resolve(file, specifier),
      typeOnly: new RegExp(`import\\(['"]${escaped(specifier)}['"]\\)\\.[A-Z]`).test(code),
    }
  })
  return [...stated, ...called]
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

function resolve(file: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return new URL(specifier, `file:///${file}`).pathname.slice(1)
}

const folderOf = (path: string) => (path.includes('/') ? (path.split('/', 1)[0] ?? '') : '')

function ruleOf(file: string): ImportRule | 'everything' | undefined {
  const folder = folderOf(file)
  return folder === '' ? rootFiles[file] : importTable[folder]
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const rule = ruleOf(file)
  if (rule === undefined) return false
  const ours = target.endsWith('.ts')
  if (ours && folderOf(target) === '') {
    return rule === 'everything' ? target !== 'main.ts' : (rule.files ?? []).includes(target)
  }
  if (rule === 'everything') return true
  if (ours) {
    return (
      folderOf(target) === folderOf(file) ||
      rule.folders.includes(folderOf(target)) ||
      (rule.files ?? []).includes(target)
    )
  }
  if (target.startsWith('node:')) return rule.node.includes(target.slice('node:'.length))
  return rule.packages.includes(packageOf(target)) || (typeOnly && (rule.typesOf ?? []).includes(packageOf(target)))
}

/** What the table does not allow, as `file → target`. */
function violations(files: ReadonlyMap<string, string>): string[] {
  return [...files]
    .flatMap(([file, text]) => importsOf(file, text))
    .filter((one) => !isAllowed(one))
    .map(({ file, target, typeOnly }) => `${file} → ${target}${typeOnly ? ' (type)' : ''}`)
}

/** Places whose code, comments aside, matches; as `file: match`. */
function places(files: ReadonlyMap<string, string>, pattern: RegExp, allowed: (file: string) => boolean): string[] {
  return [...files].flatMap(([file, text]) => {
    const found = allowed(file) ? null : pattern.exec(withoutComments(text))
    return found === null ? [] : [`${file}: ${found[0]}`]
  })
}

const source = filesBelow('src', ['.ts'])

test('the check sees the code', () => {
  assert.ok(source.size > 60, `${source.size} files seen`)
  assert.ok(source.has('contract/errors.ts'))
  assert.ok([...source].flatMap(([file, text]) => importsOf(file, text)).length > 200)
})

test('every import is one the table allows', () => {
  assert.deepEqual(violations(source), [])
})

test('an import the table does not allow is found, in every form', () => {
  const planted = new Map([
    ['engine/a.ts', "import { open } from '../egress/open.ts'"],
    ['engine/b.ts', "import type {\n  Settings,\n} from '../settings.ts'"],
    ['engine/c.ts', "import fs from 'node:fs'"],
    ['engine/d.ts', "export * from '../server/routes.ts'"],
    ['engine/e.ts', "const later = await import('undici')"],
    ['contract/f.ts', "import '../engine/loop.ts'"],
    ['providers/g.ts', "import Anthropic from '@anthropic-ai/sdk'"],
    ['providers/h.ts', "import type Anthropic from '@anthropic-ai/sdk'"],
    ['providers/i.ts', "import { loop } from '../engine/loop.ts'"],
    ['providers/j.ts', "import type { Ask } from '../engine/ports.ts'"],
    ['server/k.ts', "import { main } from '../main.ts'"],
    ['stray/l.ts', "import { x } from '../contract/errors.ts'"],
    ['engine/m.ts', "// import { open } from '../egress/open.ts'\n/* import '../egress/open.ts' */"],
  ])
  assert.deepEqual(violations(planted), [
    'engine/a.ts → egress/open.ts',
    'engine/b.ts → settings.ts (type)',
    'engine/c.ts → node:fs',
    'engine/d.ts → server/routes.ts',
    'engine/e.ts → undici',
    'contract/f.ts → engine/loop.ts',
    'providers/g.ts → @anthropic-ai/sdk',
    'providers/i.ts → engine/loop.ts',
    'server/k.ts → main.ts',
    'stray/l.ts → contract/errors.ts',
  ])
})

test('every folder and root file has a row, and every row a folder or file', () => {
  const folders = new Set([...source.keys()].map(folderOf).filter((folder) => folder !== ''))
  const files = [...source.keys()].filter((path) => folderOf(path) === '')
  assert.deepEqual([...folders].toSorted(), Object.keys(importTable).toSorted())
  assert.deepEqual(files.toSorted(), Object.keys(rootFiles).toSorted())
})

test('every row is needed: nothing stands in the table that no file imports', () => {
  const imports = [...source].flatMap(([file, text]) => importsOf(file, text))
  const unused = Object.entries(importTable).flatMap(([folder, rule]) => {
    const targets = imports.filter(({ file }) => folderOf(file) === folder).map(({ target }) => target)
    const used = (wanted: string) =>
      targets.some(
        (target) => target === wanted || (target.endsWith('.ts') ? folderOf(target) : packageOf(target)) === wanted,
      )
    const allowed = [
      ...rule.folders,
      ...(rule.files ?? []),
      ...rule.node.map((name) => `node:${name}`),
      ...rule.packages,
      ...(rule.typesOf ?? []),
    ]
    return allowed.filter((wanted) => !used(wanted)).map((wanted) => `${folder} → ${wanted}`)
  })
  assert.deepEqual(unused, [])
})

test('the environment is read in settings.ts and main.ts only', () => {
  assert.deepEqual(
    places(source, /\bprocess\.env\b/, (file) => file === 'settings.ts' || file === 'main.ts'),
    [],
  )
})

test("TZ-03: nothing asks for the machine's language or time zone", () => {
  const fixed =
    /\bIntl\.\w+\((?!'en-GB')|\.toLocale\w*\(|\.localeCompare\(|\.get(?:Hours|Date|Day|Month|FullYear|TimezoneOffset)\(/
  assert.deepEqual(
    places(source, fixed, () => false),
    [],
  )
  assert.equal(places(new Map([['a.ts', "new Intl.NumberFormat('de')"]]), fixed, () => false).length, 1)
  assert.equal(places(new Map([['b.ts', 'name.toLocaleLowerCase()']]), fixed, () => false).length, 1)
})

test('nothing writes to the console', () => {
  assert.deepEqual(
    places(source, /\bconsole\s*\./, () => false),
    [],
  )
})

test('only server/ makes a server, and only compose.ts opens its port', () => {
  const making = /\bcreate(?:Secure)?Server\s*\(|\bFastify\s*\(/i
  assert.deepEqual(
    places(source, making, (file) => folderOf(file) === 'server' || file === 'compose.ts'),
    [],
  )
  assert.deepEqual(
    places(source, /\.listen\s*\(/, (file) => file === 'compose.ts' || file === 'main.ts'),
    [],
  )
})

test('no way out but the gate: no global fetch, no client of Node', () => {
  const ways =
    /(?<![.\w])fetch\s*\(|\bhttps?\.(?:request|get)\s*\(|\bnew (?:WebSocket|EventSource)\b|\b(?:net|tls)\.connect\s*\(/
  assert.deepEqual(
    places(source, ways, () => false),
    [],
  )
})

test('the engine has no clock, no timer, no chance and no process', () => {
  const outside =
    /\bnew Date\b|\bDate\.|\bset(?:Timeout|Interval|Immediate)\b|\bperformance\b|\bMath\.random\b|\bprocess\b|\bBuffer\b|\bcrypto\b/
  assert.deepEqual(
    places(source, outside, (file) => folderOf(file) !== 'engine'),
    [],
  )
})

test('no code is made from text', () => {
  assert.deepEqual(
    places(source, /\beval\s*\(|\bnew Function\b/, () => false),
    [],
  )
})
