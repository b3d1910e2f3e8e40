/**
 * When an attempt must be looked at again, and for what. Pure: times in, the next one out.
 *
 * - `first_token`: from the request until something of the model came. Comments, pings and empty events do not move it.
 * - `stall`: no byte since the last one. It begins with the first byte of the answer; before that only `first_token` counts,
 *   for many servers are silent while they read a long prompt. Comments and pings do move it.
 * - `late`: the answer is whole; usage and the end mark may still follow. Nothing moves it, and no other deadline counts.
 * - `error_body`: the body of an HTTP error is read so long, then what is there is used.
 * - `give_up`, `deadline`: the step's and the run's. `give_up` counts only while the attempt has shown no text.
 */

export interface AttemptLimits {
  readonly firstTokenMs: number
  readonly stallMs: number
  /** Absolute times in ms. */
  readonly giveUpAt: number
  readonly deadlineAt: number
}

/** Absolute times in ms; null: has not happened. */
export interface AttemptTimes {
  readonly startedAt: number
  readonly lastByteAt: number | null
  readonly firstTokenAt: number | null
  readonly finishedAt: number | null
  /** Headers of an HTTP error came. */
  readonly errorAt: number | null
  readonly textShown: boolean
}

export interface Due {
  readonly at: number
  readonly what: 'deadline' | 'give_up' | 'first_token' | 'stall' | 'late' | 'error_body'
}

/** What late usage and an end mark are given after a finish reason. SPEC §8.4. */
export const LATE_MS = 2_000
const ERROR_BODY_MS = 5_000

export function nextDue(times: AttemptTimes, limits: AttemptLimits): Due {
  if (times.finishedAt !== null) return { at: Math.min(times.finishedAt + LATE_MS, limits.deadlineAt), what: 'late' }
  let due: Due = { at: limits.deadlineAt, what: 'deadline' }
  const sooner = (at: number, what: Due['what']) => {
    if (at < due.at) due = { at, what }
  }
  if (!times.textShown) sooner(limits.giveUpAt, 'give_up')
  if (times.errorAt !== null) {
    sooner(times.errorAt + ERROR_BODY_MS, 'error_body')
    return due
  }
  if (times.firstTokenAt === null) sooner(times.startedAt + limits.firstTokenMs, 'first_token')
  if (times.lastByteAt !== null) sooner(times.lastByteAt + limits.stallMs, 'stall')
  return due
}
