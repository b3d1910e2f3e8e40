/**
 * Sends the calls of a step, at most eight side by side, and tells stream, journal and store of each. What is sent has been
 * decided in `calls.ts`; nothing is decided here but that an aborted run sends no more.
 */
import { callKey, operationKey } from '../contract/canonical.ts'
import type { Tool } from '../contract/run-request.ts'
import { toolNamed } from './calls.ts'
import { lastCallAt } from './plan.ts'
import type { CallOrder, CallOutcome, EnginePorts } from './ports.ts'
import type { Batch, BatchCall, RunRecord } from './record.ts'

/** SPEC §5.4: so many calls of one step are under way at once. */
const SIDE_BY_SIDE = 8

/** Tells the journal of every call of a step that is not sent, and why. */
export function journalUnsent(record: RunRecord, batch: Batch, ports: Pick<EnginePorts, 'journal'>): void {
  for (const { callId, decision, tool } of batch.calls) {
    if (decision.kind === 'send') continue
    ports.journal({
      event: 'call_not_sent',
      run_id: record.runId,
      step: batch.step,
      call_id: callId,
      tool,
      ...(decision.kind === 'same_as'
        ? { status: 'duplicate', reason: 'same_read', of: batch.calls[decision.index]?.callId ?? null }
        : { status: decision.kind === 'over_limit' ? 'not_sent' : decision.kind, reason: decision.reason }),
    })
  }
}

/** Sends what is to be sent and waits for all of it. Once the signal has aborted nothing more is sent. */
export async function runBatch(
  record: RunRecord,
  batch: Batch,
  ports: EnginePorts,
  signal: AbortSignal,
): Promise<void> {
  const before = record.toolCalls.length
  const queue = batch.calls.entries()
  const worker = async () => {
    for (const [index, call] of queue) {
      if (call.decision.kind !== 'send' || call.outcome !== null) continue
      call.outcome = signal.aborted ? NEVER_SENT : await send(record, batch, call, before + index + 1, ports, signal)
    }
  }
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, batch.calls.length) }, worker))
}

const NEVER_SENT: CallOutcome = { kind: 'not_sent', attempts: 0, durationMs: 0, resultBytes: 0 }

async function send(
  record: RunRecord,
  batch: Batch,
  call: BatchCall,
  n: number,
  ports: EnginePorts,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const tool = toolNamed(record, call.tool)
  if (tool === undefined) return NEVER_SENT
  const { stream } = record.request
  ports.emit({
    event: 'tool_call',
    data: {
      step: batch.step,
      n,
      label: tool.label,
      ...(stream.tool_names ? { tool: tool.name, call_id: call.callId } : {}),
      ...(stream.tool_args ? { args: call.args } : {}),
    },
  })
  const which = { run_id: record.runId, step: batch.step, call_id: call.callId, tool: tool.name }
  ports.journal({ event: 'tool_called', ...which }, () => ({ args: call.args }))
  const attemptStarting = async (attempt: number) => {
    call.attempts = attempt
    await ports.commit('tool_attempt')
  }
  const outcome = await ports.tools.call(orderOf(record, tool, call), attemptStarting, signal)
  ports.emit({
    event: 'tool_result',
    data: {
      step: batch.step,
      n,
      ok: outcome.kind === 'ok' || outcome.kind === 'deferred',
      ...(outcome.kind === 'deferred' ? { deferred: true } : {}),
      ...(stream.tool_results && outcome.kind === 'ok' ? { result: outcome.result } : {}),
    },
  })
  const { attempts, durationMs: duration_ms, kind } = outcome
  ports.journal({ event: 'tool_ended', ...which, outcome: kind, attempts, duration_ms }, () => said(outcome))
  call.outcome = outcome
  await ports.commit('tool_result')
  return outcome
}

/** What a tool answered, for the journal. */
function said(outcome: CallOutcome): unknown {
  if (outcome.kind === 'ok') return { result: outcome.result }
  return outcome.kind === 'error' ? { error: outcome.error } : {}
}

function orderOf(record: RunRecord, tool: Tool, call: BatchCall): CallOrder {
  const { request } = record
  const facts = {
    sessionId: request.session_id,
    tool: tool.name,
    originRequestId: request.origin_request_id,
    argsHash: call.argsHash,
  }
  return {
    runId: record.runId,
    callId: call.callId,
    tool,
    args: call.args,
    argsHash: call.argsHash,
    callKey: callKey(facts),
    operationKey: operationKey(facts),
    originRequestId: request.origin_request_id,
    meta: request.meta,
    trace: request.trace,
    deadlineAt: lastCallAt(record),
    maxResultBytes: request.limits.tool_result_max_bytes,
  }
}
