/**
 * SE-01: every secret that an engine can be given, said aloud to it by everybody it talks to in every form, and looked for in
 * everything that it says or writes.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { startProxy } from '../egress/local-servers.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { CALLBACK_SECRET, ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { startProvider, type Play } from '../fakes/provider-server.ts'
import { startTools, type ToolAnswering } from '../fakes/tool-server.ts'
import { EngineClient, runBody, scripted } from './engine-client.ts'
import { within } from './facts.ts'
import { recordingServer } from './recording-server.ts'
import { ownEngine } from './shared-engine.ts'

/** One a place where a secret can be put. With characters that every form writes in its own way, where they may stand. */
const PLANTED = {
  requestKey: 'planted/"key\\+001=',
  fallbackKey: 'planted/"key\\+002=',
  environmentKey: 'planted/"key\\+003=',
  stateKey: 'planted-state-key/+004',
  proxyPassword: 'planted-proxy/+005',
  webhookPath: '/planted-hook-006',
  webhookQuery: 'planted-hook-query/+012',
  toolToken: 'planted/"tool\\+007=',
  toolHeader: 'planted header/"+008=',
  toolQuery: 'planted-query/+009',
  callbackToken: 'planted/"call\\+010=',
  callbackQuery: 'planted-query/+011',
  shortKey: 'hun73r2',
  shortHeader: 'pl4n7',
}
const SECRETS = { ...PLANTED, engineToken: ENGINE_TOKEN, callbackSecret: CALLBACK_SECRET }

/** What must be found nowhere. Of base64 inside something longer, what is the same wherever the secret stands in it. */
function formsOf(secret: string): string[] {
  const inside = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)])
      .toString('base64')
      .slice(4, -4),
  )
  return [...saidForms(secret), ...inside.filter((form) => form.length >= 8)]
}

function saidForms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const digest = createHash('sha256').update(secret).digest()
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    ...new Set([
      secret,
      json,
      JSON.stringify(json).slice(1, -1),
      encodeURIComponent(secret),
      bytes.toString('base64'),
      bytes.toString('base64url'),
      bytes.toString('hex'),
      bytes.toString('hex').toUpperCase(),
      bytes.toString('hex').replaceAll(/../g, '%$&'),
      bytes.toString('hex').replaceAll(/(.)(..)/g, (_all, one: string, rest: string) => one.toUpperCase() + rest),
      secret.replaceAll(/./g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
      digest.toString('hex'),
      digest.toString('base64'),
      digest.toString('base64').replaceAll('=', ''),
      digest.toString('base64url'),
    ]),
  ]
}

/** What everybody says: the forms, and each secret inside something longer. */
const ALL = Object.values(SECRETS).flatMap((secret) => [
  ...saidForms(secret),
  ...['', 'u', 'us'].map((before) => Buffer.from(`${before}${secret} and more`).toString('base64')),
])

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function filesIn(folder: string): string {
  return readdirSync(folder)
    .map((name) => `${name}\n${readFileSync(join(folder, name), 'latin1')}`)
    .join('\n')
}

test('SE-01: whoever says a secret aloud in whatever form, it is in nothing that the engine says or writes', async (t) => {
  const folders = { LOG_DIR: folderFor(t), STATE_DIR: folderFor(t), RECORD_DIR: folderFor(t) }
  // An error's words are cut short in the journal, so each answer tells a few.
  let told = 0
  const some = () => {
    const from = told % ALL.length
    told += 3
    return ALL.slice(from, from + 3).join(' ')
  }
  const quotes: Play = (answer, request) => {
    const words = some()
    const headers = {
      'x-request-id': (request.headers.authorization ?? '').slice(7),
      'retry-after': '0',
    }
    answer.status(401, headers, JSON.stringify({ error: { type: words, code: words, message: words, param: words } }))
  }
  const runs = Math.ceil(ALL.length / 3)
  const provider = await startProvider(t, Array<Play>(runs * 4).fill(quotes))
  const proxied = await startProxy(t, Number(new URL(provider.url).port))
  const echo: ToolAnswering = (call, response) => {
    const [status, type] = [
      [500, 'application/json'],
      [400, `text/plain; key="${PLANTED.toolToken.slice(0, 4)}"`],
      [200, 'text/html'],
    ][call.number < 4 ? 0 : 1 + (call.number % 2)] as [number, string]
    response.writeHead(status, { 'content-type': type, 'x-echo': encodeURIComponent(PLANTED.toolToken) })
    response.end(`${some()} ${JSON.stringify(call.headers)} ${call.path}`)
  }
  const query = `?key=${encodeURIComponent(PLANTED.toolQuery)}`
  const tools = await startTools(t, { [`look${query}`]: echo })
  const receiver = await startReceiver(t, [
    (_request, response) => void response.writeHead(500, { 'content-type': `text/plain; x=${some()}` }).end(some()),
  ])
  const hook = await recordingServer(t, 'the error webhook', (_request, response) => {
    response.writeHead(500, { 'x-echo': encodeURIComponent(PLANTED.webhookPath) }).end(some())
  })
  const engine = await ownEngine(t, {
    ...folders,
    LOG_LEVEL: 'trace',
    CALLBACK_SCHEDULE: '0',
    STATE_KEY: PLANTED.stateKey,
    ERROR_WEBHOOK_URL: `${hook.url}${PLANTED.webhookPath}?version=1&sig=${encodeURIComponent(PLANTED.webhookQuery)}`,
    OPENAI_COMPATIBLE_API_KEY: PLANTED.environmentKey,
    OPENAI_COMPATIBLE_BASE_URL: `${provider.url}/v1`,
    ANTHROPIC_API_KEY: PLANTED.shortKey,
    PROXY_OPENAI_COMPATIBLE: `http://user:${encodeURIComponent(PLANTED.proxyPassword)}@127.0.0.1:${proxied.port}`,
  })
  const client = new EngineClient(engine)
  const heard: string[] = []
  const say = (text: string) => void heard.push(text)

  const body = (llm: JsonObject) => ({
    ...runBody({
      llm,
      tools: [
        {
          ...tools.tool('look', {
            headers: {
              authorization: `Bearer ${PLANTED.toolToken}`,
              'X-Own': PLANTED.toolHeader,
              'X-Api-Key': PLANTED.shortHeader,
            },
            timeout_ms: 2000,
          }),
          url: `${tools.tool('look')['url'] as string}${query}`,
        },
      ],
      callback: {
        url: `${receiver.url}/r?key=${encodeURIComponent(PLANTED.callbackQuery)}`,
        headers: { authorization: `Bearer ${PLANTED.callbackToken}` },
      },
    }),
  })
  const own = { provider: 'openai-compatible', model: 'own' }
  const fallback = provider.llm({ api_key: PLANTED.fallbackKey })
  // Each run brings every secret, so that each is known wherever it is said.
  const llms = (index: number): JsonObject =>
    index % 3 < 2
      ? { ...provider.llm({ api_key: PLANTED.requestKey }), fallbacks: [own, fallback] }
      : {
          ...scripted([{ tool_call: { name: 'look', args: {} } }], [{ text: 'I looked.' }]),
          fallbacks: [fallback, provider.llm({ api_key: PLANTED.requestKey })],
        }
  // Enough turns of each kind for every form to be told to every kind of ear.
  for (let index = 0; index < runs; index += 1) {
    const accepted = await client.start(body(llms(index)))
    const reader = await client.stream(accepted)
    say(JSON.stringify(await reader.ended()))
    say(JSON.stringify(await client.view(accepted.run_id)))
    if (index % 2 === 0) await client.ack(accepted.run_id)
  }
  const bad: (JsonObject | string)[] = [
    { ...body(llms(0)), callback: { url: `https://u:${PLANTED.callbackToken}@x.example/`, headers: {} } },
    { ...body(llms(0)), llm: { ...llms(1), api_key: [PLANTED.requestKey] } },
    {
      ...body(llms(0)),
      llm: { ...llms(1), api_key: `${PLANTED.requestKey}\n`, base_url: `https://x/?${PLANTED.toolQuery}` },
    },
    { ...body(llms(0)), tools: [{ ...tools.tool('look'), headers: { 'X-A': `${PLANTED.toolHeader}\r\nX-B: c` } }] },
    { ...body(llms(0)), tools: [{ ...tools.tool('look'), headers: { 'X-A': { b: PLANTED.toolHeader } } }] },
    `{"llm":{"api_key":"${PLANTED.shortKey}"`,
  ]
  for (const faulty of bad) {
    const answer = await client.post(faulty)
    assert.equal(answer.status, 400, answer.text)
    say(answer.text)
  }
  say((await client.send(`/runs?token=${ENGINE_TOKEN}`, { method: 'PATCH' })).text)
  say((await client.send('/health', { headers: { authorization: `Bearer ${PLANTED.environmentKey}` } })).text)
  say((await client.send('/metrics')).text)
  const { idempotency_key: _key, ...asked } = body(llms(1))
  const shown = await client.send('/validate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, idempotency_key: 'shown', show_request: true }),
  })
  assert.equal(shown.status, 200, shown.text)
  say(shown.text)
  const logs = await client.send('/logs?limit=1000')
  await hook.nth(1)
  const state = filesIn(folders.STATE_DIR)
  engine.signal('SIGTERM')
  await within(engine.exited, () => 'it does not end')
  assert.ok(told >= ALL.length, `${told} of ${ALL.length} forms were told`)
  assert.ok(proxied.requests.length > 0 && tools.calls.length > 3 && receiver.received.length > runs)

  const outputs = {
    'standard output': engine.stdout(),
    'standard error': engine.stderr(),
    answers: heard.join('\n'),
    'GET /logs': logs.text,
    LOG_DIR: filesIn(folders.LOG_DIR),
    STATE_DIR: `${state}\n${filesIn(folders.STATE_DIR)}`,
    RECORD_DIR: filesIn(folders.RECORD_DIR),
    callbacks: receiver.received.map(({ text }) => text).join('\n'),
    'the error webhook': hook.received.map(({ text, headers }) => text + JSON.stringify(headers)).join('\n'),
    'requests to models': provider.received.map(({ text }) => text).join('\n'),
  }
  for (const output of ['standard output', 'GET /logs', 'LOG_DIR', 'the error webhook'] as const) {
    assert.match(outputs[output], /\[redacted\]/, output)
  }
  const found: string[] = []
  for (const [output, text] of Object.entries(outputs)) {
    for (const [name, secret] of Object.entries(SECRETS)) {
      for (const form of formsOf(secret))
        if (form.length >= 5 && holds(text, form)) found.push(`${name} as ${form} in ${output}`)
    }
  }
  assert.deepEqual(found, [])
  assert.doesNotMatch(outputs['standard output'] + outputs.LOG_DIR + outputs['the error webhook'], /token=(?!\[)/)
})

/** Short forms stand in longer words by chance. */
function holds(text: string, form: string): boolean {
  if (form.length >= 8) return text.includes(form)
  return text.split(form).some((before, index, all) => {
    return index + 1 < all.length && !/[A-Za-z0-9]$/.test(before) && !/^[A-Za-z0-9]/.test(all[index + 1] ?? '')
  })
}
