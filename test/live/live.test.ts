/**
 * One short conversation with a tool at every real provider whose key is in the environment, by `npm run test:live`. It costs a
 * little money and needs the network, so that without LIVE_TESTS=1 nothing here opens a connection, whatever keys there are.
 *
 * A provider without a key is skipped and says so. `LIVE_<PROVIDER>_MODEL` names another model; `openai-compatible` has none of
 * its own, and needs OPENAI_COMPATIBLE_BASE_URL too.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { createEngine } from '../../src/compose.ts'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { PROVIDERS, type ProviderName } from '../../src/contract/run-request.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { readSettings, settingNames } from '../../src/settings.ts'
import { EngineClient, user } from '../conformance/engine-client.ts'
import { ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { bodyText, listen } from '../fakes/vendors/http-server.ts'

type Keyed = Exclude<ProviderName, 'scripted'>

/** Small and current ones. */
const MODELS: Readonly<Record<Keyed, string | null>> = {
  anthropic: 'claude-haiku-5-5',
  openai: 'gpt-6-luna',
  deepseek: 'deepseek-flash',
  glm: 'glm-5.3-flash',
  gigachat: 'GigaChat-2-Max',
  minimax: 'MiniMax-M3.1-Flash',
  kimi: 'kimi-k3.1-pro',
  'openai-compatible': null,
}

const keyed = PROVIDERS.filter((provider): provider is Keyed => provider !== 'scripted')
const isOn = process.env['LIVE_TESTS'] === '1'
/** `timeout_ms` of a run. */
const RUN_MS = 60_000

function setting(provider: Keyed, what: string): string {
  return process.env[`${provider.toUpperCase().replaceAll('-', '_')}_${what}`]?.trim() ?? ''
}

function modelOf(provider: Keyed): string {
  return process.env[`LIVE_${provider.toUpperCase().replaceAll('-', '_')}_MODEL`]?.trim() || (MODELS[provider] ?? '')
}

/** Why a provider is not asked; null: it is. */
function missing(provider: Keyed): string | null {
  const name = provider.toUpperCase().replaceAll('-', '_')
  if (setting(provider, 'API_KEY') === '') return `no ${name}_API_KEY in the environment`
  if (modelOf(provider) === '') return `no LIVE_${name}_MODEL in the environment`
  const homeless = provider === 'openai-compatible' && setting(provider, 'BASE_URL') === ''
  return homeless ? `no ${name}_BASE_URL in the environment` : null
}

/** What the environment says of providers and of the way to them, and nothing else of it. */
function providerSettings(): Record<string, string | undefined> {
  const names = settingNames.filter((name) => /^(?:PROXY_|GIGACHAT_)|_(?:API_KEY|BASE_URL)$/.test(name))
  return Object.fromEntries(names.map((name) => [name, process.env[name]]))
}

async function openEngine(t: TestContext): Promise<EngineClient> {
  const local = { ENGINE_TOKEN, DEV_INSECURE: '1', HOST: '127.0.0.1', PORT: '0' }
  const outcome = readSettings({ ...providerSettings(), ...local })
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.faults.join('\n'))
  const engine = createEngine(outcome.settings, pino({ level: 'silent' }))
  const address = await engine.listen()
  t.after(() => engine.close({ graceMs: 0 }))
  return new EngineClient({ address })
}

/** A tool that knows where an order is; keeps what it was asked. */
async function openTool(t: TestContext): Promise<{ readonly tool: JsonObject; readonly asked: Json[] }> {
  const asked: Json[] = []
  const server = createServer(async (request, response) => {
    asked.push((JSON.parse(await bodyText(request)) as { args: Json }).args)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ status: 'ok', result: { place: 'pier 7', arrives: 'on Monday' } }))
  })
  const url = await listen({ after: (close) => t.after(close) }, server)
  const input_schema = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }
  const description = 'Tells where an order is now.'
  return { tool: { name: 'find_order', description, input_schema, url: `${url}/find_order`, effect: 'read' }, asked }
}

for (const provider of isOn ? keyed : []) {
  test(
    `${provider} answers a question with a tool, and the next one from its history`,
    { timeout: 3 * RUN_MS },
    (t) => {
      const why = missing(provider)
      if (why === null) return converse(t, provider)
      t.diagnostic(`${provider} is skipped: ${why}`)
      t.skip(why)
    },
  )
}

async function converse(t: TestContext, provider: Keyed): Promise<void> {
  const engine = await openEngine(t)
  const { asked, tool } = await openTool(t)
  const run = (messages: JsonObject[]): Promise<RunResult> =>
    engine.run({
      contract_version: '1',
      idempotency_key: randomUUID(),
      llm: { provider, model: modelOf(provider), params: { thinking: 'low', max_output_tokens: 4000 } },
      system: 'Answer in one short sentence. Look orders up with the tool.',
      messages,
      tools: [tool],
      limits: { max_steps: 4, timeout_ms: RUN_MS },
    })
  const question = user('Where is order 77?')
  const first = await run([question])
  assert.deepEqual([first.status, first.error], ['completed', null])
  assert.deepEqual(asked, [{ id: '77' }])
  assert.match(first.text, /pier/i)
  const second = await run([
    question,
    ...(first.messages as unknown as JsonObject[]),
    user('Which number has the pier?'),
  ])
  assert.deepEqual([second.status, second.error], ['completed', null])
  assert.match(second.text, /7|seven/i)
  const { input_tokens: input, output_tokens: output, total_tokens: total } = first.usage
  t.diagnostic(`${provider} ${modelOf(provider)}: ${total} tokens (${input} in, ${output} out), ${first.steps} steps`)
}

test('live tests are asked for', { skip: isOn && 'and were run' }, (t) => {
  const there = keyed.filter((provider) => missing(provider) === null).length
  t.diagnostic(`live tests were skipped: npm run test:live runs them; ${there} of ${keyed.length} providers have a key`)
  t.skip('LIVE_TESTS=1 is not set')
})
