/** The usage of a run is the sum of its attempts, failed ones included. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import type { Json } from '../../src/contract/json.ts'
import type { Pricing } from '../../src/contract/run-request.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { type Attempt, NO_TOKENS, Usage } from '../../src/contract/usage.ts'
import { addUsage } from '../../src/usage/add.ts'

const usd: Pricing = { currency: 'USD', input: 1, cache_read: 1, cache_write: 1, output: 1 }
const eur: Pricing = { ...usd, currency: 'EUR' }

function attempt(more: Partial<Attempt> = {}): Attempt {
  return {
    step: 1,
    attempt: 1,
    provider: 'anthropic',
    model: 'a',
    status: 'ok',
    ...NO_TOKENS,
    estimated: false,
    cost: 0.1,
    http_status: 200,
    error_code: null,
    provider_request_id: null,
    queued_ms: 0,
    first_token_ms: 1,
    duration_ms: 2,
    ...more,
  }
}

const a = { provider: 'anthropic', model: 'a', pricing: usd } as const
const b = { provider: 'openai-compatible', model: 'b', pricing: usd } as const

function add(attempts: readonly Attempt[], targets: Parameters<typeof addUsage>[1]) {
  const usage = addUsage(attempts, targets)
  const faults = new Faults()
  check(Usage as unknown as Keywords, JSON.parse(JSON.stringify(usage)) as Json, '', faults)
  assert.deepEqual(faults.list, [])
  return usage
}

test('AC-02: counts and costs are the sums of the attempts, which are listed', () => {
  const attempts = [
    attempt({
      input_tokens: 10,
      cache_read_tokens: 3,
      output_tokens: 2,
      reasoning_tokens: 1,
      total_tokens: 15,
      cost: 0.1,
    }),
    attempt({
      provider: 'openai-compatible',
      model: 'b',
      status: 'failed',
      cache_write_tokens: 5,
      total_tokens: 5,
      cost: 0.2,
    }),
  ]
  const usage = add(attempts, [a, b])
  assert.deepEqual(
    { ...usage, attempts: usage.attempts.length },
    {
      input_tokens: 10,
      cache_read_tokens: 3,
      cache_write_tokens: 5,
      output_tokens: 2,
      reasoning_tokens: 1,
      total_tokens: 20,
      cost: 0.3,
      currency: 'USD',
      complete: true,
      attempts: 2,
    },
  )
})

test('one attempt that never told its usage makes the sum incomplete', () => {
  assert.equal(add([attempt(), attempt({ status: 'unknown', estimated: true })], [a]).complete, false)
})

test('without one attempt’s cost, or over several currencies, there is no sum', () => {
  const cases = [
    add([attempt(), attempt({ cost: null })], [a]),
    add([attempt(), attempt({ provider: 'openai-compatible', model: 'b' })], [a, { ...b, pricing: eur }]),
    add([attempt(), attempt({ provider: 'openai-compatible', model: 'b', cost: null })], [a, { ...b, pricing: null }]),
    // The same model twice with different prices: which of them an attempt went to is not told.
    add([attempt()], [a, { ...a, pricing: eur }]),
  ]
  for (const { cost, currency } of cases) assert.deepEqual([cost, currency], [null, null])
})

test('a fallback that was never asked does not disturb the sum', () => {
  for (const other of [
    { ...b, pricing: null },
    { ...b, pricing: eur },
    { ...a, provider: 'kimi', pricing: eur },
    { ...a, model: 'b', pricing: eur },
  ] as const) {
    const { cost, currency } = add([attempt(), attempt()], [a, other])
    assert.deepEqual([cost, currency], [0.2, 'USD'])
  }
})

test('the same model once more, with another key and without a price, does not disturb the sum of what was priced', () => {
  const { cost, currency } = add([attempt(), attempt()], [a, { ...a, pricing: null }])
  assert.deepEqual([cost, currency], [0.2, 'USD'])
  assert.equal(add([attempt(), attempt({ cost: null })], [a, { ...a, pricing: null }]).cost, null)
})

test('a run without attempts cost nothing, where it was priced', () => {
  assert.deepEqual([add([], [a]).cost, add([], [a]).currency, add([], [a]).complete], [0, 'USD', true])
  assert.equal(add([], [{ ...a, pricing: null }]).cost, null)
})
