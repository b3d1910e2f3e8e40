/** A whole engine on 127.0.0.1 that gets wrong requests, and what holds of each of its answers. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import { pino } from 'pino'
import { createEngine } from '../../src/compose.ts'
import { errors, type ErrorBody } from '../../src/contract/errors.ts'
import { callToken, runToken, type EngineTokens } from '../../src/runs/run-token.ts'
import { readSettings } from '../../src/settings.ts'
import { requestBody } from '../fakes/run-request.ts'
import { leftOut, type Quarry } from './hunt.ts'
import { wrongRequest, type WrongRequest } from './requests.ts'

const TOKENS: EngineTokens = ['engine-token-for-fuzzing']

interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

export interface Target {
  readonly quarry: Quarry<WrongRequest>
  /** Nothing was noted as a defect, and it still answers. */
  finish(): Promise<void>
  close(): Promise<void>
}

export async function openTarget(): Promise<Target> {
  const outcome = readSettings({
    ENGINE_TOKEN: TOKENS[0],
    CALLBACK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    DEV_INSECURE: '1',
    EGRESS_ALLOWLIST: '127.0.0.1:*',
    PROVIDER_ALLOWLIST: '127.0.0.1:*',
    HOST: '127.0.0.1',
    PORT: '0',
    MAX_RUNS: '100000',
    MAX_RESULTS: '2000',
    MAX_BODY_BYTES: '65536',
    MAX_MEMORY_BYTES: '17592186044416',
    MAX_EVENT_LOOP_LAG_MS: '60000',
    CALLBACK_SCHEDULE: '0',
    SHUTDOWN_GRACE_MS: '1000',
  })
  assert.ok(outcome.ok, outcome.ok ? '' : outcome.faults.join('; '))
  const engine = createEngine(outcome.settings, pino({ level: 'silent' }))
  const { port } = new URL(await engine.listen())
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 })

  async function ask({ body, headers, method, path }: WrongRequest): Promise<Answer> {
    const own = { authorization: `Bearer ${TOKENS[0]}`, ...headers }
    const request = http.request({ host: '127.0.0.1', port, agent, method, path, headers: own })
    request.end(body ?? undefined)
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    return { status: response.statusCode ?? 0, headers: response.headers, text }
  }

  const ended = await ask(plain('POST', '/runs', Buffer.from(JSON.stringify(requestBody({ wait: true })))))
  assert.equal(ended.status, 200, ended.text)
  const { run_id: runId } = JSON.parse(ended.text) as { run_id: string }

  function filled(request: WrongRequest): WrongRequest {
    const [, , id = '', , call = ''] = request.path.split('?', 1)[0]?.split('/') ?? []
    const run = id === '{run}' ? runId : id
    const path = request.path
      .replaceAll('{run}', runId)
      .replaceAll('{run_token}', runToken(TOKENS, run))
      .replaceAll('{call_token}', callToken(TOKENS, run, call === '{run}' ? runId : call))
    return { ...request, path }
  }

  return {
    quarry: {
      name: 'requests to the endpoints',
      make: wrongRequest,
      bear: async (input) => {
        const request = filled(input)
        assertSound(request, await asked(ask, request))
      },
      smaller,
      show: ({ body, ...request }) =>
        `${JSON.stringify(request)}\n${JSON.stringify(body?.toString('latin1') ?? null)} (latin1)`,
    },
    async finish() {
      const { entries } = JSON.parse((await ask(plain('GET', '/logs?event=bug'))).text) as { entries: unknown[] }
      assert.deepEqual(entries, [])
      assert.equal((await ask(plain('GET', '/health'))).status, 200)
    },
    async close() {
      agent.destroy()
      await engine.close({ graceMs: 0 })
    },
  }
}

function plain(method: string, path: string, body: Buffer | null = null): WrongRequest {
  return { method, path, headers: body === null ? {} : { 'content-type': 'application/json' }, body }
}

/** A kept connection may be closed by the engine just as it is used again: that is no answer, and asking again is right. */
async function asked(ask: (request: WrongRequest) => Promise<Answer>, request: WrongRequest): Promise<Answer> {
  for (let turn = 1; ; turn += 1) {
    try {
      return await ask(request)
    } catch (error) {
      const reset = error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      if (!reset || turn === 3) throw error
    }
  }
}

function assertSound({ method, path }: WrongRequest, { headers, status, text }: Answer): void {
  const where = `${method} ${path.slice(0, 60)}: HTTP ${status} ${text.slice(0, 300)}`
  if (method === 'HEAD' || status === 204) return assert.equal(text, '', where)
  if (status < 300) {
    if (headers['content-type']?.startsWith('text/event-stream') !== true) JSON.parse(text)
    return
  }
  const { error } = JSON.parse(text) as ErrorBody
  const facts: { readonly http?: number } | undefined = Object.hasOwn(errors, error.code)
    ? errors[error.code]
    : undefined
  assert.equal(facts?.http, status, where)
  assert.ok(status < 500 && error.message !== '' && error.message.isWellFormed(), where)
  for (const fault of error.details ?? []) assert.ok(fault.message !== '' && fault.path.length <= 1000, where)
  assert.ok((error.details?.length ?? 0) <= 50, where)
}

function* smaller(request: WrongRequest): Generator<WrongRequest> {
  const { body } = request
  if (body === null) return
  yield* leftOut(body.length, (from, to) => ({
    ...request,
    body: Buffer.concat([body.subarray(0, from), body.subarray(to)]),
  }))
}
