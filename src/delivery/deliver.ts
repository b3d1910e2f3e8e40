/**
 * One try to deliver one result: posts it through the gate and says what came of it. It decides nothing about further
 * tries, and never throws.
 *
 * Any 2xx means stored (SPEC §7.1): the answer's body is not read for meaning. A redirect is a failed try and is not
 * followed, so that no other host sees the secret.
 */
import { instantText } from '../contract/instant.ts'
import type { Egress, EgressAnswer, EgressResponse } from '../egress/egress.ts'
import type { DeliveryAttempt } from '../runs/ports.ts'
import { type Envelope, headersOf } from './envelope.ts'

/** For one try, from the first byte out to the last byte of the answer that is read. */
export const TRY_TIMEOUT_MS = 10_000

/** So much of an answer is read and thrown away, which keeps the connection usable; beyond it the connection is cut. */
const MAX_ANSWER_BYTES = 65_536

export interface DeliverParts {
  readonly egress: Egress
  /** CALLBACK_SECRET. Must be able to stand in a header. */
  readonly secret: string
  /** Default: `TRY_TIMEOUT_MS`. */
  readonly tryTimeoutMs?: number
}

export interface TryOutcome {
  readonly stored: boolean
  readonly attempt: DeliveryAttempt
}

/** Aborting `signal` ends the try at once, as a failed one. */
export async function deliver(letter: Envelope, parts: DeliverParts, signal: AbortSignal): Promise<TryOutcome> {
  const { egress, secret, tryTimeoutMs = TRY_TIMEOUT_MS } = parts
  const startedAt = Date.now()
  const stop = new AbortController()
  let late = false
  const abort = () => stop.abort()
  const timer = setTimeout(() => {
    late = true
    abort()
  }, tryTimeoutMs)
  const release = () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort)

  const answer = await egress.request({
    purpose: 'callback',
    method: 'POST',
    url: letter.callback.url,
    headers: headersOf(letter, secret, startedAt),
    body: letter.body,
    signal: stop.signal,
  })
  const outcome = {
    stored: answer.kind === 'response' && isStored(answer.response),
    attempt: {
      at: instantText(startedAt),
      status: answer.kind === 'response' ? answer.response.status : null,
      content_type: answer.kind === 'response' ? contentType(answer.response) : null,
      error: late ? `no answer within ${tryTimeoutMs} ms` : problem(answer),
      duration_ms: Date.now() - startedAt,
    },
  }
  // The headers are the answer; nobody waits for the rest.
  if (answer.kind === 'response') void discard(answer.response).finally(release)
  else release()
  return outcome
}

function isStored(response: EgressResponse): boolean {
  return response.status >= 200 && response.status < 300
}

function contentType(response: EgressResponse): string | null {
  return response.headers['content-type']?.slice(0, 200) ?? null
}

/** null where the status says it all. */
function problem(answer: EgressAnswer): string | null {
  switch (answer.kind) {
    case 'response':
      return answer.response.status >= 300 && answer.response.status < 400 ? 'redirects are not followed' : null
    case 'refused':
      return `not let out to ${answer.refusal.host}: ${answer.refusal.reason}`
    case 'fault':
      return answer.fault.message
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
