/**
 * A span that is over, and how it is written in OTLP's JSON
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Pure.
 */

export type Attributes = Readonly<Record<string, string | number | boolean>>

export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string
  /** The parent is in another process. */
  readonly parentIsRemote: boolean
  /** '' for none. */
  readonly traceState: string
  readonly name: string
  readonly kind: 'internal' | 'client'
  /** Milliseconds since the epoch. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly events: readonly SpanEvent[]
  /** Events beyond the bound. */
  readonly droppedEvents: number
  /** False: nothing is said about how it went. */
  readonly failed: boolean
}

export interface SpanEvent {
  readonly name: string
  readonly atMs: number
  readonly attributes: Attributes
}

/** Without those that are null: what is not known is not told. */
export function knownAttributes(attributes: Readonly<Record<string, Attributes[string] | null>>): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).filter((one): one is [string, Attributes[string]] => one[1] !== null),
  )
}

const KINDS = { internal: 1, client: 3 } as const
const STATUS_ERROR = 2
const SAMPLED = 0x01
const REMOTE_IS_KNOWN = 0x100
const PARENT_IS_REMOTE = 0x200

/** One request of `ExportTraceServiceRequest`, as JSON text. */
export function exportRequest(resource: Attributes, version: string, spans: readonly Span[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: keyValues(resource) },
        scopeSpans: [{ scope: { name: 'theloop', version }, spans: spans.map(spanJson) }],
      },
    ],
  })
}

function spanJson(span: Span): object {
  const { traceId, spanId, parentSpanId, traceState, name, kind, startMs, endMs } = span
  return {
    traceId,
    spanId,
    ...(traceState === '' ? {} : { traceState }),
    ...(parentSpanId === '' ? {} : { parentSpanId }),
    flags: SAMPLED | REMOTE_IS_KNOWN | (span.parentIsRemote ? PARENT_IS_REMOTE : 0),
    name: name.toWellFormed(),
    kind: KINDS[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: keyValues(span.attributes),
    events: span.events.map((event) => ({
      timeUnixNano: nanoseconds(event.atMs),
      name: event.name,
      attributes: keyValues(event.attributes),
    })),
    droppedEventsCount: span.droppedEvents,
    status: span.failed ? { code: STATUS_ERROR } : {},
  }
}

/** 64-bit numbers are texts in this JSON. */
function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`
}

function keyValues(attributes: Attributes): object[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }))
}

/** One text with half a surrogate pair, or one integer beyond 64 bits, and a receiver would refuse the whole batch. */
function valueOf(value: string | number | boolean): object {
  if (typeof value === 'string') return { stringValue: value.toWellFormed() }
  if (typeof value === 'boolean') return { boolValue: value }
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}
