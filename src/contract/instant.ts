/** Times on the wire: ISO 8601 UTC with milliseconds. */

/** Milliseconds since the epoch; the text has passed `check.ts` as an instant. */
export function instantOf(text: string): number {
  return Date.parse(text)
}

export function instantText(ms: number): string {
  return new Date(ms).toISOString()
}

const FORM = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * True for a date and time with its zone, as RFC 3339 writes it; seconds may be left out. A day that no calendar has is none,
 * though `Date.parse` would take 30 February for 2 March.
 */
export function isInstant(text: string): boolean {
  const day = FORM.exec(text)?.[1]
  if (day === undefined || Number.isNaN(Date.parse(text))) return false
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}
