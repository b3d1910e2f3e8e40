/**
 * The calls of one step: what is done with each (pure), then the sending, at most eight side by side, then what the history
 * and the result say of them. Results stand in call order whatever the order in which they came.
 */
import { argsHash, callKey, operationKey } from '../contract/canonical.ts'
import type { CallId } from '../contract/ids.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ToolMessage } from '../contract/message.ts'
import type { CallStatus, ToolCallRecord } from '../contract/result.ts'
import type { Tool } from '../contract/run-request.ts'
import { callErrors } from './notes.ts'
import { callsSent, lastCallAt } from './plan.ts'
import type { CallOrder, CallOutcome, EnginePorts, ModelCall } from './ports.ts'
import type { Batch, BatchCall, Decision, RunRecord } from './record.ts'
import { CALLS_PER_STEP, identity, refusal, type Seen } from './repeat-guard.ts'

/** SPEC §5.4: so many calls of one step are under way at once. */
const SIDE_BY_SIDE = 8

/** Any provider takes such a name back; a model can write anything. */
export function storedName(name: string): string {
  const legal = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return legal === '' ? 'unnamed' : legal
}

function toolNamed(record: RunRecord, name: string): Tool | undefined {
  return record.request.tools.find((tool) => tool.name === name)
}

/** Decides about every call of a step before any is sent. */
export function openBatch(
  record: RunRecord,
  calls: readonly ModelCall[],
  callIds: readonly CallId[],
  ports: Deciding,
): Batch {
  const seen = new Map<string, number>()
  const inTime = ports.now() < lastCallAt(record)
  let free = inTime ? record.request.limits.max_tool_calls - callsSent(record) : 0
  const decided: BatchCall[] = []
  for (const [index, call] of calls.entries()) {
    const args = call.args ?? {}
    const hash = argsHash(args)
    const decision = decide(record, call, index, hash, seen, ports.tools.checkArgs)
    // A twin of a call that is over the limit is over it too: there is no result to share.
    const twin = decision.kind === 'same_as' ? decided[decision.index]?.decision.kind : undefined
    const affordable = decision.kind === 'send' ? free > 0 : twin !== 'over_limit'
    if (decision.kind === 'send') free -= 1
    decided.push({
      callId: callIds[index] as CallId,
      tool: storedName(call.tool),
      // By the name as the model wrote it: the stored one may be that of another tool.
      effect: toolNamed(record, call.tool)?.effect ?? null,
      args,
      argsHash: hash,
      decision: affordable ? decision : { kind: 'over_limit', reason: 'limit', error: callErrors.limit },
      attempts: 0,
      outcome: null,
    })
  }
  return { step: record.steps, calls: decided }
}

type CheckArgs = (tool: Tool, args: JsonObject) => readonly string[]
type Deciding = Pick<EnginePorts, 'now'> & { readonly tools: { readonly checkArgs: CheckArgs } }

function decide(
  record: RunRecord,
  call: ModelCall,
  index: number,
  hash: string,
  seen: Map<string, number>,
  check: CheckArgs,
): Decision {
  if (index >= CALLS_PER_STEP) return refusedFor('too_many')
  const tool = toolNamed(record, call.tool)
  if (tool === undefined) {
    const declared = record.request.tools.map(({ name }) => name)
    return { kind: 'invalid', reason: 'unknown_tool', error: callErrors.unknown_tool(call.tool, declared) }
  }
  if (record.closedTools.includes(tool.name)) return refusedFor('closed_tool')
  if (call.args === null) return malformed(call)
  const faults = check(tool, call.args)
  if (faults.length > 0) return { kind: 'invalid', reason: 'mismatch', error: callErrors.mismatch(faults) }
  const key = identity(tool.name, hash)
  const refused = refusal(record.guard, record.request.limits.loop_guard, key, tool.repeatable)
  if (refused !== null) return refusedFor(refused)
  const first = seen.get(key)
  if (first === undefined) {
    seen.set(key, index)
    return { kind: 'send' }
  }
  if (tool.effect === 'write') return refusedFor('same_write')
  return tool.repeatable ? { kind: 'send' } : { kind: 'same_as', index: first }
}

function refusedFor(reason: 'too_many' | 'closed_tool' | 'same_result' | 'same_call' | 'same_write'): Decision {
  return { kind: 'refused', reason, error: callErrors[reason] }
}

function malformed(call: ModelCall): Decision {
  if (call.fault === 'too_large') return { kind: 'invalid', reason: 'too_large', error: callErrors.too_large }
  const reason = call.fault === 'not_object' ? 'not_object' : 'not_json'
  return { kind: 'invalid', reason, error: callErrors[reason](call.argsText) }
}

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

/** One call as the result, the history and the guard see it. */
export interface Settled {
  readonly call: BatchCall
  readonly outcome: CallOutcome | null
  readonly record: ToolCallRecord
  /** null for a deferred call: the harness answers that one. */
  readonly message: Pick<ToolMessage, 'result' | 'is_error' | 'error' | 'note'> | null
  readonly seen: Seen
}

/** What came of a batch, in call order. */
export function settle(record: RunRecord, batch: Batch): Settled[] {
  return batch.calls.map((call) => {
    const twin = call.decision.kind === 'same_as' ? batch.calls[call.decision.index] : undefined
    const outcome = call.outcome ?? (twin === undefined ? null : withoutFigures(twin.outcome))
    const tool = toolNamed(record, call.tool)
    return {
      call,
      outcome,
      record: {
        call_id: call.callId,
        tool: call.tool,
        effect: call.effect,
        step: batch.step,
        status: statusOf(call.decision, outcome),
        attempts: outcome?.attempts ?? 0,
        duration_ms: outcome?.durationMs ?? 0,
        result_bytes: outcome?.resultBytes ?? 0,
        truncated: outcome !== null && 'truncated' in outcome && outcome.truncated,
      },
      message: messageOf(call.decision, outcome),
      seen: seenOf(call, outcome, tool),
    }
  })
}

/** A call that got its twin's result took no time and no request of its own. */
function withoutFigures(outcome: CallOutcome | null): CallOutcome | null {
  return outcome === null ? null : { ...outcome, attempts: 0, durationMs: 0 }
}

function statusOf(decision: Decision, outcome: CallOutcome | null): CallStatus {
  if (decision.kind === 'invalid' || decision.kind === 'refused') return decision.kind
  if (outcome === null || outcome.kind === 'not_sent') return 'not_sent'
  return outcome.kind === 'not_deferred' ? 'unknown' : outcome.kind
}

function messageOf(decision: Decision, outcome: CallOutcome | null): Settled['message'] {
  if ('error' in decision) return { is_error: true, error: decision.error }
  if (outcome === null) return { is_error: true, error: callErrors.cancelled_unsent }
  switch (outcome.kind) {
    case 'ok':
      return { result: outcome.result, is_error: false, ...(outcome.note === null ? {} : { note: outcome.note }) }
    case 'error':
      return { is_error: true, error: outcome.error }
    case 'deferred':
      return null
    case 'not_deferred':
      return { is_error: true, error: callErrors.not_deferred }
    case 'not_sent':
      return { is_error: true, error: callErrors.cancelled_unsent }
    case 'unknown':
      return {
        is_error: true,
        error: outcome.reason === 'cancelled' ? callErrors.cancelled_sent : callErrors[outcome.reason],
      }
  }
}

function seenOf(call: BatchCall, outcome: CallOutcome | null, tool: Tool | undefined): Seen {
  if (call.decision.kind === 'invalid' || call.decision.kind === 'refused') return { kind: call.decision.kind }
  if (tool === undefined || call.decision.kind !== 'send' || outcome === null || outcome.kind === 'not_sent')
    return { kind: 'other' }
  return {
    kind: 'sent',
    call: identity(tool.name, call.argsHash),
    tool: tool.name,
    result: argsHash(
      outcome.kind === 'ok' ? [outcome.result] : { [outcome.kind]: 'error' in outcome ? outcome.error : '' },
    ),
    empty: outcome.kind === 'ok' && outcome.empty,
    repeatable: tool.repeatable,
  }
}
