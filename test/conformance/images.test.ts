/** SPEC §10: images and files given by url, fetched for a model whose provider does not, from outside and over real sockets. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import type { Validation } from '../../src/contract/validation.ts'
import { startHttps } from '../egress/local-servers.ts'
import { namedCertificate, otherCertificate } from '../egress/test-certificate.ts'
import { asksFor, says, silent, startProvider } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { AT, EngineClient, runBody, user } from './engine-client.ts'
import { recordingServer, type Respond } from './recording-server.ts'
import { ownEngine, sharedEngine } from './shared-engine.ts'

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(2000, 3)])
const AS_DATA = `data:image/png;base64,${PNG.toString('base64')}`
const STAND_IN = '[image omitted: it was given by an address, which this model does not read]'

/** Its rows say that LM Studio reads images and no addresses. */
const LM = { profile: 'lmstudio' }

const engine = sharedEngine({ EGRESS_ALLOWLIST: 'listed.example, 10.0.0.5' })

const stored = ({ messages }: RunResult) => JSON.parse(JSON.stringify(messages)) as JsonObject[]
const image = (url: string, mime_type = 'image/png'): JsonObject => ({ type: 'image', url, mime_type })

function asks(...urls: readonly string[]): JsonObject {
  return {
    role: 'user',
    content: [{ type: 'text', text: 'What is it?' }, ...urls.map((url) => image(url))],
    created_at: AT,
  }
}

const sendsPng: Respond = (_request, response) => {
  response.writeHead(200, { 'content-type': 'image/png' })
  response.end(PNG)
}

const startPictures = (t: TestContext, respond: Respond = sendsPng) => recordingServer(t, 'the picture server', respond)

async function validated(client: EngineClient, body: JsonObject): Promise<Validation> {
  const headers = { 'content-type': 'application/json' }
  const answer = await client.send('/validate', { method: 'POST', headers, body: JSON.stringify(body) })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<Validation>()
}

test('§10 an image is fetched once a run and sent as data, the same in every step and every model that needs it', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t)
  const tools = await startTools(t, { look: ok(1) })
  const provider = await startProvider(t, [asksFor(['look', {}]), (answer) => answer.status(401)])
  const second = await startProvider(t, [says('A cat.')])
  const accepted = await client.start(
    runBody({
      llm: { ...provider.llm(LM), fallbacks: [second.llm(LM)] },
      tools: [tools.tool('look')],
      messages: [asks(`${pictures.url}/a.png?sig=SECRET`)],
    }),
  )
  assert.deepEqual(accepted.warnings, [])
  const result = await client.result(accepted)
  assert.deepEqual([result.status, result.text, result.warnings], ['completed', 'A cat.', []])
  assert.deepEqual(
    pictures.received.map(({ headers, method, path, text }) => [
      method,
      path,
      headers.authorization,
      headers.cookie,
      text,
    ]),
    [['GET', '/a.png?sig=SECRET', undefined, undefined, '']],
  )
  const sent = [...provider.received, ...second.received].map(({ text }) => text)
  assert.deepEqual(
    sent.map((text) => [text.includes(AS_DATA), text.includes('sig=')]),
    [
      [true, false],
      [true, false],
      [true, false],
    ],
  )
  // The image stands in no message that the harness gets.
  assert.ok(!JSON.stringify(result).includes(PNG.toString('base64')))
  const process = await engine.process()
  const line = await process.line(({ event, run_id }) => event === 'part_fetched' && run_id === accepted.run_id)
  assert.deepEqual(
    [line['host'], line['outcome'], line['status'], line['bytes'], line['step']],
    ['127.0.0.1', 'ok', 200, PNG.length, 1],
  )

  // The next run fetches anew, and its request begins with the bytes of the last one.
  const next = await startProvider(t, [says('Still a cat.')])
  const messages = [asks(`${pictures.url}/a.png?sig=SECRET`), ...stored(result), user('Sure?')]
  await client.run(runBody({ llm: next.llm(LM), tools: [tools.tool('look')], messages }))
  assert.equal(pictures.received.length, 2)
  const { text } = await next.nth(1)
  const until = (body: string) => body.slice(body.indexOf('"messages"'), body.indexOf(AS_DATA) + AS_DATA.length)
  assert.equal(until(text), until(sent[2] ?? ''))
})

test('§10 what cannot be fetched fails no run: words stand in its place, and the warning names the reason and the host', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t, ({ path }, response) => {
    if (path.startsWith('/gone')) response.writeHead(404).end()
    else if (path.startsWith('/page')) response.writeHead(200, { 'content-type': 'text/html' }).end('<html>CONTENT')
    else if (path.startsWith('/lie')) response.writeHead(200, { 'content-type': 'image/png' }).end('<html>CONTENT')
    else if (path.startsWith('/moved')) response.writeHead(302, { location: '/good' }).end()
    else response.writeHead(200, { 'content-type': 'image/png' }).end(PNG)
  })
  const urls = {
    [`${pictures.url}/gone-SECRET`]: /127\.0\.0\.1 answered HTTP 404/,
    [`${pictures.url}/page-SECRET`]: /is called text\/html and not image\/png/,
    [`${pictures.url}/lie-SECRET`]: /is no image\/png/,
    [`${pictures.url}/moved-SECRET`]: /HTTP 302, and redirects are not followed/,
    'https://unlisted.example/SECRET': /refuse host unlisted\.example \(host_not_listed\)/,
    'http://listed.example/SECRET': /refuse host listed\.example \(scheme\)/,
    'https://u:SECRET@listed.example/': /\(userinfo\)/,
    'https://listed.example:8443/SECRET': /\(port\)/,
    'https://10.0.0.5/SECRET': /\(address_blocked\)/,
    'https://169.254.169.254/SECRET': /\(metadata_host\)/,
  }
  const provider = await startProvider(t, [says('I see one.')])
  const good = `${pictures.url}/good`
  const accepted = await client.start(runBody({ llm: provider.llm(LM), messages: [asks(...Object.keys(urls), good)] }))
  const result = await client.result(accepted)
  assert.deepEqual([result.status, result.text], ['completed', 'I see one.'])
  for (const [index, reason] of Object.values(urls).entries()) {
    const warning = result.warnings.find(({ path }) => path === `messages[0].content[${index + 1}]`)
    assert.equal(warning?.code, 'part_replaced')
    assert.match(warning.message, reason)
  }
  assert.equal(result.warnings.length, Object.keys(urls).length)
  // What is known before anything is fetched stands in the answer to the post, in the same words.
  const known = accepted.warnings.map(({ path }) => path)
  assert.deepEqual(
    known,
    [5, 6, 7, 8, 9, 10].map((place) => `messages[0].content[${place}]`),
  )
  for (const warning of accepted.warnings) assert.ok(result.warnings.some((one) => one.message === warning.message))
  assert.doesNotMatch(JSON.stringify(result.warnings), /SECRET|CONTENT/)
  const { text } = await provider.nth(1)
  assert.equal(text.split(STAND_IN).length - 1, Object.keys(urls).length)
  assert.ok(text.includes(AS_DATA))
  assert.deepEqual(
    new Set(pictures.received.map(({ path }) => path)),
    new Set(['/gone-SECRET', '/page-SECRET', '/lie-SECRET', '/moved-SECRET', '/good']),
  )
})

test('§10 a cancel while an image is fetched is answered at once, and closes its socket', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t, () => {})
  const provider = await startProvider(t, [silent])
  for (const on_cancel of ['cut', 'drain']) {
    const body = runBody({
      llm: provider.llm(LM),
      messages: [asks(`${pictures.url}/a`, `${pictures.url}/b`)],
      limits: { on_cancel },
    })
    const accepted = await client.start(body)
    await pictures.nth(on_cancel === 'cut' ? 2 : 4)
    const before = performance.now()
    const answer = await client.cancel(accepted.run_id)
    assert.ok(performance.now() - before < 1000)
    assert.equal(answer.json<{ status: string }>().status, 'cancelled')
    await pictures.idle()
  }
  assert.equal(provider.received.length, 0)
})

test('§10 an image that hangs leaves the model its time, and the run ends well', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t, () => {})
  const provider = await startProvider(t, [says('I cannot see it.')])
  const body = runBody({ llm: provider.llm(LM), messages: [asks(`${pictures.url}/a`)], limits: { timeout_ms: 1000 } })
  const result = await client.run(body)
  assert.deepEqual([result.status, result.text], ['completed', 'I cannot see it.'])
  assert.match(result.warnings[0]?.message ?? '', /127\.0\.0\.1 did not send it in time/)
  await pictures.idle()
})

test('§2.7 POST /validate fetches nothing, and says what a run would: fetched, or replaced and why', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t)
  const provider = await startProvider(t, [says('A cat.')])
  const messages = [asks(`${pictures.url}/a.png?SECRET`, 'https://unlisted.example/SECRET')]
  const body = runBody({ llm: provider.llm(LM), messages })
  const { changes, request, warnings } = await validated(client, { ...body, show_request: true })
  assert.deepEqual(
    changes.map(({ kind, path }) => [kind, path]),
    [
      ['part_fetched', 'messages[0].content[1]'],
      ['part_replaced', 'messages[0].content[2]'],
    ],
  )
  assert.match(changes[0]?.message ?? '', /^is fetched from 127\.0\.0\.1 and sent as data/)
  assert.match(changes[1]?.message ?? '', /host unlisted\.example \(host_not_listed\)/)
  assert.doesNotMatch(JSON.stringify(changes), /SECRET/)
  assert.equal(pictures.received.length, 0)
  const result = await client.run(body)
  assert.deepEqual(warnings, result.warnings)
  const sent = (await provider.nth(1)).text.replace(PNG.toString('base64'), '[fetched]')
  assert.deepEqual(JSON.parse(sent), request?.body)
})

test('§10 a provider that refuses an address is asked once more with the image that stands there', async (t) => {
  const client = await engine.client()
  const pictures = await startPictures(t)
  const refusal = JSON.stringify({
    error: { message: 'could not download the image', code: 'failed_to_download_image' },
  })
  const provider = await startProvider(t, [(answer) => answer.status(400, {}, refusal), says('A cat.')])
  const result = await client.run(runBody({ llm: provider.llm(), messages: [asks(`${pictures.url}/a.png`)] }))
  assert.deepEqual([result.text, result.warnings], ['A cat.', []])
  assert.deepEqual(
    result.usage.attempts.map(({ error_code }) => error_code),
    ['bad_request', null],
  )
  const [first, second] = provider.received.map(({ text }) => text)
  assert.ok(first?.includes(`${pictures.url}/a.png`) && second?.includes(AS_DATA))
})

test('§10 over https the certificate counts, and STATE_DIR holds nothing of the image', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'theloop-images-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'ca.pem'), namedCertificate.cert)
  const state = await mkdtemp(join(tmpdir(), 'theloop-state-'))
  t.after(() => rm(state, { recursive: true }))
  const large = Buffer.concat([PNG, randomBytes(3_000_000)])
  const server = await startHttps(t, namedCertificate, (_request, response) => {
    response.setHeader('content-type', 'image/png').end(large)
  })
  const secure = await ownEngine(t, { STATE_DIR: state, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') })
  const client = new EngineClient(secure)
  const provider = await startProvider(t, [says('A cat.')])
  const stranger = await startHttps(t, otherCertificate)
  const urls = [`https://localhost:${server.port}/a`, `https://localhost:${stranger.port}/a`]
  const result = await client.run(runBody({ llm: provider.llm(LM), messages: [asks(...urls)] }))
  assert.equal(result.text, 'A cat.')
  assert.ok((await provider.nth(1)).text.includes(large.toString('base64')))
  assert.deepEqual(
    result.warnings.map(({ path }) => path),
    ['messages[0].content[2]'],
  )
  assert.match(result.warnings[0]?.message ?? '', /no trusted TLS connection to localhost/)
  const files = await readdir(state, { recursive: true })
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(state, name))).size))
  assert.ok(files.length > 0)
  assert.ok(Math.max(...sizes) < 1_000_000, String(sizes))
})

test('the engine of this file ended in peace', () => engine.finish())
