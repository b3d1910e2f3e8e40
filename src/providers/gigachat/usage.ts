/**
 * Usage of GigaChat in the contract's counts (SPEC §6.3). Pure. `prompt_tokens` does not hold what was read from the cache: in
 * every recorded answer the total is prompt and completion alone, beside tokens from the cache that are told apart and not
 * billed.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { countIn, tokenCount, tokensOf } from '../token-count.ts'
import { isObject } from '../wire-value.ts'

/**
 * null where nothing is known: no usage, or no prompt count. Reasoning is never told apart. v2 has other names for the same:
 * its `input_tokens` is the prompt without the cache too.
 */
export function gigachatUsage(usage: JsonObject | null): UsageReading | null {
  const input = countIn(usage, 'prompt_tokens', 'input_tokens')
  if (usage === null || input === null) return null
  const output = countIn(usage, 'completion_tokens', 'output_tokens')
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

/** True where every count is zero or none: a usage object that nobody filled in. */
export function isEmptyUsage(usage: JsonObject): boolean {
  const counts = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens', 'total_tokens']
  return counts.every((field) => (tokenCount(usage[field]) ?? 0) === 0)
}
