/**
 * What the journal tells, as metrics: one entry in, a few counts out. Nothing else in the engine has to know that it is
 * counted, and nothing is counted for a delta.
 *
 * Entries come cleared of secrets, so that a label cannot hold one. Memory: one small record a run that is going.
 */
import type { Json } from '../contract/json.ts'
import type { JournalEntry } from '../engine/ports.ts'
import type { EngineMetrics } from './engine-metrics.ts'
import { numberOf, textOf } from './entry-facts.ts'

/** A run that is going, in ms of the clock that `RecordEntry` goes by. */
interface Going {
  readonly acceptedAt: number
  /** When the step that is running began. */
  stepAt: number
  firstTokenTold: boolean
}

/** Runs that never end are a bug elsewhere; here they must not cost memory. */
const MAX_GOING = 100_000

/** `at`: when it happened, ms of a clock that is never set: only what lies between counts. Never throws. */
export type RecordEntry = (entry: JournalEntry, at: number) => void

export function createJournalMetrics(metrics: EngineMetrics): RecordEntry {
  const going = new Map<string, Going>()

  function accepted(runId: string, at: number): void {
    metrics.runsStarted.add([])
    if (going.size < MAX_GOING) going.set(runId, { acceptedAt: at, stepAt: at, firstTokenTold: false })
  }

  function attemptEnded(entry: JournalEntry, at: number): void {
    recordAttempt(metrics, entry)
    const run = going.get(entry.run_id ?? '')
    const firstTokenMs = numberOf(entry['first_token_ms'])
    if (run === undefined || run.firstTokenTold || firstTokenMs === null) return
    run.firstTokenTold = true
    const sentAt = at - (numberOf(entry['duration_ms']) ?? 0)
    metrics.runFirstToken.observe([], Math.max(0, sentAt + firstTokenMs - run.acceptedAt) / 1000)
  }

  function stepEnded(runId: string, at: number): void {
    const run = going.get(runId)
    if (run === undefined) return
    metrics.stepSeconds.observe([], Math.max(0, at - run.stepAt) / 1000)
    run.stepAt = at
  }

  return (entry, at) => {
    metrics.entries.add([entry.event])
    const runId = entry.run_id ?? ''
    switch (entry.event) {
      case 'accepted':
        return accepted(runId, at)
      case 'attempt_ended':
        return attemptEnded(entry, at)
      case 'step_ended':
        return stepEnded(runId, at)
      case 'tool_ended':
        return recordCall(metrics, entry)
      case 'call_not_sent':
        return metrics.callsUnsent.add([labelOf(entry['status']), labelOf(entry['reason'])])
      case 'callback_attempt':
        metrics.callbackAttempts.add([answerClass(entry['status'])])
        return metrics.callbackSeconds.observe([], secondsOf(entry['duration_ms']))
      case 'delivered':
      case 'acked':
      case 'undelivered':
        return metrics.results.add([entry.event])
      case 'dropped_undelivered':
        return metrics.results.add(['dropped'])
      case 'ended':
        going.delete(runId)
        return recordEnd(metrics, entry)
      default:
        return undefined
    }
  }
}

function recordEnd(metrics: EngineMetrics, entry: JournalEntry): void {
  const status = labelOf(entry['status'])
  metrics.runsEnded.add([status, labelOf(entry['error_code'] ?? entry['limit_reached'])])
  metrics.runSeconds.observe([status], secondsOf(entry['duration_ms']))
  metrics.runSteps.observe([], numberOf(entry['steps']) ?? 0)
}

function recordAttempt(metrics: EngineMetrics, entry: JournalEntry): void {
  const provider = labelOf(entry['provider'])
  const model = labelOf(entry['model'])
  metrics.attempts.add([provider, model, entry['error_code'] === null ? 'ok' : labelOf(entry['error_code'])])
  metrics.attemptSeconds.observe([provider, model], secondsOf(entry['duration_ms']))
  metrics.attemptQueue.observe([provider], secondsOf(entry['queued_ms']))
  const firstTokenMs = numberOf(entry['first_token_ms'])
  if (firstTokenMs !== null) metrics.attemptFirstToken.observe([provider, model], firstTokenMs / 1000)
  for (const kind of ['input', 'cache_read', 'cache_write', 'output']) {
    const tokens = numberOf(entry[`${kind}_tokens`]) ?? 0
    if (tokens > 0) metrics.tokens.add([provider, model, kind], tokens)
  }
  const reasoning = numberOf(entry['reasoning_tokens']) ?? 0
  if (reasoning > 0) metrics.reasoningTokens.add([provider, model], reasoning)
  const cost = numberOf(entry['cost'])
  if (cost !== null) metrics.cost.add([provider, model, labelOf(entry['currency'])], cost)
}

function recordCall(metrics: EngineMetrics, entry: JournalEntry): void {
  const tool = labelOf(entry['tool'])
  metrics.calls.add([tool, labelOf(entry['outcome'])])
  metrics.callRequests.add([tool], numberOf(entry['attempts']) ?? 0)
  metrics.callSeconds.observe([tool], secondsOf(entry['duration_ms']))
}

function answerClass(status: Json | undefined): string {
  const number = numberOf(status)
  return number === null ? 'none' : `${Math.floor(number / 100)}xx`
}

function labelOf(value: Json | undefined): string {
  return textOf(value) ?? 'none'
}

function secondsOf(ms: Json | undefined): number {
  return (numberOf(ms) ?? 0) / 1000
}
