/** Milliseconds that a timer may be set for: longer delays overflow setTimeout and fire at once. About 24.8 days. */
export const LONGEST_TIMER_MS = 2_147_483_647
