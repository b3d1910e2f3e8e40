/**
 * Measures how loaded the process is, twice a second, and says when that is too much. The only place that measures memory and
 * the event loop; `overload.ts` decides.
 */
import { totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { collectGarbage } from './collect-garbage.ts'
import {
  type Load,
  type LoadLimits,
  type LoadSample,
  NO_LOAD,
  nextLoad,
  overloadOf,
  type OverloadReason,
} from './overload.ts'

export interface LoadMeterOptions {
  /** MAX_MEMORY_BYTES; null: `MEMORY_SHARE` of what the container, or else the machine, has. */
  readonly maxMemoryBytes: number | null
  /** MAX_EVENT_LOOP_LAG_MS. */
  readonly maxLagMs: number
  /** Told when an overload begins, changes its reason or ends (null), with what was measured. */
  readonly onChange: (reason: OverloadReason | null, sample: LoadSample) => void
  /** Default: `SAMPLE_MS`. */
  readonly sampleMs?: number
  /** Called where no run is taken for want of memory. Default: `collectGarbage`. */
  readonly collect?: () => void
}

export interface LoadMeter {
  /** Why no run is to be taken now; null: one may be. */
  reason(): OverloadReason | null
  /** How late the loop was over the last samples, ms: on average, and at its worst. */
  lag(): { readonly meanMs: number; readonly worstMs: number }
  close(): void
}

const MEMORY_SHARE = 0.85
/** Garbage counts until it is collected, and V8 collects the harder the nearer it is to its bound. */
const HEAP_SHARE = 0.9
const SAMPLE_MS = 500
/** So many samples `lag` looks back over: ten seconds. */
const LAG_SAMPLES = 20
/** The process stands still while garbage is collected: for no more than a twentieth of its time, and not more often. */
const COLLECT_PAUSE_MS = 5_000
const COLLECT_SHARE = 20
/** How often the loop is asked whether it is late. */
const RESOLUTION_MS = 20

export function createLoadMeter(options: LoadMeterOptions): LoadMeter {
  const { maxMemoryBytes, maxLagMs, onChange, sampleMs = SAMPLE_MS, collect = collectGarbage } = options
  const limits: LoadLimits = {
    rssBytes: maxMemoryBytes ?? MEMORY_SHARE * memoryOfProcess(),
    heapBytes: HEAP_SHARE * getHeapStatistics().heap_size_limit,
    lagMs: maxLagMs,
  }
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  let load: Load = NO_LOAD
  const lags: { readonly meanMs: number; readonly worstMs: number }[] = []

  function sample(): LoadSample {
    const { rss: rssBytes, heapUsed: heapBytes } = process.memoryUsage()
    // Where nothing was measured yet the mean is no number.
    const lagMs = Math.max(0, Math.round(delay.mean / 1e6) - RESOLUTION_MS) || 0
    lags.push({ meanMs: lagMs, worstMs: Math.max(0, Math.round(delay.max / 1e6) - RESOLUTION_MS) })
    if (lags.length > LAG_SAMPLES) lags.shift()
    delay.reset()
    return { rssBytes, heapBytes, lagMs }
  }

  let collectAt = 0
  function collectInTime(): void {
    const from = performance.now()
    if (from < collectAt) return
    collect()
    const until = performance.now()
    collectAt = until + Math.max(COLLECT_PAUSE_MS, COLLECT_SHARE * (until - from))
  }

  const timer = setInterval(() => {
    const measured = sample()
    const before = overloadOf(load)
    load = nextLoad(load, measured, limits)
    const reason = overloadOf(load)
    if (reason !== before) onChange(reason, measured)
    if (load.memory.over) collectInTime()
  }, sampleMs)
  timer.unref()

  return {
    reason: () => overloadOf(load),
    lag: () => ({
      meanMs: lags.reduce((sum, { meanMs }) => sum + meanMs, 0) / Math.max(1, lags.length),
      worstMs: Math.max(0, ...lags.map(({ worstMs }) => worstMs)),
    }),
    close() {
      clearInterval(timer)
      delay.disable()
    },
  }
}

/** The bound of the container (cgroup), where there is one below the memory of the machine. */
function memoryOfProcess(): number {
  const bound = process.constrainedMemory()
  return bound > 0 ? Math.min(bound, totalmem()) : totalmem()
}
