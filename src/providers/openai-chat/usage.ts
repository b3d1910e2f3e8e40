/**
 * Usage of chat completions, wherever a server puts it and whatever it calls it. Pure. `prompt_tokens` holds what was read
 * from and written to a cache, which the contract counts apart (SPEC §6.3).
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { countIn, tokenCount, tokensWithin } from '../token-count.ts'
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
 * One more usage object of the same answer: its figures are running totals, so they replace and are never added. One that tells
 * only some of them, or nothing that makes sense, leaves the others as they were; so does the zero of a gateway that writes one
 * for a prompt which was counted before.
 */
export function laterUsage(earlier: JsonObject | null, later: JsonObject): JsonObject {
  const prompt = countIn(later, ...PROMPT)
  const uncounted = prompt === 0 && (countIn(earlier, ...PROMPT) ?? 0) > 0
  if (earlier === null || (prompt !== null && !uncounted && countIn(later, ...COMPLETION) !== null)) return later
  const told = Object.entries(later).filter(([field, value]) => {
    if (uncounted && !OF_COMPLETION.has(field)) return false
    return (typeof value === 'object' && value !== null) || !COUNTED.has(field) || tokenCount(value) !== null
  })
  const { total_tokens: _, ...kept } = earlier
  return { ...kept, ...Object.fromEntries<JsonObject[string]>(told) }
}

const OF_COMPLETION: ReadonlySet<string> = new Set([
  ...COMPLETION,
  'completion_tokens_details',
  'output_tokens_details',
  'reasoning_tokens',
])
const COUNTED: ReadonlySet<string> = new Set([...PROMPT, ...COMPLETION, 'total_tokens'])

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
    tokens: tokensWithin({
      prompt,
      completion: completion ?? 0,
      cacheRead,
      cacheWrite,
      reasoning: completion === null ? 0 : reasoning,
      total: tokenCount(usage['total_tokens']),
    }),
    known: completion === null ? 'input' : 'all',
  }
}

function detailsOf(usage: JsonObject, field: string, alias: string): WireObject {
  const details = usage[field] ?? usage[alias]
  return isObject(details) ? details : NONE
}

/** Of several names for one figure; 0 where none is told. */
function largest(...values: readonly unknown[]): number {
  return Math.max(0, ...values.map((value) => tokenCount(value) ?? 0))
}
