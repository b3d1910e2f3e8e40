/** Token counts as providers write them, made sane, and added up without counting a token twice (SPEC §6.3). Pure. */
import type { Tokens } from '../contract/usage.ts'

/** No answer has a thousandth of this; sums of such counts are exact. */
const MOST_TOKENS = 1e12

/** A whole number of tokens, also from its text; null for everything else: negative, fractional, absurd, NaN, absent. */
export function tokenCount(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}(?:\.0{1,9})?$/.test(value.trim()) ? Number(value) : value
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number <= MOST_TOKENS ? number : null
}

/** The count in the first of these fields that holds one: the same figure has several names. null: none does. */
export function countIn(
  usage: { readonly [field: string]: unknown } | null,
  ...fields: readonly string[]
): number | null {
  for (const field of fields) {
    const count = tokenCount(usage?.[field])
    if (count !== null) return count
  }
  return null
}

/** Input is what was neither read from nor written to a cache; reasoning is a part of output. */
export function tokensOf(counts: {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}): Tokens {
  return {
    input_tokens: counts.input,
    cache_read_tokens: counts.cacheRead,
    cache_write_tokens: counts.cacheWrite,
    output_tokens: counts.output,
    reasoning_tokens: Math.min(counts.reasoning, counts.output),
    total_tokens: counts.input + counts.cacheRead + counts.cacheWrite + counts.output,
  }
}

/** A prompt and a completion as their vendor counts them, and what it says is in them. null: not told. */
interface ToldCounts {
  readonly prompt: number
  readonly completion: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly reasoning: number
  readonly total: number | null
}

/**
 * The contract's counts of vendors whose prompt holds what was read from and written to a cache, and whose completion holds the
 * reasoning. Some servers leave the one or the other out; their total gives it away, and so does more reasoning than there is
 * completion, where no total says that it is in it.
 */
export function tokensWithin({ cacheRead, cacheWrite, completion, prompt, reasoning, total }: ToldCounts): Tokens {
  const cached = cacheRead + cacheWrite
  const beside = total === null ? null : total - prompt - completion
  // Where one of them is 0 it makes no difference what is said of it.
  const both = beside === reasoning + cached
  const reasoningBeside = both || beside === reasoning || (total === null && reasoning > completion)
  const cacheBeside = both || (beside === cached && !reasoningBeside)
  return tokensOf({
    input: cacheBeside ? prompt : Math.max(0, prompt - cached),
    cacheRead,
    cacheWrite,
    output: reasoningBeside ? completion + reasoning : completion,
    reasoning,
  })
}
