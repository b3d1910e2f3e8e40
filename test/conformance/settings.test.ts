/** SPEC §12.1, failures SE-03: the process refuses to start on a bad setting, one line a fault, and tells no secret. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runToken } from '../../src/runs/run-token.ts'
import { ENGINE_TOKEN, runToExit, type Environment } from '../fakes/engine-process.ts'
import { says, startProvider } from '../fakes/provider-server.ts'
import { EngineClient, runBody } from './engine-client.ts'
import { endInPeace, ownEngine } from './shared-engine.ts'

const SECRETS: Environment = {
  ENGINE_TOKEN,
  CALLBACK_SECRET: 'callback-SECRET-0001',
  ANTHROPIC_API_KEY: 'sk-ant-SECRET',
  OPENAI_COMPATIBLE_API_KEY: 'sk-SECRET-compatible',
  LOG_LEVEL: 'trace',
  HOST: '127.0.0.1',
  PORT: '0',
}

const CLOSING = 'theloop: not started; SPEC.md §12.1 lists every setting'

/** The variables that a refused start named, in order; every line is a whole sentence about one. */
async function faultsOf(environment: Environment): Promise<string[]> {
  const { code, signal, stderr, stdout } = await runToExit(environment)
  assert.deepEqual([code, signal], [78, null], stderr)
  assert.equal(stdout, '')
  // The name of a variable is no secret.
  assert.doesNotMatch(stderr, /(?<!CALLBACK_)SECRET/)
  const lines = stderr.trimEnd().split('\n')
  assert.equal(lines.pop(), CLOSING)
  return lines.map((line) => {
    const match = /^theloop: ([A-Z_]+) \S.{10,}$/.exec(line)
    assert.ok(match?.[1] !== undefined, line)
    return match[1]
  })
}

test('§12.1 without an engine token it does not start', async () => {
  const { ENGINE_TOKEN: _token, ...rest } = SECRETS
  assert.deepEqual(await faultsOf(rest), ['ENGINE_TOKEN'])
})

test('§12.1 DEV_INSECURE is refused with NODE_ENV=production', async () => {
  assert.deepEqual(await faultsOf({ ...SECRETS, DEV_INSECURE: '1', NODE_ENV: 'production' }), ['DEV_INSECURE'])
})

test('§12.1 SE-03: every fault has its line, none hides another, and no value of a secret is told', async () => {
  const wrong: Environment = {
    ...SECRETS,
    ENGINE_TOKEN: 'short-SECRET,with a space SECRET',
    PUBLIC_URL: 'https://user:SECRET@engine.example?key=SECRET',
    PORT: '99999',
    ALLOWED_ORIGINS: 'https://app.example/path',
    ENGINE_LOCALE: 'tlh',
    DEFAULT_TIMEZONE: '+05:00',
    MAX_RUNS: '0',
    MAX_BODY_BYTES: 'big',
    EGRESS_ALLOWLIST: 'https://user:SECRET@shop.example/x?key=SECRET',
    PROVIDER_ALLOWLIST: 'api.*.example',
    EGRESS_PRIVATE_ALLOW: 'https://user:SECRET@10.0.0.1/8',
    DEV_INSECURE: 'yes',
    PROXY_URL: 'socks5://user:SECRET@proxy.example',
    PROXY_ANTHROPIC: 'proxy SECRET',
    ANTHROPIC_BASE_URL: 'https://llm.example/v1?key=SECRET',
    ANTHROPIC_API_KEY: 'sk SECRET',
    STATE_KEY: ' , ',
    FIRST_TOKEN_MS: '-1',
    STALL_MS: '1.5',
    KEY_CONCURRENCY: '65',
    RESULT_TTL_MS: 'never',
    UNDELIVERED_TTL_MS: '1',
    MAX_RESULTS: '1e9',
    MAX_RESULT_BYTES: '5',
    CALLBACK_SCHEDULE: '5,soon',
    SHUTDOWN_GRACE_MS: '99999999',
    LOG_LEVEL: 'loud',
  }
  const { CALLBACK_SECRET: _secret, OPENAI_COMPATIBLE_API_KEY: _other, HOST: _host, ...named } = wrong
  assert.deepEqual((await faultsOf(wrong)).toSorted(), Object.keys(named).toSorted())
})

const alone: readonly Environment[] = [
  { PORT: '-1' },
  { PORT: '80a' },
  { CALLBACK_SCHEDULE: '1,2,-3' },
  { OPENAI_API_KEY: 'sk-SECRET\nsk-SECRET' },
  { GIGACHAT_API_KEY: 'ключ' },
  { EGRESS_ALLOWLIST: 'shop.example:0' },
  { EGRESS_PRIVATE_ALLOW: '0.0.0.0/0' },
  { ALLOWED_ORIGINS: '*' },
  { DEFAULT_TIMEZONE: 'Europe/Nowhere' },
  { CALLBACK_SECRET: 'SECRET with a\nline break' },
  { CALLBACK_SECRET: 'SECRET-too-long'.slice(0, 15) },
]

for (const environment of alone) {
  const [name = ''] = Object.keys(environment)
  test(`§12.1 ${name}=${JSON.stringify(environment[name]).replace('SECRET', '…')} alone stops the start`, async () => {
    assert.deepEqual(await faultsOf({ ...SECRETS, ...environment }), [name])
  })
}

test('§12.1 a port that is taken is one clear line as well', async (t) => {
  const engine = await ownEngine(t)
  const { port } = new URL(engine.address)
  const { code, stderr, stdout } = await runToExit({ ...SECRETS, PORT: port, LOG_LEVEL: 'silent' })
  assert.notEqual(code, 0)
  assert.equal(stdout, '')
  assert.match(stderr, /^theloop: .*(PORT|port|address).*\n$/)
  await endInPeace(engine)
})

test('§12.1 SE-03: with every secret set and the most talkative log, none is ever written', async (t) => {
  const provider = await startProvider(t, [says('Hello.'), says('Hello.')])
  const engine = await ownEngine(t, {
    ...SECRETS,
    PORT: '0',
    PUBLIC_URL: 'http://engine.example/base/',
    OPENAI_COMPATIBLE_BASE_URL: provider.url,
    LOG_LEVEL: 'trace',
    DEFAULT_TIMEZONE: 'Asia/Yekaterinburg',
    // An empty variable counts as not set.
    MAX_RUNS: '',
    PROXY_URL: ' ',
  })
  const client = new EngineClient(engine)
  // The operator's base URL and key, where the request names neither.
  const llm = { provider: 'openai-compatible', model: 'm' }
  const accepted = await client.start(runBody({ llm }))
  assert.ok(accepted.stream_url.startsWith(`http://engine.example/base/runs/${accepted.run_id}/stream?token=`))
  const request = await provider.nth(1)
  assert.equal(request.headers.authorization, 'Bearer sk-SECRET-compatible')
  assert.match(request.text, /\[Mon 2026-11-30 14:15 \+05:00\]/)
  // The key of the environment does not go to an address of the request's own.
  const elsewhere = await startProvider(t, [says('No key.')])
  await client.run(runBody({ llm: { ...llm, base_url: elsewhere.url } }))
  assert.equal(elsewhere.received[0]?.headers.authorization, undefined)
  const health = await client.send('/health')
  assert.doesNotMatch(health.text, /SECRET/)
  await endInPeace(engine)
})

test('SE-04: a rejected token is in no line, whatever was wrong with it', async (t) => {
  const engine = await ownEngine(t, { LOG_LEVEL: 'trace' })
  // A token of another run, and one that an engine token of yesterday has signed.
  const known = new EngineClient(engine)
  const [one, other] = [await known.start(runBody()), await known.start(runBody())]
  const foreign = new URL(other.stream_url).searchParams.get('token') ?? ''
  const stale = runToken(['engine-SECRET-token-of-yesterday'], one.run_id)
  const anonymous = { headers: { authorization: '' } }
  for (const token of [foreign, stale]) {
    for (const [path, method] of [
      ['stream', 'GET'],
      ['cancel', 'POST'],
    ] as const) {
      const answer = await known.send(`/runs/${one.run_id}/${path}?token=${token}`, { ...anonymous, method })
      assert.equal(answer.status, 403)
      assert.ok(!answer.text.includes(token))
    }
  }
  const client = new EngineClient(engine, `${ENGINE_TOKEN.slice(0, -1)}X`)
  assert.equal((await client.post(runBody())).status, 401)
  assert.equal((await client.send('/runs/run_1/stream?token=run-token-SECRET')).status, 404)
  assert.equal(
    (await client.send('/runs/run_1/calls/c/result?token=call-token-SECRET', { method: 'POST' })).status,
    403,
  )
  assert.equal((await client.send('/nothing?token=SECRET')).status, 404)
  await endInPeace(engine)
  for (const token of [foreign, stale]) assert.ok(!engine.stdout().includes(token))
})
