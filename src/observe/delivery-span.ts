/**
 * One attempt to deliver a result as a span below its run's, named by OpenTelemetry's semantic conventions for HTTP clients.
 * SPEC §12.7. Pure: whatever it needs of the run is the trace that the run came with, so that a delivery that outlasts the
 * run, or the process, is told like any other. No address is in it.
 */
import { instantOf } from '../contract/instant.ts'
import { deliverySpanId, runSpanId, type TraceContext, traceIdOf } from '../contract/trace-context.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { numberOf, textOf } from './entry-facts.ts'
import { knownAttributes, type Span } from './span.ts'

/** `entry`: a `callback_attempt`. `parent`: the caller's trace; null: the run has one of its own. */
export function deliverySpan(runId: string, parent: TraceContext | null, entry: JournalEntry): Span {
  const begun = textOf(entry['at']) ?? ''
  const startMs = instantOf(begun)
  const fault = textOf(entry['fault'])
  const before = (numberOf(entry['attempt']) ?? 1) - 1
  return {
    traceId: traceIdOf(runId, parent),
    spanId: deliverySpanId(runId, begun),
    parentSpanId: runSpanId(runId),
    parentIsRemote: false,
    traceState: parent?.state ?? '',
    name: 'POST callback',
    kind: 'client',
    startMs,
    endMs: startMs + (numberOf(entry['duration_ms']) ?? 0),
    attributes: knownAttributes({
      'http.request.method': 'POST',
      'http.request.resend_count': before === 0 ? null : before,
      'http.response.status_code': numberOf(entry['status']),
      'error.type': fault,
    }),
    events: [],
    droppedEvents: 0,
    failed: fault !== null,
  }
}
