/**
 * Tells ERROR_WEBHOOK_URL of errors, as `error-digest.ts` decides: one post at a time, one attempt each, from a bounded
 * queue. It delays nobody and never throws; a post that fails is logged and forgotten. SPEC §12.5.
 *
 * Signed like a callback, without X-Engine-Secret: who hears of errors need not know the secret.
 */
import { createHash } from 'node:crypto'
import { instantText } from '../contract/instant.ts'
import { type Secrets, signedHeaders } from '../delivery/envelope.ts'
import type { Egress, EgressAnswer } from '../egress/egress.ts'
import { ownHost } from '../egress/own-host.ts'
import { timeLimit } from '../egress/time-limit.ts'
import type { JournalEntry } from '../engine/ports.ts'
import { createErrorDigest, kindOf, type Notice } from './error-digest.ts'
import type { JournalItem } from './journal-item.ts'

export interface ErrorWebhookOptions {
  readonly url: string
  /** CALLBACK_SECRET; null: posts are not signed. */
  readonly secrets: Secrets | null
  readonly egress: Pick<Egress, 'request'>
  /** ms since the epoch: what posts say and are signed with. */
  readonly now: () => number
  /** ms, of a clock that is never set: it decides when something is posted. */
  readonly elapsed: () => number
  /** A post that was not taken. Facts tell the host only, never path or query. */
  readonly onFailure: (facts: { readonly status: number | null; readonly error: string | null }) => void
  /** For one post. Default: `POST_TIMEOUT_MS`. */
  readonly timeoutMs?: number
}

export interface ErrorWebhook {
  /** Synchronous; entries that are no errors cost nothing. */
  note(entry: JournalEntry, item: JournalItem): void
  /** Posts what is counted and what waits, until the signal aborts. Nothing is posted after it. */
  close(signal: AbortSignal): Promise<void>
}

const POST_TIMEOUT_MS = 10_000
/** Notices that wait for the post before them. Kinds are few, so it is full only where the receiver hangs. */
const MAX_WAITING = 50

export function createErrorWebhook(options: ErrorWebhookOptions): ErrorWebhook {
  const { now, elapsed } = options
  const digest = createErrorDigest()
  const waiting: Notice[] = []
  const closing = new AbortController()
  let posting: Promise<void> | null = null
  let timer: NodeJS.Timeout | null = null
  let closed = false

  function note(entry: JournalEntry, { line }: JournalItem): void {
    const kind = closed ? null : kindOf(entry)
    if (kind === null) return
    const notice = digest.add(kind, line, { at: now(), elapsed: elapsed() })
    if (notice !== null) send([notice])
    wait()
  }

  /** Wakes when a window ends. */
  function wait(): void {
    const at = digest.nextAt()
    if (timer !== null || closed || at === null) return
    timer = setTimeout(
      () => {
        timer = null
        send(digest.due(elapsed()))
        wait()
      },
      Math.max(0, at - elapsed()),
    )
    timer.unref()
  }

  function send(notices: readonly Notice[]): void {
    for (const notice of notices) {
      if (waiting.length < MAX_WAITING) waiting.push(notice)
      else options.onFailure({ status: null, error: 'not sent: too many notices wait for their turn' })
    }
    if (waiting.length > 0) posting ??= postAll()
  }

  async function postAll(): Promise<void> {
    for (let notice = waiting.shift(); notice !== undefined; notice = waiting.shift()) {
      const failure = await post(notice, options, closing.signal)
      if (failure !== null) options.onFailure(failure)
    }
    // In the same turn as the last look at the queue: what comes after it begins anew.
    posting = null
  }

  async function close(signal: AbortSignal): Promise<void> {
    closed = true
    if (timer !== null) clearTimeout(timer)
    send(digest.rest())
    const abort = () => {
      waiting.length = 0
      closing.abort()
    }
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    await posting
    signal.removeEventListener('abort', abort)
  }

  return { note, close }
}

/** null: it was taken. */
async function post(notice: Notice, options: ErrorWebhookOptions, closing: AbortSignal) {
  const { url, secrets, egress, now, timeoutMs = POST_TIMEOUT_MS } = options
  const body = bodyOf(notice)
  const id = `err_${createHash('sha256').update(body).digest('hex').slice(0, 32)}`
  const limit = timeLimit(timeoutMs, closing)
  const answer = await egress.request({
    purpose: 'error_webhook',
    // It need not stand on EGRESS_ALLOWLIST.
    ownHosts: [ownHost(url)],
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      ...(secrets === null ? {} : signedHeaders({ id, body }, secrets, now())),
    },
    body,
    signal: limit.signal,
  })
  limit.release()
  if (answer.kind === 'response') answer.response.destroy()
  return failureOf(answer)
}

/** The entry stands in it as the journal keeps it. */
function bodyOf({ event, code, count, firstAt, lastAt, entry }: Notice): Buffer {
  const facts = {
    type: 'engine_error',
    event,
    code,
    count,
    first_at: instantText(firstAt),
    last_at: instantText(lastAt),
  }
  return Buffer.from(`${JSON.stringify(facts).slice(0, -1)},"entry":${entry}}`)
}

function failureOf(answer: EgressAnswer): { readonly status: number | null; readonly error: string | null } | null {
  switch (answer.kind) {
    case 'response': {
      const { status } = answer.response
      return status >= 200 && status < 300 ? null : { status, error: null }
    }
    case 'refused':
      return { status: null, error: `not let out to ${answer.refusal.host}: ${answer.refusal.reason}` }
    case 'fault':
      return { status: null, error: answer.fault.message }
  }
}
