/**
 * A provider's own name for a request, as it may be stored and shown to people: one short word. What quotes something secret
 * that was sent along is no name. Pure.
 */

const NAME = /^[\x21-\x7e]{1,200}$/
/** Shorter parts of a header stand in many words. */
const SHORTEST_PART = 8

/** @param sent the headers of the request, values and all */
export function requestIdOf(given: string | null, sent: Readonly<Record<string, string>>): string | null {
  if (given === null || !NAME.test(given)) return null
  const parts = Object.values(sent).flatMap((value) => value.split(' '))
  return parts.some((part) => part.length >= SHORTEST_PART && given.includes(part)) ? null : given
}
