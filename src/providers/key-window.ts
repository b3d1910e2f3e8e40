/**
 * How many requests may be under way for one provider key: additive increase, multiplicative decrease. Pure.
 *
 *     open ──limited with a pause──▶ paused ──the time is over──▶ open
 *
 * - `open`: up to `limit` requests at once. Each `limit` successes raise it by one, up to `most`.
 * - `paused`: nobody starts before `pausedUntil`; what is under way goes on. When the pause is over starting goes on at the
 *   lowered limit, so that the waiting do not all wake in the same moment.
 *
 * `limited` halves the limit (never below 1) once a round: of thirty requests that were under way together and are all
 * answered 429, the first halves it and the others, begun in the round before, only lengthen the pause. SPEC §8.2.
 */
import { assertNever } from '../contract/assert-never.ts'

export interface KeyWindow {
  /** Whole number, 1 or more. */
  readonly limit: number
  /** Successes since the limit last changed. */
  readonly successes: number
  /** Grows with every halving; a request remembers the round it began in. */
  readonly round: number
  /** Absolute time in ms; 0: no pause. */
  readonly pausedUntil: number
  /** The limit never grows beyond. */
  readonly most: number
}

export type KeyEvent =
  | { readonly kind: 'ok' }
  /** 429 or overload. `pauseMs`: how long the provider asked to wait, 0 where it said nothing. */
  | { readonly kind: 'limited'; readonly round: number; readonly now: number; readonly pauseMs: number }
  /** Ended in another way: tells nothing about the limit. */
  | { readonly kind: 'other' }

/**
 * A key is never paused longer than this at once: after it one request may try. A provider that asks for hours is believed
 * by the run it told so, which goes to another model; the others are not locked out for as long.
 */
export const LONGEST_PAUSE_MS = 60_000

export function openWindow(limit: number, most: number): KeyWindow {
  return { limit: Math.min(limit, most), successes: 0, round: 0, pausedUntil: 0, most }
}

/** The only way from one window to the next. */
export function next(window: KeyWindow, event: KeyEvent): KeyWindow {
  switch (event.kind) {
    case 'ok': {
      const successes = window.successes + 1
      if (successes < window.limit) return { ...window, successes }
      return { ...window, successes: 0, limit: Math.min(window.limit + 1, window.most) }
    }
    case 'limited': {
      const pauseMs = Math.min(Math.max(event.pauseMs, 0), LONGEST_PAUSE_MS)
      const pausedUntil = pauseMs === 0 ? window.pausedUntil : Math.max(window.pausedUntil, event.now + pauseMs)
      if (event.round !== window.round) return { ...window, pausedUntil }
      const limit = Math.max(1, Math.floor(window.limit / 2))
      return { ...window, limit, successes: 0, round: window.round + 1, pausedUntil }
    }
    case 'other':
      return window
    default:
      return assertNever(event)
  }
}

/** May one more request start, with so many under way? */
export function mayStart(window: KeyWindow, active: number, now: number): boolean {
  return active < window.limit && now >= window.pausedUntil
}
