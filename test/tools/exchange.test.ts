import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callId, runId } from '../../src/contract/ids.ts'
import { isJsonObject, parseJson, type JsonObject } from '../../src/contract/json.ts'
import type { CallOrder } from '../../src/engine/ports.ts'
import { exchangeOf, type AttemptFacts } from '../../src/tools/exchange.ts'
import { callOrder, CALL, RUN } from './tool-order.ts'

const facts: AttemptFacts = {
  attempt: 2,
  resultUrl: 'https://engine.example/r?token=t',
  leftMs: 1234.9,
  sampler: null,
}

function objectIn(text: string): JsonObject {
  const parsed = parseJson(text)
  assert.ok(parsed.ok && isJsonObject(parsed.value))
  return parsed.value
}

test('the body holds what the contract says, and nothing else', () => {
  const order = callOrder()
  assert.deepEqual(JSON.parse(exchangeOf(order, facts).body), {
    contract_version: '1',
    run_id: RUN,
    call_id: CALL,
    attempt: 2,
    origin_request_id: 'msg_81',
    tool: 'getOrders',
    args: { orderId: '12345' },
    args_hash: order.argsHash,
    call_key: order.callKey,
    operation_key: order.operationKey,
    meta: { session_id: 'chat_7' },
    result_url: 'https://engine.example/r?token=t',
  })
})

test('the headers are those of the contract beside the tool’s own', () => {
  const order = callOrder({}, { headers: { Authorization: 'Bearer T', 'X-Shop': '1' } })
  const { headers } = exchangeOf(order, facts)
  const { traceparent, ...rest } = headers
  assert.deepEqual(rest, {
    Authorization: 'Bearer T',
    'X-Shop': '1',
    'Content-Type': 'application/json',
    Accept: 'application/json',
    'Accept-Encoding': 'identity',
    'Idempotency-Key': order.callKey,
    'X-Deadline-Ms': '1234',
  })
  assert.match(traceparent ?? '', /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
})

test('X-Engine-Secret is never sent, and X-Deadline-Ms is the engine’s own', () => {
  const order = callOrder({}, { headers: { 'x-engine-secret': 'S', 'X-ENGINE-SECRET': 'S', 'x-deadline-ms': '1' } })
  const { headers, body } = exchangeOf(order, facts)
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  assert.equal(names.includes('x-engine-secret'), false)
  assert.deepEqual(names.filter((name) => name === 'x-deadline-ms').length, 1)
  assert.equal(headers['X-Deadline-Ms'], '1234')
  assert.equal(body.includes('"S"'), false)
})

test('all calls of a run are in one trace, each call is a span of its own', () => {
  const parts = (order: Partial<CallOrder> = {}, attempt = 1) =>
    exchangeOf(callOrder(order), { ...facts, attempt }).headers['traceparent']?.split('-') ?? []
  const first = parts()
  const other = parts({ callId: callId('01JDZZZZZZZZZZZZZZZZZZZZZC') })
  assert.equal(first[1], other[1])
  assert.notEqual(first[2], other[2])
  // A retry is the same call.
  assert.deepEqual(parts({}, 2), first)
  assert.notEqual(parts({ runId: runId('01JDZZZZZZZZZZZZZZZZZZZZZZ') })[1], first[1])
})

test('a call is in the trace of whoever started the run', () => {
  const trace = { traceId: 'a'.repeat(32), parentId: 'b'.repeat(16), flags: 1, state: 'vendor=x' }
  const sent = (sampler: AttemptFacts['sampler']) => exchangeOf(callOrder({ trace }), { ...facts, sampler }).headers
  // Nothing is recorded here: what the caller said goes on as it is.
  const passedOn = sent(null)
  assert.equal(passedOn['traceparent'], `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`)
  assert.equal(passedOn['tracestate'], 'vendor=x')
  const recorded = sent(() => true)
  assert.match(recorded['traceparent'] ?? '', /^00-a{32}-(?!b{16})[0-9a-f]{16}-01$/)
  assert.equal(recorded['tracestate'], 'vendor=x')
  assert.match(sent(() => false)['traceparent'] ?? '', /^00-a{32}-[0-9a-f]{16}-00$/)
})

test('no less than a millisecond is announced', () => {
  assert.equal(exchangeOf(callOrder(), { ...facts, leftMs: 0.2 }).headers['X-Deadline-Ms'], '1')
})

test('numbers leave with the digits they came with', () => {
  const args = objectIn('{"id":12345678901234567890,"price":0.1000000000000000000001}')
  const { body } = exchangeOf(callOrder({ args, meta: args }), facts)
  assert.equal(body.split('"id":12345678901234567890,"price":0.1000000000000000000001').length, 3)
})

test('JS-02: __proto__ and friends leave as data', () => {
  const text = '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}},"toString":1}'
  const { body } = exchangeOf(callOrder({ args: objectIn(text), meta: objectIn(text) }), facts)
  assert.equal(body.split(text).length, 3)
})

test('JS-05: of a key that stood twice the last is sent, the one that was checked', () => {
  const { body } = exchangeOf(callOrder({ args: objectIn('{"amount":10,"amount":9999}') }), facts)
  assert.ok(body.includes('"args":{"amount":9999}'))
})

test('JS-03: half an emoji leaves as an escape, so the body is well-formed', () => {
  const { body } = exchangeOf(callOrder({ args: { text: '\ud83d' } }), facts)
  assert.ok(body.isWellFormed())
  assert.ok(body.includes('\\ud83d'))
})
