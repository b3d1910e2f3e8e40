/** Runs against GigaChat as a whole: a server for tokens, a server for answers, and the real model chain between. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { StoredMessage } from '../../../src/contract/message.ts'
import type { Target } from '../../../src/contract/run-request.ts'
import type { Ask, StepAnswer } from '../../../src/engine/ports.ts'
import { providerTable } from '../../../src/providers/built-in.ts'
import { createKeyGate } from '../../../src/providers/key-gate.ts'
import { createModel, type ModelOptions } from '../../../src/providers/model.ts'
import { openEgress } from '../../egress/test-egress.ts'
import {
  askOf,
  data,
  error,
  failureOf,
  inTurn,
  interruption,
  openChain,
  openQuickChain,
  openTap,
  startProvider,
  stream,
  target,
  textOf,
  whole,
  type Provider,
  type Serve,
} from '../chain.ts'
import { tool, user } from '../dialect-call.ts'
import { chunk } from './gigachat-call.ts'

const KEY = 'bm9ib2R5OlNFQ1JFVA=='
const HALF_HOUR = 1_800_000

const giga = target({ provider: 'gigachat', model: 'GigaChat-2-Max' })
const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, precached_prompt_tokens: 3 }
const says = (words: string) => data(chunk({ content: words }, 'stop', usage)) + data('[DONE]')

const answers: Serve = (response) => stream(response, says('ok'))
const expired: Serve = (response) => {
  response.writeHead(401, { 'content-type': 'application/json' })
  response.end('{"status":401,"message":"Token has expired"}')
}

interface Bench {
  readonly auth: Provider
  readonly api: Provider
  readonly ask: (more?: Partial<Ask> & { signal?: AbortSignal }) => Promise<StepAnswer>
  readonly chain: ReturnType<typeof openChain>
  /** What each request to the API showed. */
  readonly shown: () => (string | undefined)[]
}

interface Parts extends Partial<ModelOptions> {
  readonly api?: Serve
  readonly auth?: Serve
  readonly open?: typeof openChain
}

/** The n-th token is `token-n`, good for half an hour of the given clock. */
async function openBench(t: TestContext, parts: Parts = {}): Promise<Bench> {
  const { api: serveApi = answers, auth: serveAuth, open = openChain, ...more } = parts
  const now = more.now ?? Date.now
  const auth = await startProvider(t, (response, seen, index) => {
    if (serveAuth !== undefined) return serveAuth(response, seen, index)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ access_token: `token-${index + 1}`, expires_at: now() + HALF_HOUR }))
  })
  const api = await startProvider(t, serveApi)
  const chain = open(t, {
    table: providerTable('GIGACHAT_API_CORP'),
    keys: { keys: { gigachat: KEY }, baseUrls: { gigachat: api.url } },
    gigachat: { authUrl: `http://127.0.0.1:${auth.port}/api/v2/oauth`, scope: 'GIGACHAT_API_PERS' },
    ...more,
  })
  return {
    auth,
    api,
    chain,
    ask: ({ signal, ...more } = {}) => chain.ask(askOf(more.targets ?? [giga], more), signal),
    shown: () => api.seen.map(({ request }) => request.headers.authorization),
  }
}

/** `status error_code http_status` of every attempt. */
function records({ chain }: Bench): string[] {
  return chain.tap.attempts().map((one) => `${one.status} ${one.error_code} ${one.http_status}`)
}

test('the key goes to the host of the tokens alone, and the API is shown the token', async (t) => {
  const bench = await openBench(t)
  assert.equal(textOf(await bench.ask()), 'ok')
  assert.deepEqual(bench.shown(), ['Bearer token-1'])
  const [sent] = bench.api.seen
  assert.equal(sent?.request.url, '/v1/chat/completions')
  assert.equal(sent?.request.headers['user-agent'], 'theloop')
  assert.ok(!JSON.stringify([sent?.request.headers, sent?.body]).includes(KEY))
  assert.equal(bench.auth.seen[0]?.request.headers.authorization, `Basic ${KEY}`)
  const [attempt] = bench.chain.tap.attempts()
  assert.deepEqual(
    [attempt?.input_tokens, attempt?.cache_read_tokens, attempt?.output_tokens, attempt?.total_tokens],
    [10, 3, 2, 15],
  )
})

test('PS-44: a call, its state id and its result go back; a token that has expired is replaced once', async (t) => {
  const called = {
    role: 'assistant',
    content: '',
    function_call: { name: 'get_weather', arguments: { city: 'Rome' } },
    functions_state_id: 'fs-1',
  }
  const asks: Serve = (response) => stream(response, data(chunk(called, 'function_call', usage)) + data('[DONE]'))
  const bench = await openBench(t, { api: inTurn(...([asks, expired, answers] as never[])) })
  const tools = [tool('get_weather')]
  const first = await bench.ask({ tools })
  assert.ok(first.kind === 'answer')
  const [part] = first.message.parts
  assert.ok(part?.type === 'tool_call' && part.args !== null)
  assert.deepEqual([part.tool, part.args, first.message.stop], ['get_weather', { city: 'Rome' }, 'tool_calls'])

  const messages: StoredMessage[] = [
    user('Weather?'),
    {
      role: 'assistant',
      content: [{ type: 'tool_call', call_id: 'call_1', tool: part.tool, args: part.args }],
      provider_data: first.message.provider_data,
    },
    { role: 'tool', call_id: 'call_1', tool: part.tool, result: { sky: 'blue' } },
  ]
  assert.equal(textOf(await bench.ask({ tools, messages, step: 2 })), 'ok')
  assert.deepEqual(bench.shown(), ['Bearer token-1', 'Bearer token-1', 'Bearer token-2'])
  assert.equal(bench.auth.seen.length, 2)
  assert.deepEqual(records(bench), ['ok null 200', 'failed auth 401', 'ok null 200'])
  assert.equal(bench.api.seen[1]?.body, bench.api.seen[2]?.body, 'the same request is repeated')
  assert.deepEqual((JSON.parse(bench.api.seen[2]?.body ?? '') as { messages: unknown[] }).messages.slice(-2), [
    {
      role: 'assistant',
      content: '',
      function_call: { name: 'get_weather', arguments: { city: 'Rome' } },
      functions_state_id: 'fs-1',
    },
    { role: 'function', name: 'get_weather', content: '{"result":{"sky":"blue"}}' },
  ])
})

test('a 401 to a new token too ends the model, after one repeat', async (t) => {
  const bench = await openBench(t, { api: expired })
  const { code, detail } = failureOf(await bench.ask())
  assert.equal(code, 'provider_auth')
  assert.match(detail, /HTTP 401.*Token has expired/)
  assert.deepEqual(bench.shown(), ['Bearer token-1', 'Bearer token-2'])
  assert.deepEqual(records(bench), ['failed auth 401', 'failed auth 401'])
})

test('a token may be replaced in every step of a run', async (t) => {
  const bench = await openBench(t, { api: inTurn(...([expired, answers, expired, answers] as never[])) })
  assert.equal(textOf(await bench.ask()), 'ok')
  assert.equal(textOf(await bench.ask({ step: 2 })), 'ok')
  assert.deepEqual(bench.shown(), ['Bearer token-1', 'Bearer token-2', 'Bearer token-2', 'Bearer token-3'])
})

test('parallel runs fetch one token, and one more when it is refused to all of them', async (t) => {
  const bench = await openBench(t, {
    api: (response, seen, index) => {
      const old = seen.request.headers.authorization === 'Bearer token-1'
      return (old ? expired : answers)(response, seen, index)
    },
  })
  const model = createModel({
    egress: openEgress(t),
    gate: createKeyGate(),
    table: providerTable('GIGACHAT_API_CORP'),
    keys: { keys: { gigachat: KEY }, baseUrls: { gigachat: bench.api.url } },
    gigachat: { authUrl: `http://127.0.0.1:${bench.auth.port}/oauth`, scope: 'GIGACHAT_API_B2B' },
  })
  const ask = () => model.forRun()(askOf([giga]), openTap(), new AbortController().signal)
  const runs = await Promise.all(Array.from({ length: 8 }, ask))
  assert.deepEqual(runs.map(textOf), Array(8).fill('ok'))
  assert.equal(bench.auth.seen.length, 2)
  assert.equal(bench.api.seen.length, 16)
})

test('each key has a token of its own', async (t) => {
  const bench = await openBench(t)
  const keyed = (api_key: string): [Target] => [{ ...giga, api_key }]
  for (const key of ['first', 'second', 'first']) assert.equal(textOf(await bench.ask({ targets: keyed(key) })), 'ok')
  assert.deepEqual(bench.shown(), ['Bearer token-1', 'Bearer token-2', 'Bearer token-1'])
})

test('a token is replaced before it expires, by the clock', async (t) => {
  let shift = 0
  const bench = await openBench(t, { now: () => Date.now() + shift })
  for (const [minutes, fetched] of [
    [0, 1],
    [28, 1],
    [29.5, 2],
    [31, 2],
  ] as const) {
    shift = minutes * 60_000
    assert.equal(textOf(await bench.ask()), 'ok')
    assert.equal(bench.auth.seen.length, fetched, `after ${minutes} minutes`)
  }
})

test('CA-05: a cancel while the token is being fetched ends it at once, and costs nothing', async (t) => {
  const bench = await openBench(t, { auth: () => {} })
  const { signal, stop } = interruption()
  const answer = bench.ask({ signal })
  await bench.auth.until(({ seen }) => seen.length === 1)
  stop('cancelled')
  assert.equal((await answer).kind, 'interrupted')
  await bench.auth.until((auth) => auth.closed() === 1)
  assert.equal(bench.api.seen.length, 0)
  const [attempt] = bench.chain.tap.attempts()
  assert.deepEqual(
    [attempt?.status, attempt?.error_code, attempt?.total_tokens, attempt?.estimated],
    ['failed', 'cancelled', 0, false],
  )
  assert.deepEqual(bench.chain.gate.gauge(), { keys: 0, active: 0, waiting: 0, idle: 1 })
})

test('one run’s cancel leaves the token to the others that wait for it', async (t) => {
  const held: (() => void)[] = []
  const bench = await openBench(t, {
    auth: (response) => {
      held.push(() => response.end(JSON.stringify({ access_token: 'T', expires_at: Date.now() + HALF_HOUR })))
    },
  })
  const { signal, stop } = interruption()
  const cancelled = bench.ask({ signal })
  await bench.auth.until(({ seen }) => seen.length === 1)
  const other = bench.ask()
  await bench.chain.tap.until((tap) => tap.told.filter(([name]) => name === 'starting').length === 2)
  await new Promise(setImmediate)
  stop('cancelled')
  assert.equal((await cancelled).kind, 'interrupted')
  for (const release of held) release()
  assert.equal(textOf(await other), 'ok')
  assert.equal(bench.auth.seen.length, 1)
})

test('a key that is refused is not tried again; the next model answers', async (t) => {
  const refuse: Serve = (response) => {
    response.writeHead(401, { 'content-type': 'application/json' })
    response.end(`{"code":6,"message":"credentials doesn't match db data ${KEY}"}`)
  }
  const bench = await openBench(t, { auth: refuse })
  const { code, detail } = failureOf(await bench.ask())
  assert.equal(code, 'provider_auth')
  assert.match(detail, /no access token from 127\.0\.0\.1:\d+: 6: credentials doesn't match/)
  assert.ok(!detail.includes(KEY), detail)
  assert.deepEqual([bench.auth.seen.length, bench.api.seen.length], [1, 0])
  assert.deepEqual(records(bench), ['failed auth null'])

  const other = await startProvider(t, (response) => stream(response, whole('from elsewhere')))
  const next: Target = target({ base_url: other.url })
  assert.equal(textOf(await bench.ask({ targets: [giga, next] })), 'from elsewhere')
})

test('a host of the tokens that fails is tried again, like a model that fails', async (t) => {
  const down: Serve = (response) => error(response, 500)
  const slow: Serve = (response) => error(response, 429, null, { 'retry-after': '1' })
  const gives: Serve = (response) => response.end(JSON.stringify({ access_token: 'T', expires_at: 9e12 }))
  const bench = await openBench(t, { open: openQuickChain, auth: inTurn(...([down, slow, gives] as never[])) })
  assert.equal(textOf(await bench.ask()), 'ok')
  assert.deepEqual(records(bench), ['failed server null', 'failed rate null', 'ok null 200'])
  assert.deepEqual(bench.shown(), ['Bearer T'])
})

test('the run’s deadline holds while a token is fetched', async (t) => {
  const bench = await openBench(t, { open: openQuickChain, auth: () => {} })
  const deadlineAt = Date.now() + 5_000
  const { signal, stop } = interruption()
  const answer = bench.ask({ deadlineAt, giveUpAt: deadlineAt, signal })
  await bench.auth.until(({ seen }) => seen.length === 1)
  t.mock.timers.tick(5_000)
  stop('deadline')
  assert.equal((await answer).kind, 'interrupted')
  assert.deepEqual(records(bench), ['failed deadline null'])
})

test('where a client certificate speaks for the engine, nothing is exchanged and nothing shown', async (t) => {
  const bench = await openBench(t)
  const certified = openChain(t, {
    table: providerTable('GIGACHAT_API_CORP'),
    keys: { keys: {}, baseUrls: { gigachat: bench.api.url }, certified: ['gigachat'] },
    gigachat: { authUrl: `http://127.0.0.1:${bench.auth.port}/oauth`, scope: 'GIGACHAT_API_CORP' },
  })
  assert.equal(textOf(await certified.ask(askOf([giga]))), 'ok')
  assert.deepEqual(bench.shown(), [undefined])
  assert.equal(bench.auth.seen.length, 0)
  const elsewhere = target({ provider: 'gigachat', base_url: 'https://b.example/v1' })
  assert.equal(failureOf(await certified.ask(askOf([elsewhere]))).code, 'provider_auth')
})

test('a conversation that is refused for its state id is repeated once without it, for the rest of the run', async (t) => {
  const refuses: Serve = (response, { body }) => {
    if (!body.includes('functions_state_id')) return stream(response, says('ok'))
    response.writeHead(422, { 'content-type': 'application/json' })
    response.end('{"status":422,"message":"Invalid params: functions or thinking_functions should only appeal in …"}')
  }
  const bench = await openBench(t, { api: refuses })
  const messages: StoredMessage[] = [
    user('a'),
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'b' }],
      provider_data: { family: 'gigachat', functions_state_id: 'fs-1' },
    },
    user('c'),
  ]
  assert.equal(textOf(await bench.ask({ messages })), 'ok')
  assert.equal(textOf(await bench.ask({ messages, step: 2 })), 'ok')
  assert.deepEqual(records(bench), ['failed bad_request 422', 'ok null 200', 'ok null 200'])
})
