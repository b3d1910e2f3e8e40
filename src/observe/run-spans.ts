/**
 * From the journal's entries to spans: run → step → attempt and tool, named by OpenTelemetry's semantic conventions for
 * generative AI. SPEC §12.7. No content is in any of them, and usage stands at attempts alone, so that no sum counts it twice.
 *
 * A span is made when it is over; what is kept of a run that is going is one small record. Entries come cleared of secrets.
 */
import type { RunRequest } from '../contract/run-request.ts'
import {
  attemptSpanId,
  callSpanId,
  runSpanId,
  type Sampler,
  stepSpanId,
  type TraceContext,
  traceIdOf,
} from '../contract/trace-context.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { numberOf, textOf } from './entry-facts.ts'
import { knownAttributes, type Span, type SpanEvent } from './span.ts'

/** What a run's spans need to know of it beside its entries. */
export interface TracedRun {
  readonly runId: string
  readonly startedAtMs: number
  readonly request: Pick<RunRequest, 'targets' | 'session_id' | 'trace'>
}

export interface RunSpans {
  /** Before its first step. A run whose trace is not recorded is not kept. */
  begin(run: TracedRun): void
  /** `at`: when it happened, ms since the epoch. Never throws. */
  note(entry: JournalEntry, at: number): void
}

interface Going {
  readonly run: TracedRun
  readonly parent: TraceContext | null
  readonly traceId: string
  /** Of its first model. */
  readonly provider: string
  readonly model: string
  readonly session: string | null
  /** Of the step that is running. */
  stepAt: number
  stepEvents: SpanEvent[]
  droppedEvents: number
  /** The code with which the step failed; null: it did not. */
  stepFault: string | null
  /** The last step of which something was told, and the last that is over; 0: none. */
  step: number
  endedStep: number
}

/** Runs that never end are a bug elsewhere; here they must not cost memory. */
const MAX_GOING = 100_000
const MAX_EVENTS = 64

export interface RunSpansOptions {
  readonly sampler: Sampler
  /** Takes secrets out of what comes from the request itself. */
  readonly redact: (text: string) => string
  readonly emit: (span: Span) => void
}

export function createRunSpans({ sampler, redact, emit }: RunSpansOptions): RunSpans {
  const going = new Map<string, Going>()

  function begin(run: TracedRun): void {
    const parent = run.request.trace ?? null
    const traceId = traceIdOf(run.runId, parent)
    if (going.size >= MAX_GOING || !sampler(traceId, parent)) return
    const step = { stepAt: run.startedAtMs, stepEvents: [], droppedEvents: 0, stepFault: null, step: 0, endedStep: 0 }
    const [{ model, provider }] = run.request.targets
    const session = run.request.session_id
    const named = { provider, model: redact(model), session: session === null ? null : redact(session) }
    going.set(run.runId, { run, parent, traceId, ...named, ...step })
  }

  function note(entry: JournalEntry, at: number): void {
    const open = going.get(entry.run_id ?? '')
    if (open === undefined) return
    open.step = Math.max(open.step, numberOf(entry['step']) ?? 0)
    switch (entry.event) {
      case 'attempt_ended':
        return emit(attemptSpan(open, entry, at))
      case 'tool_ended':
        return emit(callSpan(open, entry, at))
      case 'step_ended':
        return endStep(open, at)
      case 'ended':
        // A run that met a bug has left its step without a word.
        if (open.step > open.endedStep) endStep(open, at)
        going.delete(open.run.runId)
        return emit(runSpan(open, entry, at))
      default:
        return noteEvent(open, entry, at)
    }
  }

  function endStep(open: Going, at: number): void {
    emit(stepSpan(open, at))
    open.endedStep = open.step
    open.stepAt = at
    open.stepEvents = []
    open.droppedEvents = 0
    open.stepFault = null
  }

  return { begin, note }
}

/** Facts of an entry that may stand in a trace: words and numbers of our own, names of tools. */
const EVENT_FACTS = ['ms', 'reason', 'limit', 'status', 'code', 'tool', 'from', 'to'] as const
/** Told by spans, or of no use in one. */
const NO_EVENTS = new Set(['accepted', 'attempt_started', 'tool_called'])

function noteEvent(open: Going, entry: JournalEntry, at: number): void {
  if (NO_EVENTS.has(entry.event)) return
  if (entry.event === 'failed') open.stepFault = textOf(entry['code']) ?? 'failed'
  if (open.stepEvents.length >= MAX_EVENTS) {
    open.droppedEvents += 1
    return
  }
  const facts = EVENT_FACTS.flatMap((name) => {
    const value = entry[name]
    return typeof value === 'string' || typeof value === 'number' ? [[`theloop.${name}`, value] as const] : []
  })
  open.stepEvents.push({ name: entry.event, atMs: at, attributes: Object.fromEntries(facts) })
}

function spanOf(open: Going, parts: Partial<Span> & Pick<Span, 'spanId' | 'name' | 'startMs' | 'endMs'>): Span {
  const { run, traceId, parent } = open
  return {
    traceId,
    parentSpanId: runSpanId(run.runId),
    parentIsRemote: false,
    traceState: parent?.state ?? '',
    kind: 'internal',
    attributes: {},
    events: [],
    droppedEvents: 0,
    failed: false,
    ...parts,
    // A clock that was set back makes no span end before it begins.
    startMs: Math.min(parts.startMs, parts.endMs),
  }
}

function runSpan(open: Going, entry: JournalEntry, at: number): Span {
  const { run, parent } = open
  const errorCode = textOf(entry['error_code'])
  return spanOf(open, {
    spanId: runSpanId(run.runId),
    parentSpanId: parent?.parentId ?? '',
    parentIsRemote: parent !== null,
    name: 'invoke_agent',
    startMs: run.startedAtMs,
    endMs: at,
    // What was told between the last step and the end.
    events: open.stepEvents,
    droppedEvents: open.droppedEvents,
    failed: errorCode !== null,
    attributes: knownAttributes({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': providerName(open.provider),
      'gen_ai.request.model': open.model,
      'gen_ai.conversation.id': open.session,
      'error.type': errorCode,
      'theloop.run_id': run.runId,
      'theloop.status': textOf(entry['status']),
      'theloop.limit_reached': textOf(entry['limit_reached']),
      'theloop.steps': numberOf(entry['steps']),
    }),
  })
}

function stepSpan(open: Going, at: number): Span {
  return spanOf(open, {
    spanId: stepSpanId(open.run.runId, open.step),
    name: `step ${open.step}`,
    startMs: open.stepAt,
    endMs: at,
    events: open.stepEvents,
    droppedEvents: open.droppedEvents,
    failed: open.stepFault !== null,
    attributes: knownAttributes({ 'theloop.step': open.step, 'error.type': open.stepFault }),
  })
}

/** Not the fault of anybody: the run was to end. */
const NO_FAILURES = new Set(['cancelled'])

function attemptSpan(open: Going, entry: JournalEntry, at: number): Span {
  const { run } = open
  const step = numberOf(entry['step']) ?? 0
  const model = textOf(entry['model'])
  const errorCode = textOf(entry['error_code'])
  const firstTokenMs = numberOf(entry['first_token_ms'])
  return spanOf(open, {
    spanId: attemptSpanId(run.runId, step, numberOf(entry['attempt']) ?? 0),
    parentSpanId: stepSpanId(run.runId, step),
    name: model === null ? 'chat' : `chat ${model}`,
    kind: 'client',
    startMs: at - (numberOf(entry['duration_ms']) ?? 0),
    endMs: at,
    failed: errorCode !== null && !NO_FAILURES.has(errorCode),
    attributes: knownAttributes({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': providerName(textOf(entry['provider']) ?? ''),
      'gen_ai.request.model': model,
      'gen_ai.request.stream': true,
      'gen_ai.conversation.id': open.session,
      'gen_ai.response.time_to_first_chunk': firstTokenMs === null ? null : firstTokenMs / 1000,
      ...usageAttributes(entry),
      'error.type': errorCode,
      'http.response.status_code': numberOf(entry['http_status']),
      'theloop.attempt': numberOf(entry['attempt']),
      'theloop.queued_ms': numberOf(entry['queued_ms']),
      'theloop.provider_request_id': textOf(entry['provider_request_id']),
      'theloop.usage_estimated': entry['estimated'] === true ? true : null,
    }),
  })
}

/** The conventions count cached tokens as input; the engine counts no token twice. */
function usageAttributes(entry: JournalEntry): Record<string, number | null> {
  const count = (name: string) => numberOf(entry[`${name}_tokens`]) ?? 0
  const some = (value: number) => (value === 0 ? null : value)
  return {
    'gen_ai.usage.input_tokens': count('input') + count('cache_read') + count('cache_write'),
    'gen_ai.usage.output_tokens': count('output'),
    'gen_ai.usage.cache_read.input_tokens': some(count('cache_read')),
    'gen_ai.usage.cache_write.input_tokens': some(count('cache_write')),
    'gen_ai.usage.reasoning.output_tokens': some(count('reasoning')),
  }
}

/** Outcomes of a call after which it is not known to have gone well. */
const FAILED_CALLS = new Set(['error', 'unknown', 'not_deferred'])

function callSpan(open: Going, entry: JournalEntry, at: number): Span {
  const tool = textOf(entry['tool']) ?? ''
  const callId = textOf(entry['call_id']) ?? ''
  const outcome = textOf(entry['outcome']) ?? ''
  return spanOf(open, {
    spanId: callSpanId(callId),
    parentSpanId: stepSpanId(open.run.runId, numberOf(entry['step']) ?? 0),
    name: `execute_tool ${tool}`,
    startMs: at - (numberOf(entry['duration_ms']) ?? 0),
    endMs: at,
    failed: FAILED_CALLS.has(outcome),
    attributes: knownAttributes({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': tool,
      'gen_ai.tool.call.id': callId,
      'gen_ai.tool.type': 'function',
      'error.type': FAILED_CALLS.has(outcome) ? outcome : null,
      'theloop.outcome': outcome,
      'theloop.attempts': numberOf(entry['attempts']),
    }),
  })
}

/** Where the conventions have a word of their own. */
function providerName(provider: string): string {
  return provider === 'kimi' ? 'moonshot_ai' : provider
}
