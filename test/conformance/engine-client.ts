/** What a harness does with an engine, over HTTP: posts runs, reads them, cancels, acks. Nothing here knows the engine's inside. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { OutgoingHttpHeaders } from 'node:http'
import type { ErrorBody } from '../../src/contract/errors.ts'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { RunResult, Warning } from '../../src/contract/result.ts'
import { ENGINE_TOKEN, type EngineProcess } from '../fakes/engine-process.ts'
import { openStream, type EventStream } from './event-stream.ts'
import { open, send, type Answer, type Call, type OpenCall } from './http.ts'

export const AT = '2026-11-30T09:15:01.870Z'

export function user(text: string): JsonObject {
  return { role: 'user', content: [{ type: 'text', text }], created_at: AT }
}

/** The smallest run with a fresh idempotency key, and parts laid over it. Without `llm` it is played inside the engine. */
export function runBody(parts: JsonObject = {}): JsonObject {
  return {
    contract_version: '1',
    idempotency_key: randomUUID(),
    llm: { provider: 'scripted', model: 'echo' },
    messages: [user('Where is order 12345?')],
    ...parts,
  }
}

/** `llm` of a model that plays this inside the engine. */
export function scripted(...steps: readonly Json[]): JsonObject {
  return { provider: 'scripted', model: 'play', params: { extra: { script: steps } } }
}

export interface Accepted {
  readonly run_id: string
  readonly status: string
  readonly stream_url: string
  readonly cancel_url: string
  readonly deadline_at: string
  readonly warnings: readonly Warning[]
  readonly repeated?: true
}

export interface RunView {
  readonly run_id: string
  readonly status: string
  readonly started_at: string
  readonly deadline_at: string
  readonly delivery: {
    readonly state: string
    readonly attempts: readonly {
      readonly at: string
      readonly status: number | null
      readonly content_type: string | null
      readonly fault: string | null
      readonly error: string | null
      readonly duration_ms: number
      readonly next_at: string | null
    }[]
  }
  readonly result: RunResult | null
}

export class EngineClient {
  readonly address: string
  readonly #token: string

  constructor({ address }: Pick<EngineProcess, 'address'>, token: string = ENGINE_TOKEN) {
    this.address = address
    this.#token = token
  }

  get authorization(): OutgoingHttpHeaders {
    return { authorization: `Bearer ${this.#token}` }
  }

  #call(path: string, { headers = {}, ...call }: Omit<Call, 'url'>): Call {
    return { ...call, url: `${this.address}${path}`, headers: { ...this.authorization, ...headers } }
  }

  /** With the engine token, unless a header says otherwise. */
  send(path: string, call: Omit<Call, 'url'> = {}): Promise<Answer> {
    return send(this.#call(path, call))
  }

  /** POST /runs, whatever comes of it. A text is sent as it is. */
  post(body: JsonObject | string, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
    return this.openPost(body, headers).answer
  }

  openPost(body: JsonObject | string, headers: OutgoingHttpHeaders = {}): OpenCall {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const json = { 'content-type': 'application/json', ...headers }
    return open(this.#call('/runs', { method: 'POST', headers: json, body: text }))
  }

  /** A run that was started: 202. */
  async start(body: JsonObject): Promise<Accepted> {
    const answer = await this.post(body)
    assert.equal(answer.status, 202, answer.text)
    return answer.json<Accepted>()
  }

  /** A run and its result: posted with `wait`. */
  async run(body: JsonObject): Promise<RunResult> {
    const answer = await this.post({ ...body, wait: true })
    assert.equal(answer.status, 200, answer.text)
    return answer.json<RunResult>()
  }

  async view(runId: string): Promise<RunView> {
    const answer = await this.send(`/runs/${runId}`)
    assert.equal(answer.status, 200, answer.text)
    return answer.json<RunView>()
  }

  cancel(runId: string): Promise<Answer> {
    return this.send(`/runs/${runId}/cancel`, { method: 'POST' })
  }

  ack(runId: string): Promise<Answer> {
    return this.send(`/runs/${runId}/ack`, { method: 'POST' })
  }

  /** The run's result, once its stream has ended. */
  async result(accepted: Accepted): Promise<RunResult> {
    await (await openStream(accepted.stream_url)).ended()
    const { result } = await this.view(accepted.run_id)
    assert.ok(result !== null, 'a run whose stream has ended has a result')
    return result
  }

  stream({ stream_url }: Accepted, headers: OutgoingHttpHeaders = {}): Promise<EventStream> {
    return openStream(stream_url, headers)
  }
}

/** The error of an answer that must be one. */
export function errorOf(answer: Answer, status: number, code: string): ErrorBody['error'] {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  const { error } = answer.json<ErrorBody>()
  assert.equal(error.code, code)
  assert.equal(typeof error.message, 'string')
  return error
}

/** The text of a result inside the answer of `GET /runs/{id}`: its bytes, not its meaning. */
export function resultText({ text }: Answer): string {
  const match = /,"result":(.*)\}$/s.exec(text)
  assert.ok(match?.[1] !== undefined, text.slice(0, 200))
  return match[1]
}
