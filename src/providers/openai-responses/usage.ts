/**
 * Usage of the Responses API. Pure. `input_tokens` holds what was read from and written to a cache, which the contract counts
 * apart (SPEC §6.3); `output_tokens` holds the reasoning.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { countIn, tokenCount, tokensWithin } from '../token-count.ts'
import { isObject } from '../wire-value.ts'

/**
 * null where nothing is known: no usage, no input count, or only zeros for an answer that held something.
 * @param wrote something of the model came
 */
export function responsesUsage(usage: JsonObject | null, wrote: boolean): UsageReading | null {
  // Gateways before chat completions hand the names of that API through.
  const input = countIn(usage, 'input_tokens', 'prompt_tokens')
  if (usage === null || input === null) return null
  const output = countIn(usage, 'output_tokens', 'completion_tokens')
  const cacheRead = detail(usage, INPUT, 'cached_tokens')
  const cacheWrite = detail(usage, INPUT, 'cache_write_tokens')
  const tokens = tokensWithin({
    prompt: input,
    completion: output ?? 0,
    cacheRead,
    cacheWrite,
    reasoning: output === null ? 0 : detail(usage, OUTPUT, 'reasoning_tokens'),
    total: tokenCount(usage['total_tokens']),
  })
  if (wrote && tokens.total_tokens === 0) return null
  const long = longWrites(usage)
  return { tokens, known: output === null ? 'input' : 'all', ...(long === 0 ? {} : { cacheWriteLong: long }) }
}

const INPUT = ['input_tokens_details', 'prompt_tokens_details'] as const
const OUTPUT = ['output_tokens_details', 'completion_tokens_details'] as const

/** The classes of cache writes; without them all are of the shorter one. */
function longWrites(usage: JsonObject): number {
  const details = usage[INPUT[0]] ?? usage[INPUT[1]]
  const classes = isObject(details) ? details['cache_write_tokens_details'] : null
  return (isObject(classes) ? tokenCount(classes['ttl_12h_tokens']) : null) ?? 0
}

/** 0 where the details are not told. */
function detail(usage: JsonObject, [own, alias]: readonly [string, string], field: string): number {
  const object = usage[own] ?? usage[alias]
  return (isObject(object) ? tokenCount(object[field]) : null) ?? 0
}
