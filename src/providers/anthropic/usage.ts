/**
 * Usage of the Messages API. Pure. `message_start` tells the input, `message_delta` all that has come since: its figures are
 * running totals, so they replace and are never added. `input_tokens` holds neither cache reads nor cache writes.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { tokenCount, tokensOf } from '../token-count.ts'
import { isObject, list, type WireObject } from '../wire-value.ts'

/**
 * Lays the later usage object over the earlier one. A figure that is null or makes no sense says nothing. Nor do the zeros of a
 * gateway that writes one for an input which was counted before.
 */
export function overlaid(earlier: JsonObject | null, later: JsonObject): JsonObject {
  const uncounted = isUncounted(earlier, later)
  const told = Object.entries(later).filter(([field, value]) => {
    if (earlier?.[field] === undefined) return true
    if (field !== 'output_tokens' && !INPUT.has(field)) return value !== null
    const count = tokenCount(value)
    return count !== null && (count > 0 || !uncounted || field === 'output_tokens')
  })
  return { ...earlier, ...Object.fromEntries<JsonObject[string]>(told) }
}

const INPUT: ReadonlySet<string> = new Set(['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens'])

/** Of an input that was counted before nothing is left, not even what came from a cache or went into one. */
function isUncounted(earlier: JsonObject | null, later: JsonObject): boolean {
  if (tokenCount(later['input_tokens']) !== 0 || (tokenCount(earlier?.['input_tokens']) ?? 0) === 0) return false
  return [...INPUT].every((field) => (tokenCount(later[field]) ?? 0) === 0)
}

/** It holds an output count, and not only zeros, which a gateway sends that never counted. */
export function tellsOutput(earlier: JsonObject | null, later: JsonObject): boolean {
  const count = tokenCount(later['output_tokens'])
  return count !== null && (count > 0 || !isUncounted(earlier, later))
}

/**
 * null where nothing is known: no usage came, or only zeros for an answer that held something.
 * @param outputTold the output count is of the whole answer, not the placeholder of `message_start`
 * @param wrote something of the model came
 */
export function anthropicUsage(raw: JsonObject | null, outputTold: boolean, wrote: boolean): UsageReading | null {
  if (raw === null || tokenCount(raw['input_tokens']) === null) return null
  const told = outputTold && tokenCount(raw['output_tokens']) !== null
  const counted = [raw, ...passesApart(raw)]
  const sum = (field: string) => counted.reduce((total, usage) => total + (tokenCount(usage[field]) ?? 0), 0)
  const details = raw['output_tokens_details']
  const tokens = tokensOf({
    input: sum('input_tokens'),
    cacheRead: sum('cache_read_input_tokens'),
    cacheWrite: counted.reduce((total, usage) => total + cacheWrites(usage), 0),
    output: told ? sum('output_tokens') : 0,
    reasoning: (isObject(details) ? tokenCount(details['thinking_tokens']) : null) ?? 0,
  })
  if (wrote && tokens.total_tokens === 0) return null
  const long = counted.reduce((total, usage) => total + longWrites(usage), 0)
  return { tokens, known: told ? 'all' : 'input', ...(long === 0 ? {} : { cacheWriteLong: long }) }
}

/**
 * Passes over a model that the figures beside `iterations` leave out, such as the one that compacts a conversation: those of
 * the answer itself are of type `message`, and are in.
 */
function passesApart(raw: JsonObject): WireObject[] {
  return list(raw['iterations']).filter(
    (pass): pass is WireObject => isObject(pass) && typeof pass['type'] === 'string' && pass['type'] !== 'message',
  )
}

/** The sum of the classes, where only those are told. */
function cacheWrites(usage: WireObject): number {
  const { cache_creation: classes } = usage
  const told = tokenCount(usage['cache_creation_input_tokens'])
  if (told !== null || !isObject(classes)) return told ?? 0
  return (tokenCount(classes['ephemeral_5m_input_tokens']) ?? 0) + longWrites(usage)
}

/** The classes of cache writes; without them all are of the shorter one. */
function longWrites(usage: WireObject): number {
  const classes = usage['cache_creation']
  return (isObject(classes) ? tokenCount(classes['ephemeral_1h_input_tokens']) : null) ?? 0
}
