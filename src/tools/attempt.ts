/**
 * One attempt of a call: one HTTP request, its answer read and judged. It repeats nothing and decides nothing about the call.
 */
import type { Egress, Fault } from '../egress/egress.ts'
import { judgeBody, judgeHead, type Effect, type Judged } from './answer.ts'
import type { Exchange } from './exchange.ts'
import { readBody } from './read-body.ts'

export type AttemptEnd =
  | Judged
  /** Nothing has left, so the tool has heard nothing. `error` is a sentence for the model. */
  | { readonly kind: 'unreachable'; readonly error: string }
  /** Sent, as far as can be known, and no answer was had. */
  | { readonly kind: 'unanswered'; readonly reason: 'timeout' | 'reset' }

export interface AttemptOrder {
  readonly url: string
  readonly exchange: Exchange
  readonly effect: Effect
  /** Of the answer's body, after decompression. */
  readonly maxBodyBytes: number
}

/** Never rejects. Aborting the signal destroys the socket at once, whatever the phase. */
export async function runAttempt(
  egress: Egress,
  order: AttemptOrder,
  now: () => number,
  signal: AbortSignal,
): Promise<AttemptEnd> {
  const { url, exchange, effect, maxBodyBytes } = order
  const answer = await egress.request({ purpose: 'tool', method: 'POST', url, ...exchange, signal })
  if (answer.kind === 'refused') return { kind: 'error', error: "this tool's address is not allowed" }
  if (answer.kind === 'fault') return faultEnd(answer.fault)

  const { response } = answer
  const judged = judgeHead(response, now())
  if (judged !== null) {
    response.destroy()
    return judged
  }
  const body = await readBody(response, maxBodyBytes)
  return body.kind === 'broken' ? faultEnd(body.fault) : judgeBody(response, body, effect)
}

function faultEnd({ kind, unsent }: Fault): AttemptEnd {
  if (unsent === true) return { kind: 'unreachable', error: UNREACHED[kind] ?? 'the tool could not be reached' }
  return { kind: 'unanswered', reason: kind === 'timeout' ? 'timeout' : 'reset' }
}

const UNREACHED: { readonly [K in Fault['kind']]?: string } = {
  dns: "the tool's host name could not be resolved",
  tls: 'no secure connection to the tool could be made',
}
