/**
 * What a line of an event stream says that is none of its own: JSON or a page that a gateway wrote into it without `data:`, a
 * line that lost its beginning. The grammar of server-sent events passes over what it does not know, and a part of the answer
 * with it. Pure.
 *
 * A field that nobody knows, and words alone, are passed over all the same: both are sent to keep a connection alive.
 */

export type ForeignLine =
  /** What stands in it is JSON: it lost its field name, or never had one. */
  | { readonly kind: 'data'; readonly event: string | undefined; readonly data: string }
  /** Something was meant by it, and cannot be read. */
  | { readonly kind: 'unreadable' }

/** In UTF-16 units. A longer line is not read: an error is shorter. */
export const LONGEST_FOREIGN_LINE = 64 * 1024

/** Marks of JSON and of markup: something was meant. */
const MEANT = /["{}<]/
/** A field as the grammar has it, of a name that nobody knows. */
const FIELD = /^[a-z][\w-]{0,40}:/i
/** The name of a field that was meant, behind what must not stand before it. */
const LIKE_A_FIELD = /^[^\w"{}[\]<]*(?:(data|error)\b)?\s*:?\s*/i

/** null: it says nothing. */
export function foreignLine(line: string): ForeignLine | null {
  if (!MEANT.test(line)) return null
  const [before = '', name = ''] = LIKE_A_FIELD.exec(line) ?? []
  if (name === '' && FIELD.test(line)) return null
  const data = line.slice(before.length)
  if (line.length > LONGEST_FOREIGN_LINE || !isJson(data)) return { kind: 'unreadable' }
  return { kind: 'data', event: name.toLowerCase() === 'error' ? 'error' : undefined, data }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
