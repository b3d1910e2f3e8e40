/**
 * What tokens cost: exact decimal arithmetic, so that a thousand small amounts add up to their sum and nothing else.
 *
 * Pure. Prices keep the digits they were written with; no amount ever passes through a double. SPEC §6.3.
 */
import decimals from 'decimal.js-light'
import { amountText } from '../contract/amount.ts'
import { exactNumber, isRawNumber, type Json, type RawNumber } from '../contract/json.ts'
import type { Pricing, Rates } from '../contract/run-request.ts'
import type { Tokens } from '../contract/usage.ts'

/**
 * Digits beyond any price times any count: nothing is rounded. A copy of its own, so that nobody's settings are shared.
 * (The package is CommonJS; by its typings the class is the `default` of the module.)
 */
const Decimal = decimals.default.clone({ precision: 200, toExpNeg: -40, toExpPos: 40 })

const PER = 1_000_000

/** Sums of costs are longer than any price; what is beyond this was never one. */
const SUM = /^-?\d{1,200}(?:\.\d{1,200})?(?:[eE][+-]?\d{1,3})?$/

/**
 * The cost of one attempt in the currency of `pricing`. Every token is priced once: reasoning is part of the output, cache
 * reads and writes are not part of the input. null without pricing, or where a price is no usable number.
 * @param cacheWriteLong of the cache writes, those kept for an hour or longer, which have a price of their own
 */
export function price(tokens: Tokens, pricing: Pricing | null, cacheWriteLong = 0): number | RawNumber | null {
  if (pricing === null) return null
  const rates = ratesFor(tokens, pricing)
  const long = Math.min(cacheWriteLong, tokens.cache_write_tokens)
  const kinds: readonly (readonly [number, Json])[] = [
    [tokens.input_tokens, rates.input],
    [tokens.cache_read_tokens, rates.cache_read],
    [tokens.cache_write_tokens - long, rates.cache_write],
    [long, rates.cache_write_1h ?? rates.cache_write],
    [tokens.output_tokens, rates.output],
  ]
  let sum = new Decimal(0)
  for (const [count, rate] of kinds) {
    const text = amountText(rate)
    if (text === null) return null
    sum = sum.plus(new Decimal(text).times(count))
  }
  return exactNumber(sum.dividedBy(PER).toString())
}

/**
 * One request has one set of rates for all its tokens: those of the highest tier that its whole input is above, else the ones
 * outside any tier. A request of exactly `above_input_tokens` is not above.
 */
function ratesFor(tokens: Tokens, pricing: Pricing): Rates {
  const input = tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens
  let rates: Rates = pricing
  let highest = -1
  for (const tier of pricing.tiers ?? []) {
    if (input <= tier.above_input_tokens || tier.above_input_tokens <= highest) continue
    rates = tier
    highest = tier.above_input_tokens
  }
  return rates
}

/** The exact sum of amounts; null where one of them is no usable number. The sum of nothing is 0. */
export function sumOf(amounts: readonly Json[]): number | RawNumber | null {
  let sum = new Decimal(0)
  for (const amount of amounts) {
    const text = isRawNumber(amount) ? amount.rawJSON : typeof amount === 'number' ? String(amount) : ''
    if (!SUM.test(text)) return null
    sum = sum.plus(text)
  }
  return exactNumber(sum.toString())
}
