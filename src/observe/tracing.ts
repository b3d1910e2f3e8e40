/**
 * Tracing as the rest of the engine meets it: who samples, what a run and an entry become, and which trace a log line belongs to.
 * Made only where OTEL_EXPORTER_OTLP_ENDPOINT is set. SPEC §12.7.
 */
import { randomUUID } from 'node:crypto'
import { type Sampler, type TraceContext, traceIdOf } from '../contract/trace-context.ts'
import type { Egress } from '../egress/egress.ts'
import type { JournalEntry } from '../engine/ports.ts'
import type { EngineMetrics } from './engine-metrics.ts'
import { deliverySpan } from './delivery-span.ts'
import { createRunSpans, type TracedRun } from './run-spans.ts'
import { createSampler, type SamplerName } from './sampler.ts'
import { createSpanExporter } from './span-exporter.ts'

export interface TracingSettings {
  /** OTEL_EXPORTER_OTLP_ENDPOINT, without a slash at its end. */
  readonly endpoint: string
  /** OTEL_EXPORTER_OTLP_HEADERS. */
  readonly headers: Readonly<Record<string, string>>
  /** OTEL_SERVICE_NAME. */
  readonly serviceName: string
  /** OTEL_TRACES_SAMPLER. */
  readonly sampler: SamplerName
  /** OTEL_TRACES_SAMPLER_ARG. */
  readonly ratio: number
}

export interface TracingParts {
  readonly egress: Pick<Egress, 'judge' | 'request'>
  readonly metrics: Pick<EngineMetrics, 'spans'>
  readonly journal: (entry: JournalEntry) => void
  /** Takes secrets out of a text. */
  readonly redact: (text: string) => string
  readonly version: string
}

export interface Tracing {
  readonly sampler: Sampler
  /** Also of a run that an earlier life left, before its end is journalled. */
  begin(run: TracedRun): void
  /** Of a run of which only the log and its delivery still speak: the context it came with. */
  follow(runId: string, context: TraceContext | null): void
  /** `at`: ms since the epoch. */
  note(entry: JournalEntry, at: number): void
  /** The entry with the `trace_id` of its run, for the log. */
  marked(entry: JournalEntry): JournalEntry
  /** Sends what waits, until the signal aborts. */
  close(signal: AbortSignal): Promise<void>
}

/** Of so many runs log lines and deliveries know the trace, the oldest forgotten first. */
const MAX_TRACES = 20_000

interface Trace {
  readonly id: string
  /** What the run came with; null: a trace of its own. */
  readonly parent: TraceContext | null
}

export function createTracing(settings: TracingSettings, parts: TracingParts): Tracing {
  const { journal, metrics, version } = parts
  const sampler = createSampler(settings.sampler, settings.ratio)
  const exporter = createSpanExporter({
    url: tracesUrl(settings.endpoint),
    headers: settings.headers,
    egress: parts.egress,
    resource: {
      'service.name': settings.serviceName,
      'service.version': version,
      'service.instance.id': randomUUID(),
    },
    version,
    now: Date.now,
    elapsed: () => performance.now(),
    onBroken: (facts) => journal({ event: 'traces_failed', run_id: null, ...facts }),
    onBack: (lost) => journal({ event: 'traces_back', run_id: null, lost }),
    onSpans: (outcome, count) => metrics.spans.add([outcome], count),
  })
  const spans = createRunSpans({ sampler, redact: parts.redact, emit: (span) => exporter.add(span) })
  const traces = new Map<string, Trace>()

  function know(runId: string, trace: Trace): void {
    traces.set(runId, trace)
    const [oldest] = traces.size > MAX_TRACES ? traces.keys() : []
    if (oldest !== undefined) traces.delete(oldest)
  }

  const follow: Tracing['follow'] = (runId, context) => know(runId, { id: traceIdOf(runId, context), parent: context })

  function begin(run: TracedRun): void {
    follow(run.runId, run.request.trace ?? null)
    spans.begin(run)
  }

  function marked(entry: JournalEntry): JournalEntry {
    const { event, run_id, trace_id } = entry
    if (run_id === null) return entry
    if (event === 'accepted' && typeof trace_id === 'string') {
      know(run_id, { id: trace_id, parent: null })
      return entry
    }
    const known = traces.get(run_id)
    return known === undefined ? entry : { ...entry, trace_id: known.id }
  }

  function note(entry: JournalEntry, at: number): void {
    spans.note(entry, at)
    if (entry.event !== 'callback_attempt' || entry.run_id === null) return
    const trace = traces.get(entry.run_id)
    if (trace === undefined || !sampler(trace.id, trace.parent)) return
    exporter.add(deliverySpan(entry.run_id, trace.parent, entry))
  }

  return {
    sampler,
    begin,
    follow,
    note,
    marked,
    close: (signal) => exporter.close(signal),
  }
}

/** Where the spans go: the endpoint is the base of all signals. */
export function tracesUrl(endpoint: string): string {
  return `${endpoint}/v1/traces`
}
