/**
 * Where a run stands. It is always in exactly one of these:
 *
 *     running ──▶ ended ──▶ stored
 *
 * - `running`: the loop is at work. Left when the loop returns, however it returns; it cannot be left twice.
 * - `ended`: there is a result that the harness may not have. The session stays locked: a new run on it is answered
 *   `result_pending`. Left on a 2xx from the callback, a fully written waited answer or an ack, whichever comes first.
 * - `stored`: the harness has the result. It stays readable until RESULT_TTL_MS is over or the memory is needed. Never left.
 *
 * Delivery giving up changes nothing here: the run stays `ended` until somebody acks it or UNDELIVERED_TTL_MS is over.
 */
export type RunState = 'running' | 'ended' | 'stored'
export type RunEvent = 'finished' | 'delivered' | 'acked'

/** The only way from one state to the next. An event that comes twice, or too early, changes nothing. */
export function next(state: RunState, event: RunEvent): RunState {
  switch (event) {
    case 'finished':
      return state === 'running' ? 'ended' : state
    case 'delivered':
    case 'acked':
      return state === 'ended' ? 'stored' : state
  }
}
