/**
 * The request of one attempt: the headers and body of SPEC §5.1 and §5.2. Pure.
 *
 * The body is written from the parsed arguments, so what was checked is what is sent. It never carries X-Engine-Secret:
 * that is between the engine and the callback.
 */
import { CONTRACT_VERSION } from '../contract/run-request.ts'
import { callSpanId, type Sampler, traceHeaders } from '../contract/trace-context.ts'
import type { ToolCallBody } from '../contract/tool-exchange.ts'
import type { CallOrder } from '../engine/ports.ts'

/** What an attempt has beside its order. */
export interface AttemptFacts {
  /** 1, 2 or 3. */
  readonly attempt: number
  /** Where a late result goes; holds the call token. */
  readonly resultUrl: string
  /** Milliseconds left for the call. */
  readonly leftMs: number
  /** Which traces are recorded; null: none is. */
  readonly sampler: Sampler | null
}

export interface Exchange {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export function exchangeOf(order: CallOrder, facts: AttemptFacts): Exchange {
  const body: ToolCallBody = {
    contract_version: CONTRACT_VERSION,
    run_id: order.runId,
    call_id: order.callId,
    attempt: facts.attempt,
    origin_request_id: order.originRequestId,
    tool: order.tool.name,
    args: order.args,
    args_hash: order.argsHash,
    call_key: order.callKey,
    operation_key: order.operationKey,
    meta: order.meta,
    result_url: facts.resultUrl,
  }
  return {
    headers: {
      ...toolHeaders(order.tool.headers),
      'Content-Type': 'application/json',
      Accept: 'application/json',
      'Accept-Encoding': 'identity',
      'Idempotency-Key': order.callKey,
      'X-Deadline-Ms': String(Math.max(1, Math.floor(facts.leftMs))),
      ...traceHeaders(order.trace ?? null, { runId: order.runId, spanId: callSpanId(order.callId) }, facts.sampler),
    },
    // Raw numbers are written with their own digits.
    body: JSON.stringify(body),
  }
}

/** `parseRunRequest` has dropped what may not go out; a secret is worth a second look. */
function toolHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const never = new Set(['x-engine-secret', 'x-deadline-ms'])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !never.has(name.toLowerCase())))
}
