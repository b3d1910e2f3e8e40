/** The exporter over a gate that answers what a test says: batches, outages, bounds, the end. Time is moved by hand. */
import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test, type TestContext } from 'node:test'
import type { EgressAnswer, EgressRequest } from '../../src/egress/egress.ts'
import { exportRequest, type Span } from '../../src/observe/span.ts'
import { createSpanExporter } from '../../src/observe/span-exporter.ts'

const span: Span = {
  traceId: 'a'.repeat(32),
  spanId: 'b'.repeat(16),
  parentSpanId: '',
  parentIsRemote: false,
  traceState: '',
  name: 'chat m',
  kind: 'client',
  startMs: 1,
  endMs: 2,
  attributes: {},
  events: [],
  droppedEvents: 0,
  failed: false,
}

function answered(status: number, body = '{}', headers: Readonly<Record<string, string>> = {}): EgressAnswer {
  const bytes = (async function* () {
    yield Buffer.from(body)
  })()
  return { kind: 'response', response: { status, headers, body: bytes, destroy: () => {} } }
}

const down: EgressAnswer = { kind: 'fault', fault: { kind: 'connect', message: 'could not connect to collector' } }

function start(
  t: TestContext,
  answer: (request: EgressRequest, number: number) => EgressAnswer | Promise<EgressAnswer>,
) {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const sizes: number[] = []
  const told: unknown[] = []
  const counted = { exported: 0, dropped: 0 }
  let passed = 0
  /** Somebody has set the machine's clock. */
  const clock = { setBy: 0 }
  const exporter = createSpanExporter({
    url: 'https://collector.example/v1/traces',
    headers: { 'X-Key': 'k' },
    egress: {
      async request(request) {
        assert.equal(request.purpose, 'telemetry')
        assert.deepEqual(request.ownHosts, ['collector.example'])
        const { resourceSpans } = JSON.parse(String(request.body)) as {
          resourceSpans: { scopeSpans: { spans: object[] }[] }[]
        }
        sizes.push(resourceSpans[0]?.scopeSpans[0]?.spans.length ?? 0)
        return answer(request, sizes.length)
      },
    },
    resource: {},
    version: '1.2.3',
    now: () => Date.now() + clock.setBy,
    elapsed: () => passed,
    onBroken: (facts) => told.push(facts),
    onBack: (lost) => told.push({ lost }),
    onSpans: (outcome, count) => void (counted[outcome] += count),
  })
  const add = (count: number) => {
    for (let n = 0; n < count; n += 1) exporter.add(span)
  }
  const pass = async (ms: number) => {
    passed += ms
    t.mock.timers.tick(ms)
    for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  }
  return { exporter, add, pass, sizes, told, counted, clock }
}

test('what a model or a harness calls things makes no batch that a receiver of protocol buffers refuses', () => {
  const attributes = { 'gen_ai.conversation.id': 'chat \ud83d', 'gen_ai.usage.input_tokens': 1e30 }
  const odd: Span = { ...span, name: 'execute_tool \ude42', attributes, events: [{ name: 'x', atMs: 1, attributes }] }
  const text = exportRequest({}, '1.2.3', [odd])
  assert.doesNotMatch(text, /\\ud[89a-f]/i)
  assert.match(text, /"name":"execute_tool \ufffd"/)
  assert.equal(text.match(/"stringValue":"chat \ufffd"/g)?.length, 2)
  assert.equal(text.match(/"doubleValue":1e\+30/g)?.length, 2)
})

test('spans wait two seconds for others, and a full batch goes at once', async (t) => {
  const { add, pass, sizes, counted } = start(t, () => answered(200))
  add(3)
  await pass(1999)
  assert.deepEqual(sizes, [])
  await pass(1)
  assert.deepEqual(sizes, [3])
  add(513)
  await pass(0)
  assert.deepEqual(sizes, [3, 512, 1])
  add(512)
  await pass(0)
  assert.deepEqual(sizes, [3, 512, 1, 512])
  assert.deepEqual(counted, { exported: 1028, dropped: 0 })
})

test('spans that keep coming do not put off those that wait', async (t) => {
  const { add, pass, sizes } = start(t, () => answered(200))
  for (let second = 0; second < 5; second += 1) {
    add(1)
    await pass(1000)
  }
  assert.deepEqual(sizes, [2, 2])
})

test('while the receiver is down spans are kept up to a bound, attempts grow apart, and all is told once', async (t) => {
  let up = false
  const { add, pass, sizes, told, counted } = start(t, () => (up ? answered(200) : down))
  add(3000)
  await pass(0)
  assert.deepEqual(counted, { exported: 0, dropped: 952 })
  assert.equal(sizes.length, 1)
  for (const pause of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]) {
    const before: number = sizes.length
    await pass(pause - 1)
    assert.equal(sizes.length, before, `${pause}`)
    await pass(1)
    assert.equal(sizes.length, before + 1, `${pause}`)
  }
  add(10)
  assert.deepEqual(told, [{ status: null, error: 'could not connect to collector' }])
  up = true
  await pass(60_000)
  assert.deepEqual(told.slice(1), [{ lost: 10 }])
  assert.deepEqual(counted, { exported: 2048, dropped: 962 })
  // Back to its usual pace.
  add(1)
  await pass(2000)
  assert.equal(counted.exported, 2049)
})

test('a receiver that comes and goes is told of at most once a minute', async (t) => {
  const { add, pass, told } = start(t, (_request, number) => (number % 2 === 1 ? answered(503) : answered(200)))
  for (let n = 0; n < 10; n += 1) {
    add(1)
    await pass(2000)
    await pass(3000)
  }
  // Eleven outages, ten of them within a minute.
  assert.deepEqual(told, [{ status: 503, error: null }, { lost: 0 }])
  await pass(10_000)
  add(1)
  await pass(2000)
  assert.equal(told.length, 3)
})

test('an outage is told, wherever the clock has been set to since the last one', async (t) => {
  let up = false
  const { add, pass, told, clock } = start(t, () => (up ? answered(200) : down))
  const outage = async () => {
    up = false
    add(1)
    await pass(2000)
    up = true
    await pass(60_000)
  }
  await outage()
  clock.setBy = -86_400_000
  await outage()
  const broken = { status: null, error: 'could not connect to collector' }
  assert.deepEqual(told, [broken, { lost: 0 }, broken, { lost: 0 }])
})

test('what a receiver refuses is not sent again; what it asks to wait for is waited for', async (t) => {
  const answers = [answered(400), answered(429, '', { 'retry-after': '30' }), answered(200)]
  const { add, pass, sizes, told, counted } = start(t, (_request, number) => answers[number - 1] ?? answered(200))
  add(2)
  await pass(2000)
  assert.deepEqual(counted, { exported: 0, dropped: 2 })
  assert.deepEqual(told, [{ status: 400, error: null }])
  add(3)
  await pass(2000)
  await pass(29_999)
  assert.deepEqual(sizes, [2, 3])
  await pass(1)
  assert.deepEqual(sizes, [2, 3, 3])
  assert.deepEqual(counted, { exported: 3, dropped: 2 })
})

test('spans that a receiver took the request without are dropped ones', async (t) => {
  const partial = '{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'
  const { add, pass, counted, told } = start(t, (_request, number) => answered(200, number === 1 ? partial : 'no JSON'))
  add(5)
  await pass(2000)
  assert.deepEqual(counted, { exported: 3, dropped: 2 })
  add(1)
  await pass(2000)
  assert.deepEqual(counted, { exported: 4, dropped: 2 })
  assert.deepEqual(told, [])
})

test('one request is under way at a time, and one that hangs is given up after ten seconds', async (t) => {
  const { add, pass, sizes, told } = start(t, ({ signal }) => {
    const { promise, resolve } = Promise.withResolvers<EgressAnswer>()
    const fault = { kind: 'aborted', message: 'the call to collector.example was aborted' } as const
    signal.addEventListener('abort', () => resolve({ kind: 'fault', fault }))
    return promise
  })
  add(600)
  await pass(0)
  add(600)
  await pass(9999)
  assert.deepEqual(sizes, [512])
  assert.deepEqual(told, [])
  await pass(1)
  assert.equal(told.length, 1)
})

test('the end sends what waits, each batch once; what comes after it is dropped', async (t) => {
  const { exporter, add, sizes, counted } = start(t, (_request, number) => (number === 1 ? down : answered(200)))
  add(1000)
  await exporter.close(new AbortController().signal)
  assert.deepEqual(sizes, [512, 488])
  assert.deepEqual(counted, { exported: 488, dropped: 512 })
  add(1)
  assert.equal(counted.dropped, 513)
})

test('the end is over when its time is, whatever the receiver does', async (t) => {
  const { exporter, add, counted } = start(t, ({ signal }) => {
    const { promise, resolve } = Promise.withResolvers<EgressAnswer>()
    if (signal.aborted) resolve(down)
    signal.addEventListener('abort', () => resolve(down))
    return promise
  })
  add(1000)
  const stop = new AbortController()
  const closed = exporter.close(stop.signal)
  await nextTurn()
  stop.abort()
  await closed
  assert.deepEqual(counted, { exported: 0, dropped: 1000 })
})
