/**
 * Usage of the Messages API. Pure. `message_start` tells the input, `message_delta` all that has come since: its figures are
 * running totals, so they replace and are never added. `input_tokens` holds neither cache reads nor cache writes.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { UsageReading } from '../dialect.ts'
import { tokenCount, tokensOf } from '../token-count.ts'
import { isObject, list, type WireObject } from '../wire-value.ts'

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
  if (raw === null || tokenCount(raw['input_tokens']) === null) return null
  const told = outputTold && tokenCount(raw['output_tokens']) !== null
  const counted = [raw, ...passesApart(raw)]
  const sum = (field: string) => counted.reduce((total, usage) => total + (tokenCount(usage[field]) ?? 0), 0)
  const details = raw['output_tokens_details']
  const tokens = tokensOf({
    input: sum('input_tokens'),
    cacheRead: sum('cache_read_input_tokens'),
    cacheWrite: sum('cache_creation_input_tokens'),
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

/** The classes of cache writes; without them all are of the shorter one. */
function longWrites(usage: WireObject): number {
  const classes = usage['cache_creation']
  return (isObject(classes) ? tokenCount(classes['ephemeral_1h_input_tokens']) : null) ?? 0
}
