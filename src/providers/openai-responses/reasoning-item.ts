/** Reasoning items on their way back (stateless use): which may go, and in which form. Pure. */
import type { JsonObject } from '../../contract/json.ts'
import { list, text } from '../wire-value.ts'

/** What the API cannot read of an item stays away: a summary alone is refused. */
export function goesBack(item: JsonObject): boolean {
  return text(item['encrypted_content']) !== '' || list(item['content']).length > 0
}

/**
 * The item as it came, without what belongs to a stored response: an id makes the API look for the item in its store, or pair
 * it with the next one. `summary` is required even where it is empty.
 */
export function replayedItem({ id: _id, status: _status, ...item }: JsonObject): JsonObject {
  const told = Object.fromEntries(Object.entries(item).filter(([, value]) => value !== null))
  return { ...told, type: 'reasoning', summary: list(item['summary']) as JsonObject[] }
}
