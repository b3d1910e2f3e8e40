/**
 * How many attempts may be on the wire to one receiver at once. A receiver that hangs holds up its own deliveries and
 * no other's, and one that comes back after an outage is not met by all of them in the same moment.
 */

/** Attempts on the wire to one receiver. */
export const LANE_WIDTH = 16

export interface ReceiverLanes {
  /** Waits for a place, first come, first served. null: the signal aborted first. The answer gives the place back; idempotent. */
  enter(url: string, signal: AbortSignal): Promise<(() => void) | null>
}

interface Lane {
  busy: number
  readonly queue: Set<() => void>
}

export function createReceiverLanes(): ReceiverLanes {
  const lanes = new Map<string, Lane>()

  function leave(key: string, lane: Lane): void {
    const [first] = lane.queue
    if (first !== undefined) return first()
    lane.busy -= 1
    if (lane.busy === 0) lanes.delete(key)
  }

  function enter(url: string, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null)
    const key = receiverOf(url)
    const lane = lanes.get(key) ?? { busy: 0, queue: new Set() }
    lanes.set(key, lane)
    const place = once(() => leave(key, lane))
    if (lane.busy < LANE_WIDTH) {
      lane.busy += 1
      return Promise.resolve(place)
    }
    return new Promise((resolve) => {
      const settle = (answer: (() => void) | null) => {
        lane.queue.delete(admit)
        signal.removeEventListener('abort', giveUp)
        resolve(answer)
      }
      const admit = () => settle(place)
      const giveUp = () => settle(null)
      lane.queue.add(admit)
      signal.addEventListener('abort', giveUp)
    })
  }

  return { enter }
}

/** An endpoint, not a host: on a shared platform one host answers for many tenants. Queries are left out: they may name a run. */
function receiverOf(url: string): string {
  return url.split(/[?#]/, 1)[0] ?? url
}

function once(act: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}
