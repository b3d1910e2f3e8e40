/**
 * What an entry says of the words of users, models and tools where LOG_CONTENT is on: as JSON in one text, cleared of secrets,
 * within a bound of its own. Pure. SPEC §12.3.
 */

/** UTF-16 units of one entry's content. */
const MAX_CONTENT_CHARS = 16_384

/** `clear` takes secrets out of a text. What is over the bound is cut, and that is seen. */
export function contentFact(content: unknown, clear: (text: string) => string): string {
  const text = JSON.stringify(content) ?? 'null'
  // Cleared before it is cut: a secret that lies on the bound would be found by its beginning alone. What is far behind it
  // is not looked at.
  const cleared = clear(text.slice(0, 2 * MAX_CONTENT_CHARS))
  return cleared.length <= MAX_CONTENT_CHARS ? cleared : `${cleared.slice(0, MAX_CONTENT_CHARS)}…`.toWellFormed()
}
