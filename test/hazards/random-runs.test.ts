/**
 * Whatever a model and its tools do, a run ends once, with one result, a valid history and a usage record for every request
 * the provider saw. Models, tools and cancels are drawn at random; the engine is the real one, over real sockets.
 */
import { test, type TestContext } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import { pino } from 'pino'
import { createEngine } from '../../src/compose.ts'
import { Faults } from '../../src/contract/check.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import { STATUSES, type RunResult } from '../../src/contract/result.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { readSettings } from '../../src/settings.ts'
import { requestBody, tool, userMessage } from '../fakes/run-request.ts'

const TOKEN = 'engine-token-for-tests'

/** What the fake model does with one request. */
type Move =
  | { readonly kind: 'answer'; readonly text: string; readonly calls: readonly Call[]; readonly finish: string }
  | { readonly kind: 'cut'; readonly text: string; readonly calls: readonly Call[] }
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'error_event'; readonly text: string }
  | { readonly kind: 'garbage'; readonly text: string }
  | { readonly kind: 'silence'; readonly text: string }

interface Call {
  readonly tool: string
  readonly args: string
}

interface Plan {
  /** Played in order; the last one again and again. */
  readonly moves: readonly Move[]
  /** The run is cancelled when the provider sees this request; 0: never. */
  readonly cancelAt: number
  readonly maxSteps: number
}

const words = fc.constantFrom('', 'Hello', 'Привет 🙂', ' \n', 'one two three')
const call = fc.record({
  tool: fc.constantFrom('read', 'read', 'fails', 'write', 'breach', 'empty', 'nobody', '__proto__'),
  args: fc.constantFrom(
    '{}',
    '{"id":1}',
    '{"id":2}',
    '',
    '{"id":',
    '[1]',
    '{"a":1}{"b":2}',
    '{"n":12345678901234567890}',
  ),
})
const callList = fc.array(call, { maxLength: 4 })
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('answer' as const),
      text: words,
      calls: callList,
      finish: fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter', 'odd'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), text: words, calls: callList }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('status' as const),
      status: fc.constantFrom(400, 401, 404, 429, 500, 529),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('error_event' as const), text: words }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('garbage' as const), text: words }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('silence' as const), text: words }) },
)
const plan: fc.Arbitrary<Plan> = fc.record({
  moves: fc.array(move, { minLength: 1, maxLength: 6 }),
  cancelAt: fc.oneof(
    { weight: 3, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 4 }) },
  ),
  maxSteps: fc.integer({ min: 0, max: 4 }),
})

test('whatever a model does, a run ends once, truthfully, and leaves nothing open', { timeout: 120_000 }, async (t) => {
  const world = await openWorld(t)
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(plan, { minLength: 20, maxLength: 40 }), async (plans) => {
      const names = plans.map(() => `run-${(count += 1)}`)
      const results = await Promise.all(plans.map((one, index) => world.play(names[index] as string, one)))
      for (const [index, result] of results.entries()) {
        checkResult(result, world.requests.get(names[index] as string) ?? 0)
      }
      assert.deepEqual(await world.health(), { running: 0, queued: 0 })
      await world.quiet()
    }),
    { numRuns: 6, endOnFailure: true },
  )
})

function checkResult(result: RunResult, requests: number): void {
  assert.ok(STATUSES.includes(result.status))
  const what = JSON.stringify(result)
  // A cancel, or on a busy machine the wait for a first token, can end between the record of an attempt and the moment at which
  // the provider has read the request: then nobody but the record knows of it.
  const unheard = result.usage.attempts.filter(
    ({ error_code, http_status }) => http_status === null && (error_code === 'cancelled' || error_code === 'timeout'),
  )
  const unseen = result.usage.attempts.length - requests
  assert.ok(unseen >= 0 && unseen <= unheard.length, what)
  assert.equal(
    result.usage.total_tokens,
    result.usage.attempts.reduce((sum, attempt) => sum + attempt.total_tokens, 0),
  )
  assert.equal(
    result.usage.complete,
    result.usage.attempts.every(({ status }) => status !== 'unknown'),
  )
  assert.equal(result.error !== null, result.status === 'failed')
  assert.equal(result.limit_reached !== null, result.status === 'stopped_limit')
  if (result.status === 'completed' || result.status === 'stopped_limit') assert.notEqual(result.text, '')
  if (result.status === 'awaiting_tool') assert.notEqual(result.pending.length, 0)
  assert.deepEqual(
    result.messages.map(({ seq }) => seq),
    result.messages.map((_, index) => index),
  )
  const closing = result.pending.map(({ call_id, tool }): StoredMessage => ({
    role: 'tool',
    call_id,
    tool,
    is_error: true,
    error: 'superseded',
  }))
  const user = userMessage('next') as unknown as StoredMessage
  const faults = new Faults()
  checkHistory([user, ...result.messages, ...closing, user], faults)
  assert.deepEqual(faults.list, [], what)
  const calls = result.messages.flatMap((message) =>
    message.role === 'assistant' ? message.content.filter(({ type }) => type === 'tool_call') : [],
  )
  assert.equal(calls.length, result.tool_calls.length, what)
}

interface World {
  readonly requests: ReadonlyMap<string, number>
  play(name: string, plan: Plan): Promise<RunResult>
  health(): Promise<{ running: number; queued: number }>
  /** Resolves when no request is under way at the provider or a tool. */
  quiet(): Promise<void>
}

async function openWorld(t: TestContext): Promise<World> {
  const plans = new Map<string, Plan>()
  const requests = new Map<string, number>()
  const cancels = new Map<string, () => void>()
  let open = 0
  let onQuiet: (() => void) | null = null
  const count = (response: http.ServerResponse) => {
    open += 1
    response.on('close', () => {
      open -= 1
      if (open === 0) onQuiet?.()
    })
  }

  const provider = http.createServer(async (request, response) => {
    count(response)
    const { model } = JSON.parse(await textOf(request)) as { model: string }
    const seen = (requests.get(model) ?? 0) + 1
    requests.set(model, seen)
    const one = plans.get(model) as Plan
    if (one.cancelAt === seen) cancels.get(model)?.()
    perform(one.moves[Math.min(seen, one.moves.length) - 1] as Move, response)
  })
  const tools = http.createServer(async (request, response) => {
    count(response)
    await textOf(request)
    const [status, body] = TOOL_ANSWERS[request.url ?? ''] ?? [404, '']
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  const providerUrl = await listen(t, provider)
  const toolsUrl = await listen(t, tools)

  const outcome = readSettings({
    ENGINE_TOKEN: TOKEN,
    DEV_INSECURE: '1',
    HOST: '127.0.0.1',
    PORT: '0',
    FIRST_TOKEN_MS: '150',
    STALL_MS: '150',
  })
  assert.ok(outcome.ok)
  const engine = createEngine(outcome.settings, pino({ level: 'silent' }))
  const url = await engine.listen()
  t.after(() => engine.close({ graceMs: 1000 }))
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }

  return {
    requests,
    async play(name, one) {
      plans.set(name, one)
      const body = requestBody({
        idempotency_key: name,
        llm: { provider: 'openai-compatible', model: name, base_url: providerUrl },
        tools: ['read', 'fails', 'write', 'breach', 'empty'].map((toolName) =>
          tool(toolName, {
            url: `${toolsUrl}/${toolName}`,
            effect: toolName === 'write' || toolName === 'breach' ? 'write' : 'read',
          }),
        ),
        limits: { max_steps: one.maxSteps, timeout_ms: 30_000 },
        meta: { session_id: name },
      })
      const { run_id } = (await post(`${url}/runs`, headers, body)) as { run_id: string }
      cancels.set(name, () => void post(`${url}/runs/${run_id}/cancel`, headers, {}))
      // The same key and wait: true is a repeat that waits for the one result.
      return (await post(`${url}/runs`, headers, { ...body, wait: true })) as RunResult
    },
    async health() {
      const { runs } = (await get(`${url}/health`)) as { runs: { running: number; queued: number } }
      return { running: runs.running, queued: runs.queued }
    },
    quiet: () => (open === 0 ? Promise.resolve() : new Promise((resolve) => (onQuiet = resolve))),
  }
}

const TOOL_ANSWERS: Readonly<Record<string, readonly [number, string]>> = {
  '/read': [200, '{"status":"ok","result":{"n":12345678901234567890}}'],
  '/fails': [422, '{"status":"error","error":"no such order"}'],
  '/write': [200, '{"status":"deferred","operation_id":"op_1"}'],
  '/breach': [200, '{"status":"ok","result":1}'],
  '/empty': [200, '{"status":"ok","result":[]}'],
}

function perform(move: Move, response: http.ServerResponse): void {
  if (move.kind === 'status') {
    // The pause is the provider's to say, so that retries do not take the test's time.
    response.writeHead(move.status, { 'content-type': 'application/json', 'retry-after-ms': '1' })
    response.end(JSON.stringify({ error: { message: 'no', type: 'error' } }))
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (chunk: unknown) => response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  if (move.text !== '') send({ choices: [{ index: 0, delta: { content: move.text } }] })
  switch (move.kind) {
    case 'answer':
      sendCalls(move.calls, send)
      send({ choices: [{ index: 0, delta: {}, finish_reason: move.finish }] })
      send({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } })
      response.end('data: [DONE]\n\n')
      return
    case 'cut':
      sendCalls(move.calls, send)
      response.destroy()
      return
    case 'error_event':
      send({ error: { message: 'overloaded', code: 503 } })
      response.end()
      return
    case 'garbage':
      response.end('data: {"choices":[{"delta":{"cont\n\n')
      return
    case 'silence':
  }
}

function sendCalls(calls: readonly Call[], send: (chunk: unknown) => void): void {
  for (const [index, { tool: name, args }] of calls.entries()) {
    send({
      choices: [{ index: 0, delta: { tool_calls: [{ index, id: `c${index}`, function: { name, arguments: '' } }] } }],
    })
    for (const half of [args.slice(0, 3), args.slice(3)]) {
      send({ choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: half } }] } }] })
    }
  }
}

async function listen(t: TestContext, server: http.Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function post(url: string, headers: Record<string, string>, body: unknown): Promise<unknown> {
  return exchange(http.request(url, { method: 'POST', headers }), JSON.stringify(body))
}

function get(url: string): Promise<unknown> {
  return exchange(http.request(url), '')
}

async function exchange(request: http.ClientRequest, body: string): Promise<unknown> {
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  return JSON.parse(await textOf(response))
}
