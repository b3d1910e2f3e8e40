/**
 * How long an answer asks to wait (RFC 9110 §10.2.3, and `retry-after-ms`, which some model providers send beside it).
 *
 * Pure: the clock is an argument. What is nonsense, negative, zero or in the past counts as not said, so that a caller's
 * own back-off stands and nobody comes back at once.
 */

/**
 * Milliseconds to wait, more than 0 and finite, or null where the headers say nothing sensible. It is not capped: the
 * caller knows its deadline.
 * @param headers names in lower case
 * @param now milliseconds since the epoch, for a header that names a date
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | null {
  return (
    positive(decimal(headers['retry-after-ms'])) ??
    positive(seconds(headers['retry-after'])) ??
    positive(dateIn(headers['retry-after'], now))
  )
}

/** Digits with an optional fraction, nothing else: `Number` alone would take '', '0x10' and '1e3'. */
function decimal(text: string | undefined): number {
  const trimmed = text?.trim() ?? ''
  return /^\d+(?:\.\d+)?$/.test(trimmed) ? Number(trimmed) : Number.NaN
}

function seconds(text: string | undefined): number {
  return decimal(text) * 1000
}

const IMF_FIXDATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const RFC_850 = /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/
/** Has no zone; the standard says it is GMT, `Date.parse` would take it as local. */
const ASCTIME = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

function dateIn(text: string | undefined, now: number): number {
  const trimmed = text?.trim() ?? ''
  if (IMF_FIXDATE.test(trimmed) || RFC_850.test(trimmed)) return Date.parse(trimmed) - now
  return ASCTIME.test(trimmed) ? Date.parse(`${trimmed} GMT`) - now : Number.NaN
}

/** Whole milliseconds, rounded up: a fraction of one is still a wait. */
function positive(milliseconds: number): number | null {
  return Number.isFinite(milliseconds) && milliseconds > 0 ? Math.ceil(milliseconds) : null
}
