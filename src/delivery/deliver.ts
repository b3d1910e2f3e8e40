/**
 * One attempt to deliver one result: posts it through the gate and says what came of it. It decides nothing about
 * further attempts, and never throws.
 *
 * Any 2xx means stored (SPEC §7.1): the answer's body is not read for meaning. A redirect is a failed attempt and is
 * not followed, so that no other host sees the secret.
 */
import type { DeliveryFault } from '../contract/delivery.ts'
import { deliverySpanId, type Sampler, traceHeaders } from '../contract/trace-context.ts'
import { instantText } from '../contract/instant.ts'
import { retryAfterMs } from '../contract/retry-after.ts'
import type { Egress, EgressAnswer, EgressResponse } from '../egress/egress.ts'
import { timeLimit } from '../egress/time-limit.ts'
import type { DeliveryAttempt } from '../runs/ports.ts'
import { type Envelope, headersOf, type Secrets } from './envelope.ts'

/** For one attempt, from the first byte out to the last byte of the answer that is read. */
const ATTEMPT_TIMEOUT_MS = 10_000

/** So much of an answer is read and thrown away, which keeps the connection usable; beyond it the connection is cut. */
const MAX_ANSWER_BYTES = 65_536

/** RFC 9110: it is not there any more, and that is likely to stay so. */
const GONE = 410

export interface DeliverParts {
  readonly egress: Egress
  /** CALLBACK_SECRET; each must be able to stand in a header. null: it is not set, and nothing is sent unsigned. */
  readonly secrets: Secrets | null
  /** Which traces are recorded. Default: none is. */
  readonly sampler?: Sampler | undefined
  /** Default: `ATTEMPT_TIMEOUT_MS`. */
  readonly attemptTimeoutMs?: number
}

export interface DeliveryOutcome {
  readonly kind: 'stored' | 'failed' | 'gone'
  /** What the receiver's Retry-After asks for, ms; null: nothing. */
  readonly askedMs: number | null
  readonly attempt: Omit<DeliveryAttempt, 'next_at'>
}

/** Aborting `signal` ends the attempt at once, as a failed one. */
export async function deliver(letter: Envelope, parts: DeliverParts, signal: AbortSignal): Promise<DeliveryOutcome> {
  const { egress, sampler = null, secrets, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS } = parts
  const { callback, runId } = letter
  const startedAt = Date.now()
  const at = instantText(startedAt)
  if (secrets === null) return unsigned(at)
  const limit = timeLimit(attemptTimeoutMs, signal)
  const answer = await egress.request({
    purpose: 'callback',
    method: 'POST',
    url: callback.url,
    headers: {
      ...headersOf(letter, secrets, startedAt),
      ...traceHeaders(callback.trace ?? null, { runId, spanId: deliverySpanId(runId, at) }, sampler),
    },
    body: letter.body,
    signal: limit.signal,
  })
  const { fault, error } = limit.isOver()
    ? { fault: 'timeout' as const, error: `no answer within ${attemptTimeoutMs} ms` }
    : problem(answer)
  const response = answer.kind === 'response' ? answer.response : null
  const outcome: DeliveryOutcome = {
    kind: fault === null ? 'stored' : fault === 'gone' ? 'gone' : 'failed',
    askedMs: response === null ? null : retryAfterMs(response.headers, Date.now()),
    attempt: {
      at,
      status: response?.status ?? null,
      content_type: mediaType(response?.headers['content-type'] ?? '', secrets),
      fault,
      error,
      duration_ms: Math.max(0, Date.now() - startedAt),
    },
  }
  // The headers are the answer; nobody waits for the rest.
  if (response !== null) void discard(response).finally(() => limit.release())
  else limit.release()
  return outcome
}

/** `error` is null where the status says it all. */
interface Problem {
  readonly fault: DeliveryFault | null
  readonly error: string | null
}

function problem(answer: EgressAnswer): Problem {
  switch (answer.kind) {
    case 'response':
      return problemOf(answer.response)
    case 'refused':
      return { fault: 'not_sent', error: `not let out to ${answer.refusal.host}: ${answer.refusal.reason}` }
    case 'fault':
      return { fault: answer.fault.kind, error: answer.fault.message }
  }
}

function problemOf({ status }: EgressResponse): Problem {
  if (status >= 200 && status < 300) return { fault: null, error: null }
  if (status >= 300 && status < 400) return { fault: 'redirect', error: 'redirects are not followed' }
  return { fault: status === GONE ? 'gone' : 'status', error: null }
}

/** Without its parameters: of foreign words no more than are needed, and none that says CALLBACK_SECRET back. */
function mediaType(contentType: string, secrets: Secrets): string | null {
  const [type] = /^[\w!#$&^.+-]{1,60}\/[\w!#$&^.+-]{1,60}(?=\s*(?:;|$))/.exec(contentType) ?? []
  return type === undefined || secrets.some((secret) => type.includes(secret)) ? null : type
}

/** A run that was taken while there was a secret, and outlasted a change of the settings. */
function unsigned(at: string): DeliveryOutcome {
  return {
    kind: 'failed',
    askedMs: null,
    attempt: {
      at,
      status: null,
      content_type: null,
      fault: 'not_sent',
      error: 'CALLBACK_SECRET is not set: nothing is sent unsigned',
      duration_ms: 0,
    },
  }
}

async function discard(response: EgressResponse): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) break
    }
  } catch {
    // The answer was had; that the connection broke behind it, or was cut by the time limit, changes nothing.
  }
}
