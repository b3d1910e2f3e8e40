import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageTable } from '../../../examples/demo/usage-table.ts'
import { parseJson, type RawNumber } from '../../../src/contract/json.ts'
import { type Attempt, NO_TOKENS, type Usage } from '../../../src/contract/usage.ts'

function attempt(parts: Partial<Attempt>): Attempt {
  return {
    step: 1,
    attempt: 1,
    provider: 'scripted',
    model: 'm',
    status: 'ok',
    ...NO_TOKENS,
    estimated: false,
    cost: null,
    http_status: 200,
    error_code: null,
    provider_request_id: null,
    queued_ms: 0,
    first_token_ms: 1,
    duration_ms: 5,
    ...parts,
  }
}

function usage(parts: Partial<Usage>): Usage {
  return { ...NO_TOKENS, cost: null, currency: null, complete: true, attempts: [], ...parts }
}

test('each attempt has its row, in columns, and the sums stand below', () => {
  const attempts = [
    attempt({ status: 'failed', error_code: 'rate', cost: 0, duration_ms: 120 }),
    attempt({ attempt: 2, input_tokens: 1200, cache_read_tokens: 80, output_tokens: 7, cost: 0.0037 }),
  ]
  assert.deepEqual(usageTable(usage({ total_tokens: 1287, cost: 0.0037, currency: 'USD', attempts })), [
    'step  attempt  provider  model  status        input  cached  output   ms    cost',
    '   1        1  scripted  m      failed: rate      0       0       0  120       0',
    '   1        2  scripted  m      ok             1200      80       7    5  0.0037',
    '1287 tokens, 0.0037 USD',
  ])
})

test('money is shown with its digits: no exponent, no noise, nothing cut', () => {
  const raw = parseJson('0.12345678901234567890123')
  assert.ok(raw.ok)
  const costs: readonly (readonly [Attempt['cost'], string])[] = [
    [7.5e-8, '0.000000075'],
    [0.001941, '0.001941'],
    [1234.5, '1234.5'],
    [raw.value as RawNumber, '0.12345678901234567890123'],
  ]
  for (const [cost, shown] of costs) {
    assert.equal(usageTable(usage({ cost, currency: 'EUR' })).at(-1), `0 tokens, ${shown} EUR`)
  }
})

test('estimates and a missing price are said', () => {
  assert.equal(
    usageTable(usage({ total_tokens: 9, complete: false })).at(-1),
    '9 tokens, some of them estimated; no cost without pricing',
  )
})
