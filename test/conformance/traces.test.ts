/** SPEC §12.7 over HTTP: the spans of real runs at a real receiver, the trace that goes in and out, and a receiver that is not there. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startReceiver } from '../fakes/callback-receiver.ts'
import { type ReceivedSpan, startOtlpReceiver } from '../fakes/otlp-receiver.ts'
import { MetricsText } from '../fakes/prometheus-text.ts'
import { asksFor, refuses, says, startProvider } from '../fakes/provider-server.ts'
import { hangs, http, ok, startTools } from '../fakes/tool-server.ts'
import { EngineClient, runBody, user } from './engine-client.ts'
import { endInPeace, ownEngine } from './shared-engine.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const CALLER = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'rojo=1', baggage: 'user=SECRET-baggage' }

/** What siblings are ordered by. */
function place({ attributes, name }: ReceivedSpan): string {
  if (name.startsWith('chat ')) return `chat ${attributes['theloop.attempt']}`
  return name.startsWith('POST ') ? `${name} ${attributes['http.request.resend_count'] ?? 0}` : name
}

/** The tree as lines, children indented below their parents: attempts and steps in their order, tools by name (they go side by side). */
function tree(spans: readonly ReceivedSpan[], parent: string, depth = 0): string[] {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .toSorted((left, right) => (place(left) < place(right) ? -1 : 1))
    .flatMap((span) => [
      `${'  '.repeat(depth)}${span.name}${span.failed ? ` !${span.attributes['error.type']}` : ''}`,
      ...tree(spans, span.spanId, depth + 1),
    ])
}

test('§12.7 a run with retries, a fallback and tools is one tree in its caller’s trace', async (t) => {
  const collector = await startOtlpReceiver(t)
  const receiver = await startReceiver(t, [503, 204])
  const first = await startProvider(t, [
    refuses(503),
    asksFor(['getOrders', { id: 'CONTENT' }], ['slow', {}]),
    refuses(401),
  ])
  const second = await startProvider(t, [says('The answer is CONTENT.')], 'anthropic')
  const tools = await startTools(t, { getOrders: [http(503), ok({ note: 'CONTENT' })], slow: http(400) })
  const engine = await ownEngine(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.endpoint}/`,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=otlp-SECRET%2C1',
    OTEL_SERVICE_NAME: 'shop-agent',
    CALLBACK_SCHEDULE: '0.1',
  })
  const client = new EngineClient(engine)
  const llm = { ...first.llm({ model: 'model-a' }), fallbacks: [second.llm({ model: 'model-b' })] }
  const { run_id } = await client
    .post(
      runBody({
        llm,
        messages: [user('CONTENT of the user')],
        tools: [tools.tool('getOrders'), tools.tool('slow')],
        callback: receiver.callback(),
        meta: { session_id: 'chat_7', user_id: 'CONTENT' },
      }),
      CALLER,
    )
    .then((answer) => answer.json<{ run_id: string }>())
  await receiver.nth(2)
  await engine.line(({ event, run_id: id }) => event === 'delivered' && id === run_id)
  await endInPeace(engine)

  const spans = await collector.count(1)
  assert.deepEqual(tree(spans, PARENT), [
    'invoke_agent',
    '  POST callback !status',
    '  POST callback',
    '  step 1',
    '    chat model-a !overloaded',
    '    chat model-a',
    '    execute_tool getOrders',
    '    execute_tool slow !error',
    '  step 2',
    '    chat model-a !auth',
    '    chat model-b',
  ])
  assert.ok(spans.every(({ traceId, traceState }) => traceId === TRACE && traceState === 'rojo=1'))
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)

  const named = (name: string) => spans.filter((span) => span.name === name)
  const [run] = named('invoke_agent')
  assert.deepEqual(run?.attributes, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'openai-compatible',
    'gen_ai.request.model': 'model-a',
    'gen_ai.conversation.id': 'chat_7',
    'theloop.run_id': run_id,
    'theloop.status': 'completed',
    'theloop.steps': 2,
  })
  assert.equal(run.flags, 0x301)
  assert.equal(run.resource['service.name'], 'shop-agent')
  assert.match(String(run.resource['service.version']), /^\d/)

  const [answer] = named('chat model-b')
  assert.equal(answer?.kind, 'client')
  const { 'gen_ai.response.time_to_first_chunk': firstChunk, 'theloop.queued_ms': queued, ...facts } = answer.attributes
  assert.ok(typeof queued === 'number' && queued < 1000)
  assert.ok(typeof firstChunk === 'number' && firstChunk >= 0 && firstChunk < 10)
  assert.deepEqual(facts, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'model-b',
    'gen_ai.request.stream': true,
    'gen_ai.conversation.id': 'chat_7',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'http.response.status_code': 200,
    'theloop.attempt': 2,
    ...(facts['theloop.provider_request_id'] === undefined
      ? {}
      : { 'theloop.provider_request_id': facts['theloop.provider_request_id'] }),
  })
  const [call] = named('execute_tool getOrders')
  assert.equal(call?.attributes['gen_ai.tool.name'], 'getOrders')
  assert.equal(call.attributes['gen_ai.tool.call.id'], tools.calls[0]?.body.call_id)
  assert.equal(call.attributes['theloop.attempts'], 2)
  assert.deepEqual(
    named('step 1')[0]?.events.map(({ name }) => name),
    ['retry'],
  )
  assert.deepEqual(
    named('step 2')[0]?.events.map(({ name }) => name),
    ['fallback'],
  )
  // Usage stands where it arose, and nowhere a second time.
  const withUsage = spans.filter(({ attributes }) => Object.keys(attributes).some((name) => name.includes('usage')))
  assert.ok(withUsage.every(({ name }) => name.startsWith('chat ')))

  // Out: every request to a tool is inside the span of its call, every one to the callback is a span of its own; providers are told nothing.
  for (const { headers, tool } of tools.calls) {
    const parent = named(`execute_tool ${tool}`)[0]?.spanId
    assert.equal(headers['traceparent'], `00-${TRACE}-${parent}-01`)
    assert.equal(headers['tracestate'], 'rojo=1')
    assert.equal(headers['baggage'], undefined)
  }
  const deliveries = named('POST callback').toSorted((left, right) => (left.startNs < right.startNs ? -1 : 1))
  assert.deepEqual(
    receiver.received.map(({ headers }) => headers['traceparent']),
    deliveries.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
  )
  assert.deepEqual(
    deliveries.map(({ attributes, kind, failed }) => ({ ...attributes, kind, failed })),
    [
      {
        'http.request.method': 'POST',
        'http.response.status_code': 503,
        'error.type': 'status',
        kind: 'client',
        failed: true,
      },
      {
        'http.request.method': 'POST',
        'http.request.resend_count': 1,
        'http.response.status_code': 204,
        kind: 'client',
        failed: false,
      },
    ],
  )
  for (const { headers } of [...first.received, ...second.received]) {
    assert.deepEqual(
      [headers['traceparent'], headers['tracestate'], headers['baggage']],
      [undefined, undefined, undefined],
    )
  }

  // No content, no secret; the receiver's own header is the operator's.
  for (const { headers, text } of collector.received) {
    assert.equal(headers['x-api-key'], 'otlp-SECRET,1')
    assert.doesNotMatch(text, /CONTENT|SECRET/)
  }
  const lines = engine.lines.filter(({ run_id: id }) => id === run_id)
  assert.ok(lines.length > 10 && lines.every(({ trace_id }) => trace_id === TRACE))
})

test('§12.7 a run without a caller’s trace is one of its own, and a cancelled one says so', async (t) => {
  const collector = await startOtlpReceiver(t)
  const provider = await startProvider(t, [asksFor(['slow', {}])])
  const tools = await startTools(t, { slow: hangs })
  const engine = await ownEngine(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
  const client = new EngineClient(engine)
  const { run_id } = await client.start(runBody({ llm: provider.llm({ model: 'm' }), tools: [tools.tool('slow')] }))
  const { headers } = await tools.nth(1)
  await client.cancel(run_id)
  await client.ack(run_id)
  await endInPeace(engine)
  const spans = await collector.count(4)
  assert.deepEqual(tree(spans, ''), ['invoke_agent', '  step 1', '    chat m', '    execute_tool slow !unknown'])
  const [run] = spans.filter(({ name }) => name === 'invoke_agent')
  assert.equal(run?.attributes['theloop.status'], 'cancelled')
  assert.equal(run.events.length + (spans.find(({ name }) => name === 'step 1')?.events.length ?? 0), 1)
  assert.equal(String(headers['traceparent']).split('-')[1], run.traceId)
  assert.equal(run.resource['service.name'], 'theloop')
})

test('§12.7 what the caller did not record is not recorded here either, unless the sampler says so', async (t) => {
  const collector = await startOtlpReceiver(t)
  const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }
  const unsampled = { traceparent: `00-${TRACE}-${PARENT}-00` }
  const tools = await startTools(t, { getOrders: ok(1) })
  const receiver = await startReceiver(t)
  const provider = await startProvider(t, [
    asksFor(['getOrders', {}]),
    says('ok'),
    asksFor(['getOrders', {}]),
    says('ok'),
  ])
  const callback = receiver.callback()
  const body = () => runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')], wait: true, callback })
  for (const sampler of ['parentbased_always_on', 'always_on']) {
    const engine = await ownEngine(t, { ...environment, OTEL_TRACES_SAMPLER: sampler })
    assert.equal((await new EngineClient(engine).post(body(), unsampled)).status, 200)
    await endInPeace(engine)
  }
  const spans = await collector.count(7)
  for (const once of ['invoke_agent', 'POST callback']) {
    assert.equal(spans.filter(({ name }) => name === once).length, 1)
  }
  assert.equal(receiver.received.length, 2)
  assert.match(String(tools.calls[0]?.headers['traceparent']), new RegExp(`^00-${TRACE}-(?!${PARENT})[0-9a-f]{16}-00$`))
  assert.match(String(tools.calls[1]?.headers['traceparent']), new RegExp(`^00-${TRACE}-(?!${PARENT})[0-9a-f]{16}-01$`))
})

test('§12.7 without an endpoint nothing is recorded, and a caller’s trace is passed on as it came', async (t) => {
  const receiver = await startReceiver(t)
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', {}]), says('ok')])
  const engine = await ownEngine(t)
  const body = runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')], callback: receiver.callback() })
  await new EngineClient(engine).post(body, CALLER)
  const delivery = await receiver.nth(1)
  for (const { headers } of [...tools.calls, delivery]) {
    assert.deepEqual([headers['traceparent'], headers['tracestate']], [CALLER.traceparent, 'rojo=1'])
    assert.equal(headers['baggage'], undefined)
  }
  await engine.line(({ event }) => event === 'delivered')
  assert.ok(engine.lines.every(({ event, trace_id }) => event === 'accepted' || trace_id === undefined))
  await endInPeace(engine)
})

test('§12.7 a receiver that is not there harms nothing, and is told of once', async (t) => {
  const gone = await startOtlpReceiver(t, (_number, response) => {
    response.destroy()
  })
  const engine = await ownEngine(t, { OTEL_EXPORTER_OTLP_ENDPOINT: gone.endpoint })
  const client = new EngineClient(engine)
  for (let n = 0; n < 20; n += 1) assert.equal((await client.run(runBody())).status, 'completed')
  await engine.line(({ event }) => event === 'traces_failed')
  await gone.nth(2)
  const [told, ...more] = engine.lines.filter(({ event }) => event === 'traces_failed')
  assert.deepEqual(more, [])
  assert.deepEqual([told?.level, told?.['status']], [40, null])
  assert.match(String(told?.['error']), /^the connection to 127\.0\.0\.1 broke off/)
  await endInPeace(engine)
})

test('§12.7 a receiver that never answers does not hold up the end', async (t) => {
  const slow = await startOtlpReceiver(t, (_number, response) => {
    response.writeHead(200).flushHeaders()
  })
  const engine = await ownEngine(t, { OTEL_EXPORTER_OTLP_ENDPOINT: slow.endpoint })
  const client = new EngineClient(engine)
  await client.run(runBody())
  const text = new MetricsText((await client.send('/metrics')).text)
  assert.equal(text.value('theloop_spans_total', { outcome: 'exported' }), 0)
  await endInPeace(engine)
  assert.equal(slow.received.length, 1)
})

test('§10 a receiver in a private network is refused, and said so at the start', async (t) => {
  const engine = await ownEngine(t, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://10.1.2.3:4318' })
  const line = await engine.line(({ msg }) => msg.startsWith('OTEL_EXPORTER_OTLP_ENDPOINT is refused'))
  assert.deepEqual([line['reason'], line['host']], ['scheme', '10.1.2.3'])
  assert.equal((await new EngineClient(engine).run(runBody())).status, 'completed')
  engine.signal('SIGTERM')
  assert.deepEqual(await engine.exited, { code: 0, signal: null })
})
