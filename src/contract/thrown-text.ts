/** What was thrown, as a text for the journal. */

/**
 * The stack where it has one. Anything can be thrown, also what refuses to become a text, and this is asked where a second
 * fault would take the process down: it never throws.
 */
export function thrownText(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? (thrown.stack ?? thrown.message) : thrown)
  } catch {
    return 'something was thrown that has no text'
  }
}
