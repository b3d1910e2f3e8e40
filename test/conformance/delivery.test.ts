/** SPEC §7, §2.6, failures CB: a result reaches its callback, the same bytes at every attempt, until somebody has stored it. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import type { RunResult } from '../../src/contract/result.ts'
import { CALLBACK_SECRET } from '../fakes/engine-process.ts'
import { behind, says, silent, startProvider } from '../fakes/provider-server.ts'
import { answersBehind, payloadOf, payloadText, startReceiver } from '../fakes/callback-receiver.ts'
import { EngineClient, errorOf, resultText, runBody, user, type RunView } from './engine-client.ts'
import { gate, within } from './facts.ts'
import type { Received } from './recording-server.ts'
import { endInPeace, ownEngine, sharedEngine } from './shared-engine.ts'

const engine = sharedEngine({ CALLBACK_SCHEDULE: '0,0' })

function headerOf({ headers }: Received, name: string): string {
  const value = headers[name]
  assert.equal(typeof value, 'string', `${name} is not there`)
  return String(value)
}

/** Asks until a view is as expected: the receiver knows of an attempt before the engine has read its answer. */
async function viewOnce(client: EngineClient, runId: string, fits: (view: RunView) => boolean): Promise<RunView> {
  const ask = async (): Promise<RunView> => {
    for (;;) {
      const view = await client.view(runId)
      if (fits(view)) return view
    }
  }
  return within(ask(), () => `run ${runId} does not become what was expected`)
}

test('§7.1 the request: envelope, secret, own headers, and a signature that the standard library verifies', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t)
  const callback = receiver.callback({
    Authorization: 'Bearer callback-SECRET',
    'X-Shop': 'shop_1',
    'X-Engine-Secret': 'x',
  })
  const accepted = await client.start(runBody({ callback, meta: { session_id: 'signed' } }))
  const delivery = await receiver.nth(1)
  assert.equal(delivery.method, 'POST')
  assert.equal(delivery.path, '/result?secret=SECRET-in-query')
  assert.equal(headerOf(delivery, 'content-type'), 'application/json; charset=utf-8')
  assert.equal(headerOf(delivery, 'x-engine-secret'), CALLBACK_SECRET)
  assert.equal(headerOf(delivery, 'authorization'), 'Bearer callback-SECRET')
  assert.equal(headerOf(delivery, 'x-shop'), 'shop_1')
  assert.equal(headerOf(delivery, 'webhook-id'), accepted.run_id)
  assert.ok(Math.abs(Date.now() / 1000 - Number(headerOf(delivery, 'webhook-timestamp'))) < 60)

  const webhook = new Webhook(CALLBACK_SECRET, { format: 'raw' })
  const headers = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headerOf(delivery, name)]),
  )
  const verified = webhook.verify(delivery.text, headers) as { payload: RunResult }
  assert.equal(verified.payload.run_id, accepted.run_id)
  assert.throws(() => webhook.verify(delivery.text.replace('completed', 'cancelled'), headers))
  assert.throws(() => new Webhook('another secret!!', { format: 'raw' }).verify(delivery.text, headers))
})

test('§7.1 a secret of the form whsec_ signs with what its base64 stands for', async (t) => {
  const key = Buffer.from('thirty-two bytes of a signing key')
  const secret = `whsec_${key.toString('base64')}`
  const own = await ownEngine(t, { CALLBACK_SECRET: secret })
  const client = new EngineClient(own)
  const receiver = await startReceiver(t)
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const delivery = await receiver.nth(1)
  const [id, timestamp] = [headerOf(delivery, 'webhook-id'), headerOf(delivery, 'webhook-timestamp')]
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), delivery.bytes])
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  assert.equal(headerOf(delivery, 'webhook-signature'), expected)
  assert.equal(headerOf(delivery, 'x-engine-secret'), secret)
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': expected }
  assert.ok(new Webhook(secret).verify(delivery.text, headers))
  assert.equal(id, accepted.run_id)
  await endInPeace(own)
  assert.ok(!own.stdout().includes(secret))
})

test('§7.2 CB-01: 500, 500, 200: three attempts with identical bytes, the same as GET and as the waited answer', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Привет 🙂')])
  const receiver = await startReceiver(t, [500, 500, 200])
  const body = runBody({ llm: provider.llm(), callback: receiver.callback() })
  const waited = await client.post({ ...body, wait: true })
  const attempts = await Promise.all([1, 2, 3].map((number) => receiver.nth(number)))
  const [first, second, third] = attempts
  assert.ok(first !== undefined && second !== undefined && third !== undefined)
  assert.ok(first.bytes.equals(second.bytes) && first.bytes.equals(third.bytes))
  assert.equal(payloadText(first), waited.text)
  for (const name of ['webhook-id', 'x-engine-secret', 'content-type', 'content-length']) {
    assert.equal(new Set(attempts.map((one) => headerOf(one, name))).size, 1, name)
  }
  // CB-06: bytes, not characters.
  assert.equal(Number(headerOf(first, 'content-length')), first.bytes.length)
  assert.ok(first.bytes.length > first.text.length)

  const { run_id } = waited.json<RunResult>()
  const view = await viewOnce(client, run_id, ({ delivery }) => delivery.state === 'delivered')
  assert.deepEqual(
    view.delivery.attempts.map(({ status, content_type, error }) => [status, content_type, error]),
    [
      [500, 'application/json', null],
      [500, 'application/json', null],
      [200, 'application/json', null],
    ],
  )
  assert.equal(resultText(await client.send(`/runs/${run_id}`)), waited.text)
  assert.equal(receiver.received.length, 3)
})

test('§7.2 CB-06: a lone surrogate of a provider reaches nobody, and the bytes stay UTF-8', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    (answer) => {
      answer.raw('data: {"choices":[{"index":0,"delta":{"content":"a\\ud83d b"},"finish_reason":null}]}\n\n')
      answer.finish()
    },
  ])
  const receiver = await startReceiver(t)
  await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  const delivery = await receiver.nth(1)
  assert.equal(payloadOf(delivery).text, 'a\ufffd b')
  assert.ok(Buffer.from(delivery.text).equals(delivery.bytes))
})

test('§7.2 CB-04: every 2xx is stored, whatever its body; the journal keeps status and content type', async (t) => {
  const client = await engine.client()
  const process = await engine.process()
  for (const [status, type] of [
    [200, 'text/html'],
    [202, 'text/plain'],
    [204, 'text/plain'],
    [206, 'application/octet-stream'],
  ] as const) {
    const receiver = await startReceiver(t, [
      (_request, response) => {
        response.writeHead(status, { 'content-type': type }).end(status === 204 ? undefined : '<h1>Please sign in</h1>')
      },
    ])
    const meta = { session_id: `any-2xx-${status}` }
    const accepted = await client.start(runBody({ callback: receiver.callback(), meta }))
    await receiver.nth(1)
    const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.state === 'delivered')
    assert.deepEqual(
      view.delivery.attempts.map((one) => [one.status, one.content_type]),
      [[status, type]],
    )
    const line = await process.line((one) => one['event'] === 'callback_attempt' && one['run_id'] === accepted.run_id)
    assert.deepEqual([line['status'], line['content_type']], [status, type])
    assert.equal((await client.post(runBody({ meta }))).status, 202)
  }
})

test('§7.2 CB-03: a redirect is a failed attempt and is not followed, so that no other host sees the secret', async (t) => {
  const own = await ownEngine(t, { CALLBACK_SCHEDULE: '0,0,0,0,0,0' })
  const client = new EngineClient(own)
  const elsewhere = await startReceiver(t)
  const to = `${elsewhere.url}/stolen`
  const receiver = await startReceiver(
    t,
    [301, 302, 303, 307, 308, 302, 302].map((status, index) => (_request: Received, response) => {
      const places = [to, to, to, to, to, 'http://169.254.169.254/latest/meta-data/', '/result']
      response.writeHead(status, { location: places[index] }).end()
    }),
  )
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.state === 'undelivered')
  assert.deepEqual(
    view.delivery.attempts.map(({ status }) => status),
    [301, 302, 303, 307, 308, 302, 302],
  )
  assert.ok(view.delivery.attempts.every(({ error, fault }) => error !== null && fault === 'redirect'))
  assert.equal(elsewhere.received.length, 0)
  assert.equal(receiver.received.length, 7)
  await endInPeace(own)
})

test('§7.2 CB-05: after the last attempt the session waits for an ack, and the result stays readable', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t, [503])
  const meta = { session_id: 'receiver-down' }
  const accepted = await client.start(runBody({ callback: receiver.callback(), meta }))
  const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.state === 'undelivered')
  assert.equal(view.delivery.attempts.length, 3)
  assert.equal(receiver.received.length, 3)
  assert.equal(view.result?.status, 'completed')
  const health = (await client.send('/health')).json<{ runs: { undelivered: number } }>()
  assert.ok(health.runs.undelivered >= 1)
  assert.equal(errorOf(await client.post(runBody({ meta })), 409, 'result_pending').run_id, accepted.run_id)
  assert.equal((await client.ack(accepted.run_id)).status, 200)
  assert.equal((await client.view(accepted.run_id)).delivery.state, 'acked')
  assert.equal((await client.post(runBody({ meta }))).status, 202)
  assert.equal(receiver.received.length, 3)
})

test('§7.2 a connection that breaks, and one that nobody takes, are failed attempts', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t, [(_request, response) => void response.destroy(), 200])
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.state === 'delivered')
  const [broken, good] = view.delivery.attempts
  assert.deepEqual([broken?.status, good?.status], [null, 200])
  assert.equal(typeof broken?.error, 'string')
  assert.doesNotMatch(String(broken?.error), /SECRET/)

  const nobody = runBody({ callback: { url: 'http://127.0.0.1:1/none' }, meta: { session_id: 'nobody' } })
  const lost = await client.start(nobody)
  const { delivery } = await viewOnce(client, lost.run_id, (one) => one.delivery.state === 'undelivered')
  assert.deepEqual(
    delivery.attempts.map(({ status }) => status),
    [null, null, null],
  )
})

test('§7.2 a 410 ends the attempts: gone, readable, fetched and acked as ever', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t, [410, 204])
  const meta = { session_id: 'receiver-gone' }
  const accepted = await client.start(runBody({ callback: receiver.callback(), meta }))
  const { delivery, result } = await viewOnce(client, accepted.run_id, (view) => view.delivery.state === 'gone')
  assert.deepEqual(
    delivery.attempts.map(({ status, fault, next_at }) => [status, fault, next_at]),
    [[410, 'gone', null]],
  )
  assert.equal(result?.status, 'completed')
  errorOf(await client.post(runBody({ meta })), 409, 'result_pending')
  assert.equal((await client.ack(accepted.run_id)).status, 200)
  await client.run(runBody({ meta }))
  assert.equal(receiver.received.length, 1)
})

test("§7.2 a receiver's Retry-After moves the next attempt, within the schedule, and GET tells when it is due", async (t) => {
  const own = await ownEngine(t, { CALLBACK_SCHEDULE: '0,60' })
  const client = new EngineClient(own)
  const receiver = await startReceiver(t, [
    (_request, response) => void response.writeHead(503, { 'retry-after': '3600' }).end(),
  ])
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const { delivery } = await viewOnce(client, accepted.run_id, (view) => view.delivery.attempts.length === 1)
  const [attempt] = delivery.attempts
  const pause = Date.parse(attempt?.next_at ?? '') - Date.parse(attempt?.at ?? '')
  assert.ok(pause > 50_000 && pause < 70_000, `${pause} ms`)
  assert.equal((await client.ack(accepted.run_id)).status, 200)
  await endInPeace(own)
  assert.equal(receiver.received.length, 1)
})

test('§7.4 redeliver: the same bytes again, whoever has them; the session stays as it was', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t, [503, 503, 503, 204])
  const meta = { session_id: 'redelivered' }
  const accepted = await client.start(runBody({ callback: receiver.callback(), meta }))
  await viewOnce(client, accepted.run_id, (view) => view.delivery.state === 'undelivered')
  const again = () => client.send(`/runs/${accepted.run_id}/redeliver`, { method: 'POST' })
  const answer = await again()
  assert.deepEqual([answer.status, answer.json()], [202, { run_id: accepted.run_id, redelivering: true }])
  await viewOnce(client, accepted.run_id, (view) => view.delivery.state === 'delivered')
  // Its session is free now, and another run holds it: sending the first once more changes nothing there.
  const provider = await startProvider(t, [silent])
  const next = await client.start(runBody({ llm: provider.llm(), meta }))
  assert.equal((await again()).status, 202)
  await receiver.nth(5)
  const view = await viewOnce(client, accepted.run_id, (one) => one.delivery.attempts.length === 5)
  assert.equal(view.delivery.state, 'delivered')
  assert.equal(new Set(receiver.received.map(({ text }) => text)).size, 1)
  assert.equal(new Set(receiver.received.map((one) => headerOf(one, 'webhook-id'))).size, 1)
  errorOf(await client.send(`/runs/${next.run_id}/redeliver`, { method: 'POST' }), 409, 'run_active')
  await client.cancel(next.run_id)
  errorOf(await client.send(`/runs/${next.run_id}/redeliver`, { method: 'POST' }), 409, 'no_callback')
  errorOf(await client.send('/runs/run_01M8NVRYK2NQ8QRWHDSXEDPFH8/redeliver', { method: 'POST' }), 404, 'run_not_found')
  const stranger = new EngineClient(await engine.process(), 'another-token-0001')
  errorOf(await stranger.send(`/runs/${accepted.run_id}/redeliver`, { method: 'POST' }), 401, 'unauthorized')
})

test('§12.1 two callback secrets: both sign, a receiver that knows either takes it', async (t) => {
  const own = await ownEngine(t, { CALLBACK_SECRET: 'old-SECRET,with-a-comma new-SECRET-of-16-letters' })
  const client = new EngineClient(own)
  const receiver = await startReceiver(t)
  await client.start(runBody({ callback: receiver.callback() }))
  const delivery = await receiver.nth(1)
  const headers = Object.fromEntries(
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, headerOf(delivery, name)]),
  )
  for (const secret of ['old-SECRET,with-a-comma', 'new-SECRET-of-16-letters']) {
    assert.ok(new Webhook(secret, { format: 'raw' }).verify(delivery.text, headers))
  }
  assert.equal(headerOf(delivery, 'x-engine-secret'), 'old-SECRET,with-a-comma')
  await endInPeace(own)
})

test('ID-06 an ack before there is a result stores nothing: 409, and the callback comes all the same', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const provider = await startProvider(t, [behind(hold.opened, says('Late.'))])
  const receiver = await startReceiver(t)
  const accepted = await client.start(runBody({ llm: provider.llm(), callback: receiver.callback() }))
  await provider.nth(1)
  errorOf(await client.ack(accepted.run_id), 409, 'run_active')
  hold.open()
  assert.equal(payloadOf(await receiver.nth(1)).text, 'Late.')
})

test('CB-07 an ack while an attempt is on the wire: no further attempt, and the next run of the session is not touched', async (t) => {
  const client = await engine.client()
  const hold = gate()
  const receiver = await startReceiver(t, [answersBehind(hold.opened, 500)])
  const meta = { session_id: 'ack-during-a-try' }
  const accepted = await client.start(runBody({ callback: receiver.callback(), meta }))
  await receiver.nth(1)
  assert.deepEqual((await client.ack(accepted.run_id)).json(), { run_id: accepted.run_id, acked: true })
  const provider = await startProvider(t, [silent])
  const next = await client.start(runBody({ llm: provider.llm(), meta }))
  hold.open()
  const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.attempts.length === 1)
  assert.equal(view.delivery.state, 'acked')
  assert.equal((await client.view(next.run_id)).status, 'running')
  errorOf(await client.post(runBody({ meta })), 409, 'run_active')
  await client.cancel(next.run_id)
  assert.equal(receiver.received.length, 1)
})

test('CB-07 an ack from inside the callback, before it is answered', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t, [
    async (request, response) => {
      const answer = await client.ack(payloadOf(request).run_id)
      response.writeHead(answer.status === 200 ? 500 : 200).end()
    },
  ])
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  const view = await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.attempts.length === 1)
  assert.deepEqual([view.delivery.state, view.delivery.attempts[0]?.status], ['acked', 500])
})

test('CB-07 an ack between two attempts stops them, and a shutdown does not send what is acked', async (t) => {
  const own = await ownEngine(t, { CALLBACK_SCHEDULE: '60' })
  const client = new EngineClient(own)
  const receiver = await startReceiver(t, [500])
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.attempts.length === 1)
  assert.equal((await client.ack(accepted.run_id)).status, 200)
  assert.equal((await client.view(accepted.run_id)).delivery.state, 'acked')
  await endInPeace(own)
  assert.equal(receiver.received.length, 1)
})

test('ID-06 an ack after the delivery, twice, and of a run that nobody knows', async (t) => {
  const client = await engine.client()
  const receiver = await startReceiver(t)
  const accepted = await client.start(runBody({ callback: receiver.callback() }))
  await viewOnce(client, accepted.run_id, ({ delivery }) => delivery.state === 'delivered')
  for (let n = 0; n < 3; n += 1) {
    const answer = await client.ack(accepted.run_id)
    assert.deepEqual([answer.status, answer.json()], [200, { run_id: accepted.run_id, acked: true }])
  }
  assert.equal((await client.view(accepted.run_id)).delivery.state, 'delivered')
  errorOf(await client.ack('run_01M8NVRYK2NQ8QRWHDSXEDPFH8'), 404, 'run_not_found')
})

test('ID-06 an ack frees the session of its own run and of no other', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent])
  const meta = { session_id: 'whose-lock' }
  const first = await client.run(runBody({ meta }))
  const second = await client.start(runBody({ llm: provider.llm(), meta }))
  // The first is stored long since; saying so again must not free what the second holds.
  assert.equal((await client.ack(first.run_id)).status, 200)
  assert.equal(errorOf(await client.post(runBody({ meta })), 409, 'run_active').run_id, second.run_id)
  await client.cancel(second.run_id)
  assert.equal((await client.ack(first.run_id)).status, 200)
  assert.equal(errorOf(await client.post(runBody({ meta })), 409, 'result_pending').run_id, second.run_id)
})

test('§7.2 without a callback nothing is sent, and the state says none until it is stored', async () => {
  const client = await engine.client()
  const accepted = await client.start(runBody())
  await client.result(accepted)
  assert.deepEqual((await client.view(accepted.run_id)).delivery, { state: 'none', attempts: [], attempts_left_off: 0 })
})

test('§3.1 an engine without CALLBACK_SECRET takes no callback', async (t) => {
  const own = await ownEngine(t, { CALLBACK_SECRET: '' })
  const client = new EngineClient(own)
  const refused = await client.post(runBody({ callback: { url: 'http://127.0.0.1:1/x' } }))
  const { details } = errorOf(refused, 400, 'invalid_request')
  assert.deepEqual(
    details?.map(({ path }) => path),
    ['callback'],
  )
  assert.equal((await client.run(runBody({ messages: [user('Hi')] }))).status, 'completed')
  await endInPeace(own)
})

test('the engine of this file ended in peace', () => engine.finish())
