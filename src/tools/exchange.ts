/**
 * The request of one attempt: the headers and body of SPEC §5.1 and §5.2. Pure.
 *
 * The body is written from the parsed arguments, so what was checked is what is sent. It never carries X-Engine-Secret:
 * that is between the engine and the callback.
 */
import { createHash } from 'node:crypto'
import type { RunId } from '../contract/ids.ts'
import { CONTRACT_VERSION } from '../contract/run-request.ts'
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
  /** From 0 up to 1; makes the span id. */
  readonly random: () => number
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
      traceparent: traceparent(order.runId, facts.random),
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

/** W3C Trace Context, version 00, sampled. One trace a run: its id is made from the run's. One span an attempt. */
function traceparent(runId: RunId, random: () => number): string {
  const trace = createHash('sha256').update(runId, 'utf8').digest('hex').slice(0, 32)
  const bytes = Array.from({ length: 8 }, () => Math.floor(random() * 256))
  const span = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
  // A span id of zeros means "none".
  return `00-${trace}-${/^0+$/.test(span) ? '0000000000000001' : span}-01`
}
