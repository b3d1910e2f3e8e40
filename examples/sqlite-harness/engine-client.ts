/**
 * The engine's HTTP interface as this harness uses it (SPEC §2, §3). It sends and reads, and every answer is a value; what
 * follows from one is decided by those who ask.
 *
 * Obligation A.10: the engine token stays in here, and a browser never
 * sees it. Obligation A.14: what an answer holds beside the fields that are read is left alone.
 */
import type { RunResult } from '../../src/contract/result.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'
import type { Taken } from './run-log.ts'

export interface EngineAddress {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly token: string
}

type Posted =
  /** 202, or 200 for a repeat. `ended`: it has a result by now. */
  | { readonly kind: 'taken'; readonly run: Taken; readonly ended: boolean }
  /** 409: another run of the session stands in the way, with or without a result. */
  | { readonly kind: 'blocked'; readonly runId: string }
  /** 429 or 503. */
  | { readonly kind: 'busy'; readonly waitMs: number }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'unreachable' }

type Seen =
  | { readonly kind: 'ended'; readonly result: RunResult }
  | { readonly kind: 'running'; readonly deadlineAt: string }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable' }

export interface EngineClient {
  post(body: string): Promise<Posted>
  see(runId: string): Promise<Seen>
  /** Ends the run; answers when it has ended. */
  cancel(runId: string): Promise<Exclude<Seen, { kind: 'running' }>>
  ack(runId: string): Promise<void>
}

const ANSWER_WITHIN_MS = 15_000
const LEAST_WAIT_MS = 200

interface Reply {
  /** 0: there was no answer. */
  readonly status: number
  readonly body: unknown
  readonly retryAfterMs: number
}

export function createEngineClient({ url, token }: EngineAddress): EngineClient {
  async function ask(method: 'GET' | 'POST', path: string, body?: string): Promise<Reply> {
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      })
      const seconds = Number(response.headers.get('retry-after') ?? 1)
      const retryAfterMs = Math.max(LEAST_WAIT_MS, (Number.isFinite(seconds) ? seconds : 1) * 1000)
      return { status: response.status, body: parseOrNull(await response.text()), retryAfterMs }
    } catch {
      return { status: 0, body: null, retryAfterMs: 0 }
    }
  }

  return {
    post: async (body) => postedOf(await ask('POST', '/runs', body)),
    async see(runId) {
      const { status, body } = await ask('GET', `/runs/${encodeURIComponent(runId)}`)
      if (status === 404) return { kind: 'unknown' }
      if (status !== 200) return { kind: 'unreachable' }
      const view = body as { readonly result: RunResult | null; readonly deadline_at: string }
      return view.result === null
        ? { kind: 'running', deadlineAt: view.deadline_at }
        : { kind: 'ended', result: view.result }
    },
    async cancel(runId) {
      const { status, body } = await ask('POST', `/runs/${encodeURIComponent(runId)}/cancel`)
      if (status === 404) return { kind: 'unknown' }
      return status === 200 ? { kind: 'ended', result: body as RunResult } : { kind: 'unreachable' }
    },
    // An ack that does not arrive changes nothing: the engine sends the callback again, or says 409 at the next post.
    ack: async (runId) => void (await ask('POST', `/runs/${encodeURIComponent(runId)}/ack`)),
  }
}

interface EngineError {
  readonly code: string
  readonly message: string
  readonly run_id?: string
}

function postedOf({ status, body, retryAfterMs }: Reply): Posted {
  if (status === 202 || status === 200) {
    const run = body as Taken & { readonly status: string }
    return { kind: 'taken', run, ended: run.status !== 'running' }
  }
  if (status === 429 || status === 503) return { kind: 'busy', waitMs: retryAfterMs }
  const error = (body as { readonly error?: EngineError } | null)?.error
  if ((error?.code === 'run_active' || error?.code === 'result_pending') && error.run_id !== undefined) {
    return { kind: 'blocked', runId: error.run_id }
  }
  if (status === 0 || status >= 500) return { kind: 'unreachable' }
  return { kind: 'refused', message: error === undefined ? `the engine answered ${status}` : error.message }
}
