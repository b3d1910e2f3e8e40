/** SPEC §10, failures EG: which addresses a run may name, judged when it is posted, and what is refused only when it is called. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import net, { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { startHttps } from '../egress/local-servers.ts'
import { namedCertificate } from '../egress/test-certificate.ts'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { asksFor, says, startProvider } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { EngineClient, errorOf, runBody, scripted, user } from './engine-client.ts'
import { recordingServer } from './recording-server.ts'
import { endInPeace, ownEngine, sharedEngine, type SharedEngine } from './shared-engine.ts'

const PUBLIC = sharedEngine({
  DEV_INSECURE: '',
  EGRESS_ALLOWLIST:
    'api.shop.example, *.tools.example ,SPACE.example.:8443,any.example:*,8.8.8.8,[2606:4700:4700::1111],xn--mnchen-3ya.example,BÜCHER.example,,',
  PROVIDER_ALLOWLIST: 'llm.example.com,*.models.example',
  // EG-05: what other programs take for a proxy means nothing here.
  HTTPS_PROXY: 'http://127.0.0.1:1',
  HTTP_PROXY: 'http://127.0.0.1:1',
  NODE_USE_ENV_PROXY: '1',
  NO_PROXY: '*',
})
const WIDE = sharedEngine({ DEV_INSECURE: '0', EGRESS_ALLOWLIST: '*' })
/** EG-05: nobody listens at that proxy. */
const LOCAL = sharedEngine({
  DEV_INSECURE: '1',
  ...Object.fromEntries(['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'].map((name) => [name, 'http://127.0.0.1:1'])),
  ...Object.fromEntries(['http_proxy', 'https_proxy', 'all_proxy'].map((name) => [name, 'http://127.0.0.1:1'])),
  NODE_USE_ENV_PROXY: '1',
})
const POINTING_INSIDE = sharedEngine({ DEV_INSECURE: '', EGRESS_ALLOWLIST: 'localhost:*' })

const allowed = [
  'https://api.shop.example/orders?id=1#x',
  'https://API.SHOP.EXAMPLE/',
  'https://api.shop.example./',
  'https://api.shop.example:443/',
  'https://a.tools.example/',
  'https://a.b.tools.example/',
  'https://space.example:8443/',
  'https://any.example/',
  'https://any.example:1234/',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  'https://münchen.example/',
  'https://xn--bcher-kva.example/',
  'https://api.shop。example/',
  'https://%61pi.shop.example/',
  'https:\\\\api.shop.example/',
  // The WHATWG parser takes the backslash for a slash: the host is the listed one.
  'https://api.shop.example\\@evil.example/',
]

const unlisted = [
  'http://api.shop.example/',
  'https://api.shop.example:8443/',
  'https://api.shop.example.evil.example/',
  'https://evilapi.shop.example/',
  'https://x.api.shop.example/',
  'https://shop.example/',
  'https://tools.example/',
  'https://eviltools.example/',
  'https://api.shop.example@evil.example/',
  'https://user:SECRET@api.shop.example/',
  'https://@api.shop.example/',
  'https://api.shop.example%2eevil.example/',
  'https://evil.example/?https://api.shop.example/',
  'https://evil.example#api.shop.example',
  'https://space.example/',
  'https://8.8.4.4/',
  // EG-06: a Cyrillic letter.
  'https://api.shоp.example/',
  'ftp://api.shop.example/',
  'file:///etc/passwd',
  'data:application/json,{}',
  'javascript:alert(1)',
  '//api.shop.example/',
  'api.shop.example',
  'https://',
  'https://api.shop.example:99999/',
  'https://api.shop.example:0/',
  'https://any.example:0/',
  'https://api.shop.example../',
  'https://api.shop.example%00.evil.example/',
  'https://evil.example\t@api.shop.example/',
]

/** Refused whatever the lists say. */
const inside = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f.0.0.1/',
  'https://0177.0.0.1/',
  'https://0.0.0.0/',
  'https://10.0.0.5/',
  'https://172.16.0.1/',
  'https://192.168.1.1/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://224.0.0.1/',
  'https://255.255.255.255/',
  'https://[::1]/',
  'https://[::]/',
  'https://[fe80::1]/',
  'https://[fd00::1]/',
  'https://[ff02::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:169.254.169.254]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[fd00:ec2::254]/',
  'https://[fd00:a9fe:a9fe::1]/',
  'https://[::ffff:7f00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[64:ff9b:1::7f00:1]/',
  'https://[2001:0:7f00:1::]/',
  'https://[fec0::1]/',
  'https://[::127.0.0.1]/',
  'https://127.0.0.1./',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://%31%32%37.0.0.1/',
  'https://0xA9FEA9FE/',
  'https://0251.0376.0251.0376/',
  'https://198.18.0.1/',
  'https://240.0.0.1/',
  'https://0/',
  'https://metadata.google.internal/',
  'https://METADATA.google.internal./',
  'https://100.100.100.200/',
  'https://localhost/',
  'https://api.LOCALHOST./',
]

async function pathsOf(client: EngineClient, parts: JsonObject): Promise<string[]> {
  const answer = await client.post(runBody(parts))
  if (answer.status === 202) return []
  const { details = [] } = errorOf(answer, 400, 'invalid_request')
  // The host may be told; user, path and query never are.
  assert.doesNotMatch(answer.text, /SECRET|meta-data|passwd|orders/)
  return details.map(({ path }) => path)
}

async function toolPaths(engine: SharedEngine, url: string): Promise<string[]> {
  return pathsOf(await engine.client(), { tools: [{ name: 'a', url }] })
}

test('§10 tools: listed hosts, in every way to write them, may be named', async () => {
  for (const url of allowed) assert.deepEqual(await toolPaths(PUBLIC, url), [], url)
})

test('§10 EG-03, EG-06 tools: a host that only looks like a listed one, another port or scheme, or a user, is a 400', async () => {
  for (const url of unlisted) assert.deepEqual(await toolPaths(PUBLIC, url), ['tools[0].url'], url)
})

test('§10 EG-08 tools: addresses inside and metadata services are a 400, also where every public host is allowed', async () => {
  for (const engine of [PUBLIC, WIDE]) {
    for (const url of inside) assert.deepEqual(await toolPaths(engine, url), ['tools[0].url'], url)
  }
  assert.deepEqual(await toolPaths(WIDE, 'https://whoever.example/'), [])
  assert.deepEqual(await toolPaths(WIDE, 'http://whoever.example/'), ['tools[0].url'])
  assert.deepEqual(await toolPaths(WIDE, 'https://whoever.example:8443/'), ['tools[0].url'])
})

test('§10 a refused address says what would open it, and a metadata service that nothing does', async () => {
  const client = await PUBLIC.client()
  const said = async (url: string) => {
    const { details = [] } = errorOf(
      await client.post(runBody({ tools: [{ name: 'a', url }] })),
      400,
      'invalid_request',
    )
    return details[0]?.message ?? ''
  }
  assert.match(await said('https://10.0.0.5/'), /address_blocked, host 10\.0\.0\.5.*EGRESS_PRIVATE_ALLOW$/)
  assert.match(await said('https://100.100.100.200/'), /metadata_host.*never opened$/)
  assert.match(await said('https://evil.example/'), /host_not_listed.*https and its host on EGRESS_ALLOWLIST$/)
})

test('§10 DEV_INSECURE opens loopback and nothing else', async () => {
  for (const url of [
    'http://127.0.0.1:1/',
    'http://localhost:1/',
    'http://[::1]:1/',
    'http://127.8.9.1/',
    'https://127.0.0.1/',
  ]) {
    assert.deepEqual(await toolPaths(LOCAL, url), [], url)
  }
  const closed = inside.filter((url) => /10\.|172\.|192\.168|100\.|169\.254|metadata|fe80|fd00|64:ff9b/.test(url))
  for (const url of [...closed, ...closed.map((one) => one.replace('https:', 'http:')), 'https://shop.example/']) {
    assert.deepEqual(await toolPaths(LOCAL, url), ['tools[0].url'], url)
  }
})

test('§10 the callback passes the same gate', async () => {
  const client = await PUBLIC.client()
  const paths = (url: string) => pathsOf(client, { callback: { url }, limits: { max_steps: -1 } })
  // With a fault elsewhere, so that nothing is ever sent to anybody.
  for (const url of allowed) assert.deepEqual(await paths(url), ['limits.max_steps'], url)
  for (const url of [...unlisted, ...inside]) {
    assert.deepEqual((await paths(url)).toSorted(), ['callback.url', 'limits.max_steps'], url)
  }
})

test('§10 providers: a base_url goes by PROVIDER_ALLOWLIST, and by nothing else', async () => {
  const client = await PUBLIC.client()
  const paths = (llm: JsonObject) => pathsOf(client, { llm, limits: { max_steps: -1 } })
  const compatible = (base_url: string) => ({
    provider: 'openai-compatible',
    model: 'm',
    api_key: 'sk-SECRET',
    base_url,
  })
  for (const url of ['https://llm.example.com/v1', 'https://LLM.example.com./v1', 'https://eu.models.example']) {
    assert.deepEqual(await paths(compatible(url)), ['limits.max_steps'], url)
  }
  const refused = [
    'http://llm.example.com/v1',
    'https://llm.example.com:8443/v1',
    'https://models.example/v1',
    'https://llm.example.com.evil.example/v1',
    'https://u:SECRET@llm.example.com/v1',
    // On the other list.
    'https://api.shop.example/v1',
    'https://8.8.8.8/v1',
    ...inside,
  ]
  for (const url of refused) {
    assert.deepEqual((await paths(compatible(url))).toSorted(), ['limits.max_steps', 'llm.base_url'], url)
  }
  const anthropic = { provider: 'anthropic', model: 'claude-sonnet-4-5', api_key: 'sk-SECRET' }
  assert.deepEqual(await paths(anthropic), ['limits.max_steps'])
  assert.deepEqual((await paths({ ...anthropic, base_url: 'https://evil.example' })).toSorted(), [
    'limits.max_steps',
    'llm.base_url',
  ])
  const fallbacks = [compatible('https://evil.example/v1')]
  assert.deepEqual((await paths({ ...anthropic, fallbacks })).toSorted(), [
    'limits.max_steps',
    'llm.fallbacks[0].base_url',
  ])
})

/** A listener that counts who comes, on the loopback address that `localhost` stands for. */
async function doorbell(t: TestContext): Promise<{ readonly port: number; rings(): number }> {
  let rings = 0
  const server = net.createServer((socket) => {
    rings += 1
    socket.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return { port: (server.address() as AddressInfo).port, rings: () => rings }
}

test('§10 EG-07: a listed name that points inside is refused where it is called, and no connection is made', async (t) => {
  const client = await POINTING_INSIDE.client()
  const door = await doorbell(t)
  const url = `https://localhost:${door.port}/a`
  const llm = scripted([{ tool_call: { name: 'a', args: {} } }], [{ text: 'Closed.' }])
  const body = runBody({ llm, tools: [{ name: 'a', url }], callback: { url } })
  const result = await client.run(body)
  assert.deepEqual([result.status, result.tool_calls[0]?.status], ['completed', 'error'])
  const [, answer] = result.messages
  assert.equal(answer?.role === 'tool' && answer.error, 'this tool’s address is not allowed'.replace('’', "'"))
  // The callback as well: both attempts of it.
  const process = await POINTING_INSIDE.process()
  const line = await process.line(({ event, run_id }) => event === 'callback_attempt' && run_id === result.run_id)
  assert.equal(line['status'], null)
  assert.match(String(line['error']), /localhost/)
  assert.equal(door.rings(), 0)
})

test('§10 SE-02: an address that cannot be reached is told to nobody beyond its host', async (t) => {
  const client = await LOCAL.client()
  const provider = await startProvider(t, [asksFor(['a', {}]), says('Gone.')])
  const dead = 'http://127.0.0.1:1/path-SECRET?token=SECRET'
  const tool = { name: 'a', url: dead, timeout_ms: 300, headers: { Authorization: 'Bearer SECRET' } }
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tool] }))
  const [, answer] = result.messages
  assert.equal(answer?.role === 'tool' && answer.error, 'the tool could not be reached')
  assert.doesNotMatch((await provider.nth(2)).text, /SECRET/)

  const lost = {
    provider: 'openai-compatible',
    model: 'm',
    api_key: 'sk-SECRET',
    base_url: 'http://127.0.0.1:1/SECRET',
  }
  const failed = await client.run(runBody({ llm: lost, limits: { timeout_ms: 400 } }))
  assert.notEqual(failed.status, 'completed')
  assert.doesNotMatch(JSON.stringify(failed), /SECRET/)
})

test('SE-05: a connection that fails while its secrets are in hand tells none of them', async (t) => {
  const client = await LOCAL.client()
  const door = await doorbell(t)
  const url = `https://127.0.0.1:${door.port}/path-SECRET?token=SECRET`
  const headers = { Authorization: 'Bearer SECRET' }
  const llm = scripted([{ tool_call: { name: 'a', args: {} } }], [{ text: 'No.' }])
  const body = runBody({ llm, tools: [{ name: 'a', url, headers, timeout_ms: 300 }], callback: { url, headers } })
  const result = await client.run(body)
  assert.notEqual(result.tool_calls[0]?.status, 'ok')
  assert.doesNotMatch(JSON.stringify(result), /SECRET/)
  const process = await LOCAL.process()
  const line = await process.line(({ event, run_id }) => event === 'callback_attempt' && run_id === result.run_id)
  assert.equal(typeof line['error'], 'string')
  assert.ok(door.rings() >= 2)
})

test('§10 EG-05: what the environment says of proxies is nothing to a model, a tool or a callback', async (t) => {
  const client = await LOCAL.client()
  const provider = await startProvider(t, [asksFor(['a', {}]), says('Direct.')])
  const tools = await startTools(t, { a: ok('direct') })
  const receiver = await startReceiver(t)
  const parts = { llm: provider.llm(), tools: [tools.tool('a')], callback: receiver.callback() }
  const result = await client.run(runBody(parts))
  assert.deepEqual([result.status, result.text, result.tool_calls[0]?.status], ['completed', 'Direct.', 'ok'])
  await receiver.nth(1)
})

test('§10 EG-04: neither the error webhook, nor the receiver of spans, nor where an image lies leads anywhere else', async (t) => {
  const elsewhere = await recordingServer(t, 'where redirects lead', (_request, response) => void response.end())
  const leads = (name: string, status: number) =>
    recordingServer(
      t,
      name,
      (_request, response) => void response.writeHead(status, { location: `${elsewhere.url}/` }).end(),
    )
  const hook = await leads('the error webhook', 308)
  const spans = await leads('the receiver of spans', 307)
  const image = await leads('where the image lies', 302)
  const engine = await ownEngine(t, {
    ERROR_WEBHOOK_URL: `${hook.url}/hook`,
    OTEL_EXPORTER_OTLP_ENDPOINT: spans.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20SECRET-of-the-collector',
  })
  const client = new EngineClient(engine)
  const provider = await startProvider(t, [(answer) => answer.status(401)], 'anthropic')
  const llm = { provider: 'kimi', model: 'kimi-k3', api_key: 'sk-SECRET-kimi', base_url: provider.url }
  const part = { type: 'image', url: `${image.url}/a.png`, mime_type: 'image/png' }
  const result = await client.run(runBody({ llm, messages: [{ ...user('See?'), content: [part] }] }))
  assert.equal(result.error?.code, 'provider_auth')
  assert.match(String(result.warnings[0]?.message), /HTTP 302, and redirects are not followed/)
  await hook.nth(1)
  // What waits is sent at the end.
  await endInPeace(engine)
  assert.deepEqual(
    [hook, spans, image].map(({ received }) => received.length > 0),
    [true, true, true],
  )
  assert.deepEqual(elsewhere.received, [])
})

test('§10 EGRESS_PRIVATE_ALLOW lets a listed name lead inside, over TLS with the name checked, and no other', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'theloop-ca-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'ca.pem'), namedCertificate.cert)
  const server = await startHttps(t, namedCertificate, (_request, response) => {
    response.setHeader('content-type', 'application/json').end('{"status":"ok","result":{"inside":true}}')
  })
  const engine = await ownEngine(t, {
    DEV_INSECURE: '',
    EGRESS_ALLOWLIST: 'localhost:*, 127.0.0.2:*, *:*',
    EGRESS_PRIVATE_ALLOW: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  })
  const client = new EngineClient(engine)
  const llm = scripted([{ tool_call: { name: 'a', args: {} } }], [{ text: 'Done.' }])
  const outcome = async (host: string) => {
    const tools = [{ name: 'a', url: `https://${host}:${server.port}/a`, timeout_ms: 10_000 }]
    const result = await client.run(runBody({ llm, tools }))
    return result.tool_calls[0]?.status
  }
  assert.equal(await outcome('localhost'), 'ok')
  assert.deepEqual(server.serverNames, ['localhost'])
  // Listed and opened; its certificate is another's, or nobody listens there.
  assert.notEqual(await outcome('127.0.0.2'), 'ok')
  // What only the * lets out.
  assert.deepEqual(await pathsOf(client, { tools: [{ name: 'a', url: `https://127.0.0.3:${server.port}/` }] }), [
    'tools[0].url',
  ])
})

test('§10 EG-08: with every private network opened and each of them listed, metadata services stay closed', async (t) => {
  const hosts = [
    '169.254.169.254',
    '100.100.100.200',
    '0x64.0x64.0x64.0xc8',
    '168.63.129.16',
    '192.0.0.192',
    '[fd00:ec2::254]',
    '[fd00:ec2:0:0::0254]',
    '[fd00:a9fe:a9fe::1]',
    '[fd20:ce::254]',
    '[fd00:c1::a9fe:a9fe]',
    'metadata.google.internal',
    'Metadata.Google.Internal.',
    'metadata',
    'instance-data',
    'metadata。goog',
  ]
  const engine = await ownEngine(t, {
    DEV_INSECURE: '',
    EGRESS_ALLOWLIST: [...hosts, '*.internal', '*.google.internal', '*:*', '100.64.0.1'].join(),
    PROVIDER_ALLOWLIST: hosts.join(),
    EGRESS_PRIVATE_ALLOW: '10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,fc00::/7,*.internal',
  })
  const client = new EngineClient(engine)
  const said = async (parts: JsonObject) => {
    const { details = [] } = errorOf(await client.post(runBody(parts)), 400, 'invalid_request')
    assert.match(details[0]?.message ?? '', /metadata_host/)
    return details.map(({ path }) => path)
  }
  for (const host of hosts) {
    const url = `https://${host}/latest/meta-data/`
    assert.deepEqual(await said({ tools: [{ name: 'a', url }] }), ['tools[0].url'], host)
    assert.deepEqual(await said({ callback: { url } }), ['callback.url'], host)
    const llm = { provider: 'openai-compatible', model: 'm', base_url: url }
    assert.deepEqual(await said({ llm }), ['llm.base_url'], host)
  }
  // What the silence of the others is worth.
  assert.deepEqual(await pathsOf(client, { tools: [{ name: 'a', url: 'https://100.64.0.1/' }] }), [])
})

for (const [name, engine] of Object.entries({ PUBLIC, WIDE, LOCAL, POINTING_INSIDE })) {
  test(`the engine ${name} of this file ended in peace`, () => engine.finish())
}
