/**
 * README.md and the guides tell what is so: their commands run, their examples are read by the real parsers, their lists are
 * those of the code. Links and paths are checked by documents.test.ts.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { startEngine } from '../../examples/demo/engine-process.ts'
import { readFlags } from '../../examples/demo/flags.ts'
import { check, Faults } from '../../src/contract/check.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import { parseRunRequest } from '../../src/contract/parse-run-request.ts'
import { PendingCall } from '../../src/contract/result.ts'
import { PROVIDERS } from '../../src/contract/run-request.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { ToolAnswer } from '../../src/contract/tool-exchange.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { createLogJournal } from '../../src/journal/log-journal.ts'
import { scriptFaults } from '../../src/providers/scripted/script-faults.ts'
import { readSettings, settingNames } from '../../src/settings.ts'
import { root } from '../source-text.ts'
import { hasCurl, runShell } from './run-shell.ts'

const read = (path: string) => readFileSync(`${root}${path}`, 'utf8')
const readme = read('README.md')
const harness = read('docs/guides/harness.md')
const operations = read('docs/operations.md')

/** The fenced blocks that are opened by just this: ```` ```json pending ````. */
function blocks(text: string, opening: string): string[] {
  const found = [...text.matchAll(/^```([^\n]+)\n([\s\S]*?)^```$/gm)].filter(([, name]) => name === opening)
  assert.ok(found.length > 0, `no block ${opening}`)
  return found.map(([, , block = '']) => block)
}

// --------------------------------------------------------------------------------------------------- README.md

const skip = hasCurl ? false : 'there is no curl on this machine'

test('the curl of the README gives the answer of the README', { skip }, async (t) => {
  const commands = blocks(readme, 'sh')
  const [, token = ''] = /^ENGINE_TOKEN=(\S+) npm start$/m.exec(commands.join('\n')) ?? []
  const engine = await startEngine({ ENGINE_TOKEN: token })
  t.after(() => engine.stop())
  const curl = commands.find((command) => command.startsWith('curl ')) ?? ''
  assert.ok(curl.includes('http://127.0.0.1:8080/'))
  const { code, stdout } = await runShell(['-c', curl.replace('http://127.0.0.1:8080', engine.url)], {})
  assert.equal(code, 0)

  const shown: unknown = JSON.parse(blocks(readme, 'json')[0] ?? '')
  assert.deepEqual(missing(shown, JSON.parse(stdout)), [])
  const manifest = JSON.parse(read('package.json')) as { readonly scripts: Readonly<Record<string, string>> }
  assert.equal(manifest.scripts['start'], 'exec node src/main.ts')
  assert.equal(manifest.scripts['demo'], 'node examples/demo/demo.ts')
})

/** Paths of what is shown and is not so. Ids, times and durations differ from run to run. */
function missing(shown: unknown, real: unknown, path = ''): string[] {
  if (/\.(run_id|created_at|started_at|finished_at|\w+_ms)$/.test(path))
    return typeof shown === typeof real ? [] : [path]
  if (typeof shown !== 'object' || shown === null) return Object.is(shown, real) ? [] : [path]
  if (typeof real !== 'object' || real === null || Array.isArray(shown) !== Array.isArray(real)) return [path]
  const fields: Readonly<Record<string, unknown>> = { ...real }
  return Object.entries(shown).flatMap(([name, value]) => missing(value, fields[name], `${path}.${name}`))
}

test('the README names exactly the providers that the engine takes', async (t) => {
  const engine = await startEngine()
  t.after(() => engine.stop())
  const headers = { authorization: `Bearer ${engine.engineToken}`, 'content-type': 'application/json' }
  const built: string[] = []
  for (const provider of PROVIDERS) {
    // Without messages it is a 400 in any case: nothing is started, and every fault is told.
    const body = JSON.stringify({
      contract_version: '1',
      idempotency_key: 'k',
      llm: { provider, model: 'm' },
      messages: [],
    })
    const response = await fetch(`${engine.url}/runs`, { method: 'POST', headers, body })
    const { error } = (await response.json()) as { readonly error: { readonly details: readonly { path: string }[] } }
    assert.equal(response.status, 400)
    if (!error.details.some(({ path }) => path === 'llm.provider')) built.push(provider)
  }
  const [, list = ''] = /^Providers in this version: ([\s\S]*?)\. Asking/m.exec(readme) ?? []
  const named = [...list.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name)
  assert.deepEqual(named.toSorted(), built.toSorted())
})

test('the demo takes the flags that the README types', () => {
  const [, typed = ''] = /`npm run demo -- ([^`]+)`/.exec(readme) ?? []
  assert.equal(readFlags(typed.split(/\s+/), { ANTHROPIC_API_KEY: 'a key' }).kind, 'play')
})

test('every setting that the README and the guides name is one', () => {
  const nodes = ['NODE_EXTRA_CA_CERTS', 'UV_THREADPOOL_SIZE']
  const others = new Set(['ENGINE_URL', 'NO_COLOR', 'POST', 'GET', 'SIGTERM', 'SIGINT', 'TLS', ...nodes])
  const named = [readme, harness, operations].flatMap((text) =>
    [...text.matchAll(/(?:`|-e |^)([A-Z][A-Z_]+)(?:`|=)/gm)].map(([, name = '']) => name),
  )
  assert.ok(named.length > 25)
  assert.deepEqual(
    named.filter((name) => !settingNames.includes(name) && !others.has(name)),
    [],
  )
})

test('every setting is in the operations guide', () => {
  const missing = settingNames.filter((name) => {
    const general = name
      .replace(/^PROXY_(?!URL$)\w+$/, 'PROXY_<PROVIDER>')
      .replace(/^\w+_(API_KEY|BASE_URL)$/, '<PROVIDER>_$1')
    return !operations.includes(`\`${name}\``) && !operations.includes(`\`${general}\``)
  })
  assert.deepEqual(missing, [])
})

// --------------------------------------------------------------------------------------------- docs/guides/harness.md

test('the requests of the harness guide are taken without a fault or a warning', () => {
  for (const block of blocks(harness, 'json run-request')) {
    const { faults, warnings, request } = parseRunRequest(JSON.parse(block), { defaultTimezone: 'UTC' })
    checkHistory(request.messages, faults)
    assert.deepEqual({ faults: faults.list, warnings }, { faults: [], warnings: [] })
    const { script = [] } = request.targets[0].params.extra
    assert.deepEqual(scriptFaults(script), [])
  }
})

test('the answers and the pending call of the harness guide fit their schemas', () => {
  const schemas = { 'tool-answer': ToolAnswer, pending: PendingCall }
  for (const [kind, schema] of Object.entries(schemas)) {
    for (const block of blocks(harness, `json ${kind}`)) {
      const faults = new Faults()
      check(schema as unknown as Keywords, JSON.parse(block), '', faults)
      assert.deepEqual(faults.list, [], block)
    }
  }
})

test('the declined approval of the harness guide is a history that a run can go on from', () => {
  const messages: readonly StoredMessage[] = JSON.parse(blocks(harness, 'json stored-messages')[0] ?? '')
  const body = { contract_version: '1', idempotency_key: 'k', llm: { provider: 'scripted', model: 'm' }, messages }
  const { faults } = parseRunRequest(structuredClone(body) as never, { defaultTimezone: 'UTC' })
  checkHistory(messages, faults)
  assert.deepEqual(faults.list, [])
})

test('the tables of the harness guide take a result once, in order', () => {
  const database = new DatabaseSync(':memory:')
  const [tables = '', insert = ''] = blocks(harness, 'sql')
  database.exec(tables)
  const store = database.prepare(insert)
  const row = (id: string, session_id = 'chat_7') => ({ id, session_id, body: `{"id":"${id}"}` })
  for (const id of ['msg_81', 'run_1:0', 'run_1:1', 'run_1:0', 'run_1:1']) store.run(row(id))
  store.run(row('msg_90', 'chat_8'))
  const rows = database.prepare(`SELECT id || ' ' || position AS row FROM messages ORDER BY session_id, position`).all()
  assert.deepEqual(
    rows.map(({ row }) => row),
    ['msg_81 1', 'run_1:0 2', 'run_1:1 3', 'msg_90 1'],
  )
  database.close()
})

test('the browser code of the harness guide keeps the text right', () => {
  const handlers = new Map<string, (event: { data: string }) => void>()
  let closed = false
  class EventSource {
    addEventListener(name: string, handle: (event: { data: string }) => void) {
      handlers.set(name, handle)
    }
    close() {
      closed = true
    }
  }
  const shown = new Map<number, string>()
  runInNewContext(blocks(harness, 'js')[0] ?? '', {
    EventSource,
    stream_url: 'http://127.0.0.1/',
    show: (step: number, text: string) => shown.set(step, text),
  })
  const send = (name: string, data: object) => handlers.get(name)?.({ data: JSON.stringify(data) })
  send('delta', { step: 1, offset: 0, text: 'Half' })
  send('reset', { step: 1, reason: 'retry' })
  send('delta', { step: 1, offset: 0, text: 'It is ' })
  send('delta', { step: 1, offset: 3, text: 'is here' })
  send('resync', { step: 2, text: 'An' })
  send('delta', { step: 2, offset: 2, text: 'd' })
  send('done', { status: 'completed' })
  assert.deepEqual(
    [...shown],
    [
      [1, 'It is here'],
      [2, 'And'],
    ],
  )
  assert.ok(closed)
})

// ------------------------------------------------------------------------------------------ docs/operations.md

test('wrong settings are told in the words of the operations guide', () => {
  const outcome = readSettings({
    PORT: 'eighty',
    EGRESS_ALLOWLIST: 'https://shop.example.com/x',
    DEV_INSECURE: '1',
    NODE_ENV: 'production',
  })
  const lines = (blocks(operations, 'text settings-faults')[0] ?? '').trim().split('\n')
  assert.ok(!outcome.ok)
  assert.deepEqual(
    lines.slice(0, -1),
    outcome.faults.map((fault) => `theloop: ${fault}`),
  )
})

test('the log lines of the operations guide have the level at which they are written', () => {
  const levels = { error: 50, warn: 40, info: 30, debug: 20 }
  let written = 0
  const at = (level: number) => () => (written = level)
  const logger = Object.fromEntries(Object.entries(levels).map(([name, level]) => [name, at(level)]))
  const write = createLogJournal(logger as unknown as Parameters<typeof createLogJournal>[0])
  const told = [...operations.matchAll(/^\| `([a-z_]+)` \((\d+)\)/gm)].map(([, event = '', level]) => ({
    event,
    level,
  }))
  const shown = blocks(operations, 'json log-lines')
    .flatMap((block) => block.trim().split('\n'))
    .map((line) => JSON.parse(line) as { readonly event?: string; readonly level: number })
    .filter((line) => line.event !== undefined)
  assert.ok(told.length >= 7 && shown.length >= 8)
  for (const { event = '', level } of [...told, ...shown]) {
    write({ event, run_id: 'run_1' })
    assert.equal(Number(level), written, event)
  }
})
