/** Token counts as providers write them, made sane, and added up without counting a token twice (SPEC §6.3). Pure. */
import type { Tokens } from '../contract/usage.ts'

/** A whole number of tokens, also from a string of digits; null for everything else: negative, fractional, NaN, absent. */
export function tokenCount(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value.trim()) ? Number(value) : value
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : null
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
