/**
 * The engine's HTTP interface as a harness uses it (SPEC §2, §3). It sends and reads; what follows from an answer is decided
 * by those who ask. Only the back end has this: a browser gets `stream_url` and nothing else.
 */
import type { RunResult } from '../../src/contract/result.ts'
import { DemoFailure } from './failure.ts'

/** What a 202 tells; the engine may say more. */
export interface Started {
  readonly run_id: string
  readonly stream_url: string
  readonly deadline_at: string
}

export interface EngineClient {
  health(): Promise<{ readonly version: string; readonly contract_version: string }>
  /**
   * Starts a run. The engine refuses while the session's last result is not stored (409 `result_pending`): then that result
   * is fetched, stored and acked, and the run is posted again. A harness owes that (SPEC Appendix A, 9).
   */
  startRun(body: Readonly<Record<string, unknown>>): Promise<Started>
}

export interface ClientParts {
  readonly url: string
  readonly engineToken: string
  /** Stores a result's messages; one that was stored before changes nothing. */
  readonly store: (result: RunResult) => unknown
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

const ANSWER_WITHIN_MS = 20_000

export function createEngineClient(parts: ClientParts): EngineClient {
  async function ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Reply> {
    try {
      const response = await fetch(`${parts.url}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${parts.engineToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      })
      return { status: response.status, body: await response.json() }
    } catch (error) {
      throw new DemoFailure(`the engine gave no answer to ${method} ${path}: ${String(error)}`)
    }
  }

  async function storePending(runId: string): Promise<void> {
    const { status, body } = await ask('GET', `/runs/${runId}`)
    const { result } = body as { readonly result: RunResult | null }
    if (status !== 200 || result === null) throw refusal(`GET /runs/${runId}`, { status, body })
    parts.store(result)
    const acked = await ask('POST', `/runs/${runId}/ack`)
    if (acked.status !== 200) throw refusal(`POST /runs/${runId}/ack`, acked)
  }

  return {
    async health() {
      const reply = await ask('GET', '/health')
      if (reply.status !== 200) throw refusal('GET /health', reply)
      return reply.body as Awaited<ReturnType<EngineClient['health']>>
    },
    async startRun(body) {
      let reply = await ask('POST', '/runs', body)
      const pending = reply.status === 409 ? errorOf(reply) : null
      if (pending?.code === 'result_pending' && pending.run_id !== undefined) {
        await storePending(pending.run_id)
        reply = await ask('POST', '/runs', body)
      }
      if (reply.status !== 202) throw refusal('POST /runs', reply)
      return reply.body as Started
    },
  }
}

interface EngineError {
  readonly code: string
  readonly message: string
  readonly run_id?: string
}

function errorOf({ body }: Reply): EngineError | null {
  return (body as { readonly error?: EngineError } | null)?.error ?? null
}

function refusal(request: string, reply: Reply): DemoFailure {
  const error = errorOf(reply)
  const said = error === null ? 'without a reason' : `${error.code}: ${error.message}`
  return new DemoFailure(`${request} was answered ${reply.status}, ${said}`)
}
