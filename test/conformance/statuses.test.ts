/** SPEC §6.2, §6.3, §8.3: every status a run can end with, from the request to the result, over HTTP. */
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import { ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { asksFor, refuses, says, silent, startProvider } from '../fakes/provider-server.ts'
import { ok, startTools } from '../fakes/tool-server.ts'
import { errorOf, runBody, scripted, user } from './engine-client.ts'
import type { Answer } from './http.ts'
import { chatRequest, contentText, toolContents } from './provider-request.ts'
import { sharedEngine } from './shared-engine.ts'

const engine = sharedEngine({ FIRST_TOKEN_MS: '300' })

test('§6.2 completed: the model answered, and the result holds what the request gave', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says('Order 12345 ', 'has been shipped.')])
  const pricing = { currency: 'USD', input: 3, output: 15 }
  const parts = { history_revision: 7, origin_request_id: 'msg_80', meta: { user_id: 'u_1', lang: 'en' } }
  const body = runBody({ llm: provider.llm({ pricing }), ...parts })
  const result = await client.run(body)

  assert.equal(result.status, 'completed')
  assert.equal(result.text, 'Order 12345 has been shipped.')
  assert.equal(result.answer_source, 'model')
  assert.equal(result.stop_reason, 'end_turn')
  assert.equal(result.limit_reached, null)
  assert.equal(result.error, null)
  assert.equal(result.output, null)
  assert.equal(result.steps, 1)
  assert.equal(result.history_revision, 7)
  assert.equal(result.origin_request_id, 'msg_80')
  assert.equal(result.idempotency_key, body['idempotency_key'])
  assert.deepEqual(result.meta, parts.meta)
  assert.deepEqual([result.pending, result.tool_calls, result.warnings], [[], [], []])
  assert.equal(result.messages.length, 1)
  const [message] = result.messages
  assert.equal(message?.run_id, result.run_id)
  assert.equal(message?.seq, 0)
  assert.deepEqual(message?.role === 'assistant' && message.content, [
    { type: 'text', text: 'Order 12345 has been shipped.' },
  ])
  assert.equal(result.usage.total_tokens, 15)
  assert.equal(result.usage.complete, true)
  assert.equal(result.usage.currency, 'USD')
  // 10 tokens at 3 and 5 at 15 a million.
  assert.equal(result.usage.cost, 0.000105)
  const [attempt] = result.usage.attempts
  assert.equal(attempt?.status, 'ok')
  assert.equal(attempt?.provider_request_id, 'req_fake_1')
})

test('§6.2 completed: the model stayed silent twice, and a fixed sentence stands in its place', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [says(), says()])
  const result = await client.run(runBody({ llm: provider.llm() }))
  assert.equal(result.status, 'completed')
  assert.equal(result.answer_source, 'fallback')
  assert.ok(result.text.length > 10)
  assert.deepEqual(result.messages, [])
  assert.equal(provider.received.length, 2)
})

test('§6.2 completed: a refusal is an answer, with the stop reason that says so', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.finish({ reason: 'content_filter' })])
  const result = await client.run(runBody({ llm: provider.llm() }))
  assert.equal(result.status, 'completed')
  assert.equal(result.stop_reason, 'refusal')
  assert.equal(result.answer_source, 'fallback')
  assert.equal(provider.received.length, 1)
})

test('§5.5 awaiting_tool: a deferred call ends the run, and the run after the approval goes on from there', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, {
    getOrders: ok({ state: 'shipped' }),
    createReturn: { status: 'deferred', operation_id: 'op_77' },
  })
  const provider = await startProvider(t, [
    (answer) => {
      answer.text('I ask for a return.')
      answer.call('getOrders', { orderId: '1' })
      answer.call('createReturn', { orderId: '1' })
      answer.finish()
    },
    says('The return is under way.'),
  ])
  const given = {
    llm: provider.llm(),
    tools: [tools.tool('getOrders'), tools.tool('createReturn', { effect: 'write' })],
    meta: { session_id: 'approval-1' },
    origin_request_id: 'msg_5',
  }
  const question = user('Return order 1.')
  const asked = await client.run(runBody({ ...given, messages: [question] }))
  assert.equal(asked.status, 'awaiting_tool')
  assert.equal(asked.stop_reason, 'tool_calls')
  assert.equal(asked.text, 'I ask for a return.')
  const [pending] = asked.pending
  assert.equal(asked.pending.length, 1)
  assert.equal(pending?.tool, 'createReturn')
  assert.equal(pending.operation_id, 'op_77')
  assert.ok(Date.parse(pending.expires_at) > Date.now() + 6 * 24 * 3600 * 1000)
  assert.deepEqual(
    asked.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.deepEqual(
    asked.tool_calls.map(({ tool, effect, status }) => [tool, effect, status]),
    [
      ['getOrders', 'read', 'ok'],
      ['createReturn', 'write', 'deferred'],
    ],
  )

  const approval = { role: 'tool', call_id: pending.call_id, tool: 'createReturn', result: { returnId: 'R-1' } }
  const history = [question, ...asked.messages, { ...approval, ticket: pending.ticket }] as JsonObject[]
  const done = await client.run(runBody({ ...given, messages: history }))
  assert.equal(done.status, 'completed')
  assert.equal(done.text, 'The return is under way.')
  const request = chatRequest(await provider.nth(2))
  assert.deepEqual(toolContents(request).at(-1), { result: { returnId: 'R-1' } })
  // No new user message began this run, so it is told the time in a note at the end.
  assert.match(contentText(request.messages.at(-1)), /^The current time is /)
  assert.equal(tools.calls.length, 2)
})

test('§5.5 a ticket is made as Appendix B.2 says; one that does not fit its call, or is too old, is a 400 of its own', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { createReturn: { status: 'deferred', operation_id: 'op_1' } })
  const provider = await startProvider(t, [asksFor(['createReturn', { id: 1 }]), asksFor(['createReturn', { id: 2 }])])
  const given = { llm: provider.llm(), tools: [tools.tool('createReturn', { effect: 'write' })] }
  const question = user('Return it.')
  const limits = { approval_ttl_ms: 60_000 }
  const first = await client.run(runBody({ ...given, limits, messages: [question] }))
  const second = await client.run(runBody({ ...given, limits, messages: [question] }))
  const [pending, other] = [first.pending[0], second.pending[0]]
  assert.ok(pending !== undefined && other !== undefined)

  const ticketAt = (expiry: number) => {
    const facts = ['ticket', first.run_id, pending.call_id, 'createReturn', pending.args_hash, expiry]
    const signature = createHmac('sha256', ENGINE_TOKEN).update(JSON.stringify(facts)).digest('hex')
    return `v1.${first.run_id}.${expiry}.${signature}`
  }
  const expiry = Date.parse(pending.expires_at)
  const [begun, ended] = [first.started_at, first.finished_at].map((at) => Date.parse(at) + limits.approval_ttl_ms)
  assert.ok(begun !== undefined && ended !== undefined && begun <= expiry && expiry <= ended)
  assert.equal(pending.ticket, ticketAt(expiry))

  const [asked] = first.messages
  const answered = (ticket: string, call: Json = asked as Json): Promise<Answer> => {
    const approval = { role: 'tool', call_id: pending.call_id, tool: 'createReturn', result: 1, ticket }
    return client.post(runBody({ messages: [question, call, approval] }))
  }
  const refusal = async (answer: Promise<Answer>, code: string) => {
    const { details } = errorOf(await answer, 400, code)
    assert.deepEqual(
      details?.map(({ path }) => path),
      ['messages[2].ticket'],
    )
  }
  await refusal(answered(other.ticket), 'ticket_mismatch')
  await refusal(answered(`${pending.ticket}0`), 'ticket_mismatch')
  await refusal(answered('nonsense'), 'ticket_mismatch')
  const changed = JSON.parse(JSON.stringify(asked).replace('"id":1', '"id":3')) as Json
  await refusal(answered(pending.ticket, changed), 'ticket_mismatch')
  const late = ticketAt(Date.now() - 1)
  await refusal(answered(late), 'ticket_expired')
  assert.equal((await answered(pending.ticket)).status, 202)

  // Once the model has gone on from the decision, the conversation may outlive its ticket.
  const approval = { role: 'tool', call_id: pending.call_id, tool: 'createReturn', result: 1, ticket: late }
  const said = { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }
  const before = [question, asked as Json, approval]
  assert.equal((await client.post(runBody({ messages: [...before, said, user('Thanks.')] }))).status, 202)
  await refusal(client.post(runBody({ messages: [...before, user('Well?')] })), 'ticket_expired')
})

test('§8.3 stopped_limit: after max_steps the model is asked once more, without tools and with a note', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok({ state: 'shipped' }) })
  const provider = await startProvider(t, [asksFor(['getOrders', {}]), says('It is shipped, I think.')])
  const given = { llm: provider.llm(), tools: [tools.tool('getOrders')], limits: { max_steps: 1 } }
  const result = await client.run(runBody(given))
  assert.equal(result.status, 'stopped_limit')
  assert.equal(result.limit_reached, 'max_steps')
  assert.equal(result.answer_source, 'model')
  assert.equal(result.text, 'It is shipped, I think.')
  assert.equal(result.steps, 2)
  const [first, last] = provider.received.map(chatRequest)
  assert.deepEqual(last?.tools, first?.tools)
  assert.equal(last?.tool_choice, 'none')
  assert.equal(last?.messages.at(-1)?.role, 'user')
  assert.match(contentText(last?.messages.at(-1)), /max_steps/)
})

test('§8.3 LC-05: an answer on step max_steps itself is completed', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', {}]), says('Done.')])
  const limits = { max_steps: 2 }
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')], limits }))
  assert.deepEqual([result.status, result.limit_reached, result.steps], ['completed', null, 2])
})

test('§8.3 stopped_limit: without a final answer the limit ends the run at once, and there is still a text', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', { n: 1 }], ['getOrders', { n: 2 }])])
  const limits = { max_tool_calls: 1, final_answer: false }
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')], limits }))
  assert.equal(result.status, 'stopped_limit')
  assert.equal(result.limit_reached, 'max_tool_calls')
  assert.equal(result.answer_source, 'fallback')
  assert.ok(result.text.length > 10)
  assert.deepEqual(
    result.tool_calls.map(({ status }) => status),
    ['ok', 'not_sent'],
  )
  assert.equal(tools.calls.length, 1)
  assert.equal(provider.received.length, 1)
})

test('§8.3 stopped_limit: max_cost keeps enough for the final answer', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', {}]), says('Enough.')])
  // A step costs 0.000105: with two more like it the run would be beyond.
  const llm = provider.llm({ pricing: { currency: 'USD', input: 3, output: 15 } })
  const result = await client.run(runBody({ llm, tools: [tools.tool('getOrders')], limits: { max_cost: 0.0003 } }))
  assert.deepEqual([result.status, result.limit_reached, result.text], ['stopped_limit', 'max_cost', 'Enough.'])
  assert.equal(result.usage.cost, 0.00021)
})

test('§8.3 stopped_limit: when timeout_ms is over, the text shown so far stands', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    (answer) => {
      answer.text('It was ')
    },
  ])
  const result = await client.run(runBody({ llm: provider.llm(), limits: { timeout_ms: 250 } }))
  assert.equal(result.status, 'stopped_limit')
  assert.equal(result.limit_reached, 'timeout_ms')
  assert.equal(result.stop_reason, 'timeout')
  assert.equal(result.text, 'It was ')
  assert.equal(await (await provider.nth(1)).closed, 'cut')
  const [message] = result.messages
  assert.equal(message?.role === 'assistant' && message.stop_reason, 'timeout')
  assert.equal(result.usage.complete, false)
})

test('§6.2 cancelled: somebody cancelled, and the text so far is kept', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [(answer) => answer.text('So far')])
  const accepted = await client.start(runBody({ llm: provider.llm() }))
  await (await client.stream(accepted)).event('delta')
  await client.cancel(accepted.run_id)
  const { result } = await client.view(accepted.run_id)
  assert.deepEqual(
    [result?.status, result?.stop_reason, result?.text, result?.error],
    ['cancelled', 'cancelled', 'So far', null],
  )
})

test('§6.2 failed: no answer could be had; finished steps are kept and the sentence is for the end user', async (t) => {
  const client = await engine.client()
  const tools = await startTools(t, { getOrders: ok(1) })
  const provider = await startProvider(t, [asksFor(['getOrders', {}]), refuses(401)])
  const result = await client.run(runBody({ llm: provider.llm(), tools: [tools.tool('getOrders')] }))
  assert.equal(result.status, 'failed')
  assert.equal(result.error?.code, 'provider_auth')
  assert.ok((result.error?.message.length ?? 0) > 10)
  assert.equal(result.stop_reason, 'error')
  assert.equal(result.answer_source, null)
  assert.equal(result.text, '')
  assert.deepEqual(
    result.messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.equal(provider.received.length, 2)
})

test('§6.2 failed: text that was shown stays, as an assistant message that says how it ended', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [
    (answer) => {
      answer.text('It was ')
      answer.raw('data: {"error":{"message":"no","type":"invalid_request_error","code":400}}\n\n')
    },
  ])
  const result = await client.run(runBody({ llm: provider.llm() }))
  assert.deepEqual([result.status, result.text, result.answer_source], ['failed', 'It was ', 'model'])
  assert.equal(provider.received.length, 1)
  const [message] = result.messages
  assert.equal(message?.role === 'assistant' && message.stop_reason, 'error')
})

const failures: readonly [what: string, code: string, status: number, requests: number][] = [
  ['a refused key', 'provider_auth', 401, 1],
  ['a key that may not', 'provider_auth', 403, 1],
  ['an account without means', 'provider_quota', 402, 1],
  ['a model that is not there', 'model_not_found', 404, 1],
  ['a request that is not taken', 'provider_rejected', 400, 1],
]

for (const [what, code, status, requests] of failures) {
  test(`§11 ${code}: ${what} (HTTP ${status}) is not tried again`, async (t) => {
    const client = await engine.client()
    const provider = await startProvider(t, [refuses(status)])
    const result = await client.run(runBody({ llm: provider.llm() }))
    assert.deepEqual([result.status, result.error?.code], ['failed', code])
    assert.equal(provider.received.length, requests)
    assert.equal(result.usage.attempts[0]?.http_status, status)
    assert.equal(result.usage.attempts[0]?.status, 'failed')
    assert.equal(result.usage.total_tokens, 0)
  })
}

test('§12.3 SE-05: a provider that quotes the key it refuses does not get it into the log or the result', async (t) => {
  const client = await engine.client()
  const process = await engine.process()
  const words = 'Incorrect API key provided: sk-SECRET-provider-key'
  const provider = await startProvider(t, [
    (answer) => answer.status(401, {}, JSON.stringify({ error: { message: words, type: 'invalid_request_error' } })),
  ])
  const result = await client.run(runBody({ llm: provider.llm() }))
  assert.equal(result.error?.code, 'provider_auth')
  assert.doesNotMatch(JSON.stringify(result), /SECRET/)
  const line = await process.line((one) => one['event'] === 'failed' && one['run_id'] === result.run_id)
  assert.match(String(line['detail']), /Incorrect API key provided/)
})

test('§8.1 EG-04: a provider’s redirect is not followed, wherever it leads, and is called one', async (t) => {
  const client = await engine.client()
  const process = await engine.process()
  const elsewhere = await startProvider(t, [says('Stolen.')])
  for (const dialect of ['openai-chat', 'anthropic'] as const) {
    for (const [status, location] of [
      [301, `${elsewhere.url}/v1/chat/completions`],
      [302, 'https://169.254.169.254/latest/meta-data/'],
      [303, 'http://127.0.0.1:1/'],
      [307, '/v1/chat/completions'],
      [308, `${elsewhere.url}/v1/messages`],
    ] as const) {
      const provider = await startProvider(t, [refuses(status, { location })], dialect)
      const result = await client.run(runBody({ llm: provider.llm() }))
      assert.deepEqual([result.status, result.error?.code], ['failed', 'provider_rejected'], location)
      assert.deepEqual([provider.received.length, elsewhere.received.length], [1, 0], location)
      const line = await process.line((one) => one['event'] === 'failed' && one['run_id'] === result.run_id)
      assert.match(String(line['detail']), new RegExp(`HTTP ${status}, a redirect, which is not followed`))
      assert.doesNotMatch(String(line['detail']), /169\.254|127\.0\.0\.1/)
    }
  }
})

test('§8.1 provider_timeout: a provider that says nothing is asked three times, and its sockets are closed', async (t) => {
  const client = await engine.client()
  const provider = await startProvider(t, [silent, silent, silent])
  const result = await client.run(runBody({ llm: provider.llm() }))
  assert.deepEqual([result.status, result.error?.code], ['failed', 'provider_timeout'])
  assert.equal(provider.received.length, 3)
  await provider.idle()
  assert.equal(result.usage.complete, false)
  assert.ok(result.usage.attempts.every(({ estimated, error_code }) => estimated && error_code === 'timeout'))
})

test('§8.1 a fallback answers where the first target fails, with its own address and key', async (t) => {
  const client = await engine.client()
  const first = await startProvider(t, [refuses(403)])
  const second = await startProvider(t, [says('From the second.')], 'anthropic')
  const llm = first.llm({ fallbacks: [second.llm({ api_key: 'sk-SECRET-second' })] })
  const result = await client.run(runBody({ llm }))
  assert.deepEqual([result.status, result.text], ['completed', 'From the second.'])
  assert.deepEqual(
    result.usage.attempts.map(({ attempt, provider, status }) => [attempt, provider, status]),
    [
      [1, 'openai-compatible', 'failed'],
      [2, 'anthropic', 'ok'],
    ],
  )
  assert.equal(first.received[0]?.headers.authorization, 'Bearer sk-SECRET-provider-key')
  assert.equal(second.received[0]?.headers['x-api-key'], 'sk-SECRET-second')
  assert.equal(second.received[0]?.path, '/v1/messages')
})

test('§3.2 the scripted provider plays a whole run without a connection', async () => {
  const client = await engine.client()
  const echo = await client.run(runBody({ messages: [user('Hello')] }))
  assert.match(echo.text, /Hello/)
  const refused = await client.run(runBody({ llm: scripted([{ status: 401 }]) }))
  assert.deepEqual([refused.status, refused.error?.code], ['failed', 'provider_auth'])
})

test('the engine of this file ended in peace', () => engine.finish())
