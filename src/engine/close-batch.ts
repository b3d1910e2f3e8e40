/**
 * Ends a batch that nobody goes on with: a bug struck, or the engine was killed. Each call is answered with what is known of
 * it, so that the history stays valid: what came stands, what was sent is unknown, what was not sent was not sent.
 */
import { settle } from './settled-calls.ts'
import type { EnginePorts } from './ports.ts'
import type { RunRecord } from './record.ts'
import { keepSettled } from './transcript.ts'

export function closeBatch(record: RunRecord, ports: Pick<EnginePorts, 'now' | 'ticket'>): void {
  if (record.batch === null) return
  for (const call of record.batch.calls) {
    if (call.outcome !== null || call.attempts === 0) continue
    call.outcome = { kind: 'unknown', reason: 'cancelled', attempts: call.attempts, durationMs: 0, resultBytes: 0 }
  }
  const settled = settle(record, record.batch)
  record.batch = null
  keepSettled(record, { system: '', messages: [], cacheKey: null, timeNote: null }, settled, ports)
}
