/**
 * Carries one run from its lease to its result: the loop's ports, its deadline, its end.
 *
 * Nothing a run does may take the process down: what the loop throws is a bug, journalled, and ends this run as `failed`.
 */
import { ulid } from 'ulid'
import { callId } from '../contract/ids.ts'
import type { RunResult } from '../contract/result.ts'
import { failed, resultOf, type Ending } from '../engine/ending.ts'
import { runLoop } from '../engine/loop.ts'
import type { EnginePorts, Interruption, ModelPort, ToolPort } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import { settle } from '../engine/calls.ts'
import { keepSettled } from '../engine/transcript.ts'
import { addUsage } from '../usage/add.ts'
import type { CallbackOutbox, RunLease } from './ports.ts'

export interface RunnerParts {
  /** A model port for one run: what it learns about a provider on the way stays within the run. */
  readonly modelForRun: () => ModelPort
  readonly tools: ToolPort
  readonly outbox: CallbackOutbox
  readonly ticket: EnginePorts['ticket']
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
    const stop = stopSignal(lease, record, parts.shutdown)
    const ending = await loopOf(record, portsOf(lease, record, parts), stop.signal)
    stop.release()
    await conclude(lease, record, ending, parts)
  }
}

/** One signal for everything that can stop a run, with the reason in it. */
function stopSignal(lease: RunLease, record: RunRecord, shutdown: AbortSignal) {
  const controller = new AbortController()
  const listeners: [AbortSignal, () => void][] = []
  const on = (signal: AbortSignal, why: Interruption) => {
    const abort = () => controller.abort(why)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
    listeners.push([signal, abort])
  }
  on(lease.lost, 'lost')
  on(lease.cancelled, 'cancelled')
  on(shutdown, 'shutdown')
  const deadline = setTimeout(() => controller.abort('deadline' satisfies Interruption), record.deadlineAt - Date.now())
  return {
    signal: controller.signal,
    release() {
      clearTimeout(deadline)
      for (const [signal, abort] of listeners) signal.removeEventListener('abort', abort)
    },
  }
}

function portsOf(lease: RunLease, record: RunRecord, parts: RunnerParts): EnginePorts {
  return {
    model: parts.modelForRun(),
    tools: parts.tools,
    now: () => Date.now(),
    newCallId: () => callId(ulid()),
    commit: async () => lease.commit(record),
    emit: (event) => lease.append(event),
    journal: parts.journal,
    ticket: parts.ticket,
    say: parts.say,
    checkOutput: parts.checkOutput,
  }
}

async function loopOf(record: RunRecord, ports: EnginePorts, signal: AbortSignal): Promise<Ending> {
  try {
    return await runLoop(record, ports, signal)
  } catch (error) {
    ports.journal({
      event: 'bug',
      run_id: record.runId,
      stack: error instanceof Error ? (error.stack ?? error.message) : String(error),
    })
    closeBatch(record, ports)
    return failed('engine_error', '')
  }
}

/** Calls that were open when a bug struck are answered truthfully, so that the history stays valid. */
function closeBatch(record: RunRecord, ports: EnginePorts): void {
  if (record.batch === null) return
  const settled = settle(record, record.batch)
  record.batch = null
  keepSettled(record, { system: '', messages: [], cacheKey: null, timeNote: null }, settled, ports)
}

async function conclude(lease: RunLease, record: RunRecord, ending: Ending, parts: RunnerParts): Promise<void> {
  const result = resultOf(record, ending, addUsage(record.attempts, record.request.targets), Date.now(), parts.say)
  await lease.finish(record, { json: JSON.stringify(result), status: result.status }, doneEvent(result))
  parts.journal({
    event: 'ended',
    run_id: record.runId,
    status: result.status,
    limit_reached: result.limit_reached,
    error_code: result.error?.code ?? null,
    steps: result.steps,
    total_tokens: result.usage.total_tokens,
    cost: result.usage.cost,
  })
  if (record.request.callback !== null) parts.outbox.add(record.runId)
}

function doneEvent(result: RunResult) {
  const { status, stop_reason, limit_reached, error } = result
  return { event: 'done' as const, data: { status, stop_reason, limit_reached, error, pending: result.pending.length } }
}
