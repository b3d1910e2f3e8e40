/**
 * Where the delivery of one result stands. It is always in exactly one of these:
 *
 *     waiting ──▶ sending ──▶ delivered
 *      ▲   ▲        │  ├────▶ undelivered
 *      │   └────────┘  ├────▶ gone
 *    again             └────▶ stopped
 *
 * - `waiting`: the next attempt is due after `pauseMs`. `attempts` have been made.
 * - `sending`: attempt number `attempts` is on the wire. Left when it has an answer or none is to be had.
 * - `delivered`: a 2xx came.
 * - `undelivered`: the last attempt failed too.
 * - `gone`: the receiver said 410: it will never take it.
 * - `stopped`: the harness acked the result, so nothing more is begun; from `waiting` as well. An attempt that is on
 *   the wire by then may still land: it carries the same bytes as all the others.
 *
 * `again` begins anew from wherever it stands; an attempt on the wire is the first of the new ones.
 *
 * Pure: it neither waits nor sends. SPEC §7.2.
 */
export type Delivery =
  | { readonly kind: 'waiting'; readonly attempts: number; readonly pauseMs: number }
  | { readonly kind: 'sending' | 'delivered' | 'undelivered' | 'gone' | 'stopped'; readonly attempts: number }

export type DeliveryEvent =
  /** The pause is over. */
  | { readonly kind: 'due' }
  | { readonly kind: 'stored' }
  | Failed
  /** It failed for good. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'acked' }
  | { readonly kind: 'again' }

interface Failed {
  readonly kind: 'failed'
  /** From 0 to 1: how much of the jitter the next pause gets. */
  readonly roll: number
  /** How long the receiver asked to be left alone (`Retry-After`), ms; null: it did not. */
  readonly askedMs: number | null
  /** Since the first attempt was due, ms. */
  readonly elapsedMs: number
}

/** Milliseconds before the second attempt and each later one, counted from the end of the attempt before. */
export const PAUSES_MS: readonly number[] = [5_000, 10_000, 20_000, 45_000]

/** Pauses are lengthened by up to this share, never shortened. */
const JITTER = 0.1

/** The first attempt is due at once. */
export const FIRST: Delivery = { kind: 'waiting', attempts: 0, pauseMs: 0 }

/** The only way from one state to the next. An event that does not fit changes nothing. */
export function next(state: Delivery, event: DeliveryEvent, pausesMs: readonly number[]): Delivery {
  const { attempts } = state
  switch (event.kind) {
    case 'due':
      return state.kind === 'waiting' ? { kind: 'sending', attempts: attempts + 1 } : state
    case 'stored':
      return state.kind === 'sending' ? { kind: 'delivered', attempts } : state
    case 'failed':
      return state.kind === 'sending' ? failed(attempts, event, pausesMs) : state
    case 'gone':
      return state.kind === 'sending' ? { kind: 'gone', attempts } : state
    case 'acked':
      return isOver(state) ? state : { kind: 'stopped', attempts }
    case 'again':
      return state.kind === 'sending' ? { kind: 'sending', attempts: 1 } : FIRST
  }
}

/** A receiver may lengthen a pause, up to the moment at which the last attempt would be due without its asking. */
function failed(attempts: number, { roll, askedMs, elapsedMs }: Failed, pausesMs: readonly number[]): Delivery {
  const pauseMs = pausesMs[attempts - 1]
  if (pauseMs === undefined) return { kind: 'undelivered', attempts }
  const leftMs = pausesMs.reduce((sum, pause) => sum + pause, 0) - elapsedMs
  const asked = Math.min(askedMs ?? 0, leftMs)
  return { kind: 'waiting', attempts, pauseMs: Math.max(pauseMs, asked) * (1 + JITTER * roll) }
}

export function isOver(state: Delivery): boolean {
  return state.kind !== 'waiting' && state.kind !== 'sending'
}
