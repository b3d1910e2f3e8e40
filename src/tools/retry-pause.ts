/** How often a call is tried, and how long it waits before the next time (SPEC §5.4). Pure. */

export const MAX_ATTEMPTS = 3

const FIRST_PAUSE_MS = 500

/**
 * Milliseconds before the next attempt: 0.5 s doubling, spread between half and whole so that calls that failed together do
 * not come back together; never less than the tool asked for.
 * @param attempt the one that failed, 1 for the first
 * @param retryAfter what the tool asked for, or null
 * @param random from 0 up to 1
 */
export function retryPauseMs(attempt: number, retryAfter: number | null, random: number): number {
  const whole = FIRST_PAUSE_MS * 2 ** (attempt - 1)
  return Math.max(retryAfter ?? 0, Math.round((whole / 2) * (1 + random)))
}
