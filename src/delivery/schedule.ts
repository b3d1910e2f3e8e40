/**
 * Where the delivery of one result stands. It is always in exactly one of these:
 *
 *     waiting ──▶ trying ──▶ delivered
 *        ▲          │ ├────▶ undelivered
 *        └──────────┘ └────▶ stopped
 *
 * - `waiting`: the next try is due after `pauseMs`. `tries` have been made.
 * - `trying`: try number `tries` is on the wire. Left when it has an answer or none is to be had.
 * - `delivered`: a 2xx came.
 * - `undelivered`: the last try failed too.
 * - `stopped`: the harness acked the result, so nothing more is begun; from `waiting` as well. A try that is on the wire
 *   by then may still land: it carries the same bytes as all the others.
 *
 * Pure: it neither waits nor sends. SPEC §7.2.
 */
export type Delivery =
  | { readonly kind: 'waiting'; readonly tries: number; readonly pauseMs: number }
  | { readonly kind: 'trying' | 'delivered' | 'undelivered' | 'stopped'; readonly tries: number }

export type DeliveryEvent =
  /** The pause is over. */
  | { readonly kind: 'due' }
  | { readonly kind: 'stored' }
  /** `roll` from 0 to 1: how much of the jitter the next pause gets. */
  | { readonly kind: 'failed'; readonly roll: number }
  | { readonly kind: 'acked' }

/** Milliseconds before the second try and each later one, counted from the end of the try before. */
export const PAUSES_MS: readonly number[] = [5_000, 10_000, 20_000, 45_000]

/** Pauses are lengthened by up to this share, never shortened. */
export const JITTER = 0.1

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
    case 'failed': {
      if (state.kind !== 'trying') return state
      const pauseMs = pausesMs[tries - 1]
      if (pauseMs === undefined) return { kind: 'undelivered', tries }
      return { kind: 'waiting', tries, pauseMs: pauseMs * (1 + JITTER * event.roll) }
    }
    case 'acked':
      return isOver(state) ? state : { kind: 'stopped', tries }
  }
}

export function isOver(state: Delivery): boolean {
  return state.kind !== 'waiting' && state.kind !== 'trying'
}
