/**
 * Usage of chat completions, wherever a server puts it and whatever it calls it. Pure. `prompt_tokens` holds what was read
 * from and written to a cache, which the contract counts apart (SPEC §6.3).
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { countIn, tokenCount, tokensOf } from '../token-count.ts'
import { isObject, type WireObject } from '../wire-value.ts'

const NONE: WireObject = {}

/** The usage object of a chunk or a document; null where it has none. One that is told in two places is one. */
export function usageIn(chunk: WireObject, choice: WireObject | null): JsonObject | null {
  const found = chunk['usage'] ?? choice?.['usage'] ?? (isObject(chunk['x_groq']) ? chunk['x_groq']['usage'] : null)
  return isObject(found) ? (found as JsonObject) : null
}

/** Gateways before other APIs hand their names through. */
const PROMPT = ['prompt_tokens', 'input_tokens'] as const
const COMPLETION = ['completion_tokens', 'output_tokens'] as const

/** True where every count is zero or none: what gateways send that never counted. */
export function isEmptyUsage(usage: JsonObject): boolean {
  return [...PROMPT, ...COMPLETION, 'total_tokens'].every((field) => (tokenCount(usage[field]) ?? 0) === 0)
}

/**
 * null where nothing is known: no usage, no prompt count, or only zeros for an answer that held something.
 * @param wrote something of the model came
 */
export function chatUsage(usage: JsonObject | null, wrote: boolean): UsageReading | null {
  const prompt = countIn(usage, ...PROMPT)
  if (usage === null || prompt === null || (wrote && isEmptyUsage(usage))) return null
  const promptDetails = detailsOf(usage, 'prompt_tokens_details', 'input_tokens_details')
  const cacheRead = largest(promptDetails['cached_tokens'], usage['prompt_cache_hit_tokens'], usage['cached_tokens'])
  const cacheWrite = largest(
    promptDetails['cache_write_tokens'],
    promptDetails['cache_creation_tokens'],
    usage['cache_write_tokens'],
    usage['cache_creation_tokens'],
    usage['cache_creation_input_tokens'],
  )
  const completion = countIn(usage, ...COMPLETION)
  const reasoning = largest(
    detailsOf(usage, 'completion_tokens_details', 'output_tokens_details')['reasoning_tokens'],
    usage['reasoning_tokens'],
  )
  return {
    tokens: tokensOf({
      input: Math.max(0, prompt - cacheRead - cacheWrite),
      cacheRead,
      cacheWrite,
      output: outputOf(usage, prompt, completion, reasoning),
      reasoning,
    }),
    known: completion === null ? 'input' : 'all',
  }
}

/** Some servers leave reasoning out of `completion_tokens`; their total gives it away. */
function outputOf(usage: JsonObject, prompt: number, completion: number | null, reasoning: number): number {
  if (completion === null) return 0
  const apart = reasoning > 0 && tokenCount(usage['total_tokens']) === prompt + completion + reasoning
  return apart ? completion + reasoning : completion
}

function detailsOf(usage: JsonObject, field: string, alias: string): WireObject {
  const details = usage[field] ?? usage[alias]
  return isObject(details) ? details : NONE
}

/** Of several names for one figure; 0 where none is told. */
function largest(...values: readonly unknown[]): number {
  return Math.max(0, ...values.map((value) => tokenCount(value) ?? 0))
}
