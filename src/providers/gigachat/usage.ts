/**
 * Usage of GigaChat in the contract's counts (SPEC §6.3). Pure. `prompt_tokens` does not hold what was read from the cache: in
 * every recorded answer the total is prompt and completion alone, beside tokens from the cache that are told apart and not
 * billed.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { tokenCount, tokensOf } from '../token-count.ts'

/** null where nothing is known: no usage, or no prompt count. Reasoning is never told apart. */
export function gigachatUsage(usage: JsonObject | null): UsageReading | null {
  const input = tokenCount(usage?.['prompt_tokens'])
  if (usage === null || input === null) return null
  const output = tokenCount(usage['completion_tokens'])
  return {
    tokens: tokensOf({
      input,
      cacheRead: tokenCount(usage['precached_prompt_tokens']) ?? 0,
      cacheWrite: 0,
      output: output ?? 0,
      reasoning: 0,
    }),
    known: output === null ? 'input' : 'all',
  }
}

/** True where every count is zero or none: a usage object that nobody filled in. */
export function isEmptyUsage(usage: JsonObject): boolean {
  return ['prompt_tokens', 'completion_tokens', 'total_tokens'].every((field) => (tokenCount(usage[field]) ?? 0) === 0)
}
