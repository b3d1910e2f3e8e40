/**
 * W3C Trace Context, level 1 (https://www.w3.org/TR/trace-context/): what a caller says about the trace it is in, and what the
 * engine says to those it calls. Pure.
 *
 * Ids are made from those of the run, the step and the call, so that whoever has to name a span knows its id: nothing of it is
 * kept, and a restart changes nothing. Baggage is not read and not passed on.
 */
import { createHash } from 'node:crypto'

/** Where a request stands in its caller's trace. */
export interface TraceContext {
  /** 32 hex digits, not all zero. */
  readonly traceId: string
  /** The caller's span: 16 hex digits, not all zero. */
  readonly parentId: string
  /** Bit 0: the caller may have recorded it. Bit 1: the trace id is random. */
  readonly flags: number
  /** `tracestate` as it came; '' where there is none. */
  readonly state: string
}

/**
 * Whether a trace is recorded, by its id and by what the caller says of it (null: nobody). The same answer for the same question.
 */
export type Sampler = (traceId: string, parent: TraceContext | null) => boolean

const SAMPLED = 1
const RANDOM_ID = 2

/** What follows the flags of a later version is not ours to read. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
/** The least a vendor must pass on. What is longer is left out: it is foreign text that would travel to every tool. */
const MAX_STATE_CHARS = 512
const STATE_MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}$/
const MAX_STATE_MEMBERS = 32

/** null: there is no `traceparent`, or none that can be read; a `tracestate` alone means nothing. */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | null {
  const [, version, traceId = '', parentId = '', flags = '', rest] = TRACEPARENT.exec(traceparent?.trim() ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (/^0+$/.test(traceId) || /^0+$/.test(parentId)) return null
  const bits = Number.parseInt(flags, 16) & (SAMPLED | RANDOM_ID)
  return { traceId, parentId, flags: bits, state: stateOf(tracestate ?? '') }
}

function stateOf(text: string): string {
  const members = text
    .split(',')
    .map((member) => member.trim())
    .filter((member) => member !== '')
  const state = members.join(',')
  const good = members.length <= MAX_STATE_MEMBERS && state.length <= MAX_STATE_CHARS
  return good && members.every((member) => STATE_MEMBER.test(member)) ? state : ''
}

export function isSampled(context: TraceContext): boolean {
  return (context.flags & SAMPLED) !== 0
}

/** The trace of a run: its caller's, else one of its own. */
export function traceIdOf(runId: string, parent: TraceContext | null): string {
  return parent?.traceId ?? hashed(runId).slice(0, 32)
}

export function runSpanId(runId: string): string {
  return hashed(`run ${runId}`).slice(0, 16)
}

export function stepSpanId(runId: string, step: number): string {
  return hashed(`step ${runId} ${step}`).slice(0, 16)
}

export function callSpanId(callId: string): string {
  return hashed(`call ${callId}`).slice(0, 16)
}

export function attemptSpanId(runId: string, step: number, attempt: number): string {
  return hashed(`attempt ${runId} ${step} ${attempt}`).slice(0, 16)
}

/** `at`: when the attempt to deliver began, as it is told. */
export function deliverySpanId(runId: string, at: string): string {
  return hashed(`delivery ${runId} ${at}`).slice(0, 16)
}

/** A hash of zeros, which would mean "none", has never been seen. */
function hashed(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/**
 * The headers for somebody whom the engine calls within the span `spanId` of the run. `sampler` null: the engine records
 * nothing, so that the caller's own context goes on unchanged; where there is none, the run is a trace of its own all the same.
 */
export function traceHeaders(
  parent: TraceContext | null,
  span: { readonly runId: string; readonly spanId: string },
  sampler: Sampler | null,
): Record<string, string> {
  const traceId = traceIdOf(span.runId, parent)
  const state: Record<string, string> = parent === null || parent.state === '' ? {} : { tracestate: parent.state }
  if (sampler === null && parent !== null) {
    return { traceparent: traceparent(traceId, parent.parentId, parent.flags), ...state }
  }
  const sampled = sampler === null || sampler(traceId, parent) ? SAMPLED : 0
  const random = parent === null ? 0 : parent.flags & RANDOM_ID
  return { traceparent: traceparent(traceId, span.spanId, sampled | random), ...state }
}

function traceparent(traceId: string, spanId: string, flags: number): string {
  return `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`
}
