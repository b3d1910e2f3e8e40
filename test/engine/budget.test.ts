/** Budgets of tokens and money just below, at and just above their border (SPEC §8.3). */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { runId } from '../../src/contract/ids.ts'
import { parseJson, type Json } from '../../src/contract/json.ts'
import { NO_TOKENS, type Attempt } from '../../src/contract/usage.ts'
import { planStep } from '../../src/engine/plan.ts'
import { openRecord, type RunRecord } from '../../src/engine/record.ts'
import { answer, call, calls, ok, play, text, type Play, type Played } from '../fakes/engine.ts'
import { at, runRequest, tool } from '../fakes/run-request.ts'

const START = Date.parse(at)
const ID = runId('01JDZZZZZZZZZZZZZZZZZZZZZZ')
const orders = tool('getOrders')
const look = (id: number) => call('getOrders', { id })
const choices = (played: Played) => played.asks.map(({ toolChoice }) => toolChoice)

/** An attempt that was answered in whole, of so many tokens. */
function attempt(parts: Partial<Attempt> = {}): Attempt {
  const tokens = { ...NO_TOKENS, input_tokens: 100, output_tokens: 10, ...parts }
  return {
    step: 1,
    attempt: 1,
    provider: 'scripted',
    model: 'scripted',
    status: 'ok',
    ...tokens,
    estimated: false,
    cost: null,
    http_status: 200,
    error_code: null,
    provider_request_id: null,
    queued_ms: 0,
    first_token_ms: 1,
    duration_ms: 1,
    ...parts,
    total_tokens: tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens + tokens.output_tokens,
  }
}

/** Nothing is known of what a cut attempt would have been. */
const cut = { status: 'unknown', estimated: true, error_code: 'interrupted' } as const
const unreachable = { status: 'failed', error_code: 'network', input_tokens: 0, output_tokens: 0 } as const

function spentRecord(limits: { readonly [key: string]: Json }, attempts: readonly Attempt[]): RunRecord {
  const pricing = { currency: 'USD', input: 1_000_000, output: 1_000_000 }
  const llm = { provider: 'scripted', model: 'scripted', pricing }
  const record = openRecord(ID, runRequest({ llm, tools: [orders], limits }), [], START)
  record.attempts.push(...attempts)
  return record
}

function limitOf(record: RunRecord): string | null {
  const plan = planStep(record, START)
  return plan.kind === 'end' ? plan.limit : plan.final
}

// One more request: 100 + 10 tokens in, 10 out. Two of them: 20 out, 240 in all, cost 240.
const one = [attempt({ cost: 110 })]
const borders: readonly (readonly [string, string, readonly Attempt[], number, number])[] = [
  // limit, what, attempts, the most that is reached with a final answer, and without
  ['max_output_tokens_total', 'one answer', one, 29, 10],
  ['max_total_tokens', 'one answer', one, 349, 110],
  ['max_cost', 'one answer', one, 349, 110],
  ['max_output_tokens_total', 'an estimate', [attempt({ status: 'unknown', estimated: true })], 29, 10],
  ['max_total_tokens', 'an estimate', [attempt({ status: 'unknown', estimated: true })], 349, 110],
  ['max_total_tokens', 'nothing but a cut attempt', [attempt({ ...cut })], 110, 110],
  // What a failed or cut attempt took is spent, and says nothing of the next request.
  ['max_total_tokens', 'a cut attempt after an answer', [...one, attempt({ ...cut, output_tokens: 0 })], 449, 210],
  ['max_total_tokens', 'a failed attempt after an answer', [...one, attempt({ ...unreachable })], 349, 110],
  ['max_output_tokens_total', 'a long and a short answer', [...one, attempt({ output_tokens: 1 })], 30, 11],
  [
    'max_total_tokens',
    'another model with a smaller count',
    [...one, attempt({ model: 'second', input_tokens: 50 })],
    // 170 spent, 2 x (50 + 10 + 10)
    309,
    170,
  ],
  [
    'max_total_tokens',
    'cache reads and writes',
    [attempt({ cache_read_tokens: 1000, cache_write_tokens: 100 })],
    3649,
    1210,
  ],
]

for (const [limit, what, attempts, final, atOnce] of borders) {
  test(`${limit}, after ${what}: reached at ${final}, not at ${final + 1}; without a final answer at ${atOnce}`, () => {
    const reached = (most: number, more: { readonly [key: string]: Json } = {}) =>
      limitOf(spentRecord({ [limit]: most, ...more }, attempts))
    assert.equal(reached(final - 1), limit)
    assert.equal(reached(final), limit)
    assert.equal(reached(final + 1), null)
    const off = { final_answer: false }
    if (atOnce > 1) assert.equal(reached(atOnce - 1, off), limit)
    assert.equal(reached(atOnce, off), limit)
    assert.equal(reached(atOnce + 1, off), null)
  })
}

test('before the first answer nothing is known of the next request, and no budget is reached', () => {
  for (const limit of ['max_output_tokens_total', 'max_total_tokens', 'max_cost']) {
    assert.equal(limitOf(spentRecord({ [limit]: 1 }, [])), null)
    assert.equal(limitOf(spentRecord({ [limit]: 1 }, [attempt({ ...unreachable, cost: 0 })])), null)
  }
})

test('money is exact: three times 0.1 are 0.3, and neither more nor less', () => {
  const thrice = [0.1, 0.1, 0.1].map((cost) => attempt({ input_tokens: 0, output_tokens: 0, cost }))
  const off = { final_answer: false }
  assert.equal(limitOf(spentRecord({ max_cost: 0.3, ...off }, thrice)), 'max_cost')
  assert.equal(limitOf(spentRecord({ max_cost: exact('0.30000000000000000001'), ...off }, thrice)), null)
  // Nothing is beyond 0.3, so that with a final answer of no cost it is reached by what is spent.
  assert.equal(limitOf(spentRecord({ max_cost: 0.3 }, thrice)), 'max_cost')
})

test('costs and limits with digits beyond a double are compared digit by digit', () => {
  const cost = exact('0.12345678901234567891') as Attempt['cost']
  const spent = [attempt({ input_tokens: 0, output_tokens: 0, cost })]
  const off = { final_answer: false }
  assert.equal(limitOf(spentRecord({ max_cost: exact('0.12345678901234567891'), ...off }, spent)), 'max_cost')
  assert.equal(limitOf(spentRecord({ max_cost: exact('0.12345678901234567890'), ...off }, spent)), 'max_cost')
  assert.equal(limitOf(spentRecord({ max_cost: exact('0.12345678901234567892'), ...off }, spent)), null)
})

test('an attempt without a cost takes nothing of max_cost', () => {
  assert.equal(limitOf(spentRecord({ max_cost: 1, final_answer: false }, [attempt({ cost: null })])), null)
})

function exact(digits: string): Json {
  const parsed = parseJson(digits)
  assert.ok(parsed.ok)
  return parsed.value
}

for (const [mostTokens, asked] of [
  [2349, ['auto', 'none']],
  [2350, ['auto', 'auto']],
] as const) {
  test(`the present size of the context counts the results since: max_total_tokens ${mostTokens} asks ${asked.join(', ')}`, async () => {
    // {"result":"…"} of 4000 bytes is 1000 tokens: 110 spent, 2 x (100 + 10 + 1000 + 10).
    const result = 'x'.repeat(4000 - '{"result":""}'.length)
    const played = await play({
      request: { tools: [orders], limits: { max_total_tokens: mostTokens } },
      model: [
        (ask, tap) => {
          tap.attemptEnded(attempt({ step: ask.step }))
          return calls(look(1))
        },
        text('Here.'),
      ],
      tools: () => ok(result),
    })
    assert.deepEqual(choices(played), asked)
  })
}

test('the size of results is counted in bytes of UTF-8', async () => {
  const limits = { max_total_tokens: 2349 }
  const cyrillic = 'я'.repeat((4000 - '{"result":""}'.length + 1) / 2)
  const played = await play({
    request: { tools: [orders], limits },
    model: [
      (ask, tap) => {
        tap.attemptEnded(attempt({ step: ask.step }))
        return calls(look(1))
      },
      text('Here.'),
    ],
    tools: () => ok(cyrillic),
  })
  assert.deepEqual(choices(played), ['auto', 'none'])
})

test('results that a newer answer has had before it are not counted again', async () => {
  const tell = (ask: { readonly step: number }, tap: { attemptEnded(one: Attempt): void }) =>
    tap.attemptEnded(attempt({ step: ask.step, input_tokens: ask.step === 1 ? 100 : 1100 }))
  // Dropped, and asked again: the results stand at the end of the messages still.
  const cutShort: Play = (ask, tap) => {
    tell(ask, tap)
    return answer([call('getOrders', null, { fault: 'cut', argsText: '{"id":' })], 'length')
  }
  const played = await play({
    // 110 + 1110 spent, and 2 x (1100 + 10 + 10).
    request: { tools: [orders], limits: { max_total_tokens: 3460 } },
    model: [
      (ask, tap) => {
        tell(ask, tap)
        return calls(look(1))
      },
      cutShort,
      text('Here.'),
    ],
    tools: () => ok('x'.repeat(3987)),
  })
  assert.deepEqual(choices(played), ['auto', 'auto', 'auto'])
})

test('the next request is priced as the model that answered prices it', () => {
  const dear = { currency: 'USD', input: 2_000_000, output: 2_000_000 }
  const cheap = { currency: 'USD', input: 1_000_000, output: 1_000_000 }
  const fallbacks = [{ provider: 'scripted', model: 'second', pricing: dear }]
  const llm = { provider: 'scripted', model: 'scripted', pricing: cheap, fallbacks }
  const record = openRecord(ID, runRequest({ llm, limits: { max_cost: 589 } }), [], START)
  record.attempts.push(attempt({ cost: 110 }))
  assert.equal(limitOf(record), null)
  record.target = 1
  assert.equal(limitOf(record), 'max_cost')
})

test('a budget reached between steps gives the last step without tools, and with final_answer off ends the run', async () => {
  const spend: Play = (ask, tap) => {
    tap.attemptEnded(attempt({ step: ask.step }))
    return ask.toolChoice === 'auto' ? calls(look(1)) : text('Here.')
  }
  const run = (final_answer: boolean) =>
    play({
      request: { tools: [orders], limits: { max_output_tokens_total: 10, final_answer } },
      model: [spend, spend],
      tools: () => ok(1),
    })
  const kept = await run(true)
  assert.deepEqual(choices(kept), ['auto', 'none'])
  assert.equal(kept.result.text, 'Here.')
  const ended = await run(false)
  assert.deepEqual(choices(ended), ['auto'])
  for (const { result } of [kept, ended]) assert.equal(result.limit_reached, 'max_output_tokens_total')
})
