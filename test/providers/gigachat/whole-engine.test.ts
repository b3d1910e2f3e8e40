/**
 * The whole engine before servers that speak TLS with a certificate nobody trusts by default, as GigaChat's do: settings in,
 * a run over HTTP, a result out.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { createEngine } from '../../../src/compose.ts'
import type { RunResult } from '../../../src/contract/result.ts'
import { readSettings } from '../../../src/settings.ts'
import type { Environment } from '../../../src/settings/setting-reader.ts'
import { runBody } from '../../conformance/engine-client.ts'
import { send } from '../../conformance/http.ts'
import { startHttps } from '../../egress/local-servers.ts'
import { namedCertificate, otherCertificate } from '../../egress/test-certificate.ts'
import { data } from '../chain.ts'
import { chunk } from './gigachat-call.ts'

const ENGINE_TOKEN = 'engine-token-of-this-test'
const KEY = 'bm9ib2R5OlNFQ1JFVA=='

interface Seen {
  readonly authorization: string | undefined
  /** Common name of the client certificate. */
  readonly client: string | undefined
}

function seenIn({ headers, socket }: IncomingMessage): Seen {
  const subject = (socket as TLSSocket).getPeerCertificate().subject
  return { authorization: headers.authorization, client: subject === undefined ? undefined : String(subject.CN) }
}

const SERVER = { ...namedCertificate, requestCert: true, rejectUnauthorized: false }

/** An engine whose GigaChat is two servers of this test; what it logs is kept. */
async function openEngine(
  t: TestContext,
  environment: (path: (name: string) => string) => Environment,
  { quotes = false } = {},
) {
  const seen: { readonly auth: Seen[]; readonly api: Seen[] } = { auth: [], api: [] }
  const auth = await startHttps(t, SERVER, (request, response) => {
    seen.auth.push(seenIn(request))
    request.resume()
    response.end(JSON.stringify({ access_token: 'eyJ.access-token', expires_at: Date.now() + 1_800_000 }))
  })
  const api = await startHttps(t, SERVER, (request, response) => {
    seen.api.push(seenIn(request))
    request.resume()
    if (quotes) {
      const message = `bad: ${request.headers.authorization}`
      return void response.writeHead(403).end(JSON.stringify({ status: 403, message }))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(data(chunk({ content: 'Здравствуйте!' }, 'stop', { prompt_tokens: 5, completion_tokens: 2 })))
  })

  const folder = mkdtempSync(join(tmpdir(), 'gigachat-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'ca.pem'), namedCertificate.cert)
  writeFileSync(join(folder, 'cert.pem'), otherCertificate.cert)
  writeFileSync(join(folder, 'key.pem'), otherCertificate.key)
  const outcome = readSettings({
    ENGINE_TOKEN,
    DEV_INSECURE: '1',
    HOST: '127.0.0.1',
    PORT: '0',
    LOG_LEVEL: 'trace',
    GIGACHAT_BASE_URL: `https://127.0.0.1:${api.port}/v1`,
    GIGACHAT_AUTH_URL: `https://127.0.0.1:${auth.port}/api/v2/oauth`,
    ...environment((name) => join(folder, name)),
  })
  assert.ok(outcome.ok)
  const logged: string[] = []
  const sink = new Writable({ write: (line, _encoding, done) => (logged.push(String(line)), done()) })
  const engine = createEngine(outcome.settings, pino({ level: 'trace' }, sink))
  const url = await engine.listen()
  t.after(() => engine.close({ graceMs: 1000 }))

  async function run(provider: string, more: object = {}): Promise<RunResult> {
    const answer = await send({
      method: 'POST',
      url: `${url}/runs`,
      headers: { authorization: `Bearer ${ENGINE_TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        ...runBody({ wait: true, limits: { timeout_ms: 10_000 } }),
        llm: { provider, model: 'GigaChat-2-Max', ...more },
      }),
    })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<RunResult>()
  }
  return { run, seen, logged, api }
}

test('a run goes to GigaChat under its own authority, and neither key nor token is logged', async (t) => {
  const { api, logged, run, seen } = await openEngine(t, (path) => ({
    GIGACHAT_API_KEY: KEY,
    GIGACHAT_CA_FILE: path('ca.pem'),
  }))
  const { status, text, usage } = await run('gigachat')
  assert.deepEqual([status, text, usage.total_tokens], ['completed', 'Здравствуйте!', 7])
  assert.equal((await run('gigachat')).status, 'completed')
  assert.deepEqual(seen.auth, [{ authorization: `Basic ${KEY}`, client: undefined }])
  const shown = { authorization: 'Bearer eyJ.access-token', client: undefined }
  assert.deepEqual(seen.api, [shown, shown])
  assert.ok(logged.length > 0)
  assert.ok(!logged.some((line) => line.includes(KEY) || line.includes('access-token')))

  // The same server under the name of another provider: its authority is none there.
  const other = await run('openai-compatible', { base_url: `https://127.0.0.1:${api.port}/v1` })
  assert.deepEqual([other.status, other.error?.code], ['failed', 'provider_unavailable'])
  assert.equal(seen.api.length, 2)
})

test('SE-01: an access token that the API quotes in an error is not logged', async (t) => {
  const keyed = (path: (name: string) => string) => ({ GIGACHAT_API_KEY: KEY, GIGACHAT_CA_FILE: path('ca.pem') })
  const { logged, run } = await openEngine(t, keyed, { quotes: true })
  const result = await run('gigachat')
  assert.equal(result.status, 'failed')
  const failed = logged.find((line) => line.includes('"event":"failed"'))
  assert.match(failed ?? '', /bad: \[(redacted|secret)\]/)
  assert.ok(!(logged.join('') + JSON.stringify(result)).includes('access-token'))
})

test('without the authority there is no connection, and nothing is sent', async (t) => {
  const { run, seen } = await openEngine(t, () => ({ GIGACHAT_API_KEY: KEY }))
  const { error, usage } = await run('gigachat')
  assert.equal(error?.code, 'provider_unavailable')
  assert.deepEqual([seen.auth.length, seen.api.length, usage.total_tokens], [0, 0, 0])
})

test('a client certificate stands for a key', async (t) => {
  const { run, seen } = await openEngine(t, (path) => ({
    GIGACHAT_CA_FILE: path('ca.pem'),
    GIGACHAT_CERT_FILE: path('cert.pem'),
    GIGACHAT_KEY_FILE: path('key.pem'),
  }))
  assert.equal((await run('gigachat')).status, 'completed')
  assert.deepEqual(seen, { auth: [], api: [{ authorization: undefined, client: 'theloop test other' }] })
})
