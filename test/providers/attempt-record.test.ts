/** What is written down of an attempt: AC-03, AC-04 and AC-06 at this border are the dialects' business; here is what is done with it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, Faults } from '../../src/contract/check.ts'
import type { Json } from '../../src/contract/json.ts'
import type { Keywords } from '../../src/contract/schema.ts'
import { Attempt, NO_TOKENS } from '../../src/contract/usage.ts'
import type { AttemptOutcome } from '../../src/providers/attempt-outcome.ts'
import { faultOf } from '../../src/providers/attempt-fault.ts'
import { attemptRecord } from '../../src/providers/attempt-record.ts'
import type { Reading, UsageReading } from '../../src/providers/dialect.ts'
import { estimateInput, estimateOutput, estimateTokens } from '../../src/providers/estimate.ts'
import { target } from './chain.ts'

const NO_MEDIA = { bytes: 0, tokens: 0 }

const reading: Reading = {
  complete: true,
  parts: [{ type: 'text', text: 'Привет' }],
  stop: 'end_turn',
  rawStop: 'stop',
  usage: null,
  rawUsage: null,
  refusal: null,
  fault: null,
  responseId: null,
  provider_data: null,
}

const whole: AttemptOutcome = {
  end: 'answer',
  fault: null,
  reading,
  sent: true,
  started: true,
  outputLength: 6,
  httpStatus: 200,
  requestId: 'req_1',
  firstTokenMs: 5,
  durationMs: 9,
  drained: false,
}

const told: UsageReading = {
  tokens: {
    ...NO_TOKENS,
    input_tokens: 100,
    cache_read_tokens: 50,
    output_tokens: 20,
    reasoning_tokens: 5,
    total_tokens: 170,
  },
  known: 'all',
}

function recordOf(outcome: Partial<AttemptOutcome>, interruption: string | null = null) {
  const record = attemptRecord({
    step: 2,
    attempt: 3,
    target: target({
      pricing: { currency: 'USD', input: 1, cache_read: 0.1, cache_write: 2, cache_write_1h: 4, output: 10 },
    }),
    queuedMs: 4,
    body: '{"twelve":12}…',
    media: NO_MEDIA,
    outcome: { ...whole, ...outcome },
    interruption,
  })
  const faults = new Faults()
  check(Attempt as unknown as Keywords, JSON.parse(JSON.stringify(record)) as Json, '', faults)
  assert.deepEqual(faults.list, [])
  return record
}

const figures = (record: ReturnType<typeof recordOf>) => [
  record.status,
  record.estimated,
  record.input_tokens,
  record.cache_read_tokens,
  record.output_tokens,
  record.total_tokens,
  record.error_code,
]

test('a whole answer with its usage is ok and exact', () => {
  const record = recordOf({ reading: { ...reading, usage: told } })
  assert.deepEqual(figures(record), ['ok', false, 100, 50, 20, 170, null])
  assert.equal(record.cost, 0.000305)
  assert.deepEqual(
    [
      record.step,
      record.attempt,
      record.queued_ms,
      record.first_token_ms,
      record.duration_ms,
      record.provider_request_id,
    ],
    [2, 3, 4, 5, 9, 'req_1'],
  )
})

test('AC-06: a whole answer without usage is unknown, and estimated, not zero', () => {
  const record = recordOf({})
  assert.deepEqual(figures(record), ['unknown', true, 4, 0, 3, 7, null])
})

test('input told and output not: the input stays exact', () => {
  const half: UsageReading = {
    tokens: { ...told.tokens, output_tokens: 0, reasoning_tokens: 0, total_tokens: 150 },
    known: 'input',
  }
  const cut = { ...reading, complete: false, usage: half }
  const record = recordOf({ end: 'fault', fault: faultOf('interrupted', 'x'), reading: cut })
  assert.deepEqual(figures(record), ['unknown', true, 100, 50, 3, 153, 'interrupted'])
})

test('a failure after the counts were told is failed, with them', () => {
  const record = recordOf({ end: 'fault', fault: faultOf('server', 'x'), reading: { ...reading, usage: told } })
  assert.deepEqual(figures(record), ['failed', false, 100, 50, 20, 170, 'server'])
})

test('what the provider itself refused, or never got, cost nothing', () => {
  const nothing = { reading: null, started: false, outputLength: 0, firstTokenMs: null, end: 'fault' as const }
  const inside = faultOf('rate', 'x')
  const cases: Partial<AttemptOutcome>[] = [
    { ...nothing, fault: faultOf('overloaded', 'x', 529), httpStatus: 529 },
    { ...nothing, fault: faultOf('network', 'x'), httpStatus: null, sent: false },
    { ...nothing, fault: inside, reading: { ...reading, parts: [], fault: { ...inside, class: 'rate' } } },
  ]
  for (const each of cases) assert.deepEqual(figures(recordOf(each)).slice(0, 6), ['failed', false, 0, 0, 0, 0])
  assert.deepEqual(figures(recordOf({ ...nothing, end: 'aborted', fault: null, sent: false }, 'cancelled')), [
    'failed',
    false,
    0,
    0,
    0,
    0,
    'cancelled',
  ])
})

test('a failure after the model had begun, or an answer that broke its protocol, may have cost something', () => {
  const server = faultOf('server', 'x')
  const malformed = faultOf('malformed', 'x')
  const begun = { ...reading, complete: false, fault: { ...server, class: 'server' as const } }
  const broken = { ...reading, parts: [], complete: false, fault: { ...malformed, class: 'malformed' as const } }
  assert.equal(recordOf({ end: 'fault', fault: server, reading: begun }).status, 'unknown')
  const nothing = { started: false, outputLength: 0, firstTokenMs: null }
  assert.equal(recordOf({ ...nothing, end: 'fault', fault: malformed, reading: broken }).status, 'unknown')
})

test('what was sent and never accounted for is unknown', () => {
  const silent = { reading: null, started: false, outputLength: 0, firstTokenMs: null, httpStatus: null }
  const cases: [Partial<AttemptOutcome>, string | null, string][] = [
    [{ ...silent, end: 'fault', fault: faultOf('timeout', 'x') }, null, 'timeout'],
    [{ ...silent, end: 'fault', fault: faultOf('network', 'x') }, null, 'network'],
    [{ ...silent, end: 'aborted' }, 'cancelled', 'cancelled'],
    [{ ...silent, end: 'given_up' }, 'out_of_time', 'out_of_time'],
    [{ ...silent, end: 'fault', fault: faultOf('malformed', 'x'), httpStatus: 200 }, null, 'malformed'],
  ]
  for (const [outcome, interruption, code] of cases) {
    assert.deepEqual(figures(recordOf(outcome, interruption)), ['unknown', true, 4, 0, 0, 4, code])
  }
})

test('estimates are a quarter of the bytes, rounded up', () => {
  assert.deepEqual([0, 1, 4, 5].map(estimateTokens), [0, 1, 1, 2])
  assert.equal(estimateInput('ёж', NO_MEDIA), 1)
  const call = {
    type: 'tool_call',
    tool: 'a',
    args: {},
    argsText: '{"a":1}',
    fault: null,
    provider_data: null,
  } as const
  assert.equal(estimateOutput([{ type: 'reasoning', text: 'Привет' }, call], 3), 5)
  assert.equal(estimateOutput([], 40), 10)
})

test('AC-05: cache writes that are kept for an hour are paid at their own price', () => {
  const tokens = { ...NO_TOKENS, cache_write_tokens: 1000, total_tokens: 1000 }
  const cost = (cacheWriteLong: number) =>
    recordOf({ reading: { ...reading, usage: { tokens, known: 'all', cacheWriteLong } } }).cost
  assert.deepEqual([cost(0), cost(1000), cost(400)], [0.002, 0.004, 0.0028])
})
