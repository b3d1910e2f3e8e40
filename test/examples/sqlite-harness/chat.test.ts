/** `npm run chat` as a process: it says where the page is, offers what the environment has a key for, and ends cleanly. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { providerSettings, providersIn } from '../../../examples/sqlite-harness/assistants.ts'
import { within } from '../../conformance/facts.ts'

const CHAT = fileURLToPath(new URL('../../../examples/sqlite-harness/chat.ts', import.meta.url))

test('the chat starts without a key, prints the address of the page, and a SIGINT ends all of it', async () => {
  const env = { PATH: process.env['PATH'] ?? '', CHAT_PORT: '0', CHAT_DB: ':memory:', ANTHROPIC_API_KEY: 'key-SECRET' }
  const child = spawn(process.execPath, [CHAT], { env, stdio: ['ignore', 'pipe', 'pipe'] })
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
  const start = (await (await fetch(`${url}/api/start`)).json()) as { assistants: { id: string }[] }
  assert.deepEqual(
    start.assistants.map(({ id }) => id),
    ['anthropic', 'scripted', 'reader'],
  )
  assert.equal(JSON.stringify(start).includes('key-SECRET'), false)
  const foreign = await fetch(`${url}/api/start`, { headers: { origin: 'http://elsewhere.example' } })
  assert.equal(foreign.status, 403)

  child.kill('SIGINT')
  const [code] = (await within(ended, () => 'it does not end')) as [number | null]
  process.off('exit', kill)
  assert.deepEqual([code, errors], [0, ''])
  await assert.rejects(fetch(`${engine}/health`), 'the engine has ended with it')
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
