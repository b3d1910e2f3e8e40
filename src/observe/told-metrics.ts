/** What other parts tell as it happens, as metrics: answers of the server, writes to STATE_DIR. Each fits its part's own port. */
import type { EngineMetrics } from './engine-metrics.ts'

export function countAnswers(metrics: Pick<EngineMetrics, 'requests' | 'streamsDropped'>) {
  return {
    answered: (route: string, status: number, code: string | null) =>
      metrics.requests.add([route, String(status), code ?? 'none']),
    streamDropped: () => metrics.streamsDropped.add([]),
  }
}

export function countStateWrites(
  metrics: Pick<EngineMetrics, 'stateWrites' | 'stateWriteSeconds' | 'stateBytes'>,
): (write: { readonly bytes: number; readonly waitedMs: number | null; readonly fault: string | null }) => void {
  return ({ bytes, waitedMs, fault }) => {
    metrics.stateWrites.add([fault === null ? 'ok' : 'failed'])
    if (waitedMs !== null) metrics.stateWriteSeconds.observe([], waitedMs / 1000)
    metrics.stateBytes.add([], bytes)
  }
}
