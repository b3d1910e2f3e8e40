/**
 * How long results stay and which go first (SPEC §7.3). Pure: what is kept and the time give what is to be dropped.
 */

export interface RetentionLimits {
  /** A stored result stays readable for this long, ms. */
  readonly resultTtlMs: number
  /** A result nobody has stored stays for this long after its last attempt, ms; then the session is free again. */
  readonly undeliveredTtlMs: number
  readonly maxResults: number
  readonly maxResultBytes: number
}

/** A run that has ended, as retention sees it. */
export interface Kept {
  readonly runId: string
  readonly stored: boolean
  /** Its callback is still being tried: it does not grow too old, however long the schedule is. */
  readonly isTried: boolean
  /** When it was stored, else when its last attempt had failed, else when it ended. */
  readonly since: number
  /** Size of its result, UTF-16 units: half of what a double-width string takes, all of a plain one. */
  readonly bytes: number
}

/** Beyond a bound, room is made down to this share of it, so that a full memory is not swept at every run's end. */
const ROOM = 0.9

/** Runs to drop. `kept` stands oldest first; within the bounds, only what is past its time goes. */
export function toDrop(kept: readonly Kept[], limits: RetentionLimits, now: number): Kept[] {
  const expired = (run: Kept) =>
    !run.isTried && now - run.since >= (run.stored ? limits.resultTtlMs : limits.undeliveredTtlMs)
  const dropped = kept.filter(expired)
  const left = kept.filter((run) => !expired(run))
  let count = left.length
  let bytes = left.reduce((sum, run) => sum + run.bytes, 0)
  if (count <= limits.maxResults && bytes <= limits.maxResultBytes) return dropped
  const drop = (run: Kept) => {
    dropped.push(run)
    count -= 1
    bytes -= run.bytes
  }
  // Oldest stored first, with some room; what nobody has goes only as far as it must.
  for (const run of left.filter(({ stored }) => stored)) {
    if (count <= limits.maxResults * ROOM && bytes <= limits.maxResultBytes * ROOM) break
    drop(run)
  }
  for (const run of left.filter(({ stored }) => !stored)) {
    if (count <= limits.maxResults && bytes <= limits.maxResultBytes) break
    drop(run)
  }
  return dropped
}
