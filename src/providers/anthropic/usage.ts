/**
 * Usage of the Messages API. Pure. `message_start` tells the input, `message_delta` all that has come since: its figures are
 * running totals, so they replace and are never added. `input_tokens` holds neither cache reads nor cache writes.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { tokenCount, tokensOf } from '../token-count.ts'
import { isObject } from '../wire-value.ts'

/** Lays the later usage object over the earlier one; a field that is null says nothing. */
export function overlaid(earlier: JsonObject | null, later: JsonObject): JsonObject {
  const merged = Object.entries(later).filter(([field, value]) => value !== null || earlier?.[field] === undefined)
  return { ...earlier, ...Object.fromEntries<JsonObject[string]>(merged) }
}

/**
 * null where nothing is known: no usage came, or only zeros for an answer that held something.
 * @param outputTold the output count is of the whole answer, not the placeholder of `message_start`
 * @param wrote something of the model came
 */
export function anthropicUsage(raw: JsonObject | null, outputTold: boolean, wrote: boolean): UsageReading | null {
  const input = tokenCount(raw?.['input_tokens'])
  if (raw === null || input === null) return null
  const told = outputTold ? tokenCount(raw['output_tokens']) : null
  const details = raw['output_tokens_details']
  const tokens = tokensOf({
    input,
    cacheRead: tokenCount(raw['cache_read_input_tokens']) ?? 0,
    cacheWrite: tokenCount(raw['cache_creation_input_tokens']) ?? 0,
    output: told ?? 0,
    reasoning: (isObject(details) ? tokenCount(details['thinking_tokens']) : null) ?? 0,
  })
  if (wrote && tokens.total_tokens === 0) return null
  return { tokens, known: told === null ? 'input' : 'all', ...longWrites(raw['cache_creation']) }
}

/** The classes of cache writes; without them all are of the shorter one. */
function longWrites(classes: JsonObject[string] | undefined): Pick<UsageReading, 'cacheWriteLong'> {
  const long = isObject(classes) ? tokenCount(classes['ephemeral_1h_input_tokens']) : null
  return long === null || long === 0 ? {} : { cacheWriteLong: long }
}
