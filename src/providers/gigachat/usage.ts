/**
 * Usage of GigaChat in the contract's counts (SPEC §6.3). Pure. `prompt_tokens` does not hold what was read from the cache: in
 * every recorded answer the total is prompt and completion alone, beside tokens from the cache that are told apart and not
 * billed.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { countIn, tokenCount, tokensOf } from '../token-count.ts'
import { isObject } from '../wire-value.ts'

const INPUT = ['prompt_tokens', 'input_tokens'] as const
const OUTPUT = ['completion_tokens', 'output_tokens'] as const

/**
 * null where nothing is known: no usage, or no prompt count. Reasoning is never told apart. v2 has other names for the same:
 * its `input_tokens` is the prompt without the cache too.
 */
export function gigachatUsage(usage: JsonObject | null): UsageReading | null {
  const input = countIn(usage, ...INPUT)
  if (usage === null || input === null) return null
  const output = countIn(usage, ...OUTPUT)
  const details = usage['input_tokens_details']
  return {
    tokens: tokensOf({
      input,
      cacheRead:
        countIn(usage, 'precached_prompt_tokens') ??
        (isObject(details) ? tokenCount(details['cached_tokens']) : null) ??
        0,
      cacheWrite: 0,
      output: output ?? 0,
      reasoning: 0,
    }),
    known: output === null ? 'input' : 'all',
  }
}

/**
 * One more usage object of the same answer. Its figures are running totals and replace the ones before, but where a prompt has
 * become less: then each chunk tells its own share, as those of the assistants' API do, and they are added.
 */
export function laterUsage(earlier: JsonObject | null, later: JsonObject): JsonObject {
  const before = countIn(earlier, ...INPUT)
  const now = countIn(later, ...INPUT)
  if (earlier === null || before === null || now === null || now >= before) return later
  const sums = [...INPUT, ...OUTPUT, 'total_tokens', 'precached_prompt_tokens'].flatMap((field) => {
    const share = tokenCount(later[field])
    return share === null ? [] : [[field, (tokenCount(earlier[field]) ?? 0) + share] as const]
  })
  return { ...earlier, ...Object.fromEntries(sums) }
}

/** True where every count is zero or none: a usage object that nobody filled in. */
export function isEmptyUsage(usage: JsonObject): boolean {
  return [...INPUT, ...OUTPUT, 'total_tokens'].every((field) => (tokenCount(usage[field]) ?? 0) === 0)
}
