/** SPEC §7.3: with STATE_DIR a killed engine loses nothing: the next start ends what was running and delivers what was not. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Faults } from '../../src/contract/check.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import { checkHistory } from '../../src/engine/history-rules.ts'
import { CALLBACK_SECRET, ENGINE_TOKEN, runToExit, type EngineProcess } from '../fakes/engine-process.ts'
import { payloadOf, payloadText, startReceiver } from '../fakes/callback-receiver.ts'
import { startOtlpReceiver } from '../fakes/otlp-receiver.ts'
import { asksFor, says, startProvider } from '../fakes/provider-server.ts'
import { pathOf, titles } from '../fakes/state-files.ts'
import { hangs, ok, startTools } from '../fakes/tool-server.ts'
import { type Accepted, EngineClient, errorOf, resultText, runBody, scripted, user } from './engine-client.ts'
import { openStream } from './event-stream.ts'
import {
  answerOf,
  framesOf,
  getAsFetch,
  lastAnswer,
  lastStepText,
  readAgUi,
  readAiSdk,
  type Frame,
} from './foreign-readers.ts'
import { within } from './facts.ts'
import { send } from './http.ts'
import { assertQuiet, endInPeace, ownEngine } from './shared-engine.ts'

/** Engines one after another on one STATE_DIR. */
function lives(t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'state-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const start = async (more: Readonly<Record<string, string>> = {}) => {
    const engine = await ownEngine(t, { STATE_DIR: folder, ...environment, ...more })
    return { engine, client: new EngineClient(engine) }
  }
  const kill = async (engine: EngineProcess) => {
    engine.signal('SIGKILL')
    await within(engine.exited, () => 'it outlives a kill')
    assertQuiet(engine)
  }
  return { folder, start, kill }
}

const session = { session_id: 'the-session' }

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

test('§7.3 killed in the middle of a text: failed, engine_restarted, delivered, its session and its key kept', async (t) => {
  const { folder, start, kill } = lives(t, { ENGINE_LOCALE: 'ru' })
  const provider = await startProvider(t, [(answer) => answer.text('Half of'), says('Again.')])
  const receiver = await startReceiver(t, [500, 204])
  const first = await start({ CALLBACK_SCHEDULE: '0' })
  const body = runBody({
    llm: { ...provider.llm(), api_key: 'sk-SECRET' },
    callback: receiver.callback({ 'X-Key': 'header-SECRET' }),
    meta: session,
    messages: [user('the CONTENT')],
  })
  const accepted = await first.client.start(body)
  const reader = await first.client.stream(accepted)
  await reader.event('delta')
  const lastId = reader.events.at(-1)?.id ?? ''
  // What was shown is written within two seconds.
  const size = () => statSync(pathOf(folder, `${accepted.run_id}.run`)).size
  const before = size()
  await within(
    until(() => size() > before),
    () => 'nothing that was shown is written',
  )
  await kill(first.engine)
  for (const name of readdirSync(folder)) {
    assert.doesNotMatch(readFileSync(join(folder, name), 'latin1'), /SECRET|CONTENT|model|the-session/)
  }

  // A receiver that is away for a moment: the lock holds until the result is stored.
  const { client, engine } = await start({ CALLBACK_SCHEDULE: '60' })
  const delivery = await receiver.nth(1)
  const payload = payloadOf(delivery)
  assert.equal(delivery.headers['x-key'], 'header-SECRET')
  assert.deepEqual([payload.run_id, payload.status, payload.text], [accepted.run_id, 'failed', 'Half of'])
  assert.deepEqual(
    payload.messages.map((message) => [message.role, 'stop_reason' in message ? message.stop_reason : null]),
    [['assistant', 'error']],
  )
  assert.equal(payload.error?.code, 'engine_restarted')
  assert.match(payload.error?.message ?? '', /[а-я]/)
  assert.deepEqual(
    payload.usage.attempts.map(({ status, estimated }) => [status, estimated]),
    [['unknown', true]],
  )
  assert.equal(payload.usage.complete, false)
  assert.ok(payload.usage.total_tokens > 0)
  await engine.line((line) => line['event'] === 'callback_attempt')
  const answer = await client.send(`/runs/${accepted.run_id}`)
  assert.equal(resultText(answer), payloadText(delivery))
  assert.equal(answer.json<{ deadline_at: string }>().deadline_at, accepted.deadline_at)

  const repeat = await client.post(body)
  assert.equal(repeat.status, 200)
  assert.deepEqual(
    [repeat.json<{ run_id: string; repeated: boolean; status: string }>()].map((one) => [
      one.run_id,
      one.repeated,
      one.status,
    ]),
    [[accepted.run_id, true, 'failed']],
  )
  const other = errorOf(await client.post({ ...body, system: 'other' }), 409, 'idempotency_conflict')
  assert.equal(other.run_id, accepted.run_id)
  const locked = errorOf(await client.post(runBody({ meta: session })), 409, 'result_pending')
  assert.equal(locked.run_id, accepted.run_id)

  const streamUrl = repeat.json<{ stream_url: string }>().stream_url
  const again = await openStream(streamUrl, { 'last-event-id': lastId })
  const events = await again.ended()
  assert.deepEqual([events[0]?.event, events.at(-1)?.event], ['resync', 'done'])
  assert.equal((await openStream(streamUrl, { 'last-event-id': events.at(-1)?.id ?? '' })).status, 204)

  assert.equal((await client.ack(accepted.run_id)).status, 200)
  const next = await client.run(runBody({ llm: provider.llm(), meta: session }))
  assert.equal(next.text, 'Again.')
  await endInPeace(engine)
  assert.equal(receiver.received.length, 1)
})

test('§7.3 killed while a cancelled answer is drained: it stays cancelled, with the text that was shown', async (t) => {
  const { start, kill } = lives(t)
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const first = await start()
  const accepted = await first.client.start(runBody({ llm: provider.llm(), limits: { on_cancel: 'drain' } }))
  const reader = await first.client.stream(accepted)
  await reader.event('delta')
  await send({ method: 'POST', url: accepted.cancel_url })
  assert.equal((await reader.ended()).at(-1)?.event, 'done')
  await kill(first.engine)

  const { client, engine } = await start()
  const { result } = await client.view(accepted.run_id)
  assert.deepEqual(
    [result?.status, result?.stop_reason, result?.text, result?.error],
    ['cancelled', 'cancelled', 'Half of', null],
  )
  assert.deepEqual(
    result?.usage.attempts.map(({ status, estimated }) => [status, estimated]),
    [['unknown', true]],
  )
  await endInPeace(engine)
})

test('§7.3 killed while tools are called: what came stands, what was sent is unknown, and the history is valid', async (t) => {
  const { start, kill } = lives(t)
  const tools = await startTools(t, { fast: ok({ found: 1 }), slow: hangs })
  const provider = await startProvider(t, [
    (answer) => {
      answer.text('I look it up.')
      answer.call('fast', {})
      answer.finish()
    },
    asksFor(['slow', {}], ['nobody', {}]),
    says('Never.'),
  ])
  const receiver = await startReceiver(t)
  const first = await start()
  const body = runBody({
    llm: provider.llm(),
    callback: receiver.callback(),
    tools: [tools.tool('fast'), tools.tool('slow')],
  })
  const accepted = await first.client.start(body)
  await tools.nth(2)
  await kill(first.engine)

  const { engine } = await start()
  const payload = payloadOf(await receiver.nth(1))
  assert.equal(payload.run_id, accepted.run_id)
  assert.equal(payload.error?.code, 'engine_restarted')
  // What a reader saw last, though the step that was cut had said nothing.
  assert.deepEqual([payload.text, payload.answer_source], ['I look it up.', 'model'])
  assert.deepEqual(
    payload.tool_calls.map(({ tool, status, attempts }) => [tool, status, attempts]),
    [
      ['fast', 'ok', 1],
      ['slow', 'unknown', 1],
      ['nobody', 'invalid', 0],
    ],
  )
  assert.deepEqual(
    payload.tool_calls.slice(0, 2).map(({ call_id }) => call_id),
    tools.calls.toSorted((left) => (left.tool === 'fast' ? -1 : 1)).map((call) => call.body.call_id),
  )
  assert.deepEqual(
    payload.messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant', 'tool', 'tool'],
  )
  const faults = new Faults()
  const history = [...(body['messages'] as unknown as StoredMessage[]), ...payload.messages]
  checkHistory([...history, user('And now?') as unknown as StoredMessage], faults)
  assert.deepEqual(faults.list, [])
  assert.deepEqual(
    payload.usage.attempts.map(({ status }) => status),
    ['ok', 'ok'],
  )
  assert.equal(payload.usage.complete, true)
  await endInPeace(engine)
})

test('§12.7 a run that was cut by a kill is ended in its caller’s trace, and so is its delivery', async (t) => {
  const collector = await startOtlpReceiver(t)
  const { start, kill } = lives(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, CALLBACK_SCHEDULE: '60' })
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const caller = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, tracestate: 'rojo=1' }
  const receiver = await startReceiver(t, [500, 204])
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const first = await start()
  const body = runBody({ llm: provider.llm(), callback: receiver.callback() })
  const accepted = (await first.client.post(body, caller)).json<Accepted>()
  await (await first.client.stream(accepted)).event('delta')
  await kill(first.engine)

  const second = await start()
  await second.engine.line(({ event }) => event === 'callback_attempt')
  const [told] = receiver.received
  assert.equal(told?.headers['tracestate'], 'rojo=1')
  const linesOf = ({ lines }: EngineProcess) => lines.filter(({ run_id }) => run_id === accepted.run_id)
  await within(
    until(() =>
      ['invoke_agent', 'POST callback'].every((wanted) => collector.spans.some(({ name }) => name === wanted)),
    ),
    () => 'the run or its delivery has no span',
  )
  const [run] = collector.spans.filter(({ name }) => name === 'invoke_agent')
  assert.deepEqual([run?.traceId, run?.parentSpanId], [trace, '00f067aa0ba902b7'])
  assert.deepEqual([run?.failed, run?.attributes['error.type']], [true, 'engine_restarted'])
  await kill(second.engine)

  // It had ended: no span of it is sent again, and what is told of it is still told of its trace.
  const third = await start()
  await third.engine.line(({ event }) => event === 'delivered')
  await receiver.nth(2)
  for (const line of [...linesOf(second.engine), ...linesOf(third.engine)]) assert.equal(line['trace_id'], trace)
  await endInPeace(third.engine)
  assert.equal(collector.spans.filter(({ name }) => name === 'invoke_agent').length, 1)
  const deliveries = collector.spans.filter(({ name }) => name === 'POST callback')
  assert.deepEqual(
    receiver.received.map(({ headers }) => headers['traceparent']),
    deliveries.map(({ spanId }) => `00-${trace}-${spanId}-01`),
  )
  assert.deepEqual(
    deliveries.map((span) => [span.parentSpanId, span.failed, span.attributes['http.request.resend_count']]),
    [
      [run?.spanId, true, undefined],
      [run?.spanId, false, 1],
    ],
  )
})

test('SE-01: what a run that an earlier life left has of secrets is cleared like any other', async (t) => {
  const secret = 'planted-header-77'
  const query = 'planted-query-78'
  const { start, kill } = lives(t, { CALLBACK_SCHEDULE: '60', LOG_LEVEL: 'trace' })
  // What a receiver calls its answer is journalled; this one says what it was sent.
  const quotes = (_request: unknown, response: ServerResponse) =>
    void response.writeHead(500, { 'content-type': `${secret}/${query}` }).end()
  const receiver = await startReceiver(t, [quotes])
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const callback = { url: `${receiver.url}/result?key=${query}`, headers: { 'X-Key': secret } }
  const first = await start()
  await (await first.client.stream(await first.client.start(runBody({ llm: provider.llm(), callback })))).event('delta')
  await kill(first.engine)

  // Cut by the kill first, ended and not delivered then.
  for (const life of ['second', 'third']) {
    const { engine, client } = await start()
    const line = await engine.line(({ event }) => event === 'callback_attempt')
    assert.equal(line['content_type'], '[redacted]/[redacted]', life)
    const logs = await client.send('/logs?limit=1000')
    assert.doesNotMatch(engine.stdout() + logs.text, /planted/, life)
    await kill(engine)
  }
})

test('§7.3 killed between two attempts of a callback: the next life delivers the same bytes', async (t) => {
  const { start, kill } = lives(t, { CALLBACK_SCHEDULE: '60' })
  const receiver = await startReceiver(t, [500, 204])
  const first = await start()
  const accepted = await first.client.start(
    runBody({ llm: scripted([{ text: 'Done.' }]), callback: receiver.callback(), meta: session }),
  )
  await first.engine.line((line) => line['event'] === 'callback_attempt')
  await kill(first.engine)

  const { client, engine } = await start()
  const [before, after] = [await receiver.nth(1), await receiver.nth(2)]
  assert.equal(after.text, before.text)
  assert.equal(after.headers['webhook-id'], before.headers['webhook-id'])
  await engine.line((line) => line['event'] === 'delivered')
  const view = await client.view(accepted.run_id)
  assert.deepEqual(
    [view.status, view.delivery.state, view.delivery.attempts.map(({ status }) => status)],
    ['completed', 'delivered', [500, 204]],
  )
  await client.run(runBody({ meta: session }))
  await kill(engine)

  // It is not delivered a third time, and the stored result is still there to be read.
  const third = await start()
  assert.equal((await third.client.view(accepted.run_id)).delivery.state, 'delivered')
  const text = await (await openStream(accepted.stream_url.replace(first.client.address, third.client.address))).ended()
  assert.deepEqual(
    text.map(({ event }) => event),
    ['start', 'step', 'delta', 'done'],
  )
  await endInPeace(third.engine)
  assert.equal(receiver.received.length, 2)
})

test('§7.3 killed after an ack: nothing is delivered, the session is free, the key is known', async (t) => {
  const { start, kill } = lives(t, { CALLBACK_SCHEDULE: '60' })
  const receiver = await startReceiver(t, [500])
  const first = await start()
  const body = runBody({ llm: scripted([{ text: 'Done.' }]), callback: receiver.callback(), meta: session })
  const accepted = await first.client.start(body)
  await first.engine.line((line) => line['event'] === 'callback_attempt')
  assert.equal((await first.client.ack(accepted.run_id)).status, 200)
  await kill(first.engine)

  const { client, engine } = await start()
  assert.equal((await client.view(accepted.run_id)).delivery.state, 'acked')
  assert.equal((await client.post(body)).status, 200)
  errorOf(await client.post({ ...body, system: 'other' }), 409, 'idempotency_conflict')
  await client.run(runBody({ meta: session }))
  assert.equal((await client.ack(accepted.run_id)).status, 200)
  await endInPeace(engine)
  assert.equal(receiver.received.length, 1)
})

test('§7.3 a waited result that nobody was there to take is kept for its harness', async (t) => {
  const { start, kill } = lives(t)
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const first = await start()
  const body = runBody({ llm: provider.llm(), meta: session })
  await first.client.start(body)
  const waiting = first.client.openPost({ ...body, wait: true })
  waiting.answer.catch(() => {})
  await kill(first.engine)
  const { client, engine } = await start()
  const repeat = await client.post({ ...body, wait: true })
  assert.equal(repeat.json<{ error: { code: string } }>().error.code, 'engine_restarted')
  // Read to its end it is delivered.
  await engine.line((line) => line['event'] === 'delivered')
  await client.run(runBody({ meta: session }))
  await endInPeace(engine)
})

test('§7.3 a key outlives the run it began', async (t) => {
  const { start, kill } = lives(t, { RESULT_TTL_MS: '0', MAX_RESULTS: '1' })
  const first = await start()
  const body = runBody()
  const { run_id } = await first.client.run(body)
  await first.engine.line((line) => line['event'] === 'delivered')
  // The next one makes the first go.
  await first.client.run(runBody())
  errorOf(await first.client.send(`/runs/${run_id}`), 404, 'run_not_found')
  await first.client.run(runBody())
  await kill(first.engine)
  const { client, engine } = await start()
  errorOf(await client.post(body), 404, 'run_not_found')
  errorOf(await client.post({ ...body, system: 'other' }), 409, 'idempotency_conflict')
  await endInPeace(engine)
})

test('§7.3 a second engine on one STATE_DIR does not start, and says why', async (t) => {
  const { folder, start } = lives(t)
  const { engine } = await start()
  const environment = { ENGINE_TOKEN, HOST: '127.0.0.1', PORT: '0', STATE_DIR: folder }
  const second = await runToExit(environment)
  assert.equal(second.code, 1)
  assert.match(second.stderr, /^theloop: STATE_DIR cannot be used: another engine uses it \(process \d+\).*\n$/)
  await endInPeace(engine)
  // In peace nothing is left of the lock.
  assert.deepEqual(readdirSync(folder), [])
})

test('§7.3 what no secret opens is kept and told, and read once the right one is back', async (t) => {
  const { folder, start, kill } = lives(t)
  const receiver = await startReceiver(t)
  const provider = await startProvider(t, [(answer) => answer.text('Half of')])
  const first = await start({ STATE_KEY: 'first-state-SECRET-key' })
  const { run_id } = await first.client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  await provider.nth(1)
  await kill(first.engine)

  const second = await start({ STATE_KEY: 'other-state-SECRET-key' })
  const line = await second.engine.line(({ event }) => event === 'state_unreadable')
  assert.equal(line['run_id'], run_id)
  errorOf(await second.client.send(`/runs/${run_id}`), 404, 'run_not_found')
  second.engine.signal('SIGTERM')
  await second.engine.exited
  assert.ok(titles(folder).has(`${run_id}.run`))

  // Rotated: the new one seals, the old one still opens.
  const third = await start({ STATE_KEY: 'other-state-SECRET-key,first-state-SECRET-key' })
  assert.equal(payloadOf(await receiver.nth(1)).run_id, run_id)
  await endInPeace(third.engine)
})

test('§7.3 a run that STATE_DIR has no room for is not taken: 503, and the key is not burnt', async (t) => {
  const { start } = lives(t, { STATE_MAX_BYTES: '1048576', CALLBACK_SECRET })
  const { client, engine } = await start()
  const body = runBody({ meta: session })
  await client.run(runBody({ llm: scripted([{ text: 'x'.repeat(1_100_000) }]) }))
  const answer = await client.post(body)
  errorOf(answer, 503, 'state_unavailable')
  assert.match(String(answer.headers['retry-after']), /^\d+$/)
  await engine.line(({ event }) => event === 'state_lost')
  errorOf(await client.post(body), 503, 'state_unavailable')
  assert.equal((await client.send('/health')).json<{ runs: { running: number } }>().runs.running, 0)
  engine.signal('SIGTERM')
  assert.deepEqual(await engine.exited, { code: 0, signal: null })
})

test('§9.1 readers of the other formats go on in the next life: told again, and nothing is doubled', async (t) => {
  const { start, kill } = lives(t)
  const first = await start()
  const provider = await startProvider(t, [says('All ', 'of it.')])
  const accepted = await first.client.start(runBody({ llm: provider.llm(), meta: session }))
  await first.client.result(accepted)
  const read = (format: string) => getAsFetch(`${accepted.stream_url}&format=${format}`)
  const [aiSdk, agUi] = await Promise.all([read('ai-sdk').then(framesOf), read('ag-ui').then(framesOf)])
  const had = await readAgUi(answerOf(agUi))
  await kill(first.engine)

  const { client } = await start()
  const again = async (format: string, frames: readonly Frame[], index: number) => {
    const url = `${accepted.stream_url.replace(first.client.address, client.address)}&format=${format}`
    const id = frames.slice(0, index).findLast((frame) => frame.id !== null)?.id ?? ''
    return getAsFetch(url, { 'last-event-id': id })
  }
  // Behind a chunk in the middle of an event, and behind the text.
  for (const index of [3, 4]) {
    const reading = await readAiSdk(await again('ai-sdk', aiSdk, index))
    assert.ok(reading !== null)
    assert.deepEqual([reading.message?.id, lastStepText(reading), reading.errors], [accepted.run_id, 'All of it.', []])
  }
  const rest = await readAgUi(await again('ag-ui', agUi, 4), had.messages)
  assert.deepEqual([lastAnswer(rest), rest.complaints], ['All of it.', []])
  assert.deepEqual(
    rest.messages.map(({ id, content }) => [id, content]),
    [
      [`${accepted.run_id}:1.0`, 'All of it.'],
      [`${accepted.run_id}~1:1.0`, 'All of it.'],
    ],
  )
  assert.ok(rest.events.some(({ name }) => name === 'resync'))
})
