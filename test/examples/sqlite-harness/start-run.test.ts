/** What follows from each answer of the engine to a POST /runs. The engine here is a list of answers. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { writeAssistants } from '../../../examples/sqlite-harness/assistants.ts'
import { openDatabase } from '../../../examples/sqlite-harness/database.ts'
import { CUSTOMER, fillWithDemoData } from '../../../examples/sqlite-harness/demo-data.ts'
import { createHarness } from '../../../examples/sqlite-harness/harness.ts'
import { wordsOf } from '../../../examples/sqlite-harness/words.ts'

interface Said {
  readonly request: string
  readonly body: Readonly<Record<string, unknown>>
}

type Reply = readonly [status: number, body: unknown, headers?: Readonly<Record<string, string>>]

const SESSION = 'chat_1'
const taken: Reply = [
  202,
  { run_id: 'run_9', status: 'running', stream_url: 'http://127.0.0.1/s', deadline_at: '2999-01-01T00:00:00.000Z' },
]
const blocked = (code: string): Reply => [409, { error: { code, message: 'in the way', run_id: 'run_1' } }]

/** `answers` by method and path, each given in turn; what is not foreseen is 404. */
async function openHarness(t: TestContext, answers: Readonly<Record<string, readonly Reply[]>>) {
  const said: Said[] = []
  const server = createServer((request, response) => {
    void (async () => {
      let text = ''
      for await (const piece of request) text += String(piece)
      const name = `${request.method} ${request.url}`
      const earlier = said.filter(({ request: each }) => each === name).length
      said.push({ request: name, body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>) })
      const [status, body, headers] = answers[name]?.[earlier] ?? [
        404,
        { error: { code: 'run_not_found', message: '' } },
      ]
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const database = openDatabase(':memory:')
  fillWithDemoData(database, 'en')
  writeAssistants(database, {}, 'en')
  const harness = createHarness({
    database,
    engine: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'engine-token' },
    harnessUrl: 'http://127.0.0.1:1',
    toolSecret: 'tool-secret',
    words: wordsOf('en'),
    timezone: 'UTC',
    now: () => new Date(),
    changed: () => undefined,
  })
  harness.conversation.create({ id: SESSION, assistantId: 'scripted', userId: CUSTOMER })
  t.after(async () => {
    await harness.close()
    server.closeAllConnections()
    server.close()
    database.close()
  })
  return { said, harness, database, requests: () => said.map(({ request }) => request) }
}

test('202: the run is under way, with the history whole and in order, and no word of the customer lost', async (t) => {
  const { said, harness, database } = await openHarness(t, { 'POST /runs': [taken, taken] })
  await harness.say(SESSION, 'msg_1', 'first')
  const [run] = harness.runs.ofSession(SESSION)
  assert.deepEqual([run?.id, run?.run_id, run?.status, run?.request], ['msg_1', 'run_9', 'running', null])
  assert.deepEqual(database.one('SELECT id, body FROM raw_chat_message'), {
    __proto__: null,
    id: 'msg_1',
    body: '{"text":"first"}',
  })
  const { idempotency_key, origin_request_id, history_revision, messages, meta } = said[0]?.body ?? {}
  assert.deepEqual([idempotency_key, origin_request_id, history_revision], ['msg_1', 'msg_1', 1])
  assert.deepEqual(
    (messages as { content: unknown }[]).map(({ content }) => content),
    [[{ type: 'text', text: 'first' }]],
  )
  assert.equal((meta as { user_id: string }).user_id, CUSTOMER)
})

test('200 for a repeat whose run has ended: the result is fetched, stored and acked', async (t) => {
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

test('409 result_pending: that result is fetched, stored for audit and acked, and the same body posted again', async (t) => {
  const { said, harness, requests } = await openHarness(t, {
    'POST /runs': [blocked('result_pending'), taken],
    'GET /runs/run_1': [[200, { result: resultOf('run_1', 'msg_0', 0) }]],
    'POST /runs/run_1/ack': [[200, {}]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual(requests(), ['POST /runs', 'GET /runs/run_1', 'POST /runs/run_1/ack', 'POST /runs'])
  assert.deepEqual(said[3]?.body, said[0]?.body)
  assert.equal(harness.runs.find('msg_1')?.status, 'running')
  const kept = harness.runs.find('run_1')
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
  assert.equal(harness.runs.find('msg_1')?.status, 'running')
  assert.equal(harness.runs.find('run_1')?.accepted, 0)
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
  assert.equal(harness.runs.ofSession(SESSION)[0]?.status, 'running')
})

test('400: nothing is posted again, the reason is kept for the page, and the session is free', async (t) => {
  const { said, harness } = await openHarness(t, {
    'POST /runs': [[400, { error: { code: 'invalid_request', message: 'llm.model is wrong' } }]],
  })
  await harness.say(SESSION, 'msg_1', 'first')
  const [run] = harness.runs.ofSession(SESSION)
  assert.deepEqual([said.length, run?.status, run?.error], [1, 'refused', 'llm.model is wrong'])
  assert.equal(harness.conversation.session(SESSION)?.status, 'idle')
})

test('no answer: the safety net posts the same bytes under the same key', async (t) => {
  const broken: Reply = [500, {}]
  const { said, harness } = await openHarness(t, { 'POST /runs': [broken, broken, broken, taken] })
  await harness.say(SESSION, 'msg_1', 'first')
  assert.deepEqual([said.length, harness.runs.ofSession(SESSION)[0]?.status], [3, 'starting'])
  await harness.sweep(true)
  assert.equal(said.length, 4)
  assert.deepEqual(said[3]?.body, said[0]?.body)
  assert.equal(harness.runs.ofSession(SESSION)[0]?.status, 'running')
})

test('a message that comes twice starts one run', async (t) => {
  const { said, harness } = await openHarness(t, { 'POST /runs': [taken, taken] })
  await Promise.all([harness.say(SESSION, 'msg_1', 'first'), harness.say(SESSION, 'msg_1', 'first')])
  assert.equal(said.length, 1)
  assert.equal(harness.conversation.messages(SESSION).length, 1)
})

function resultOf(runId: string, key: string, revision: number) {
  const content = [{ type: 'text', text: 'an answer' }]
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
