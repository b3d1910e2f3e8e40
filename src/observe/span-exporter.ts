/**
 * Sends spans to an OTLP receiver: in batches, one request at a time, from a bounded queue. Nothing waits for it and it never
 * throws: where the receiver is down or slow, the queue fills and what comes beyond is dropped and counted. SPEC §12.7.
 *
 * An outage is told once when it begins and once when it is over. A refused batch (400 and the like) is not sent again; whatever
 * may pass is, after a growing pause. No secret and no path of the receiver's address is told, only its host.
 */
import { retryAfterMs } from '../contract/retry-after.ts'
import type { Egress, EgressAnswer, EgressResponse } from '../egress/egress.ts'
import { ownHost } from '../egress/own-host.ts'
import { timeLimit } from '../egress/time-limit.ts'
import { type Attributes, exportRequest, type Span } from './span.ts'

export interface SpanExporterOptions {
  /** The whole address, `…/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly egress: Pick<Egress, 'request'>
  readonly resource: Attributes
  readonly version: string
  /** ms since the epoch. */
  readonly now: () => number
  /** ms, of a clock that is never set. */
  readonly elapsed: () => number
  /** Spans are not getting through: why. Told once an outage, and at most once a minute. */
  readonly onBroken: (facts: { readonly status: number | null; readonly error: string | null }) => void
  /** They are again, after that was told; `lost`: spans that were dropped meanwhile. */
  readonly onBack: (lost: number) => void
  readonly onSpans: (outcome: 'exported' | 'dropped', count: number) => void
  /** How long spans wait for others. Default: `BATCH_MS`. */
  readonly batchMs?: number
  /** For one request. Default: `POST_TIMEOUT_MS`. */
  readonly timeoutMs?: number
}

export interface SpanExporter {
  /** Synchronous and cheap. */
  add(span: Span): void
  /** Sends what waits, each batch once, until the signal aborts; the rest is dropped. Nothing is sent after it. */
  close(signal: AbortSignal): Promise<void>
}

const BATCH_MS = 2000
/** As OpenTelemetry's own batch processor has them. */
const MAX_BATCH = 512
const MAX_QUEUE = 2048
const POST_TIMEOUT_MS = 10_000
const FIRST_PAUSE_MS = 1000
const LONGEST_PAUSE_MS = 60_000
const TELL_AGAIN_MS = 60_000
/** Of an answer; a receiver says in it which spans it did not take. */
const MAX_ANSWER_BYTES = 65_536

/** Worth another attempt, by the OTLP specification. */
const RETRIED = new Set([429, 502, 503, 504])

type Outcome = { readonly kind: 'taken'; readonly rejected: number } | Failure
interface Failure {
  readonly kind: 'refused' | 'failed'
  readonly status: number | null
  readonly error: string | null
  readonly askedMs: number | null
}

export function createSpanExporter(options: SpanExporterOptions): SpanExporter {
  const { batchMs = BATCH_MS, elapsed } = options
  const closing = new AbortController()
  let queue: Span[] = []
  let timer: NodeJS.Timeout | null = null
  let sending: Promise<void> | null = null
  let pauseMs = 0
  let closed = false
  /** Set from the moment at which an outage was told to the moment at which its end is. */
  let lost: number | null = null
  let toldAt = -Infinity

  function add(span: Span): void {
    if (closed || queue.length >= MAX_QUEUE) return drop(1)
    queue.push(span)
    if (queue.length >= MAX_BATCH && pauseMs === 0) wake(0)
    else wake(pauseMs === 0 ? batchMs : pauseMs)
  }

  function drop(count: number): void {
    if (count === 0) return
    if (lost !== null) lost += count
    options.onSpans('dropped', count)
  }

  function wake(ms: number): void {
    if (closed || sending !== null || (timer !== null && ms > 0)) return
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(() => {
      timer = null
      sending ??= sendAll()
    }, ms)
    timer.unref()
  }

  async function sendAll(): Promise<void> {
    let wait = false
    while (queue.length > 0 && !wait && !closing.signal.aborted) wait = !(await sendBatch()) && !closed
    // In the same turn as the last look at the queue: what comes after it begins anew.
    sending = null
    if (queue.length > 0) wake(pauseMs)
  }

  /** False: it is kept, and is sent again later. */
  async function sendBatch(): Promise<boolean> {
    const batch = queue.slice(0, MAX_BATCH)
    const outcome = await post(batch, options, closing.signal)
    const again = outcome.kind === 'failed' && !closed
    if (!again) queue = queue.slice(batch.length)
    if (outcome.kind === 'taken') {
      options.onSpans('exported', batch.length - outcome.rejected)
      drop(outcome.rejected)
      back()
      return true
    }
    broken(outcome)
    if (!again) drop(batch.length)
    pauseMs = Math.min(Math.max(outcome.askedMs ?? 0, pauseMs === 0 ? FIRST_PAUSE_MS : pauseMs * 2), LONGEST_PAUSE_MS)
    return !again
  }

  function broken({ status, error }: Failure): void {
    if (lost !== null || elapsed() < toldAt + TELL_AGAIN_MS) return
    toldAt = elapsed()
    lost = 0
    options.onBroken({ status, error })
  }

  function back(): void {
    pauseMs = 0
    if (lost === null) return
    const count = lost
    lost = null
    options.onBack(count)
  }

  async function close(signal: AbortSignal): Promise<void> {
    closed = true
    if (timer !== null) clearTimeout(timer)
    const abort = () => closing.abort()
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    await sending
    await sendAll()
    signal.removeEventListener('abort', abort)
    drop(queue.length)
    queue = []
  }

  return { add, close }
}

/** Never rejects. */
async function post(batch: readonly Span[], options: SpanExporterOptions, closing: AbortSignal): Promise<Outcome> {
  const { url, headers, egress, resource, version, now, timeoutMs = POST_TIMEOUT_MS } = options
  const limit = timeLimit(timeoutMs, closing)
  const answer = await egress.request({
    purpose: 'telemetry',
    ownHosts: [ownHost(url)],
    method: 'POST',
    url,
    headers: { ...headers, 'content-type': 'application/json' },
    body: exportRequest(resource, version, batch),
    signal: limit.signal,
  })
  const outcome = await outcomeOf(answer, now())
  limit.release()
  return outcome
}

async function outcomeOf(answer: EgressAnswer, now: number): Promise<Outcome> {
  switch (answer.kind) {
    case 'response': {
      const { status, headers } = answer.response
      const text = await textOf(answer.response)
      if (status >= 200 && status < 300) return { kind: 'taken', rejected: rejectedIn(text) }
      const kind = RETRIED.has(status) ? 'failed' : 'refused'
      return { kind, status, error: null, askedMs: retryAfterMs(headers, now) }
    }
    case 'refused': {
      const error = `not let out to ${answer.refusal.host}: ${answer.refusal.reason}`
      return { kind: 'refused', status: null, error, askedMs: null }
    }
    case 'fault':
      return { kind: 'failed', status: null, error: answer.fault.message, askedMs: null }
  }
}

/** What came of the body. It ends by its connection or by the request's time. */
async function textOf(response: EgressResponse): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of response.body) {
      bytes += chunk.length
      if (bytes > MAX_ANSWER_BYTES) break
      chunks.push(chunk)
    }
  } catch {
    // The status was had; what the receiver says of single spans is lost.
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Spans that a receiver took the request without. */
function rejectedIn(text: string): number {
  try {
    const answer = JSON.parse(text) as { readonly partialSuccess?: { readonly rejectedSpans?: unknown } } | null
    const count = Number(answer?.partialSuccess?.rejectedSpans ?? 0)
    return Number.isSafeInteger(count) && count > 0 ? Math.min(count, MAX_BATCH) : 0
  } catch {
    return 0
  }
}
