/**
 * A clock for one run: what the machine's says as it is made, and from then on only what has passed. Somebody who sets the
 * machine's clock, by a day or by a second, neither ends a run nor lengthens it.
 */

/** Milliseconds since the epoch, whole; never goes back. */
export function steadyClock(): () => number {
  const origin = Date.now() - performance.now()
  return () => Math.floor(origin + performance.now())
}
