/** `?format=` over real sockets: exactly what each event becomes, under which ids, and what no event may become. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import { ID, type FakeRuns } from './fake-runs.ts'
import { call, errorOf, readStream, RUN_TOKEN, startServer, type Reader } from './start-server.ts'

const PATH = `/runs/${ID}/stream?token=${RUN_TOKEN}`
const at = (format: string) => ({ path: `${PATH}&format=${format}` })
const raw = (JSON as unknown as { rawJSON(text: string): never }).rawJSON('12345678901234567890')

const events: readonly StreamEvent[] = [
  { event: 'start', data: { run_id: ID } },
  { event: 'step', data: { step: 1, final: false } },
  { event: 'reasoning', data: { step: 1, text: 'Hm.' } },
  { event: 'delta', data: { step: 1, offset: 0, text: 'Brok' } },
  { event: 'wait', data: { reason: 'retry', ms: 500 } },
  { event: 'reset', data: { step: 1, reason: 'retry' } },
  { event: 'delta', data: { step: 1, offset: 0, text: 'I look.' } },
  {
    event: 'tool_call',
    data: { step: 1, n: 1, label: 'Looking…', tool: 'get', call_id: 'call_1', args: { id: raw } },
  },
  { event: 'tool_call', data: { step: 1, n: 2, label: null } },
  { event: 'tool_result', data: { step: 1, n: 2, ok: false } },
  { event: 'tool_result', data: { step: 1, n: 1, ok: true, result: { n: raw } } },
  { event: 'reset', data: { step: 1, reason: 'empty' } },
  { event: 'delta', data: { step: 1, offset: 0, text: 'Sorry.' } },
]

function play(runs: FakeRuns): void {
  runs.add()
  runs.append(...events)
  runs.end('{}')
}

/** Ids and data, the run's id left out. */
const told = (reader: Reader) => reader.messages.map(({ id, data }) => `${id} ${data.replaceAll(ID, 'R')}`)

test('every event as AI SDK chunks, each chunk under an id of its own place', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  const reader = await readStream(port, at('ai-sdk'))
  await reader.ended
  assert.equal(reader.response.headers['x-vercel-ai-ui-message-stream'], 'v1')
  assert.equal(reader.response.headers['content-type'], 'text/event-stream; charset=utf-8')
  assert.equal(reader.response.headers['x-accel-buffering'], 'no')
  const facts = { dynamic: true, providerExecuted: true }
  const call1 = { toolCallId: 'call_1', toolName: 'get', input: { id: 1 }, ...facts, title: 'Looking…' }
  const done = { status: 'completed', stop_reason: null, limit_reached: null, error: null, pending: 0 }
  const digits = (text: string) => text.replace(/("(?:id|n)":)1\b/, '$112345678901234567890')
  assert.deepEqual(
    told(reader),
    (
      [
        ['0-1', { type: 'start', messageId: 'R', messageMetadata: { run_id: 'R' } }],
        ['1-1', { type: 'start-step' }],
        ['1-1~sr', { type: 'reasoning-start', id: 'reasoning-1' }],
        ['2-3~sr', { type: 'reasoning-delta', id: 'reasoning-1', delta: 'Hm.' }],
        ['2-3~s-', { type: 'reasoning-end', id: 'reasoning-1' }],
        ['2-3~st', { type: 'text-start', id: 'text-1' }],
        ['3-4~st', { type: 'text-delta', id: 'text-1', delta: 'Brok' }],
        ['4-1~st', { type: 'data-wait', data: { reason: 'retry', ms: 500 }, transient: true }],
        ['5-1', { type: 'reset-step' }],
        ['5-1~st', { type: 'text-start', id: 'text-1' }],
        ['6-7~st', { type: 'text-delta', id: 'text-1', delta: 'I look.' }],
        ['6-7~s-', { type: 'text-end', id: 'text-1' }],
        ['7-1', { type: 'tool-input-available', ...call1 }],
        ['8-1', { type: 'tool-input-available', toolCallId: 'R:2', toolName: 'tool', input: {}, ...facts }],
        ['9-1', { type: 'tool-output-error', toolCallId: 'R:2', ...facts, errorText: 'The call failed.' }],
        ['10-1', { type: 'tool-output-available', toolCallId: 'call_1', ...facts, output: { n: 1 } }],
        // Calls are not taken back: what voids the text behind them begins another step.
        ['10-1~--', { type: 'finish-step' }],
        ['11-1', { type: 'start-step' }],
        ['11-1~st', { type: 'text-start', id: 'text-1' }],
        ['12-6~st', { type: 'text-delta', id: 'text-1', delta: 'Sorry.' }],
        ['12-6~s-', { type: 'text-end', id: 'text-1' }],
        ['12-6~--', { type: 'finish-step' }],
        ['12-6~e1', { type: 'message-metadata', messageMetadata: { run_id: 'R', ...done } }],
        ['12-6~e2', { type: 'finish', finishReason: 'other' }],
      ] as const
    )
      .map(([id, data]) => `${id} ${digits(JSON.stringify(data))}`)
      .concat('13-1 [DONE]'),
  )
  assert.doesNotMatch(reader.raw, /^event:/m)
})

test('every event as AG-UI events, an id where a reader can go on', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  const reader = await readStream(port, at('ag-ui'))
  await reader.ended
  const run = { threadId: 'R', runId: 'R' }
  const [first, second, third] = ['R:1.0', 'R:1.1', 'R:1.2']
  const done = { status: 'completed', stop_reason: null, limit_reached: null, error: null, pending: 0 }
  const reset = (reason: string, voided: readonly string[]) => {
    return { type: 'CUSTOM', name: 'reset', value: { step: 1, reason, void: voided } }
  }
  const failed = {
    type: 'TOOL_CALL_RESULT',
    messageId: 'R:call.2:result',
    toolCallId: 'R:call.2',
    role: 'tool',
    content: 'The call failed.',
    metadata: { ok: false },
  }
  const started = { type: 'TOOL_CALL_START', toolCallId: 'call_1', toolCallName: 'get', parentMessageId: second }
  const expected: readonly (readonly [id: string | null, data: object])[] = [
    ['0-1', { type: 'RUN_STARTED', ...run, protocolVersion: '1.0' }],
    ['1-1', { type: 'STEP_STARTED', stepName: 'step 1' }],
    [null, { type: 'REASONING_START', messageId: `${first}:reasoning` }],
    [null, { type: 'REASONING_MESSAGE_START', messageId: `${first}:reasoning`, role: 'reasoning' }],
    ['2-3', { type: 'REASONING_MESSAGE_CONTENT', messageId: `${first}:reasoning`, delta: 'Hm.' }],
    [null, { type: 'REASONING_MESSAGE_END', messageId: `${first}:reasoning` }],
    [null, { type: 'REASONING_END', messageId: `${first}:reasoning` }],
    [null, { type: 'TEXT_MESSAGE_START', messageId: first, role: 'assistant' }],
    ['3-4', { type: 'TEXT_MESSAGE_CONTENT', messageId: first, delta: 'Brok' }],
    ['4-1', { type: 'CUSTOM', name: 'wait', value: { reason: 'retry', ms: 500 } }],
    [null, { type: 'TEXT_MESSAGE_END', messageId: first }],
    [null, { type: 'REASONING_START', messageId: `${first}:reasoning` }],
    [null, { type: 'REASONING_MESSAGE_START', messageId: `${first}:reasoning`, role: 'reasoning' }],
    [null, { type: 'REASONING_MESSAGE_END', messageId: `${first}:reasoning`, metadata: { void: 'retry' } }],
    [null, { type: 'REASONING_END', messageId: `${first}:reasoning` }],
    [null, { type: 'TEXT_MESSAGE_START', messageId: first, role: 'assistant' }],
    [null, { type: 'TEXT_MESSAGE_END', messageId: first, metadata: { void: 'retry' } }],
    ['5-1', reset('retry', [`${first}:reasoning`, first])],
    [null, { type: 'TEXT_MESSAGE_START', messageId: second, role: 'assistant' }],
    ['6-7', { type: 'TEXT_MESSAGE_CONTENT', messageId: second, delta: 'I look.' }],
    [null, { type: 'TEXT_MESSAGE_END', messageId: second }],
    [null, { ...started, metadata: { label: 'Looking…' } }],
    ['7-1', { type: 'TOOL_CALL_ARGS', toolCallId: 'call_1', delta: '{"id":12345678901234567890}' }],
    [null, { type: 'TOOL_CALL_END', toolCallId: 'call_1' }],
    [null, { ...started, toolCallId: 'R:call.2', toolCallName: 'tool' }],
    ['8-1', { type: 'TOOL_CALL_ARGS', toolCallId: 'R:call.2', delta: '{}' }],
    [null, { type: 'TOOL_CALL_END', toolCallId: 'R:call.2' }],
    ['9-1', failed],
    [
      '10-1',
      {
        ...failed,
        messageId: 'call_1:result',
        toolCallId: 'call_1',
        content: '{"n":12345678901234567890}',
        metadata: { ok: true },
      },
    ],
    ['11-1', reset('empty', [])],
    [null, { type: 'TEXT_MESSAGE_START', messageId: third, role: 'assistant' }],
    ['12-6', { type: 'TEXT_MESSAGE_CONTENT', messageId: third, delta: 'Sorry.' }],
    [null, { type: 'TEXT_MESSAGE_END', messageId: third }],
    [null, { type: 'STEP_FINISHED', stepName: 'step 1' }],
    [null, { type: 'RUN_FINISHED', ...run, outcome: { type: 'success' }, result: { run_id: 'R', ...done } }],
  ]
  // A parser of server-sent events tells the last id again for an event that brings none.
  const ids = new Set(reader.raw.matchAll(/^id: (\S+)$/gm).map(([, id]) => id))
  assert.deepEqual(
    [...ids],
    expected.flatMap(([id]) => (id === null ? [] : [id])),
  )
  assert.deepEqual(
    reader.messages.map(({ data }) => data.replaceAll(ID, 'R')),
    expected.map(([, data]) => JSON.stringify(data)),
  )
})

test('an AG-UI reader that was told the run under ids that are gone is told it again under others', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  let given = '99-1'
  for (const telling of [1, 2]) {
    const reader = await readStream(port, { ...at('ag-ui'), headers: { 'last-event-id': given } })
    await reader.ended
    const [first, resync] = reader.messages.map(({ data }) => JSON.parse(data))
    assert.deepEqual([first.type, first.runId], ['RUN_STARTED', ID])
    assert.deepEqual(resync, { type: 'CUSTOM', name: 'resync', value: { run_id: ID } })
    assert.match(reader.raw, new RegExp(`"messageId":"${ID}~${telling}:1\\.1"`))
    assert.match(reader.raw, new RegExp(`"toolCallId":"call_1~${telling}"`))
    // Behind an id of that telling it goes on under the same ids.
    const part = reader.messages.find(({ data }) => data.includes('I look.'))
    assert.equal(part?.id, `6-7~${telling}`)
    const rest = await readStream(port, { ...at('ag-ui'), headers: { 'last-event-id': part?.id ?? '' } })
    await rest.ended
    assert.deepEqual(
      rest.messages.slice(0, 3).map(({ data }) => JSON.parse(data).type),
      ['RUN_STARTED', 'STEP_STARTED', 'TEXT_MESSAGE_START'],
    )
    assert.equal(JSON.parse(rest.messages[2]?.data ?? '').messageId, `${ID}~${telling}:1.1`)
    assert.equal(rest.messages.findLast(({ id }) => id !== undefined)?.id, `12-6~${telling}`)
    given = `88-8~${telling}`
  }
})

test('a mark that no chunk ever had does no more than an id without one', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  for (const format of ['ai-sdk', 'ag-ui']) {
    const plain = await readStream(port, { ...at(format), headers: { 'last-event-id': '6-7' } })
    await plain.ended
    for (const mark of ['', 'x', 'ee', '0', 'sts', '~', '-1', '__proto__', 'e0', '9'.repeat(300)]) {
      const reader = await readStream(port, { ...at(format), headers: { 'last-event-id': `6-7~${mark}` } })
      await reader.ended
      assert.deepEqual(told(reader), told(plain), `${format} ${mark}`)
    }
    for (const id of ['~', '~st', '~1']) {
      const reader = await readStream(port, { ...at(format), headers: { 'last-event-id': id } })
      await reader.ended
      assert.match(reader.messages[0]?.data ?? '', /"type":"(start|RUN_STARTED)"/, id)
    }
  }
})

test('a foreign reader is told a live run event by event, merged as its own form is', async (t) => {
  const { port, runs } = await startServer(t)
  runs.add()
  const readers = await Promise.all(['ai-sdk', 'ag-ui'].map((format) => readStream(port, at(format))))
  for (const [index, event] of events.entries()) {
    runs.append(event)
    const wanted = event.event === 'delta' || event.event === 'reasoning' ? event.data.text : null
    for (const reader of readers) {
      if (wanted !== null) await reader.until(({ raw: bytes }) => bytes.includes(wanted))
      else await reader.until(({ raw: bytes }) => new RegExp(`^id: ${index}-1(?:~.*)?$`, 'm').test(bytes))
    }
  }
  runs.end('{}')
  for (const reader of readers) {
    await reader.ended
    assert.equal(reader.response.complete, true)
  }
})

test('behind its last id an AI SDK reader is told 204, an AG-UI reader the end again', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  const lastId = async (format: string) => {
    const reader = await readStream(port, at(format))
    await reader.ended
    return reader.messages.findLast(({ id }) => id !== undefined)?.id ?? ''
  }
  const aiSdk = { ...at('ai-sdk'), headers: { 'last-event-id': await lastId('ai-sdk') } }
  assert.equal((await call(port, aiSdk)).status, 204)
  assert.equal((await call(port, { path: `${PATH}&format=ai-sdk&last_event_id=12-6~e2` })).status, 200)

  const again = await readStream(port, { ...at('ag-ui'), headers: { 'last-event-id': await lastId('ag-ui') } })
  await again.ended
  assert.deepEqual(
    again.messages.map(({ data }) => JSON.parse(data).type),
    ['RUN_STARTED', 'STEP_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_END', 'STEP_FINISHED', 'RUN_FINISHED'],
  )
})

test('a format that is none, or stands twice, is 400 with those there are; never another form instead', async (t) => {
  const { port, runs } = await startServer(t)
  play(runs)
  for (const query of [
    'format=',
    'format=sse',
    'format=AI-SDK',
    'format=ai-sdk%20',
    'format=__proto__',
    'format=toString',
    'format=ai-sdk&format=ai-sdk',
    'format=ai-sdk&format=ag-ui',
    'format[]=ai-sdk&format=',
  ]) {
    const answer = await call(port, { path: `${PATH}&${query}` })
    assert.equal(answer.status, 400, query)
    const { code, details } = errorOf(answer)
    assert.equal(code, 'invalid_request')
    const message = "must stand once and be ai-sdk or ag-ui; leave it out for the engine's own events"
    assert.deepEqual(details, [{ path: 'format', message }])
  }
})
