/**
 * What came of the calls of a step, as the history, the result and loop protection see it. Pure. Results stand in call order
 * whatever the order in which they came.
 */
import { argsHash } from '../contract/canonical.ts'
import type { ToolMessage } from '../contract/message.ts'
import type { CallStatus, ToolCallRecord } from '../contract/result.ts'
import type { Tool } from '../contract/run-request.ts'
import { toolNamed } from './calls.ts'
import { callErrors } from './notes.ts'
import type { CallOutcome } from './ports.ts'
import type { Batch, BatchCall, Decision, RunRecord } from './record.ts'
import { identity, type Seen } from './repeat-guard.ts'

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
