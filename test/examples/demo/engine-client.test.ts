import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngineClient } from '../../../examples/demo/engine-client.ts'
import { recordingServer } from '../../conformance/recording-server.ts'
import { exampleResult, RUN_ID } from './example-result.ts'

test('a session whose last result is not stored: it is fetched, stored, acked, and the run is posted again', async (t) => {
  const answers: readonly (readonly [status: number, body: unknown])[] = [
    [409, { error: { code: 'result_pending', message: 'not stored', run_id: RUN_ID } }],
    [200, { run_id: RUN_ID, status: 'completed', result: exampleResult() }],
    [200, { run_id: RUN_ID, acked: true }],
    [202, { run_id: 'run_2', stream_url: 'http://127.0.0.1/', deadline_at: '2026-11-30T09:20:02.114Z' }],
  ]
  const server = await recordingServer(t, 'the engine', ({ number }, response) => {
    const [status, body] = answers[number - 1] ?? [500, {}]
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  const stored: string[] = []
  const store = (result: { readonly run_id: string }) => stored.push(`${result.run_id} after ${server.received.length}`)
  const client = createEngineClient({ url: server.url, engineToken: 'the-engine-token', store })
  assert.equal((await client.startRun({ idempotency_key: 'msg_2' })).run_id, 'run_2')
  assert.deepEqual(
    server.received.map(({ method, path }) => `${method} ${path}`),
    ['POST /runs', `GET /runs/${RUN_ID}`, `POST /runs/${RUN_ID}/ack`, 'POST /runs'],
  )
  assert.deepEqual(stored, [`${RUN_ID} after 2`], 'stored before it is acked')
  assert.equal(server.received[3]?.text, server.received[0]?.text, 'the very same request')
  for (const { headers } of server.received) assert.equal(headers.authorization, 'Bearer the-engine-token')
})

test('any other refusal is told with its code, and an engine that is away is told as such', async (t) => {
  const server = await recordingServer(t, 'the engine', (_request, response) => {
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { code: 'invalid_request', message: 'llm.model is required' } }))
  })
  const parts = { engineToken: 'the-engine-token', store: () => assert.fail('there is nothing to store') }
  const client = createEngineClient({ ...parts, url: server.url })
  await assert.rejects(client.startRun({}), /POST \/runs was answered 400, invalid_request: llm\.model is required/)
  const nobody = createEngineClient({ ...parts, url: 'http://127.0.0.1:9' })
  await assert.rejects(nobody.health(), /the engine gave no answer to GET \/health/)
})
