/** `npm run chat` as a process: it says where the page is, offers what the environment has a key for, and ends cleanly. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { providerSettings, providersIn, writeAssistants } from '../../../examples/sqlite-harness/data/assistants.ts'
import { openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'
import { within } from '../../conformance/facts.ts'

const CHAT = fileURLToPath(new URL('../../../examples/sqlite-harness/chat.ts', import.meta.url))

test('the chat starts without a key, prints the address of the page, and a SIGINT ends all of it', async () => {
  const env = { PATH: process.env['PATH'] ?? '', CHAT_PORT: '0', CHAT_DB: ':memory:', ANTHROPIC_API_KEY: 'key-SECRET' }
  // A group of its own, as a terminal makes one: Ctrl+C reaches all of it.
  const child = spawn(process.execPath, [CHAT], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const ended = once(child, 'close')
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const lines: string[] = []
  const told = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      if (line.startsWith('Ctrl+C')) resolve()
    })
  })
  await within(Promise.race([told, ended]), () => `it does not start: ${errors}`)
  const [, url = ''] = /^chat +(http:\S+)$/.exec(lines[0] ?? '') ?? []
  const [, engine = ''] = /^engine +(http:\S+)$/.exec(lines[1] ?? '') ?? []
  assert.equal(lines[2], 'models  anthropic, scripted')

  const page = await fetch(url)
  assert.match(await page.text(), /<h1>Shop assistant<\/h1>/)
  const cookie = page.headers.get('set-cookie')?.split(';')[0] ?? ''
  const start = (await (await fetch(`${url}/api/start`, { headers: { cookie } })).json()) as {
    assistants: { id: string }[]
  }
  assert.deepEqual(
    start.assistants.map(({ id }) => id),
    ['anthropic', 'scripted', 'reader'],
  )
  assert.equal(JSON.stringify(start).includes('key-SECRET'), false)
  const foreign = await fetch(`${url}/api/start`, { headers: { origin: 'http://elsewhere.example' } })
  assert.equal(foreign.status, 403)

  await talk(url, cookie)
  process.kill(-(child.pid ?? 0), 'SIGINT')
  const [code] = (await within(ended, () => 'it does not end')) as [number | null]
  process.off('exit', kill)
  assert.deepEqual([code, errors], [0, ''])
  await assert.rejects(fetch(`${engine}/health`), 'the engine has ended with it')
})

/** Until an answer is under way, which the engine then has to end. */
async function talk(url: string, cookie: string): Promise<void> {
  const headers = { cookie, 'content-type': 'application/json' }
  const post = async (path: string, body: object) =>
    (await fetch(`${url}/api/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  const { id } = (await post('sessions', { assistant_id: 'scripted' })) as { id: string }
  await post(`sessions/${id}/messages`, { id: 'msg_12345678', text: 'slowly: hello' })
  for (let active: unknown = null; active === null;) {
    const view = await (await fetch(`${url}/api/sessions/${id}`, { headers: { cookie } })).json()
    active = (view as { active: { stream_url: string | null } | null }).active?.stream_url ?? null
  }
}

test('an assistant whose key is gone is not offered any more, and its conversations keep it', () => {
  const database = openDatabase(':memory:')
  const offered = () =>
    database.all<{ id: string }>`SELECT id FROM assistant WHERE offered = 1 ORDER BY id`.map(({ id }) => id)
  writeAssistants(database, { KIMI_API_KEY: 'a' }, 'en')
  assert.deepEqual(offered(), ['kimi', 'reader', 'scripted'])
  writeAssistants(database, {}, 'en')
  assert.deepEqual([offered(), database.all`SELECT 1 FROM assistant`.length], [['reader', 'scripted'], 3])
  database.close()
})

test('a database of another version is not opened, and the sentence says what to do', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'chat-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'chat.sqlite')
  openDatabase(path).close()
  openDatabase(path).close()
  const older = new DatabaseSync(path)
  older.exec('PRAGMA user_version = 1')
  older.close()
  assert.throws(() => openDatabase(path), /chat\.sqlite was written by another version of this example; move it away/)
})

test('a provider is offered where its key is, a server of one’s own where its address and model are', () => {
  const environment = {
    DEEPSEEK_API_KEY: 'a',
    GLM_API_KEY: '',
    OPENAI_COMPATIBLE_BASE_URL: 'http://127.0.0.1:1/v1',
    KIMI_API_KEY: 'b',
    KIMI_MODEL: 'kimi-other',
    HOME: '/home',
  }
  assert.deepEqual(
    providersIn(environment).map(({ provider }) => provider),
    ['deepseek', 'kimi'],
  )
  assert.equal(providersIn(environment)[1]?.model, 'kimi-other')
  assert.deepEqual(Object.keys(providerSettings(environment)), ['DEEPSEEK_API_KEY', 'KIMI_API_KEY'])
  const own = providersIn({ ...environment, OPENAI_COMPATIBLE_MODEL: 'qwen3' })
  assert.deepEqual(own.at(-1), { provider: 'openai-compatible', model: 'qwen3' })
})
