/**
 * The time of one attempt: what has happened when, and one timer for whatever is due next (`attempt-deadlines.ts` decides). It
 * looks at the time stamps when it fires, so that a chunk costs no timer.
 */
import { LONGEST_TIMER_MS } from '../contract/longest-timer.ts'
import { type AttemptLimits, type AttemptTimes, type Due, nextDue } from './attempt-deadlines.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export class AttemptClock {
  readonly times: Mutable<AttemptTimes>
  readonly #limits: AttemptLimits
  readonly #now: () => number
  readonly #onDue: (what: Due['what']) => void
  #timer: ReturnType<typeof setTimeout> | null = null

  /** Begins now; nothing is watched before `arm`. `now`: ms since the epoch. */
  constructor(limits: AttemptLimits, now: () => number, onDue: (what: Due['what']) => void) {
    this.#limits = limits
    this.#now = now
    this.#onDue = onDue
    const never = { lastByteAt: null, firstTokenAt: null, finishedAt: null, errorAt: null }
    this.times = { startedAt: now(), ...never, textShown: false }
  }

  now(): number {
    return this.#now()
  }

  /** What was due before anything began; null: nothing. */
  dueAtStart(): Due['what'] | null {
    const due = nextDue(this.times, this.#limits)
    return due.at <= this.times.startedAt ? due.what : null
  }

  /** One timer at most. It is set anew only where something became due sooner; what moves away is seen when it fires. */
  arm(): void {
    this.stop()
    const { at } = nextDue(this.times, this.#limits)
    const inMs = Math.min(Math.max(at - this.#now(), 0), LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => this.#onTimer(), inMs)
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #onTimer(): void {
    const due = nextDue(this.times, this.#limits)
    if (this.#now() < due.at) this.arm()
    else this.#onDue(due.what)
  }
}
