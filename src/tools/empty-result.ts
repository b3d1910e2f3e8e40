/** Whether a result says that there is nothing (SPEC §5.6). Pure. */
import { isJsonObject, isRawNumber, type Json } from '../contract/json.ts'

export const EMPTY_NOTE = 'There is no such data. Asking again changes nothing.'

/**
 * `null`, `""`, `[]`, `{}`, and an object whose only array is empty and that holds nothing else either: `{"orders":[]}`,
 * `{"total":0,"orders":[]}`. An object that says something beside its empty array is data: an order without discounts, or a
 * page beyond the last of five results. `0` and `false` are data.
 */
export function isEmptyResult(result: Json): boolean {
  if (result === null || result === '') return true
  if (Array.isArray(result)) return result.length === 0
  if (!isJsonObject(result)) return false
  const entries = Object.entries(result)
  const arrays = entries.filter(([, value]) => Array.isArray(value))
  if (entries.length === 0) return true
  return arrays.length === 1 && entries.every(([name, value]) => saysNothing(name, value))
}

function saysNothing(name: string, value: Json): boolean {
  if (Array.isArray(value)) return value.length === 0
  if (isJsonObject(value)) return Object.keys(value).length === 0
  if (isRawNumber(value)) return false
  // That the request went well is no data.
  if (value === true) return name === 'ok' || name === 'success'
  return value === null || value === '' || value === 0 || value === false
}
