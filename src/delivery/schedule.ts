/**
 * Where the delivery of one result stands. It is always in exactly one of these:
 *
 *     waiting ──▶ trying ──▶ delivered
 *      ▲   ▲        │ ├────▶ undelivered
 *      │   └────────┘ ├────▶ gone
 *    again            └────▶ stopped
 *
 * - `waiting`: the next try is due after `pauseMs`. `tries` have been made.
 * - `trying`: try number `tries` is on the wire. Left when it has an answer or none is to be had.
 * - `delivered`: a 2xx came.
 * - `undelivered`: the last try failed too.
 * - `gone`: the receiver said 410: it will never take it.
 * - `stopped`: the harness acked the result, so nothing more is begun; from `waiting` as well. A try that is on the wire
 *   by then may still land: it carries the same bytes as all the others.
 *
 * `again` begins anew from wherever it stands; a try on the wire is the first of the new ones.
 *
 * Pure: it neither waits nor sends. SPEC §7.2.
 */
export type Delivery =
  | { readonly kind: 'waiting'; readonly tries: number; readonly pauseMs: number }
  | { readonly kind: 'trying' | 'delivered' | 'undelivered' | 'gone' | 'stopped'; readonly tries: number }

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
  /** Since the first try was due, ms. */
  readonly elapsedMs: number
}

/** Milliseconds before the second try and each later one, counted from the end of the try before. */
export const PAUSES_MS: readonly number[] = [5_000, 10_000, 20_000, 45_000]

/** Pauses are lengthened by up to this share, never shortened. */
const JITTER = 0.1

/** The first try is due at once. */
export const FIRST: Delivery = { kind: 'waiting', tries: 0, pauseMs: 0 }

/** The only way from one state to the next. An event that does not fit changes nothing. */
export function next(state: Delivery, event: DeliveryEvent, pausesMs: readonly number[]): Delivery {
  const { tries } = state
  switch (event.kind) {
    case 'due':
      return state.kind === 'waiting' ? { kind: 'trying', tries: tries + 1 } : state
    case 'stored':
      return state.kind === 'trying' ? { kind: 'delivered', tries } : state
    case 'failed':
      return state.kind === 'trying' ? failed(tries, event, pausesMs) : state
    case 'gone':
      return state.kind === 'trying' ? { kind: 'gone', tries } : state
    case 'acked':
      return isOver(state) ? state : { kind: 'stopped', tries }
    case 'again':
      return state.kind === 'trying' ? { kind: 'trying', tries: 1 } : FIRST
  }
}

/** A receiver may lengthen a pause, up to the moment at which the last try would have been due without its asking. */
function failed(tries: number, { roll, askedMs, elapsedMs }: Failed, pausesMs: readonly number[]): Delivery {
  const pauseMs = pausesMs[tries - 1]
  if (pauseMs === undefined) return { kind: 'undelivered', tries }
  const leftMs = pausesMs.reduce((sum, pause) => sum + pause, 0) - elapsedMs
  const asked = Math.min(askedMs ?? 0, leftMs)
  return { kind: 'waiting', tries, pauseMs: Math.max(pauseMs, asked) * (1 + JITTER * roll) }
}

export function isOver(state: Delivery): boolean {
  return state.kind !== 'waiting' && state.kind !== 'trying'
}
