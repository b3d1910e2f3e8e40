/**
 * Carries one run from its lease to its result: the loop's ports, its deadline, its end.
 *
 * Nothing a run does may take the process down: what the loop throws is a bug, journalled, and ends this run as `failed`.
 */
import { instantOf } from '../contract/instant.ts'
import type { RunResult } from '../contract/result.ts'
import { thrownText } from '../contract/thrown-text.ts'
import { closeBatch } from '../engine/close-batch.ts'
import { failed, resultOf, type Ending } from '../engine/ending.ts'
import { runLoop } from '../engine/loop.ts'
import type { EnginePorts, Interruption, JournalEntry } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import { addUsage } from '../usage/add.ts'
import type { CallbackOutbox, RunLease } from './ports.ts'
import type { RunSources, SourcesFor } from './run-sources.ts'

export interface RunnerParts {
  readonly sourcesFor: SourcesFor
  readonly outbox: Pick<CallbackOutbox, 'add'>
  readonly say: EnginePorts['say']
  readonly checkOutput: EnginePorts['checkOutput']
  readonly journal: EnginePorts['journal']
  /** Aborts when the process must stop now; what is still running ends as `engine_shutdown`. */
  readonly shutdown: AbortSignal
}

export function createRunner(parts: RunnerParts): (lease: RunLease) => Promise<void> {
  return async (lease) => {
    const record = await lease.load()
    lease.append({ event: 'start', data: { run_id: record.runId } })
    const sources = parts.sourcesFor(record)
    const stop = stopSignal(lease, record, parts.shutdown, sources)
    const ending = await loopOf(record, portsOf(lease, record, parts, { ...sources, drain: stop.drain }), stop.signal)
    stop.release()
    await conclude(lease, record, ending, parts, sources)
  }
}

/** So long an attempt is read after a cancel, and never beyond the run's own deadline. SPEC §8.3. */
export const DRAIN_MS = 30_000

/**
 * One signal for everything that can stop a run, with the reason in it; and with `on_cancel: "drain"` one that ends what is
 * read on after a cancel: its time is over, or something else stops the run.
 */
function stopSignal(lease: RunLease, record: RunRecord, shutdown: AbortSignal, sources: RunSources) {
  const controller = new AbortController()
  const drain = record.request.limits.on_cancel === 'drain' ? new AbortController() : null
  const stop = (why: Interruption) => {
    if (!controller.signal.aborted) {
      sources.stopped(why)
      if (why === 'cancelled' && drain !== null) armDrain()
      controller.abort(why)
    } else if (drain?.signal.aborted === false && why !== 'cancelled') {
      sources.stopped(why)
      drain.abort(why)
    }
  }
  const armDrain = () => {
    disarm()
    disarm = sources.atDeadline(Math.min(record.deadlineAt, sources.now() + DRAIN_MS), () => stop('deadline'))
  }
  let disarm = sources.atDeadline(record.deadlineAt, () => stop('deadline'))
  const listeners: [AbortSignal, () => void][] = []
  const on = (signal: AbortSignal, why: Interruption) => {
    const abort = () => stop(why)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    listeners.push([signal, abort])
  }
  on(lease.lost, 'lost')
  on(lease.cancelled, 'cancelled')
  on(shutdown, 'shutdown')
  return {
    signal: controller.signal,
    drain: drain?.signal ?? null,
    release() {
      disarm()
      for (const [signal, abort] of listeners) signal.removeEventListener('abort', abort)
    },
  }
}

function portsOf(
  lease: RunLease,
  record: RunRecord,
  parts: RunnerParts,
  sources: RunSources & { readonly drain: AbortSignal | null },
): EnginePorts {
  return {
    model: (ask, tap, signal) => sources.model(ask, tap, signal, sources.drain),
    tools: sources.tools,
    now: sources.now,
    newCallId: sources.newCallId,
    commit: (point) => lease.commit(record, point),
    emit: (event) => lease.append(event),
    announce: (done) => lease.announce(record, done),
    journal: parts.journal,
    ticket: sources.ticket,
    say: parts.say,
    checkOutput: parts.checkOutput,
  }
}

async function loopOf(record: RunRecord, ports: EnginePorts, signal: AbortSignal): Promise<Ending> {
  try {
    return await runLoop(record, ports, signal)
  } catch (error) {
    ports.journal({ event: 'bug', run_id: record.runId, stack: thrownText(error) })
    closeBatch(record, ports)
    return failed('engine_error', '')
  }
}

async function conclude(
  lease: RunLease,
  record: RunRecord,
  ending: Ending,
  parts: RunnerParts,
  sources: RunSources,
): Promise<void> {
  const result = resultOf(record, ending, addUsage(record.attempts, record.request.targets), sources.now(), parts.say)
  const json = JSON.stringify(result)
  await lease.finish(record, { json, status: result.status }, doneEvent(result))
  sources.ended(json)
  parts.journal(endedEntry(result), () => ({ text: result.text }))
  if (record.request.callback !== null) parts.outbox.add(record.runId)
}

/** What the journal is told of the end. */
export function endedEntry(result: RunResult): JournalEntry {
  return {
    event: 'ended',
    run_id: result.run_id,
    status: result.status,
    limit_reached: result.limit_reached,
    error_code: result.error?.code ?? null,
    steps: result.steps,
    total_tokens: result.usage.total_tokens,
    cost: result.usage.cost,
    currency: result.usage.currency,
    duration_ms: Math.max(0, instantOf(result.finished_at) - instantOf(result.started_at)),
  }
}

/** What the stream tells of the end. */
export function doneEvent(result: RunResult) {
  const { status, stop_reason, limit_reached, error } = result
  return { event: 'done' as const, data: { status, stop_reason, limit_reached, error, pending: result.pending.length } }
}
