/**
 * What is done with each call of a step, decided before any is sent. Pure. `run-batch.ts` sends, `settled-calls.ts` says what
 * came of it.
 */
import { argsHash } from '../contract/canonical.ts'
import type { CallId } from '../contract/ids.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Tool } from '../contract/run-request.ts'
import { callErrors } from './notes.ts'
import { callsSent, lastCallAt } from './plan.ts'
import type { EnginePorts, ModelCall } from './ports.ts'
import type { Batch, BatchCall, Decision, RunRecord } from './record.ts'
import { CALLS_PER_STEP, identity, refusal } from './repeat-guard.ts'

/** Any provider takes such a name back; a model can write anything. */
export function storedName(name: string): string {
  const legal = name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
  return legal === '' ? 'unnamed' : legal
}

/** undefined: the run has no such tool. */
export function toolNamed(record: RunRecord, name: string): Tool | undefined {
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
