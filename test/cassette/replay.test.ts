/** A run recorded over real sockets is replayed with every server gone, and comes out byte for byte the same. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { replayCassette } from '../../src/cassette/replay.ts'
import { runBody, scripted } from '../conformance/engine-client.ts'
import { gate } from '../conformance/facts.ts'
import { send } from '../conformance/http.ts'
import { recordingServer } from '../conformance/recording-server.ts'
import { data } from '../providers/chain.ts'
import { chunk } from '../providers/gigachat/gigachat-call.ts'
import { asksFor, refuses, says, silent, startProvider, type Play } from '../fakes/provider-server.ts'
import { hangs, http, ok, startTools, type ToolAnswering } from '../fakes/tool-server.ts'
import { linesOf, onlyCassette, recordedEngine, textOf } from './recorded-engine.ts'

interface Recorded {
  readonly result: RunResult
  readonly path: string
}

/** Runs it, ends the engine, and holds the replay against what was recorded. */
async function record(t: TestContext, body: JsonObject, environment: Readonly<Record<string, string>> = {}) {
  const engine = await recordedEngine(t, environment)
  const result = await engine.client.run(runBody(body))
  await engine.end()
  const path = onlyCassette(engine.folder)
  return { result, path } satisfies Recorded
}

async function assertSame({ path, result }: Recorded): Promise<void> {
  const last = linesOf(path).at(-1) ?? {}
  assert.equal(last['kind'], 'result')
  assert.equal((JSON.parse(textOf(last, 'json')) as RunResult).run_id, result.run_id)
  assert.deepEqual(await replayCassette(path), { kind: 'same' })
}

/** A model that plays this, over a socket, and tools that answer so. */
async function world(
  t: TestContext,
  plays: readonly Play[],
  answers: Readonly<Record<string, ToolAnswering | readonly ToolAnswering[]>> = {},
) {
  const provider = await startProvider(t, plays)
  const tools = await startTools(t, answers)
  return { provider, tools }
}

test('a run with tools, several at once, is the same again', async (t) => {
  const { provider, tools } = await world(
    t,
    [
      asksFor(['getOrder', { id: 1 }], ['getOrder', { id: 2 }], ['getStock', { sku: 'a' }]),
      asksFor(['getOrder', { id: 3 }]),
      says('Order 1 ', 'is on ', 'its way: Здравствуйте 🙂.'),
    ],
    {
      getOrder: (call) => ok({ id: call.body.args['id'] ?? null, state: 'sent' }),
      getStock: [http(503, { 'retry-after': '0' }), ok({ left: 12 })],
    },
  )
  const recorded = await record(t, {
    llm: provider.llm(),
    tools: [tools.tool('getOrder'), tools.tool('getStock')],
  })
  assert.equal(recorded.result.status, 'completed')
  assert.deepEqual(
    recorded.result.tool_calls.map(({ attempts, status }) => [status, attempts]),
    [
      ['ok', 1],
      ['ok', 1],
      ['ok', 2],
      ['ok', 1],
    ],
  )
  assert.equal(statSync(recorded.path).mode & 0o777, 0o600)
  await assertSame(recorded)
})

test('a retry after 429 is the same again', async (t) => {
  const { provider } = await world(t, [refuses(429, { 'retry-after': '1' }), says('Here I am.')])
  const recorded = await record(t, { llm: provider.llm() })
  assert.deepEqual(
    recorded.result.usage.attempts.map(({ error_code }) => error_code),
    ['rate', null],
  )
  await assertSame(recorded)
})

test('a stream that was cut, and the attempt after it, are the same again', async (t) => {
  const cut: Play = (answer) => {
    answer.text('Half an ans')
    answer.cut()
  }
  const { provider } = await world(t, [cut, says('A whole answer.')])
  const recorded = await record(t, { llm: provider.llm() })
  assert.deepEqual(
    recorded.result.usage.attempts.map(({ error_code }) => error_code),
    ['interrupted', null],
  )
  await assertSame(recorded)
})

test('a fallback to another model is the same again', async (t) => {
  const { provider } = await world(t, [refuses(400)])
  const other = await startProvider(t, [says('I am the other.')], 'anthropic')
  const { host } = new URL(other.url)
  const recorded = await record(
    t,
    { llm: { ...provider.llm(), fallbacks: [other.llm()] } },
    { PROVIDER_ALLOWLIST: host },
  )
  assert.deepEqual(
    recorded.result.usage.attempts.map(({ provider: name, status }) => [name, status]),
    [
      ['openai-compatible', 'failed'],
      ['anthropic', 'ok'],
    ],
  )
  await assertSame(recorded)
})

test('a deferred call is the same again, its ticket aside', async (t) => {
  const { provider, tools } = await world(t, [asksFor(['createReturn', { id: 7 }])], {
    createReturn: { status: 'deferred', operation_id: 'op-1' },
  })
  const recorded = await record(t, {
    llm: provider.llm(),
    tools: [tools.tool('createReturn', { effect: 'write' })],
  })
  assert.equal(recorded.result.status, 'awaiting_tool')
  assert.ok(!readFileSync(recorded.path, 'utf8').includes(recorded.result.pending[0]?.ticket ?? ''))
  await assertSame(recorded)
})

test('a result that came late is the same again', async (t) => {
  const late: ToolAnswering = async (call) => {
    const { result_url: url } = call.body
    const posted = await send({ method: 'POST', url, headers: JSON_TYPE, body: JSON.stringify(ok('late, but here')) })
    assert.equal(posted.status, 200, posted.text)
    return { status: 'accepted' }
  }
  const { provider, tools } = await world(t, [asksFor(['slow', {}]), says('It came.')], { slow: late })
  const recorded = await record(t, { llm: provider.llm(), tools: [tools.tool('slow')] })
  assert.equal(recorded.result.tool_calls[0]?.status, 'ok')
  await assertSame(recorded)
})

const JSON_TYPE = { 'content-type': 'application/json' }

test('a silent model and a silent tool run into their limits again, in no time', async (t) => {
  const { provider, tools } = await world(t, [silent, asksFor(['mute', {}]), says('Nobody answered.')], { mute: hangs })
  const recorded = await record(
    t,
    { llm: provider.llm(), tools: [tools.tool('mute', { timeout_ms: 300 })] },
    { FIRST_TOKEN_MS: '300' },
  )
  assert.deepEqual(
    [recorded.result.usage.attempts[0]?.error_code, recorded.result.tool_calls[0]?.status],
    ['timeout', 'unknown'],
  )
  await assertSame(recorded)
})

test('a run that its deadline ended is the same again', async (t) => {
  const half: Play = (answer) => answer.text('The beginning of')
  const { provider } = await world(t, [half])
  const recorded = await record(t, { llm: provider.llm(), limits: { timeout_ms: 400, final_answer: false } })
  assert.equal(recorded.result.limit_reached, 'timeout_ms')
  await assertSame(recorded)
})

test('a run that was cancelled is the same again', async (t) => {
  const half: Play = (answer) => answer.text('The beginning of')
  const { provider } = await world(t, [half])
  const engine = await recordedEngine(t)
  const accepted = await engine.client.start(runBody({ llm: provider.llm() }))
  const stream = await engine.client.stream(accepted)
  await stream.event('delta')
  await engine.client.cancel(accepted.run_id)
  await stream.ended()
  const result = await engine.client.result(accepted)
  assert.deepEqual([result.status, result.text], ['cancelled', 'The beginning of'])
  await engine.end()
  await assertSame({ result, path: onlyCassette(engine.folder) })
})

test('an answer that was drained after a cancel is the same again, whatever ended the draining', async (t) => {
  const hold = gate()
  const late: Play = async (answer) => {
    answer.text('The beginning of')
    await hold.opened
    answer.text(' what nobody sees')
    answer.finish({ usage: { input: 5, output: 9 } })
  }
  const never: Play = (answer) => answer.text('The beginning of')
  for (const [play, limits, estimated] of [
    [late, {}, false],
    [never, { timeout_ms: 700 }, true],
    [never, {}, true],
  ] as const) {
    const { provider } = await world(t, [play])
    const engine = await recordedEngine(t)
    const accepted = await engine.client.start(
      runBody({ llm: provider.llm(), limits: { on_cancel: 'drain', ...limits } }),
    )
    const stream = await engine.client.stream(accepted)
    await stream.event('delta')
    const cancelling = engine.client.cancel(accepted.run_id)
    await stream.ended()
    if (play === late) hold.open()
    // Without an end of its own the draining is ended by that of the engine.
    if (play === never && !('timeout_ms' in limits)) await engine.end()
    const result = (await cancelling).json<RunResult>()
    assert.deepEqual([result.status, result.text], ['cancelled', 'The beginning of'])
    assert.equal(result.usage.attempts[0]?.estimated, estimated)
    await engine.end()
    await assertSame({ result, path: onlyCassette(engine.folder) })
  }
})

test('a tool whose answer comes packed, and one that is not there, are the same again', async (t) => {
  const packed: ToolAnswering = (_call, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync(JSON.stringify(ok({ packed: 'x'.repeat(100_000) }))))
  }
  const { provider, tools } = await world(t, [asksFor(['packed', {}], ['gone', {}]), says('Done.')], { packed })
  const recorded = await record(t, {
    llm: provider.llm(),
    // Port 9 of loopback: nobody listens.
    tools: [tools.tool('packed'), tools.tool('gone', { url: 'http://127.0.0.1:9/gone' })],
  })
  assert.deepEqual(
    recorded.result.tool_calls.map(({ status }) => status),
    ['ok', 'error'],
  )
  await assertSame(recorded)
})

test('a run that never left the engine is the same again, its waits skipped', async (t) => {
  const recorded = await record(t, {
    llm: scripted([{ text: 'One', pace_ms: 20, chunk: 1 }, { wait_ms: 50 }, { text: ' and two.' }]),
  })
  await assertSame(recorded)
})

test('a key that is exchanged for a token, and one that is refused, are the same again', async (t) => {
  for (const status of [200, 401]) {
    const auth = await recordingServer(t, 'the authorization server', (_request, response) => {
      const token = { access_token: 'eyJ.access-token-SECRET', expires_at: Date.now() + 1_800_000 }
      response.writeHead(status, JSON_TYPE).end(JSON.stringify(status === 200 ? token : { message: 'no' }))
    })
    const api = await recordingServer(t, 'GigaChat', (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(data(chunk({ content: 'Здравствуйте!' }, 'stop', { prompt_tokens: 5, completion_tokens: 2 })))
    })
    const recorded = await record(
      t,
      { llm: { provider: 'gigachat', model: 'GigaChat-2-Max' } },
      {
        GIGACHAT_API_KEY: 'bm9ib2R5OlNFQ1JFVA==',
        GIGACHAT_BASE_URL: `${api.url}/v1`,
        GIGACHAT_AUTH_URL: `${auth.url}/api/v2/oauth`,
      },
    )
    assert.equal(recorded.result.error?.code ?? null, status === 200 ? null : 'provider_auth')
    assert.doesNotMatch(readFileSync(recorded.path, 'utf8'), /SECRET|bm9ib2R5/)
    await assertSame(recorded)
  }
})

test('odd endings are the same again: bad calls, a breach, an empty answer, a missed form, a cancel in a tool', async (t) => {
  const { tools } = await world(t, [], { read: ok(1), breach: ok(2), mute: hangs, none: ok([]) })
  const all = ['read', 'mute', 'none'].map((name) => tools.tool(name))
  const breach = tools.tool('breach', { effect: 'write' })
  const bad: Play = (answer) => {
    answer.call('read', '{"id":')
    answer.call('nobody', {})
    answer.call('read', '"{\\"id\\":1}"')
    answer.finish({ usage: null })
  }
  const silentEnd: Play = (answer) => answer.finish()
  const stories: readonly (readonly [readonly Play[], JsonObject, string])[] = [
    [[bad, bad, bad, says('Enough.')], {}, 'completed'],
    [[asksFor(['breach', {}], ['breach', {}]), asksFor(['breach', {}]), silentEnd, silentEnd], {}, 'completed'],
    [[asksFor(['none', {}]), asksFor(['none', { n: 1 }]), says('None.')], {}, 'completed'],
    [[says('no JSON'), says('nor this'), says('never')], { output: { schema: { type: 'object' } } }, 'completed'],
    [[asksFor(['read', {}]), refuses(500), refuses(400)], { limits: { max_steps: 1 } }, 'stopped_limit'],
    [[asksFor(['mute', {}], ['read', {}])], {}, 'cancelled'],
  ]
  const engine = await recordedEngine(t)
  for (const [plays, more, status] of stories) {
    const provider = await startProvider(t, plays)
    const accepted = await engine.client.start(runBody({ llm: provider.llm(), tools: [...all, breach], ...more }))
    if (status === 'cancelled') {
      await (await engine.client.stream(accepted)).event('tool_result')
      await engine.client.cancel(accepted.run_id)
    }
    assert.equal((await engine.client.result(accepted)).status, status)
  }
  await engine.end()
  const cassettes = readdirSync(engine.folder)
  assert.equal(cassettes.length, stories.length)
  for (const name of cassettes)
    assert.deepEqual(await replayCassette(join(engine.folder, name)), { kind: 'same' }, name)
})

test('a long answer in many small pieces comes again as it was', async (t) => {
  const long: Play = (answer) => {
    for (let index = 0; index < 3000; index += 1) answer.text(`Слово ${index} 🙂. `)
    answer.finish()
  }
  const { provider } = await world(t, [long])
  const recorded = await record(t, { llm: provider.llm() })
  assert.ok(recorded.result.text.length > 30_000)
  await assertSame(recorded)
})

test('images that were fetched, several at once, and those that could not be, are the same again', async (t) => {
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200_000, 5)])
  const pictures = await recordingServer(t, 'the picture server', async ({ number, path }, response) => {
    if (path === '/hangs') return
    // The first of them answers last.
    if (number === 1) await pictures.nth(5)
    response.writeHead(path === '/gone' ? 404 : 200, { 'content-type': 'image/png' })
    response.end(path === '/gone' ? '' : png)
  })
  const { provider, tools } = await world(t, [asksFor(['look', {}]), says('Cats.')], { look: ok(1) })
  const images = ['a', 'b', 'gone', 'hangs', 'c', 'd'].map((name) => ({
    type: 'image',
    url: `${pictures.url}/${name}`,
    mime_type: 'image/png',
  }))
  const recorded = await record(t, {
    llm: provider.llm({ profile: 'lmstudio' }),
    tools: [tools.tool('look')],
    messages: [{ role: 'user', content: images, created_at: '2026-11-30T09:15:01.870Z' }],
    limits: { timeout_ms: 2000 },
  })
  assert.equal(recorded.result.text, 'Cats.')
  assert.deepEqual(
    recorded.result.warnings.map(({ path }) => path),
    ['messages[0].content[2]', 'messages[0].content[3]'],
  )
  await assertSame(recorded)
})
