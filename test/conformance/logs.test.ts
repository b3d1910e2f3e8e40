/** SPEC §12.3 to §12.5 over HTTP: the journal is found again, also after a restart; errors are told on; no secret is anywhere. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { CALLBACK_SECRET, ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { asksFor, says, startProvider, type ModelAnswer, type Play } from '../fakes/provider-server.ts'
import { http, ok, startTools } from '../fakes/tool-server.ts'
import { EngineClient, errorOf, runBody, user } from './engine-client.ts'
import { recordingServer } from './recording-server.ts'
import { assertQuiet, endInPeace, ownEngine, sharedEngine } from './shared-engine.ts'

interface Entry {
  readonly id: string
  readonly at: string
  readonly event: string
  readonly run_id: string | null
  readonly session_id: string | null
}

interface Page {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
  readonly more: boolean
  readonly source: string
}

const shared = sharedEngine()

async function page(client: EngineClient, query = ''): Promise<Page> {
  const answer = await client.send(`/logs${query}`)
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Page>()
}

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'log-dir-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('§12.4 a run is found by its id and by its session, in order and with every event', async () => {
  const client = await shared.client()
  const one = await client.run(runBody({ meta: { session_id: 'session-one' } }))
  await client.run(runBody({ meta: { session_id: 'session-two' } }))
  const byRun = await page(client, `?run_id=${one.run_id}`)
  assert.deepEqual(
    byRun.entries.map(({ event }) => event),
    ['accepted', 'attempt_started', 'attempt_ended', 'step_ended', 'ended', 'delivered'],
  )
  assert.ok(byRun.entries.every(({ session_id }) => session_id === 'session-one'))
  assert.deepEqual(
    byRun.entries.map(({ id }) => id),
    byRun.entries.map(({ id }) => id).toSorted(),
  )
  assert.deepEqual([byRun.source, byRun.more], ['memory', false])
  const bySession = await page(client, '?session_id=session-one')
  assert.deepEqual(bySession.entries, byRun.entries)
  const ended = await page(client, `?run_id=${one.run_id}&event=ended`)
  assert.deepEqual(
    ended.entries,
    byRun.entries.filter(({ event }) => event === 'ended'),
  )
})

test('§12.4 a cursor gives every entry once while new ones come', async () => {
  const client = await shared.client()
  const { run_id } = await client.run(runBody())
  const seen: string[] = []
  let cursor = ''
  for (let more = true; more;) {
    const next = await page(client, `?run_id=${run_id}&limit=2${cursor}`)
    seen.push(...next.entries.map(({ event }) => event))
    cursor = `&cursor=${next.cursor}`
    more = next.more
    await client.run(runBody())
  }
  assert.deepEqual(seen, ['accepted', 'attempt_started', 'attempt_ended', 'step_ended', 'ended', 'delivered'])
  const late = await client.run(runBody())
  const followed = await page(client, `?event=ended${cursor}`)
  assert.equal(followed.entries.at(-1)?.run_id, late.run_id)
})

test('§12.4 a wrong query is a 400 with the parameter as path', async () => {
  const client = await shared.client()
  const { details } = errorOf(await client.send('/logs?limit=0&run=x'), 400, 'invalid_request')
  assert.deepEqual(details?.map(({ path }) => path).toSorted(), ['limit', 'run'])
})

test('§12.3 with LOG_DIR the journal outlives the process', async (t) => {
  const LOG_DIR = folderFor(t)
  const first = await ownEngine(t, { LOG_DIR })
  const client = new EngineClient(first)
  const { run_id } = await client.run(runBody({ meta: { session_id: 'kept' } }))
  const before = await page(client, `?run_id=${run_id}`)
  await endInPeace(first)
  const second = await ownEngine(t, { LOG_DIR })
  const again = new EngineClient(second)
  const after = await page(again, '?session_id=kept')
  assert.deepEqual(after.entries, before.entries)
  assert.equal(after.source, 'disk')
  const next = await again.run(runBody())
  const rest = await page(again, `?cursor=${before.cursor}`)
  assert.deepEqual(new Set(rest.entries.map((entry) => entry.run_id)), new Set([next.run_id]))
  await endInPeace(second)
})

test('§12.3 LOG_CONTENT: words are kept only where it is on, bounded, without secrets, and never told to the webhook', async (t) => {
  const LOG_DIR = folderFor(t)
  const long = 'x'.repeat(20_000)
  const plays = [
    asksFor(['look', { words: 'the arguments and SECRET-of-the-tool' }]),
    says('the answer'),
    asksFor(['look', {}]),
    (answer: ModelAnswer) => answer.status(401),
  ]
  const contents = async (LOG_CONTENT: string) => {
    const hook = await recordingServer(t, 'the error webhook', (_request, response) => void response.end())
    const tools = await startTools(t, { look: [ok({ words: 'the tool', long }), http(400)] })
    const tool = tools.tool('look', { headers: { authorization: 'Bearer SECRET-of-the-tool' } })
    const provider = await startProvider(t, plays)
    const engine = await ownEngine(t, { LOG_CONTENT, LOG_DIR, ERROR_WEBHOOK_URL: `${hook.url}/hook` })
    const client = new EngineClient(engine)
    const body = { messages: [user('the question')], llm: provider.llm(), tools: [tool] }
    const { run_id } = await client.run(runBody(body))
    assert.equal((await client.run(runBody(body))).status, 'failed')
    const { entries } = await page(client, `?run_id=${run_id}`)
    await hook.nth(1)
    engine.signal('SIGTERM')
    await engine.exited
    assert.doesNotMatch(engine.stdout(), /SECRET/)
    assert.ok(hook.received.every(({ text }) => !text.includes('"content"') && !text.includes('question')))
    const found = entries.filter((entry): entry is Entry & { content: string } => 'content' in entry)
    return { content: Object.fromEntries(found.map(({ event, content }) => [event, content])), out: engine.stdout() }
  }
  const off = await contents('0')
  assert.deepEqual(off.content, {})
  assert.doesNotMatch(off.out, /the (question|arguments|tool|answer)/)
  const on = (await contents('1')).content
  assert.deepEqual(Object.keys(on).toSorted(), ['accepted', 'ended', 'step_ended', 'tool_called', 'tool_ended'])
  assert.match(on['accepted'] ?? '', /"text":"the question"/)
  assert.equal(on['tool_called'], '{"args":{"words":"the arguments and [redacted]"}}')
  assert.match(on['tool_ended'] ?? '', /^\{"result":\{"words":"the tool","long":"x+…$/)
  assert.equal(on['tool_ended']?.length, 16_385)
  assert.match(on['step_ended'] ?? '', /the answer/)
  assert.equal(on['ended'], '{"text":"the answer"}')
})

/** Every value is a secret, and long enough to be one. */
const PLANTED = {
  api_key: 'planted-api-key-0001',
  environment_key: 'planted-environment-key-0002',
  tool_token: 'planted-tool-token-0003',
  tool_header: 'planted-tool-header-0004',
  tool_query: 'planted-tool-query-0005',
  callback_header: 'planted-callback-header-0006',
  callback_query: 'planted-callback-query-0007',
}

/** A provider that quotes everything it was told, in every form. */
const quotes: Play = (answer) => {
  const all = [...Object.values(PLANTED), ENGINE_TOKEN, CALLBACK_SECRET]
  const forms = all.flatMap((secret) => [
    secret,
    Buffer.from(secret).toString('base64'),
    encodeURIComponent(`${secret}/+`),
    createHash('sha256').update(secret).digest('hex'),
  ])
  // An error's words are cut short, so each request tells some of them.
  const some = forms.slice(told, (told += 6))
  answer.status(401, { 'content-type': 'application/json' }, JSON.stringify({ error: { message: some.join(' ') } }))
}
let told = 0

test('SE-01: secrets planted in every input are in no log line, no entry, no file and no notice', async (t) => {
  const LOG_DIR = folderFor(t)
  told = 0
  const plays = Array.from({ length: 6 }, () => quotes)
  const provider = await startProvider(t, [asksFor(['look', {}]), quotes, ...plays])
  // The fake knows a tool by its whole address.
  const tools = await startTools(t, { [`look?key=${PLANTED.tool_query}`]: [http(500), ok('fine')] })
  const receiver = await startReceiver(t, [500, 204])
  const notices = await recordingServer(
    t,
    'the error webhook',
    (_request, response) => void response.writeHead(204).end(),
  )
  const engine = await ownEngine(t, {
    LOG_DIR,
    LOG_LEVEL: 'trace',
    CALLBACK_SCHEDULE: '0',
    ERROR_WEBHOOK_URL: `${notices.url}/hook`,
    OPENAI_COMPATIBLE_API_KEY: PLANTED.environment_key,
    OPENAI_COMPATIBLE_BASE_URL: `${provider.url}/v1`,
  })
  const client = new EngineClient(engine)
  const tool = tools.tool('look', {
    headers: { authorization: `Bearer ${PLANTED.tool_token}`, 'x-own': PLANTED.tool_header },
  })
  const callback = receiver.callback({ authorization: PLANTED.callback_header })
  const body = () =>
    runBody({
      llm: provider.llm({ api_key: PLANTED.api_key }),
      tools: [{ ...tool, url: `${tool['url'] as string}?key=${PLANTED.tool_query}` }],
      callback: { ...callback, url: `${callback['url'] as string}&key=${PLANTED.callback_query}` },
    })
  for (let run = 0; run < 7; run += 1) {
    const accepted = await client.start(body())
    assert.equal((await client.result(accepted)).status, 'failed')
    await client.ack(accepted.run_id)
  }
  await notices.nth(1)
  const entries = JSON.stringify(await page(client, '?limit=1000'))
  engine.signal('SIGTERM')
  await engine.exited
  assertQuiet(engine)

  const files = readdirSync(LOG_DIR).map((name) => readFileSync(join(LOG_DIR, name), 'utf8'))
  const outputs = {
    log: engine.stdout(),
    entries,
    files: files.join(''),
    notices: notices.received.map(({ text }) => text).join(''),
  }
  assert.ok(told >= 36, `${told} forms were told`)
  const secrets = [...Object.values(PLANTED), ENGINE_TOKEN, CALLBACK_SECRET]
  for (const [output, text] of Object.entries(outputs)) {
    assert.match(text, /\[redacted\]/, output)
    for (const secret of secrets) {
      const base64 = Buffer.from(secret).toString('base64').replaceAll('=', '')
      const sha = createHash('sha256').update(secret).digest('hex')
      for (const form of [secret, base64, sha]) assert.ok(!text.includes(form), `${secret} is in ${output}`)
    }
    assert.doesNotMatch(text, /token=(?!\[)/, output)
  }
})

test('SE-01, SE-02: what is signed into the address of an image is in no entry, and neither is what the first words of a run tell', async (t) => {
  const LOG_DIR = folderFor(t)
  const image =
    'https://bucket.example/a.png?X-Amz-Signature=SECRET-signature-01&X-Amz-Credential=SECRET%2Fcredential%2F02'
  const bare = 'https://bucket.example/download/b.png?download&SECRETtoken03'
  // With a beginning that looks like a key by itself.
  const key = 'sk-begins/and-has-SECRET+04'
  // Of a gateway's own fields.
  const own = 'SECRET-of-the-model-05'
  const provider = await startProvider(t, [
    (answer) => answer.status(400, {}, JSON.stringify({ error: { message: `Error while downloading ${image}` } })),
    (answer) => answer.status(400, {}, JSON.stringify({ error: { message: `No file at ${bare} for ${key}, ${own}` } })),
  ])
  const engine = await ownEngine(t, { LOG_DIR, LOG_CONTENT: '1', LOG_LEVEL: 'trace' })
  const client = new EngineClient(engine)
  const message = {
    ...user('SECRET-of-the-tool'),
    content: [
      { type: 'text', text: 'my key is SECRET-of-the-tool' },
      { type: 'image', url: image, mime_type: 'image/png' },
    ],
  }
  const tool = { name: 'look', url: 'http://127.0.0.1:1/', headers: { authorization: 'Bearer SECRET-of-the-tool' } }
  // The very first run of this process: nothing is known of its secrets from another.
  await client.run(runBody({ llm: provider.llm(), messages: [message], tools: [tool] }))
  const other = { ...message, content: [{ type: 'image', url: bare, mime_type: 'image/png' }] }
  const params = { extra: { upstream: { apiKey: own }, prompt_cache_key: 'bucket.example' } }
  await client.run(runBody({ llm: provider.llm({ api_key: key, params }), messages: [other] }))
  const entries = JSON.stringify(await page(client, '?limit=1000'))
  await endInPeace(engine)
  const files = readdirSync(LOG_DIR).map((name) => readFileSync(join(LOG_DIR, name), 'utf8'))
  assert.match(entries, /Error while downloading https:\/\/bucket\.example\/a\.png\?X-Amz-Signature=\[redacted\]/)
  assert.match(entries, /my key is \[redacted\]/)
  assert.match(
    entries,
    /No file at https:\/\/bucket\.example\/download\/b\.png\?download&\[redacted\] for \*\*\*, \[redacted\]/,
  )
  assert.doesNotMatch(entries + files.join(''), /SECRET/)
})

test('§12.5 a refused key is told to the error webhook, signed, once and then in sum', async (t) => {
  const notices = await recordingServer(
    t,
    'the error webhook',
    (_request, response) => void response.writeHead(204).end(),
  )
  const provider = await startProvider(t, [(answer) => answer.status(401), (answer) => answer.status(401)])
  const engine = await ownEngine(t, { PROVIDER_ALLOWLIST: '127.0.0.1:*', ERROR_WEBHOOK_URL: `${notices.url}/hook` })
  const client = new EngineClient(engine)
  const first = await client.run(runBody({ llm: provider.llm() }))
  const second = await client.run(runBody({ llm: provider.llm() }))
  const notice = await notices.nth(1)
  engine.signal('SIGTERM')
  await engine.exited
  const bodies = notices.received.map(({ text }) => JSON.parse(text) as { count: number; code: string; entry: Entry })
  assert.deepEqual(
    bodies.map(({ count, code, entry }) => [count, code, entry.run_id]),
    [
      [1, 'provider_auth', first.run_id],
      [1, 'provider_auth', second.run_id],
    ],
  )
  const headers = notice.headers as Record<string, string>
  new Webhook(CALLBACK_SECRET, { format: 'raw' }).verify(notice.text, headers)
  assert.equal(headers['x-engine-secret'], undefined)
  assertQuiet(engine)
})

test('§12.5 a webhook that is away delays no run and no shutdown', async (t) => {
  const notices = await recordingServer(t, 'the error webhook', () => {})
  const provider = await startProvider(t, [(answer) => answer.status(401)])
  const engine = await ownEngine(t, { PROVIDER_ALLOWLIST: '127.0.0.1:*', ERROR_WEBHOOK_URL: notices.url })
  const client = new EngineClient(engine)
  assert.equal((await client.run(runBody({ llm: provider.llm() }))).status, 'failed')
  await notices.nth(1)
  await endInPeace(engine)
  assert.ok(engine.lines.some(({ msg }) => msg === 'a post to ERROR_WEBHOOK_URL failed'))
})

test('the shared engine ends in peace', () => shared.finish())
