/** What a run adds to its conversation: stored messages, made from what the model and the tools said. */
import type { CallId } from '../contract/ids.ts'
import { instantText } from '../contract/instant.ts'
import type { AssistantMessage, AssistantPart, StopReason, StoredMessage } from '../contract/message.ts'
import type { JsonObject } from '../contract/json.ts'
import { isBlank } from './blank.ts'
import { storedName } from './calls.ts'
import type { Settled } from './settled-calls.ts'
import type { EnginePorts, ModelPart } from './ports.ts'
import type { RunRecord } from './record.ts'
import type { Prompt } from './step.ts'

/** Appends to the run and to what the model is shown next. */
function keep(record: RunRecord, prompt: Prompt, message: StoredMessage, now: number): void {
  const stored = { ...message, created_at: instantText(now), run_id: record.runId, seq: record.messages.length }
  record.messages.push(stored)
  prompt.messages.push(stored)
}

export interface Said {
  readonly parts: readonly ModelPart[]
  readonly stop: StopReason
  readonly target: number
  readonly provider_data: JsonObject | null
  /** One for each call among the parts, in order. */
  readonly callIds: readonly CallId[]
}

/** Stores an assistant message. An answer of which nothing is left is not stored. */
export function keepSaid(record: RunRecord, prompt: Prompt, said: Said, now: number): void {
  const message = saidMessage(record, said)
  if (message !== null) keep(record, prompt, message, now)
}

/** An answer as it is stored, with all that its provider must have back. null: nothing is left of it. */
export function saidMessage(record: RunRecord, said: Said): AssistantMessage | null {
  const content = storedParts(said.parts, said.callIds)
  if (content.length === 0) return null
  const model = record.request.targets[said.target]
  return {
    role: 'assistant',
    content,
    provider: model?.provider ?? null,
    model: model?.model ?? null,
    stop_reason: said.stop,
    ...(said.provider_data === null ? {} : { provider_data: said.provider_data }),
  }
}

/** A blank text beside others is kept: what is stored is what was shown. Alone it says nothing. */
function storedParts(parts: readonly ModelPart[], callIds: readonly CallId[]): AssistantPart[] {
  const speaks = parts.some((part) => part.type === 'text' && part.text.trim() !== '')
  let calls = 0
  const content: AssistantPart[] = []
  for (const part of parts) {
    if (part.type === 'text') {
      if (speaks && part.text !== '') content.push({ type: 'text', text: part.text })
    } else if (part.type === 'reasoning') content.push(part)
    else {
      content.push({
        type: 'tool_call',
        call_id: callIds[calls] as CallId,
        tool: storedName(part.tool),
        args: part.args ?? {},
        ...(part.fault === null ? {} : { args_text: part.argsText.slice(0, 2000).toWellFormed() }),
        ...(part.provider_data === null ? {} : { provider_data: part.provider_data }),
      })
      calls += 1
    }
  }
  // Reasoning alone, with nothing it led to, is an empty answer.
  return content.some((part) => part.type !== 'reasoning') ? content : []
}

/** Text of a step that was cut: it was shown, so it stays. */
export function keepShown(
  record: RunRecord,
  prompt: Prompt,
  shown: { readonly text: string; readonly target: number; readonly stop: StopReason },
  now: number,
): void {
  if (isBlank(shown.text)) return
  keepSaid(
    record,
    prompt,
    {
      parts: [{ type: 'text', text: shown.text }],
      stop: shown.stop,
      target: shown.target,
      provider_data: null,
      callIds: [],
    },
    now,
  )
}

/** Stores the results of a batch in call order; a deferred call becomes pending instead. */
export function keepSettled(
  record: RunRecord,
  prompt: Prompt,
  settled: readonly Settled[],
  ports: Pick<EnginePorts, 'now' | 'ticket'>,
): void {
  for (const one of settled) {
    record.toolCalls.push(one.record)
    if (one.outcome?.kind === 'deferred') record.pending.push(pendingOf(record, one, one.outcome.operationId, ports))
    else if (one.message !== null) {
      keep(record, prompt, { role: 'tool', call_id: one.call.callId, tool: one.call.tool, ...one.message }, ports.now())
    }
  }
}

function pendingOf(record: RunRecord, one: Settled, operationId: string, ports: Pick<EnginePorts, 'now' | 'ticket'>) {
  const expiresAt = instantText(ports.now() + record.request.limits.approval_ttl_ms)
  const call = {
    call_id: one.call.callId,
    tool: one.call.tool,
    args_hash: one.call.argsHash,
    expires_at: expiresAt,
  }
  return { ...call, operation_id: operationId, ticket: ports.ticket({ ...call, run_id: record.runId }) }
}
