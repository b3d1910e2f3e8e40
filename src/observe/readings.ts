/** What is not counted as it happens but looked up when somebody reads the metrics: how things stand right now. */
import type { LoadMeter } from '../load/load-meter.ts'
import type { KeyReading } from '../providers/key-gate.ts'
import type { EngineMetrics } from './engine-metrics.ts'

export interface ReadingSources {
  readonly counts: () => Promise<{ readonly running: number; readonly undelivered: number }>
  /** MAX_RUNS. */
  readonly maxRuns: number
  readonly keys: () => readonly KeyReading[]
  readonly openStreams: () => number
  readonly draining: () => boolean
  readonly load: Pick<LoadMeter, 'lag' | 'reason'>
  readonly version: string
}

/** Resolves to the whole text of the metrics. */
export function createMetricsText(metrics: EngineMetrics, sources: ReadingSources): () => Promise<string> {
  const startedAt = Date.now() / 1000 - process.uptime()
  let cpuSeconds = 0
  return async () => {
    const { running, undelivered } = await sources.counts()
    metrics.build.set([sources.version], 1)
    metrics.runsLive.set([], running)
    metrics.runsMost.set([], sources.maxRuns)
    metrics.undelivered.set([], undelivered)
    metrics.draining.set([], sources.draining() ? 1 : 0)
    metrics.streams.set([], sources.openStreams())
    readKeys(metrics, sources.keys())
    const { meanMs, worstMs } = sources.load.lag()
    metrics.lag.set(['mean'], meanMs / 1000)
    metrics.lag.set(['worst'], worstMs / 1000)
    for (const reason of ['memory', 'event_loop'] as const)
      metrics.overloaded.set([reason], sources.load.reason() === reason ? 1 : 0)
    const { user, system } = process.cpuUsage()
    const cpuNow = (user + system) / 1e6
    metrics.cpu.add([], Math.max(0, cpuNow - cpuSeconds))
    cpuSeconds = Math.max(cpuSeconds, cpuNow)
    metrics.started.set([], startedAt)
    const memory = process.memoryUsage()
    metrics.resident.set([], memory.rss)
    metrics.heapUsed.set([], memory.heapUsed)
    metrics.heapTotal.set([], memory.heapTotal)
    metrics.external.set([], memory.external)
    return metrics.registry.text()
  }
}

function readKeys(metrics: EngineMetrics, readings: readonly KeyReading[]): void {
  const { keys, keysPaused, keyActive, keyWaiting, keyWindow, attemptsQueued } = metrics
  // A provider whose keys are all forgotten has no series any more.
  for (const gauge of [keys, keysPaused, keyActive, keyWaiting, keyWindow]) gauge.clear()
  let queued = 0
  for (const reading of readings) {
    const labels = [reading.provider]
    queued += reading.waiting
    keys.set(labels, reading.keys)
    keysPaused.set(labels, reading.paused)
    keyActive.set(labels, reading.active)
    keyWaiting.set(labels, reading.waiting)
    keyWindow.set([...labels, 'smallest'], reading.smallestWindow)
    keyWindow.set([...labels, 'largest'], reading.largestWindow)
  }
  attemptsQueued.set([], queued)
}
