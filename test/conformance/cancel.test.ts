/** SPEC §2.5, failures CA: a cancel in every phase of a run is answered within a second, and whatever was open upstream is closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { asksFor, inHalves, refuses, says, silent, startProvider } from '../fakes/provider-server.ts'
import { answersBehind, startReceiver } from '../fakes/callback-receiver.ts'
import { hangs, headOnly, ok, startTools } from '../fakes/tool-server.ts'
import { errorOf, resultText, runBody, user, type Accepted, type EngineClient } from './engine-client.ts'
import { gate, within } from './facts.ts'
import { open, send } from './http.ts'
import { messagesRequest } from './provider-request.ts'
import type { Received } from './recording-server.ts'
import { sharedEngine } from './shared-engine.ts'

/** SPEC and failures CA-08: the bound on a cancel. */
const BOUND_MS = 1000
/** Failures CA-06: from the cancel until everything upstream is closed. */
const CLOSED_MS = 500

const ORIGIN = 'https://app.example'
const engine = sharedEngine({ KEY_CONCURRENCY: '1', ALLOWED_ORIGINS: ORIGIN, CALLBACK_SCHEDULE: '0' })

/** Cancels with the engine token and checks what always holds: in time, the whole result, the same that GET shows. */
async function cancelled(client: EngineClient, { run_id }: Accepted): Promise<RunResult> {
  const before = performance.now()
  const answer = await client.cancel(run_id)
  const took = performance.now() - before
  assert.ok(took < BOUND_MS, `answered after ${Math.round(took)} ms`)
  assert.equal(answer.status, 200)
  assert.equal(resultText(await client.send(`/runs/${run_id}`)), answer.text)
  const result = answer.json<RunResult>()
  assert.equal(result.status, 'cancelled')
  assert.equal(result.stop_reason, 'cancelled')
  assert.equal(result.error, null)
  return result
}

/** The same, with what was open upstream: each connection is cut, and soon. */
async function closes(client: EngineClient, accepted: Accepted, upstream: readonly Received[]): Promise<RunResult> {
  const before = performance.now()
  const closed = Promise.all(
    upstream.map(async (request) => {
      assert.equal(await request.closed, 'cut')
      return performance.now() - before
    }),
  )
  const result = await cancelled(client, accepted)
  const took = Math.max(...(await within(closed, () => 'a connection is still open')))
  assert.ok(took < CLOSED_MS, `closed after ${Math.round(took)} ms`)
  return result
}

test('CA-06 in the key’s queue: nothing is ever sent', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const holding = await client.start(runBody({ llm: provider.llm() }))
  await provider.nth(1)
  const queued = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(queued)).event('wait', ({ reason }) => reason === 'queue')
  const health = (await client.send('/health')).json<{ runs: { queued: number } }>()
  assert.equal(health.runs.queued, 1)

  const result = await cancelled(client, queued)
  assert.deepEqual([result.text, result.messages, result.usage.attempts], ['', [], []])
  assert.equal(result.usage.complete, true)
  await cancelled(client, holding)
  await provider.idle()
  assert.equal(provider.received.length, 1)
})

test('RF-10 a place in the queue is given back by a cancel, and goes to whoever waits first', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent, says('My turn.'), says('And mine.')])
  const queued = async () => {
    const accepted = await client.start(runBody({ llm: provider.llm() }))
    await (await client.stream(accepted)).event('wait')
    return accepted
  }
  const holding = await client.start(runBody({ llm: provider.llm() }))
  await provider.nth(1)
  const [leaving, first, second] = [await queued(), await queued(), await queued()]
  await cancelled(client, leaving)
  assert.equal(provider.received.length, 1)
  await cancelled(client, holding)
  assert.equal((await client.result(first)).text, 'My turn.')
  assert.equal((await client.result(second)).text, 'And mine.')
})

test('CA-06 before the headers: the socket is closed, and what it may have cost is an estimate', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const request = await provider.nth(1)
  const result = await closes(client, accepted, [request])
  await provider.idle()
  assert.deepEqual([result.text, result.messages, result.answer_source], ['', [], null])
  const [attempt] = result.usage.attempts
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.estimated], ['unknown', 'cancelled', true])
  assert.ok((attempt?.input_tokens ?? 0) > 0)
  assert.equal(result.usage.complete, false)
})

test('CA-06 while the model only thinks', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.reasoning('Let me see…')], 'anthropic')
  const body = runBody({ llm: provider.llm(), stream: { reasoning: true } })
  const accepted = await client.start(body)
  await (await client.stream(accepted)).event('reasoning')
  const result = await closes(client, accepted, [await provider.nth(1)])
  assert.equal(result.text, '')
})

test('CA-04 in the middle of text: exactly what the reader has seen is kept, and one done ends the stream', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    (answer) => {
      for (let n = 0; n < 20; n += 1) answer.text(`word${n} `)
    },
  ])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const reader = await client.stream(accepted)
  await reader.event('delta', ({ text }) => text.endsWith('word19 '))
  const result = await closes(client, accepted, [await provider.nth(1)])
  await provider.idle()

  const events = await reader.ended()
  const shown = events.map((one) => (one.event === 'delta' ? one.data.text : '')).join('')
  assert.equal(result.text, shown)
  assert.match(result.text, /^word0 .*word19 $/)
  const [message] = result.messages
  assert.equal(result.messages.length, 1)
  assert.deepEqual(message?.role === 'assistant' && [message.content, message.stop_reason], [
    [{ type: 'text', text: shown }],
    'cancelled',
  ])
  assert.deepEqual(
    events.filter(({ event }) => event === 'done').map(({ data }) => data),
    [{ status: 'cancelled', stop_reason: 'cancelled', limit_reached: null, error: null, pending: 0 }],
  )
  assert.equal(events.at(-1)?.event, 'done')
})

test('CA-02 in a batch of tools: what has not begun never starts, and the next run goes on from the history', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { slow: hangs })
  const calls = Array.from({ length: 10 }, (_, n): [string, JsonObject] => ['slow', { n }])
  const provider = await startProvider(t, [asksFor(...calls)])
  const given = { tools: [tools.tool('slow')], meta: { session_id: 'batch' } }
  const question = user('Do ten things.')
  const accepted = await client.start(runBody({ ...given, llm: provider.llm(), messages: [question] }))
  // Eight are under way at once.
  await tools.nth(8)
  const result = await closes(client, accepted, tools.calls.slice(0, 8))
  assert.equal(tools.calls.length, 8)
  assert.equal(tools.calls.length, 8)
  assert.deepEqual(
    result.tool_calls.map(({ status }) => status),
    [...Array.from({ length: 8 }, () => 'unknown'), 'not_sent', 'not_sent'],
  )
  const answers = result.messages.filter(({ role }) => role === 'tool')
  assert.equal(answers.length, 10)
  assert.ok(answers.every((message) => message.role === 'tool' && message.is_error === true && message.error))

  await client.ack(accepted.run_id)
  const other = await startProvider(t, [says('I see.')], 'anthropic')
  const history = [question, ...result.messages, user('What happened?')] as JsonObject[]
  const next = await client.run(runBody({ ...given, llm: other.llm(), messages: history }))
  assert.equal(next.text, 'I see.')
  const [, , last] = messagesRequest(await other.nth(1)).messages
  assert.equal(last?.content.filter(({ type, is_error }) => type === 'tool_result' && is_error === true).length, 10)
})

test('CA-08 in a tool that answered accepted, and in one that waits to be tried again', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { later: { status: 'accepted' }, busy: headOnly(503, { 'retry-after': '20' }) })
  const provider = await startProvider(t, [asksFor(['later', {}], ['busy', {}])])
  const given = { llm: provider.llm(), tools: [tools.tool('later'), tools.tool('busy')] }
  const accepted = await client.start(runBody(given))
  await tools.nth(2)
  const busy = tools.calls.find(({ tool }) => tool === 'busy')
  // The engine has read the head, and the pause has begun.
  assert.equal(await busy?.closed, 'cut')
  const result = await cancelled(client, accepted)
  assert.equal(tools.calls.length, 2)
  assert.deepEqual(
    result.tool_calls.map(({ tool, status }) => [tool, status]),
    [
      ['later', 'unknown'],
      ['busy', 'error'],
    ],
  )
})

test('CA-06 in a pause that the provider asked for: it is never asked again', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [refuses(429, { 'retry-after': '30' })])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  const wait = await (await client.stream(accepted)).event('wait', ({ reason }) => reason === 'retry')
  assert.equal(wait.ms, 30_000)
  const result = await cancelled(client, accepted)
  assert.equal(provider.received.length, 1)
  const [attempt] = result.usage.attempts
  assert.deepEqual([attempt?.status, attempt?.error_code, attempt?.http_status], ['failed', 'rate', 429])
  assert.equal(result.usage.complete, true)
})

test('CA-05 half of an answer of a tool, plain or packed, and an error of its connection behind the cancel', async (t) => {
  const client = await engine.client()
  const packed = gzipSync(JSON.stringify(ok('x'.repeat(100_000))))
  const json = { 'content-type': 'application/json' }
  const later = new Map<string, () => void>()
  const tools = await startTools(t, {
    head: headOnly(200, json),
    body: (_call, response) => void response.writeHead(200, json).write('{"status":"ok","result":"ha'),
    packed: (_call, response) => {
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).write(packed.subarray(0, 60))
    },
    late: (_call, response) => void later.set('late', () => response.writeHead(500).end('late')),
    reset: (_call, response) => void later.set('reset', () => response.socket?.resetAndDestroy()),
  })
  const hold = gate()
  const other = await startProvider(t, [inHalves('Still ', hold.opened, 'here.')])
  const neighbour = await client.start(runBody({ llm: other.llm() }))
  for (const [n, name] of ['head', 'body', 'packed', 'late', 'reset'].entries()) {
    const provider = await startProvider(t, [asksFor([name, {}])])
    const accepted = await client.start(runBody({ llm: provider.llm(), tools: [tools.tool(name)] }))
    const call = await tools.nth(n + 1)
    const result = await closes(client, accepted, [call])
    later.get(name)?.()
    assert.deepEqual(
      result.tool_calls.map(({ attempts, status }) => [status, attempts]),
      [['unknown', 1]],
      name,
    )
  }
  assert.equal(tools.calls.length, 5)
  hold.open()
  assert.equal((await client.result(neighbour)).text, 'Still here.')
})

test('CA-05 while the result is delivered: it has ended, and its receiver is not disturbed', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const receiver = await startReceiver(t, [answersBehind(hold.opened, 204)])
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const delivery = await receiver.nth(1)
  const answer = await client.cancel(accepted.run_id)
  assert.deepEqual([answer.status, answer.json<RunResult>().status], [200, 'completed'])
  assert.equal(delivery.text, `{"payload":${answer.text}}`)
  hold.open()
  assert.equal(await delivery.closed, 'whole')
  assert.equal(receiver.received.length, 1)
})

test('CA-05 whoever cancels may go away before the answer: the run is cancelled all the same', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [
    async (answer) => {
      answer.text('Half')
      await hold.opened
      answer.finish()
    },
  ])
  const accepted = await client.start(runBody({ llm: provider.llm(), limits: { on_cancel: 'drain' } }))
  const reader = await client.stream(accepted)
  await reader.event('delta')
  const url = `${client.address}/runs/${accepted.run_id}/cancel`
  const call = open({ url, method: 'POST', headers: client.authorization })
  const left = assert.rejects(call.answer)
  assert.equal((await reader.ended()).at(-1)?.event, 'done')
  await call.leave()
  await left
  hold.open()
  const result = (await client.cancel(accepted.run_id)).json<RunResult>()
  assert.deepEqual([result.status, result.text, result.usage.complete], ['cancelled', 'Half', true])
})

test('CA-05 a provider that goes on writing after the cancel changes nothing, and other runs go on', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [
    async (answer) => {
      answer.text('before')
      await hold.opened
      for (let n = 0; n < 100; n += 1) answer.text('after')
      answer.finish()
    },
  ])
  const other = await startProvider(t, [inHalves('Still ', hold.opened, 'here.')])
  const neighbour = await client.start(runBody({ llm: other.llm() }))
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(accepted)).event('delta')
  const result = await cancelled(client, accepted)
  hold.open()
  assert.equal(result.text, 'before')
  assert.equal((await client.result(neighbour)).text, 'Still here.')
  assert.deepEqual((await client.view(accepted.run_id)).result, result)
})

test('§2.5 with a run token only the state is told, and a browser needs no preflight for it', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.text('Not for the browser')])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(accepted)).event('delta')
  const headers = { origin: ORIGIN, 'content-type': 'text/plain;charset=UTF-8' }
  const call = { method: 'POST', url: accepted.cancel_url, headers, body: 'anything at all' }
  const answer = await send(call)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json(), { run_id: accepted.run_id, status: 'cancelled' })
  assert.equal(answer.headers['access-control-allow-origin'], ORIGIN)
  // A second time, and without any body or type.
  const again = await send({ method: 'POST', url: accepted.cancel_url })
  assert.deepEqual(again.json(), { run_id: accepted.run_id, status: 'cancelled' })
})

test('§2.5 cancelling what has ended is answered with the status it ended with', async () => {
  const client = await engine.client()
  const accepted = await client.start(runBody())
  const result = await client.result(accepted)
  const answer = await client.cancel(accepted.run_id)
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json(), result)
  const browser = await send({ method: 'POST', url: accepted.cancel_url })
  assert.deepEqual(browser.json(), { run_id: accepted.run_id, status: 'completed' })
})

test('CA-09 many cancels at once give one result, and the session waits for its ack', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.text('Half')])
  const meta = { session_id: 'cancelled-once' }
  const accepted = await client.start(runBody({ llm: provider.llm(), meta }))
  await (await client.stream(accepted)).event('delta')
  const [first, second, view, other] = await Promise.all([
    client.cancel(accepted.run_id),
    client.cancel(accepted.run_id),
    client.view(accepted.run_id),
    client.post(runBody({ meta })),
  ])
  assert.equal(first.text, second.text)
  assert.equal(resultText(await client.send(`/runs/${accepted.run_id}`)), first.text)
  assert.ok(view.status === 'running' || view.status === 'cancelled')
  assert.equal(other.status, 409)
  errorOf(await client.post(runBody({ meta })), 409, 'result_pending')
  await client.ack(accepted.run_id)
  assert.equal((await client.run(runBody({ meta }))).status, 'completed')
})

test('§2.5 a cancelled run’s result is delivered like any other', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const receiver = await startReceiver(t)
  const accepted = await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  await provider.nth(1)
  const answer = await client.cancel(accepted.run_id)
  assert.equal((await receiver.nth(1)).text, `{"payload":${answer.text}}`)
})

test('ID-05 after a cancel in any phase, an ack frees the session', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { slow: hangs, quick: ok(1) })
  const phases: readonly [string, Parameters<typeof startProvider>[1]][] = [
    ['headers', [silent]],
    ['text', [(answer) => answer.text('So')]],
    ['tool', [asksFor(['slow', {}])]],
    ['second step', [asksFor(['quick', {}]), silent]],
    ['pause', [refuses(503, { 'retry-after': '30' })]],
  ]
  for (const [phase, plays] of phases) {
    const provider = await startProvider(t, plays)
    const meta = { session_id: `lock-${phase}` }
    const given = { llm: provider.llm(), tools: [tools.tool('slow'), tools.tool('quick')], meta }
    const accepted = await client.start(runBody(given))
    await provider.nth(plays.length)
    const result = await cancelled(client, accepted)
    assert.equal((await client.ack(accepted.run_id)).status, 200, phase)
    const next = await client.start(runBody({ meta }))
    assert.notEqual(next.run_id, result.run_id)
  }
})

test('§8.3 drained: a browser and the stream know of the end at once, the harness gets the exact usage behind it', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [
    async (answer) => {
      answer.text('Half')
      await hold.opened
      answer.text(' that nobody sees')
      answer.finish({ usage: { input: 100, output: 7 } })
    },
    says('Next.'),
  ])
  const receiver = await startReceiver(t)
  const meta = { session_id: 'drained' }
  const limits = { on_cancel: 'drain' }
  const accepted = await client.start(runBody({ llm: provider.llm(), callback: receiver.callback(), limits, meta }))
  const reader = await client.stream(accepted)
  await reader.event('delta')
  const before = performance.now()
  const browser = await send({ method: 'POST', url: accepted.cancel_url })
  assert.ok(performance.now() - before < BOUND_MS)
  assert.deepEqual(browser.json(), { run_id: accepted.run_id, status: 'cancelled' })
  const shown = await reader.ended()
  assert.deepEqual(shown.at(-1)?.data, {
    status: 'cancelled',
    stop_reason: 'cancelled',
    limit_reached: null,
    error: null,
    pending: 0,
  })
  const view = await client.view(accepted.run_id)
  assert.deepEqual([view.status, view.result, view.delivery.state], ['cancelled', null, 'pending'])
  // The key has one place, and the attempt holds it; the session has no result to fetch yet.
  errorOf(await client.post(runBody({ meta })), 409, 'run_active')
  errorOf(await client.ack(accepted.run_id), 409, 'run_active')
  const queued = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(queued)).event('wait', ({ reason }) => reason === 'queue')
  assert.equal(receiver.received.length, 0)
  const whole = client.cancel(accepted.run_id)
  hold.open()

  const answer = await whole
  const result = answer.json<RunResult>()
  assert.deepEqual([result.status, result.text], ['cancelled', 'Half'])
  const [attempt] = result.usage.attempts
  assert.deepEqual(
    [attempt?.status, attempt?.error_code, attempt?.estimated, attempt?.input_tokens, attempt?.output_tokens],
    ['failed', 'cancelled', false, 100, 7],
  )
  assert.equal(result.usage.complete, true)
  assert.equal((await receiver.nth(1)).text, `{"payload":${answer.text}}`)
  assert.equal(resultText(await client.send(`/runs/${accepted.run_id}`)), answer.text)
  assert.equal((await client.result(queued)).text, 'Next.')
  const again = await client.stream(accepted)
  assert.equal((await again.ended()).filter(({ event }) => event === 'done').length, 1)
})

test('§8.3 what is drained is not waited for beyond the deadline, and is an estimate then', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.text('Half')])
  const limits = { on_cancel: 'drain', timeout_ms: 1500 }
  const accepted = await client.start(runBody({ llm: provider.llm(), limits }))
  await (await client.stream(accepted)).event('delta')
  const result = (await client.cancel(accepted.run_id)).json<RunResult>()
  assert.equal(await (await provider.nth(1)).closed, 'cut')
  assert.deepEqual([result.status, result.limit_reached, result.text], ['cancelled', null, 'Half'])
  assert.deepEqual([result.usage.attempts[0]?.status, result.usage.attempts[0]?.estimated], ['unknown', true])
  assert.equal(result.usage.complete, false)
  assert.ok(Date.parse(result.finished_at) - Date.parse(result.started_at) >= 1490)
})

test('§8.3 a tool, a pause and a queue are cut with drain as without', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { slow: hangs })
  for (const [plays, ready] of [
    [[asksFor(['slow', {}])], () => tools.nth(1)],
    [[refuses(429, { 'retry-after': '30' })], null],
  ] as const) {
    const provider = await startProvider(t, plays)
    const given = { llm: provider.llm(), tools: [tools.tool('slow')], limits: { on_cancel: 'drain' } }
    const accepted = await client.start(runBody(given))
    await (ready === null ? (await client.stream(accepted)).event('wait') : ready())
    const result = await cancelled(client, accepted)
    assert.equal(result.usage.complete, true)
  }
})

test('the engine of this file ended in peace', () => engine.finish())
