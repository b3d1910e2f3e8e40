/**
 * The engine's HTTP interface as this harness uses it (SPEC §2, §3). It sends and reads, and every answer is a value; what
 * follows from one is decided by those who ask.
 *
 * Obligation A.10: the engine token stays on this side, and a browser never sees it. Obligation A.14: what an answer holds
 * beside the fields that are read is left alone.
 */
import type { RunResult } from '../../src/contract/result.ts'
import { parseOrNull } from './plumbing/lossless-json.ts'

export interface EngineAddress {
  /** Such as `http://127.0.0.1:8080`. */
  readonly url: string
  readonly token: string
}

interface Reply {
  /** 0: there was no answer. */
  readonly status: number
  readonly body: unknown
  readonly retryAfterMs: number
}

const ANSWER_WITHIN_MS = 15_000
const LEAST_WAIT_MS = 200

async function ask({ url, token }: EngineAddress, method: string, path: string, body?: string): Promise<Reply> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
  try {
    const response = await fetch(`${url}${path}`, { method, headers, signal, body: body ?? null })
    const seconds = Number.parseFloat(response.headers.get('retry-after') ?? '')
    const retryAfterMs = Math.max(LEAST_WAIT_MS, seconds >= 0 ? seconds * 1000 : 1000)
    return { status: response.status, body: parseOrNull(await response.text()), retryAfterMs }
  } catch {
    return { status: 0, body: null, retryAfterMs: 0 }
  }
}

export const postRun = (engine: EngineAddress, request: string) => ask(engine, 'POST', '/runs', request)

type Ending = RunResult | 'running' | 'unknown' | 'unreachable'

/** What a run came to. With `cancel` it is ended first, and the answer comes when it has ended. */
export async function resultOf(engine: EngineAddress, runId: string, how: 'look' | 'cancel'): Promise<Ending> {
  const path = `/runs/${encodeURIComponent(runId)}`
  const { status, body } = how === 'look' ? await ask(engine, 'GET', path) : await ask(engine, 'POST', `${path}/cancel`)
  if (status === 404) return 'unknown'
  if (status !== 200) return 'unreachable'
  return how === 'look' ? ((body as { readonly result: RunResult | null }).result ?? 'running') : (body as RunResult)
}

/** false: it did not arrive. That changes nothing: the engine sends the callback again, or says 409 at the next post. */
export async function ackRun(engine: EngineAddress, runId: string): Promise<boolean> {
  return (await ask(engine, 'POST', `/runs/${encodeURIComponent(runId)}/ack`)).status === 200
}
