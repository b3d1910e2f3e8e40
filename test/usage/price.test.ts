/** Money: exact to the last digit, every token once. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { isRawNumber, type Json, parseJson } from '../../src/contract/json.ts'
import type { Pricing } from '../../src/contract/run-request.ts'
import { NO_TOKENS } from '../../src/contract/usage.ts'
import { price, sumOf } from '../../src/usage/price.ts'

const pricing: Pricing = { currency: 'USD', input: 3, cache_read: 0.3, cache_write: 3.75, output: 15 }

function read(text: string): Json {
  const parsed = parseJson(text)
  assert.ok(parsed.ok)
  return parsed.value
}

test('AC-03, AC-04: each kind of token is priced once; reasoning is part of the output', () => {
  const tokens = {
    ...NO_TOKENS,
    input_tokens: 3,
    cache_read_tokens: 1000,
    cache_write_tokens: 12_304,
    output_tokens: 550,
  }
  assert.equal(price({ ...tokens, reasoning_tokens: 500, total_tokens: 13_857 }, pricing), 0.054699)
})

test('AC-05: no float dust', () => {
  assert.equal(
    price(
      { ...NO_TOKENS, input_tokens: 1, cache_read_tokens: 1, output_tokens: 2 },
      { ...pricing, input: 0.1, cache_read: 0.2, output: 0 },
    ),
    3e-7,
  )
  assert.equal(JSON.stringify(sumOf([0.1, 0.2])), '0.3')
  assert.equal(JSON.stringify(sumOf(Array.from({ length: 1000 }, () => 0.000001))), '0.001')
})

test('AC-05: the tier is chosen by the whole input of one request, and holds for all its tokens', () => {
  const tiered: Pricing = {
    ...pricing,
    cache_write_1h: 6,
    tiers: [
      {
        above_input_tokens: 1_000_000,
        input: 12,
        cache_read: 1.2,
        cache_write: 15,
        cache_write_1h: 24,
        output: 45,
      },
      {
        above_input_tokens: 200_000,
        input: 6,
        cache_read: 0.6,
        cache_write: 7.5,
        cache_write_1h: 12,
        output: 22.5,
      },
    ],
  }
  // 150,000 of the input were read from a cache, 1,000 were written to one, 400 of these for an hour.
  const cost = (input: number) => {
    const tokens = { ...NO_TOKENS, cache_read_tokens: 150_000, cache_write_tokens: 1000, output_tokens: 100 }
    return price({ ...tokens, input_tokens: input - 151_000 }, tiered, 400)
  }
  assert.equal(cost(199_999), 0.198147) // 48,999 x 3 + 150,000 x 0.3 + 600 x 3.75 + 400 x 6 + 100 x 15
  assert.equal(cost(200_000), 0.19815) // exactly the threshold is not above it
  assert.equal(cost(200_001), 0.395556) // everything of the request at the rates of the tier
  assert.equal(cost(1_000_000), 5.19555)
  assert.equal(cost(1_000_001), 10.391112)
})

test('AC-05: a cache write that is kept longer has its own price, or that of the others', () => {
  const tokens = { ...NO_TOKENS, cache_write_tokens: 1_000_000 }
  assert.equal(price(tokens, { ...pricing, cache_write_1h: 6 }, 1_000_000), 6)
  assert.equal(price(tokens, { ...pricing, cache_write_1h: 6 }), 3.75)
  assert.equal(price(tokens, pricing, 1_000_000), 3.75)
  // More than there are of both kinds cannot be: no token is priced twice, and none below nothing.
  assert.equal(price(tokens, { ...pricing, cache_write_1h: 6 }, 5_000_000), 6)
})

test('digits that a double cannot hold leave as they are', () => {
  const input = read('0.12345678901234567891')
  const cost = price({ ...NO_TOKENS, input_tokens: 1_000_001 }, { ...pricing, input })
  assert.ok(isRawNumber(cost))
  assert.equal(JSON.stringify(cost), '0.12345691246913469125567891')
  assert.equal(JSON.stringify(sumOf([cost, 1])), '1.12345691246913469125567891')
})

test('without pricing there is no cost, and free is zero', () => {
  assert.equal(price({ ...NO_TOKENS, input_tokens: 5 }, null), null)
  assert.equal(price(NO_TOKENS, pricing), 0)
  assert.equal(sumOf([]), 0)
})

test('a price that is no usable number gives no cost instead of a wrong or a monstrous one', () => {
  for (const text of ['1e999999', '1e99999999999999999999', `0.${'1'.repeat(200)}`]) {
    assert.equal(price({ ...NO_TOKENS, input_tokens: 1 }, { ...pricing, input: read(text) }), null)
  }
  assert.equal(price({ ...NO_TOKENS, input_tokens: 1 }, { ...pricing, input: 'free' }), null)
  assert.equal(sumOf([1, null]), null)
})

test('the cost is the exact sum of counts times prices', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(1_000_000_000), { minLength: 4, maxLength: 4 }),
      fc.array(fc.nat(99_999), { minLength: 4, maxLength: 4 }),
      (counts, cents) => {
        const [input_tokens = 0, cache_read_tokens = 0, cache_write_tokens = 0, output_tokens = 0] = counts
        const [input = 0, cache_read = 0, cache_write = 0, output = 0] = cents.map((each) => each / 100)
        const cost = price(
          { ...NO_TOKENS, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens },
          { currency: 'USD', input, cache_read, cache_write, output },
        )
        // In units of 10^-8, where everything is a whole number.
        const expected = counts.reduce((sum, count, index) => sum + BigInt(count) * BigInt(cents[index] ?? 0), 0n)
        const text = JSON.stringify(cost)
        const [whole = '0', fraction = ''] = (/e/.test(text) ? Number(text).toFixed(8) : text).split('.')
        assert.equal(BigInt(whole + fraction.padEnd(8, '0')), expected)
      },
    ),
  )
})
