/** SPEC §12.6 over HTTP: who may read the metrics, and that every one of them moves when what it counts happens. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { MetricsText } from '../fakes/prometheus-text.ts'
import { asksFor, refuses, startProvider } from '../fakes/provider-server.ts'
import { http, ok, startTools } from '../fakes/tool-server.ts'
import { EngineClient, errorOf, runBody } from './engine-client.ts'
import { gate } from './facts.ts'
import { send } from './http.ts'
import { assertQuiet, endInPeace, ownEngine, sharedEngine } from './shared-engine.ts'

const shared = sharedEngine()

async function read(client: EngineClient): Promise<MetricsText> {
  const answer = await client.send('/metrics')
  assert.equal(answer.status, 200, answer.text)
  return new MetricsText(answer.text)
}

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'state-dir-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('§12.6 metrics are for the engine token', async () => {
  const client = await shared.client()
  const answer = await client.send('/metrics')
  assert.equal(answer.status, 200)
  assert.equal(answer.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  assert.equal(answer.headers['cache-control'], 'no-store')
  errorOf(await send({ url: `${client.address}/metrics` }), 401, 'unauthorized')
  const wrong = { authorization: 'Bearer wrong-token-wrong-token' }
  errorOf(await send({ url: `${client.address}/metrics`, headers: wrong }), 401, 'unauthorized')
  const { run_id, stream_url } = await client.start(runBody())
  const token = new URL(stream_url).searchParams.get('token')
  errorOf(await send({ url: `${client.address}/metrics?token=${token}` }), 401, 'unauthorized')
  await client.ack(run_id)
})

test('§12.6 with METRICS_PUBLIC=1 anybody may read them, and nothing else', async (t) => {
  const engine = await ownEngine(t, { METRICS_PUBLIC: '1' })
  const answer = await send({ url: `${engine.address}/metrics` })
  assert.equal(answer.status, 200)
  assert.ok(new MetricsText(answer.text).families.length > 40)
  errorOf(await send({ url: `${engine.address}/logs` }), 401, 'unauthorized')
  errorOf(await send({ url: `${engine.address}/runs/run_1` }), 401, 'unauthorized')
})

test('§12.6 every metric moves', async (t) => {
  const receiver = await startReceiver(t, [503, 204])
  const hold = gate()
  const provider = await startProvider(t, [
    refuses(503),
    asksFor(['getOrders', { n: 1 }], ['getOrders', { n: 2 }], ['noSuchTool', {}]),
    (answer) => {
      answer.reasoning('hm')
      answer.text('Here they are.')
      answer.finish({ usage: { input: 1000, output: 200 } })
    },
    async (answer) => {
      answer.text('One moment')
      await hold.opened
      answer.finish()
    },
    refuses(401),
  ])
  const tools = await startTools(t, { getOrders: [http(503), ok([1]), ok([2])] })
  const engine = await ownEngine(t, {
    STATE_DIR: folderFor(t),
    CALLBACK_SCHEDULE: '0,0',
    EGRESS_ALLOWLIST: 'not-there.invalid',
    MAX_RUNS: '1',
  })
  const client = new EngineClient(engine)
  const pricing = { currency: 'USD', input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 }
  const llm = { ...provider.llm(), pricing }
  const body = {
    ...runBody({ llm, tools: [tools.tool('getOrders')], callback: receiver.callback(), meta: { session_id: 's-1' } }),
    limits: { timeout_ms: 60_000 },
  }
  await client.result(await client.start(body))
  await receiver.nth(2)

  // Live: one run that waits for its provider, with a reader, and one too many.
  const live = await client.start(runBody({ llm }))
  const stream = await client.stream(live)
  await stream.event('delta')
  errorOf(await client.post(runBody({ llm })), 429, 'overloaded')
  const during = await read(client)
  assert.equal(during.value('theloop_runs_live'), 1)
  assert.equal(during.value('theloop_runs_limit'), 1)
  assert.equal(during.value('theloop_streams_open'), 1)
  assert.equal(during.value('theloop_key_active_requests', { provider: 'openai-compatible' }), 1)
  hold.open()
  await stream.ended()
  await client.ack(live.run_id)

  // Ends badly: a key that is no good, a callback whose host is nowhere.
  const nowhere = { url: 'https://not-there.invalid/x', headers: {} }
  const failed = await client.result(await client.start(runBody({ llm, callback: nowhere })))
  assert.equal(failed.error?.code, 'provider_auth')
  await engine.line(({ event }) => event === 'undelivered')
  const text = await read(client)

  const moved: readonly (readonly [name: string, labels: Readonly<Record<string, string>>, value: number])[] = [
    ['theloop_build_info', {}, 1],
    ['theloop_runs_started_total', {}, 3],
    ['theloop_runs_ended_total', { status: 'completed', reason: 'none' }, 2],
    ['theloop_runs_ended_total', { status: 'failed', reason: 'provider_auth' }, 1],
    ['theloop_run_duration_seconds_count', { status: 'completed' }, 2],
    ['theloop_run_first_token_seconds_count', {}, 2],
    ['theloop_run_steps_sum', {}, 4],
    ['theloop_step_duration_seconds_count', {}, 4],
    ['theloop_results_unstored', {}, 1],
    ['theloop_journal_entries_total', { event: 'ended' }, 3],
    ['theloop_journal_entries_total', { event: 'undelivered' }, 1],
    ['theloop_attempts_total', { provider: 'openai-compatible', outcome: 'ok' }, 3],
    ['theloop_attempts_total', { outcome: 'overloaded' }, 1],
    ['theloop_attempts_total', { outcome: 'auth' }, 1],
    ['theloop_attempt_duration_seconds_count', {}, 5],
    ['theloop_attempt_first_token_seconds_count', {}, 3],
    ['theloop_attempt_queue_seconds_count', {}, 5],
    ['theloop_tokens_total', { kind: 'input' }, 1020],
    ['theloop_tokens_total', { kind: 'output' }, 210],
    ['theloop_tool_calls_total', { tool: 'getOrders', outcome: 'ok' }, 2],
    ['theloop_tool_calls_not_sent_total', { status: 'invalid' }, 1],
    ['theloop_tool_requests_total', { tool: 'getOrders' }, 3],
    ['theloop_tool_call_duration_seconds_count', {}, 2],
    ['theloop_keys', { provider: 'openai-compatible' }, 1],
    ['theloop_callback_attempts_total', { answer: '5xx' }, 1],
    ['theloop_callback_attempts_total', { answer: '2xx' }, 1],
    ['theloop_callback_attempts_total', { answer: 'none' }, 3],
    ['theloop_callback_duration_seconds_count', {}, 5],
    ['theloop_results_total', { outcome: 'delivered' }, 1],
    ['theloop_results_total', { outcome: 'acked' }, 1],
    ['theloop_results_total', { outcome: 'undelivered' }, 1],
    ['theloop_http_requests_total', { route: 'POST /runs', status: '202', code: 'none' }, 3],
    ['theloop_http_requests_total', { route: 'POST /runs', status: '429', code: 'overloaded' }, 1],
    ['theloop_http_requests_total', { route: 'GET /runs/{id}/stream', status: '200' }, 3],
    ['theloop_http_requests_total', { route: 'GET /metrics' }, 1],
    ['theloop_egress_faults_total', { purpose: 'callback', kind: 'dns' }, 3],
  ]
  for (const [name, labels, value] of moved)
    assert.equal(text.value(name, labels), value, `${name} ${JSON.stringify(labels)}`)
  const cost = text.value('theloop_cost_total', { currency: 'USD' })
  assert.ok(Math.abs(cost - (1020 * 3 + 210 * 15) / 1e6) < 1e-12, String(cost))
  const some = [
    'theloop_key_window_requests',
    'theloop_state_writes_total',
    'theloop_state_write_duration_seconds_sum',
    'theloop_state_written_bytes_total',
    'process_cpu_seconds_total',
    'process_resident_memory_bytes',
    'process_start_time_seconds',
    'nodejs_heap_size_used_bytes',
    'nodejs_heap_size_total_bytes',
    'nodejs_external_memory_bytes',
  ]
  for (const name of some) assert.ok(text.value(name) > 0, name)
  assert.ok(text.value('theloop_event_loop_lag_seconds', { stat: 'worst' }) < 60)
  for (const { labels } of text.families.flatMap(({ samples }) => samples)) {
    for (const value of Object.values(labels)) assert.doesNotMatch(value, /run_0|s-1|SECRET/)
  }
  await endInPeace(engine)
})

test('§12.6 a call that the gate does not let out is counted', async (t) => {
  // By its name it may be called; where it leads is seen when it is.
  const engine = await ownEngine(t, { EGRESS_ALLOWLIST: 'localhost', DEV_INSECURE: '0' })
  const client = new EngineClient(engine)
  const { run_id } = await client.start(runBody({ callback: { url: 'https://localhost/x', headers: {} } }))
  await engine.line(({ event, run_id: id }) => event === 'callback_attempt' && id === run_id)
  const text = await read(client)
  assert.equal(text.value('theloop_egress_refused_total', { purpose: 'callback', reason: 'address_blocked' }), 1)
  assert.equal(text.value('theloop_egress_faults_total'), 0)
  assertQuiet(engine)
})

test('nothing that metrics showed was a secret, and the engine ends in peace', async () => {
  await shared.finish()
})
