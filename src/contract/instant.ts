/** Times on the wire: ISO 8601 UTC with milliseconds. */

/** Milliseconds since the epoch; the text has passed `check.ts` as an instant. */
export function instantOf(text: string): number {
  return Date.parse(text)
}

export function instantText(ms: number): string {
  return new Date(ms).toISOString()
}
