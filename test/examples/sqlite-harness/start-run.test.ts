/** What follows from each answer of the engine to a POST /runs. The engine here is a list of answers. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { StoredMessage } from '../../../src/contract/message.ts'
import type { RunResult } from '../../../src/contract/result.ts'
import type { ToolCallBody } from '../../../src/contract/tool-exchange.ts'
import { writeAssistants } from '../../../examples/sqlite-harness/data/assistants.ts'
import { openDatabase } from '../../../examples/sqlite-harness/plumbing/database.ts'
import { CUSTOMER, fillWithDemoData } from '../../../examples/sqlite-harness/data/demo-data.ts'
import { createHarness, type Harness } from '../../../examples/sqlite-harness/harness.ts'
import { decide } from '../../../examples/sqlite-harness/decide.ts'
import { endRun } from '../../../examples/sqlite-harness/start-run.ts'
import { storeResult } from '../../../examples/sqlite-harness/store-result.ts'
import { parseLossless } from '../../../examples/sqlite-harness/plumbing/lossless-json.ts'
import { wordsOf } from '../../../examples/sqlite-harness/data/words.ts'

interface Said {
  readonly request: string
  readonly body: Readonly<Record<string, unknown>>
  readonly text: string
}

type Reply = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

const SESSION = 'chat_1'
const taken: Reply = [
  202,
  { run_id: 'run_9', status: 'running', stream_url: 'http://127.0.0.1/s', deadline_at: '2999-01-01T00:00:00.000Z' },
]
/** The second run of a conversation, and the third. */
const takenNext: Reply = [202, { ...(taken[1] as object), run_id: 'run_10' }]
const takenThird: Reply = [202, { ...(taken[1] as object), run_id: 'run_11' }]
const blocked = (code: string): Reply => [409, { error: { code, message: 'in the way', run_id: 'run_1' } }]

/** `answers` by method and path, each given in turn; what is not foreseen is 404. */
async function openHarness(
  t: TestContext,
  answers: Readonly<Record<string, readonly Reply[]>>,
  pause: (ms: number, signal: AbortSignal) => Promise<unknown> = () => Promise.resolve(),
) {
  const said: Said[] = []
  const defects: unknown[] = []
  const server = createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request) text += String(piece)
      const name = `${request.method} ${request.url}`
      const earlier = said.filter(({ request: each }) => each === name).length
      said.push({ request: name, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>), text })
      const [status, body, headers] = answers[name]?.[earlier] ?? [
        404,
        { error: { code: 'run_not_found', message: '' } },
      ]
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const database = openDatabase(':memory:')
  fillWithDemoData(database, wordsOf('en'))
  writeAssistants(database, {}, 'en')
  const harness = createHarness({
    database,
    engine: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'engine-token' },
    harnessUrl: 'http://127.0.0.1:1',
    toolSecret: 'tool-secret',
    words: wordsOf('en'),
    pause,
    changed: () => undefined,
    report: (error) => defects.push(error),
  })
  harness.conversation.create(SESSION, 'scripted', CUSTOMER)
  t.after(async () => {
    await harness.close()
    server.closeAllConnections()
    server.close()
    database.close()
    assert.deepEqual(defects, [])
  })
  return { said, harness, database, requests: () => said.map(({ request }) => request) }
}

test('A.2: 202: the run is under way, with the history whole and in order, and no word of the customer lost', async (t) => {
  const { said, harness, database } = await openHarness(t, { 'POST /runs': [taken, taken] })
  await harness.say(SESSION, 'msg_1', 'first')
  const [run] = harness.conversation.runs(SESSION)
  assert.deepEqual([run?.id, run?.run_id, run?.status, run?.request], ['msg_1', 'run_9', 'running', null])
  assert.deepEqual(database.one`SELECT id, text FROM raw_chat_message`, {
    __proto__: null,
    id: 'msg_1',
    text: 'first',
  })
  const { idempotency_key, origin_request_id, history_revision, messages, meta } = said[0]?.body ?? {}
  assert.deepEqual([idempotency_key, origin_request_id, history_revision], ['msg_1', 'msg_1', 1])
  assert.deepEqual(
    (messages as { content: unknown }[]).map(({ content }) => content),
    [[{ type: 'text', text: 'first' }]],
  )
  assert.equal((meta as { user_id: string }).user_id, CUSTOMER)
})

test('A.1: 200 for a repeat whose run has ended: the result is fetched, stored and acked', async (t) => {
  const repeated: Reply = [200, { ...(taken[1] as object), status: 'completed', repeated: true }]
  const result = resultOf('run_9', 'msg_1', 1)
  const { harness, requests } = await openHarness(t, {
    'POST /runs': [repeated],
    'GET /runs/run_9': [[200, { result }]],
    'POST /runs/run_9/ack': [[200, {}]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual(requests(), ['POST /runs', 'GET /runs/run_9', 'POST /runs/run_9/ack'])
  assert.equal(harness.conversation.session(SESSION)?.status, 'idle')
  assert.equal(harness.conversation.messages(SESSION).at(-1)?.id, 'run_9:0')
})

test('A.9: 409 result_pending: that result is fetched, stored for audit and acked, and the same body posted again', async (t) => {
  const { said, harness, requests } = await openHarness(t, {
    'POST /runs': [blocked('result_pending'), taken],
    'GET /runs/run_1': [[200, { result: resultOf('run_1', 'msg_0', 0) }]],
    'POST /runs/run_1/ack': [[200, {}]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual(requests(), ['POST /runs', 'GET /runs/run_1', 'POST /runs/run_1/ack', 'POST /runs'])
  assert.deepEqual(said[3]?.body, said[0]?.body)
  assert.equal(harness.conversation.run('msg_1')?.status, 'running')
  const kept = harness.conversation.run('run_1')
  assert.deepEqual([kept?.accepted, kept?.status], [0, 'completed'])
  assert.equal(harness.conversation.messages(SESSION).length, 1)
})

test('409 run_active: that run is cancelled, its result stored and acked, and the same body posted again', async (t) => {
  const { harness, requests } = await openHarness(t, {
    'POST /runs': [blocked('run_active'), taken],
    'GET /runs/run_1': [[200, { result: null, deadline_at: '2999-01-01T00:00:00.000Z' }]],
    'POST /runs/run_1/cancel': [[200, resultOf('run_1', 'msg_0', 0)]],
    'POST /runs/run_1/ack': [[200, {}]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual(requests(), [
    'POST /runs',
    'GET /runs/run_1',
    'POST /runs/run_1/cancel',
    'POST /runs/run_1/ack',
    'POST /runs',
  ])
  assert.equal(harness.conversation.run('msg_1')?.status, 'running')
  assert.equal(harness.conversation.run('run_1')?.accepted, 0)
})

test('429 and 503: the same body is posted again after the time that was asked for', async (t) => {
  const busy = (status: number): Reply => [
    status,
    { error: { code: 'overloaded', message: '' } },
    { 'retry-after': '0' },
  ]
  const { said, harness } = await openHarness(t, { 'POST /runs': [busy(429), busy(503), taken] })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.equal(said.length, 3)
  assert.deepEqual(said[2]?.body, said[0]?.body)
  assert.equal(harness.conversation.runs(SESSION)[0]?.status, 'running')
})

test('400: nothing is posted again, the reason is kept for the page, and the session is free', async (t) => {
  const { said, harness } = await openHarness(t, {
    'POST /runs': [[400, { error: { code: 'invalid_request', message: 'llm.model is wrong' } }]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  const [run] = harness.conversation.runs(SESSION)
  assert.deepEqual([said.length, run?.status, run?.error], [1, 'refused', 'llm.model is wrong'])
  assert.equal(harness.conversation.session(SESSION)?.status, 'idle')
})

test('A.3: no answer for a minute: the safety net posts the same bytes under the same key', async (t) => {
  const broken: Reply = [500, {}]
  const tries = 61
  const { said, harness } = await openHarness(t, {
    'POST /runs': [...Array.from({ length: tries }, () => broken), taken],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual([said.length, harness.conversation.newestRun(SESSION)?.status], [tries, 'starting'])
  await harness.sweep(true)
  assert.equal(said.length, tries + 1)
  assert.deepEqual(said[tries]?.body, said[0]?.body)
  assert.equal(harness.conversation.newestRun(SESSION)?.status, 'running')
})

test('a message that comes twice starts one run', async (t) => {
  const { said, harness } = await openHarness(t, { 'POST /runs': [taken, taken] })
  await Promise.all([1, 2].map(() => harness.say(SESSION, 'msg_1', 'first')))
  assert.equal(said.length, 1)
  assert.equal(harness.conversation.messages(SESSION).length, 1)
})

/** A pause that lasts until somebody is in a hurry, and says when it began. */
function endlessPause() {
  const begun = Promise.withResolvers<void>()
  const pause = (_ms: number, signal: AbortSignal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('in a hurry')))
      begun.resolve()
    })
  return { pause, begun: begun.promise }
}

for (const status of [429, 503]) {
  const busy: Reply = [status, { error: { code: 'overloaded', message: '' } }, { 'retry-after': '30' }]

  test(`Stop works while a ${status} is waited out: nothing is posted again, and the question can be asked anew`, async (t) => {
    const { pause, begun } = endlessPause()
    const { said, harness } = await openHarness(t, { 'POST /runs': [busy, takenNext] }, pause)
    const handled = harness.say(SESSION, 'msg_1', 'first')
    await begun
    assert.equal(await harness.stop(SESSION), true)
    await handled
    const [run] = harness.conversation.runs(SESSION)
    assert.deepEqual(
      [said.length, run?.status, harness.conversation.session(SESSION)?.status],
      [1, 'cancelled', 'idle'],
    )
    assert.equal(storeResult(resultOf('run_9', 'msg_1', 1) as unknown as RunResult, harness), 'audit', 'it was stopped')
    assert.equal(await harness.retry(SESSION), true)
    assert.equal(harness.conversation.newestRun(SESSION)?.status, 'running')
  })

  test(`a message typed while a ${status} is waited out is not held up: its run is posted at once`, async (t) => {
    const { pause, begun } = endlessPause()
    const { said, harness } = await openHarness(t, { 'POST /runs': [busy, taken] }, pause)
    const first = harness.say(SESSION, 'msg_1', 'first')
    await begun
    await harness.say(SESSION, 'msg_2', 'second')
    await first
    assert.equal(said.length, 2)
    assert.deepEqual(
      [said[1]?.body['idempotency_key'], harness.conversation.run('msg_2')?.status],
      ['msg_2', 'running'],
    )
    assert.equal((said[1]?.body['messages'] as unknown[] | undefined)?.length, 2)
  })
}

test('a message that the page sends again while a 503 is waited out ends no waiting', async (t) => {
  const busy: Reply = [503, { error: { code: 'overloaded', message: '' } }, { 'retry-after': '30' }]
  const begun = Promise.withResolvers<void>()
  const over = Promise.withResolvers<void>()
  const pause = (_ms: number, signal: AbortSignal) => {
    begun.resolve()
    signal.addEventListener('abort', () => over.reject(new Error('in a hurry')))
    return over.promise
  }
  const { said, harness } = await openHarness(t, { 'POST /runs': [busy, taken] }, pause)
  const first = harness.say(SESSION, 'msg_1', 'first')
  await begun.promise
  const again = harness.say(SESSION, 'msg_1', 'first')
  over.resolve()
  await Promise.all([first, again])
  assert.deepEqual([said.length, harness.conversation.run('msg_1')?.status], [2, 'running'])
})

test('Stop says that it stopped a run which the engine does not know any more, and the question can be asked anew', async (t) => {
  const { harness } = await openHarness(t, { 'POST /runs': [taken, takenNext] })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.equal(await harness.stop(SESSION), true)
  const [run] = harness.conversation.runs(SESSION)
  assert.deepEqual([run?.status, harness.conversation.session(SESSION)?.status], ['cancelled', 'idle'])
  assert.equal(await harness.retry(SESSION), true)
})

test('Stop says so where the engine cannot be reached, and the run goes on', async (t) => {
  const { harness } = await openHarness(t, { 'POST /runs': [taken], 'POST /runs/run_9/cancel': [[500, {}]] })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.equal(await harness.stop(SESSION), false)
  assert.deepEqual(
    [harness.conversation.run('msg_1')?.status, harness.conversation.session(SESSION)?.active_run],
    ['running', 'msg_1'],
  )
})

test('a run that stands in the way and is nobody’s here is not said to be stored', async (t) => {
  const foreign = { ...resultOf('run_1', 'msg_0', 0), meta: { session_id: 'chat_of_another_harness' } }
  const { harness, requests } = await openHarness(t, {
    'POST /runs': [blocked('result_pending'), taken],
    'GET /runs/run_1': [[200, { result: foreign }]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual(requests(), ['POST /runs', 'GET /runs/run_1', 'POST /runs'])
})

test('an engine that asks for more than a minute is left to the safety net, and the customer waits for nothing', async (t) => {
  const busy: Reply = [503, { error: { code: 'draining', message: '' } }, { 'retry-after': '90' }]
  const { said, harness } = await openHarness(t, { 'POST /runs': [busy, taken] })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual([said.length, harness.conversation.newestRun(SESSION)?.status], [1, 'starting'])
  await harness.sweep(true)
  assert.equal(harness.conversation.newestRun(SESSION)?.status, 'running')
})

test('A.3: what was kept and never taken up is taken up by the safety net, once', async (t) => {
  const { said, harness, requests } = await openHarness(t, {
    'POST /runs': [taken],
    'GET /runs/run_9': [[200, { result: null, deadline_at: '2999-01-01T00:00:00.000Z' }]],
  })
  harness.conversation.keepRaw(SESSION, 'msg_1', 'said just before the end')
  await harness.sweep()
  await harness.sweep()
  assert.deepEqual([requests(), said[0]?.body['idempotency_key']], [['POST /runs'], 'msg_1'])
})

for (const [status, text, again] of [
  ['failed', 'half an ans', true],
  ['cancelled', 'half an ans', true],
  ['failed', null, true],
  ['completed', 'an answer', false],
  ['stopped_limit', 'an answer', false],
] as const) {
  const end = `${status} ${text === null ? 'without a word' : `after "${text}"`}`
  test(`a run that ended ${end} can${again ? '' : 'not'} be tried again, with all that was said`, async (t) => {
    const { said, harness } = await openHarness(t, { 'POST /runs': [taken, takenNext] })
    await harness.say(SESSION, 'msg_1', 'first')
    const result = { ...resultOf('run_9', 'msg_1', 1, text ?? ''), status }
    assert.equal(
      storeResult((text === null ? { ...result, messages: [] } : result) as unknown as RunResult, harness),
      'stored',
    )
    assert.equal(await harness.retry(SESSION), again)
    if (!again) return
    assert.equal(await harness.retry(SESSION), false, 'one at a time')
    const { messages, origin_request_id, idempotency_key } = said[1]?.body ?? {}
    const roles = (messages as { role: string; content: [{ text: string }] }[]).map(({ role }) => role)
    assert.deepEqual(roles, text === null ? ['user'] : ['user', 'assistant', 'user'])
    assert.deepEqual([origin_request_id, idempotency_key === 'msg_1'], ['msg_1', false])
  })
}

test('A.14: fields that nobody here knows change nothing, and are kept with the result', async (t) => {
  const { harness } = await openHarness(t, { 'POST /runs': [[202, { ...(taken[1] as object), invented: { a: 1 } }]] })
  await harness.say(SESSION, 'msg_1', 'first')
  const result = { ...resultOf('run_9', 'msg_1', 1), invented: { digits: 1 } }
  assert.equal(storeResult(result as unknown as RunResult, harness), 'stored')
  assert.match(harness.conversation.run('msg_1')?.result ?? '', /"invented":\{"digits":1\}/)
})

test('A.2, A.12: stored messages go back whole: unknown fields, provider_data, long numbers and the first created_at', async (t) => {
  const { said, harness } = await openHarness(t, { 'POST /runs': [taken, takenNext] })
  await harness.say(SESSION, 'msg_1', 'first')
  const text =
    '{"role":"assistant","content":[{"type":"reasoning","text":"","provider_data":{"s":"EqQB","n":12345678901234567890}},' +
    '{"type":"text","text":"an answer","later":true}],"run_id":"run_9","seq":0,"created_at":"2026-11-30T09:15:00.000Z","x":[1.10]}'
  const result = parseLossless(
    JSON.stringify(resultOf('run_9', 'msg_1', 1)).replace(
      /"messages":\[.*?\],"pending"/,
      `"messages":[${text}],"pending"`,
    ),
  )
  assert.equal(storeResult(result as RunResult, harness), 'stored')
  const first = JSON.stringify((said[0]?.body['messages'] as unknown[] | undefined)?.[0])
  await harness.say(SESSION, 'msg_2', 'second')
  const sent = said[1]?.text ?? ''
  assert.ok(sent.includes(text.replace('[1.10]', '[1.1]')), sent)
  assert.ok(sent.includes(first))
})

/** The run waits for a refund, as the tool registered it and the result tells. */
function awaitDecision(harness: Harness): void {
  const args = { orderId: '1001', amount: 39.9, reason: 'broken' }
  const call = {
    run_id: 'run_9',
    call_id: 'call_1',
    tool: 'createReturn',
    args,
    args_hash: 'hash',
    operation_key: 'op_1',
  }
  harness.operations.register(call as unknown as ToolCallBody, SESSION, CUSTOMER, '1001')
  const pending = { ...call, operation_id: 'op_1', expires_at: '2999-01-01T00:00:00.000Z' }
  const result = { ...resultOf('run_9', 'msg_1', 1), status: 'awaiting_tool', pending: [pending] }
  assert.equal(storeResult(result as unknown as RunResult, harness), 'stored')
}

/** What the model is shown in the newest run: the texts of users, and calls that are answered. */
function shown(said: readonly Said[]): string[] {
  const messages = said.findLast(({ request }) => request === 'POST /runs')?.body['messages'] as StoredMessage[]
  return messages.flatMap((message) => {
    if (message.role === 'tool') return [`${message.call_id} ${message.error ?? 'done'}`]
    return message.role === 'user' ? message.content.map((part) => (part.type === 'text' ? part.text : '')) : []
  })
}

for (const goesOn of [false, true]) {
  test(`a decision ${goesOn ? 'on a card that was set aside ' : ''}whose run nobody started any more is taken up by the safety net, once`, async (t) => {
    const { said, harness } = await openHarness(t, { 'POST /runs': [taken, takenNext, takenThird] })
    await harness.say(SESSION, 'msg_1', 'first')
    awaitDecision(harness)
    if (goesOn) {
      await harness.say(SESSION, 'msg_2', 'second')
      assert.equal(storeResult(resultOf('run_10', 'msg_2', 3) as unknown as RunResult, harness), 'stored')
    }
    const before = said.length
    // This process dies as soon as the decision is committed.
    assert.equal(decide('op_1', 1, 'approve', { ...harness, changed: () => undefined }), 'done')
    assert.equal(said.length, before)
    await harness.sweep()
    await harness.sweep()
    assert.equal(said.filter(({ request }) => request === 'POST /runs').length, goesOn ? 3 : 2)
    if (!goesOn) return assert.deepEqual(shown(said), ['first', 'call_1 done'])
    assert.deepEqual(shown(said).slice(0, 3), ['first', 'call_1 superseded', 'second'])
    assert.match(shown(said)[3] ?? '', /^\[Notice of the shop's system.*createReturn for order 1001.*R-1001/)
  })
}

test('a decision made while another answer is under way is told with the next message, before it', async (t) => {
  const { said, harness } = await openHarness(t, {
    'POST /runs': [taken, takenNext, takenThird],
    'POST /runs/run_10/cancel': [[200, { ...resultOf('run_10', 'msg_2', 3), status: 'cancelled' }]],
    'POST /runs/run_10/ack': [[200, {}]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  awaitDecision(harness)
  await harness.say(SESSION, 'msg_2', 'second')
  assert.equal(decide('op_1', 1, 'decline', harness), 'done')
  await harness.say(SESSION, 'msg_3', 'third')
  assert.deepEqual(shown(said).length, 5)
  assert.match(shown(said)[3] ?? '', /^\[Notice of the shop's system.*declined by a colleague/)
  assert.equal(shown(said)[4], 'third')
})

test('a harness that closes starts nothing more; what is due is left to the next one', async (t) => {
  const { said, harness } = await openHarness(t, { 'POST /runs': [taken, takenNext] })
  await harness.say(SESSION, 'msg_1', 'first')
  awaitDecision(harness)
  await harness.close()
  assert.equal(decide('op_1', 1, 'approve', harness), 'done')
  await harness.turns.settled()
  assert.equal(said.length, 1)
})

test('after a lost run was tried again its late result comes between no more', async (t) => {
  const { harness } = await openHarness(t, { 'POST /runs': [taken, takenNext] })
  await harness.say(SESSION, 'msg_1', 'first')
  const lost = harness.conversation.run('msg_1')
  assert.ok(lost)
  endRun(harness, lost, 'lost', 'lost')
  assert.equal(await harness.retry(SESSION), true)
  const next = harness.conversation.newestRun(SESSION)
  const answer = resultOf('run_10', next?.id ?? '', next?.history_revision ?? 0)
  assert.equal(storeResult(answer as unknown as RunResult, harness), 'stored')
  assert.equal(storeResult(resultOf('run_9', 'msg_1', 1) as unknown as RunResult, harness), 'audit')
  assert.equal(harness.conversation.messages(SESSION).length, 2)
})

function resultOf(runId: string, key: string, revision: number, text = 'an answer') {
  const content = [{ type: 'text', text }]
  const created_at = '2026-11-30T09:15:00.000Z'
  return {
    run_id: runId,
    status: 'completed',
    idempotency_key: key,
    history_revision: revision,
    messages: [{ role: 'assistant', content, run_id: runId, seq: 0, created_at }],
    pending: [],
    usage: { cost: null, currency: null },
    error: null,
    origin_request_id: key,
    meta: { session_id: SESSION },
  }
}
