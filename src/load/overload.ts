/**
 * When an engine has too much to do to take another run. Pure: measures in, a verdict out. SPEC §12.2.
 *
 * It switches late and back later: one long turn of the loop or one heap before its collection is no overload, and an engine at
 * its bound does not open and shut its door with every sample.
 */

/** Why no run is taken. */
export type OverloadReason = 'memory' | 'event_loop'

export interface LoadSample {
  /** Resident memory of the process. */
  readonly rssBytes: number
  readonly heapBytes: number
  /** How much later than due a timer came, on average since the sample before. */
  readonly lagMs: number
}

export interface LoadLimits {
  /** MAX_MEMORY_BYTES. */
  readonly rssBytes: number
  /** Where V8 is near its own bound, and would end the process. */
  readonly heapBytes: number
  /** MAX_EVENT_LOOP_LAG_MS. */
  readonly lagMs: number
}

/** One measure: whether it is over its bound, and for how many samples it has been on the other side. */
interface Side {
  readonly over: boolean
  readonly against: number
}

export interface Load {
  readonly memory: Side
  readonly event_loop: Side
}

const CALM: Side = { over: false, against: 0 }
export const NO_LOAD: Load = { memory: CALM, event_loop: CALM }

/** So many samples in a row, each above the bound, are an overload. */
const SAMPLES_TO_SHUT = 2
/** So many in a row, each below this share of the bound, are the end of it. */
const SAMPLES_TO_OPEN = 4
const OPEN_BELOW = 0.8

export function nextLoad(load: Load, sample: LoadSample, limits: LoadLimits): Load {
  const memory = Math.max(sample.rssBytes / limits.rssBytes, sample.heapBytes / limits.heapBytes)
  return {
    memory: nextSide(load.memory, memory),
    event_loop: nextSide(load.event_loop, sample.lagMs / limits.lagMs),
  }
}

/** `share` of the bound. */
function nextSide({ over, against }: Side, share: number): Side {
  const differs = over ? share < OPEN_BELOW : share > 1
  if (!differs) return { over, against: 0 }
  const enough = against + 1 >= (over ? SAMPLES_TO_OPEN : SAMPLES_TO_SHUT)
  return enough ? { over: !over, against: 0 } : { over, against: against + 1 }
}

/** The reason to tell, or null. A loop that lags says more than memory does. */
export function overloadOf({ memory, event_loop }: Load): OverloadReason | null {
  if (event_loop.over) return 'event_loop'
  return memory.over ? 'memory' : null
}
