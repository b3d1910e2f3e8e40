/** A server on 127.0.0.1 over fake runs, and plain ways to talk to it over real sockets. */
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import type { Json } from '../../src/contract/json.ts'
import type { Validation } from '../../src/contract/validation.ts'
import { runToken, type EngineTokens } from '../../src/runs/run-token.ts'
import type { AdmissionAnswer } from '../../src/server/admission-port.ts'
import { createServer, type EngineServer } from '../../src/server/create-server.ts'
import type { LateOutcome, LateResult } from '../../src/server/late-results-port.ts'
import type { ServerOptions } from '../../src/server/server-options.ts'
import { FakeRuns, ID } from './fake-runs.ts'

export const TOKENS: EngineTokens = ['engine-token-1', 'engine-token-2']
export const ENGINE = { authorization: 'Bearer engine-token-1' }
export const JSON_HEADERS = { ...ENGINE, 'content-type': 'application/json' }
export const RUN_TOKEN = runToken(TOKENS, ID)
export const ORIGIN = 'https://app.example'

export interface Started {
  readonly runs: FakeRuns
  readonly server: EngineServer
  readonly port: number
  readonly url: string
  /** Bodies that reached admission or validation. */
  readonly bodies: Json[]
  readonly logged: { readonly facts: Readonly<Record<string, unknown>>; readonly message: string }[]
  readonly late: { outcome: LateOutcome; readonly recorded: [string, string, LateResult][] }
  /** Flags a test can turn. */
  readonly flags: { draining: boolean; answer: AdmissionAnswer; validation: Validation }
}

/** What admission says of any body: fine. */
export function admitted(
  request: { readonly wait?: boolean; readonly callback?: object | null } = {},
): AdmissionAnswer {
  const fake = { wait: false, callback: null, ...request }
  return { kind: 'admitted', admission: { request: fake as never, warnings: [], fingerprint: 'f' } }
}

/** What is said of any body that is to be validated: fine, and nothing is changed. */
const VALID: Validation = {
  valid: true,
  faults: [],
  warnings: [],
  changes: [],
  changes_left_off: 0,
  estimated_input_tokens: 12,
}

/** `prepare` is called before it listens. */
export async function startServer(
  t: TestContext,
  options: Partial<ServerOptions> = {},
  prepare: (server: EngineServer) => void = () => {},
): Promise<Started> {
  const runs = new FakeRuns()
  const bodies: Json[] = []
  const logged: Started['logged'] = []
  const flags = { draining: false, answer: admitted(), validation: VALID }
  const late: Started['late'] = { outcome: 'recorded', recorded: [] }
  const server = createServer({
    tokens: TOKENS,
    publicUrl: 'https://engine.example',
    allowedOrigins: [ORIGIN],
    maxBodyBytes: 1_048_576,
    maxRuns: 2,
    overload: () => null,
    providers: { providers: [] },
    queued: () => 3,
    readMetrics: async () => 'theloop_runs_live 0\n',
    metricsPublic: false,
    store: runs.store,
    events: runs.events,
    lateResults: {
      record(runId, callId, result) {
        late.recorded.push([runId, callId, result])
        return late.outcome
      },
    },
    admit: async (body) => {
      bodies.push(body)
      return flags.answer
    },
    validate: (body) => {
      bodies.push(body)
      return flags.validation
    },
    readLogs: async () => ({ lines: [], cursor: null, more: false, source: 'memory' }),
    draining: () => flags.draining,
    version: '9.9.9',
    log: { error: (facts, message) => void logged.push({ facts, message }) },
    ...options,
  })
  prepare(server)
  await server.app.listen({ host: '127.0.0.1', port: 0 })
  t.after(async () => {
    const closed = server.app.close()
    server.app.server.closeAllConnections()
    await closed
  })
  const { port } = server.app.server.address() as AddressInfo
  return { runs, server, port, url: `http://127.0.0.1:${port}`, bodies, logged, late, flags }
}

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

export interface Call {
  readonly method?: string
  readonly path: string
  readonly headers?: http.OutgoingHttpHeaders
  readonly body?: string | Uint8Array
}

/** One request on its own connection. */
export async function call(port: number, { method = 'GET', path, headers = {}, body }: Call): Promise<Answer> {
  const request = http.request({ host: '127.0.0.1', port, method, path, headers, agent: false })
  request.end(body)
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

export function post(
  port: number,
  path: string,
  body: unknown,
  headers: http.OutgoingHttpHeaders = JSON_HEADERS,
): Promise<Answer> {
  return call(port, { method: 'POST', path, headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
}

/** The error of an error answer, after a look at its form. */
export function errorOf(answer: Answer): { code: string; message: string; details?: unknown[]; run_id?: string } {
  const body = JSON.parse(answer.text)
  if (answer.headers['content-type'] !== 'application/json; charset=utf-8') throw new Error('an error that is not JSON')
  if (typeof body.error?.code !== 'string' || typeof body.error.message !== 'string') throw new Error(answer.text)
  return body.error
}

export interface Reader {
  readonly response: http.IncomingMessage
  readonly messages: EventSourceMessage[]
  readonly retries: number[]
  readonly comments: string[]
  /** Everything that came, as text. */
  raw: string
  /** Resolves once the condition holds; it is looked at whenever something came. */
  until(holds: (reader: Reader) => boolean): Promise<void>
  readonly ended: Promise<void>
  close(): void
}

/** Opens a stream and reads it as a browser would. */
export async function readStream(
  port: number,
  {
    path = `/runs/${ID}/stream?token=${RUN_TOKEN}`,
    headers = {},
  }: { path?: string; headers?: http.OutgoingHttpHeaders } = {},
): Promise<Reader> {
  const request = http.request({ host: '127.0.0.1', port, path, headers, agent: false })
  request.on('error', () => {})
  request.end()
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const lookers = new Set<() => void>()
  const reader: Reader = {
    response,
    messages: [],
    retries: [],
    comments: [],
    raw: '',
    until: (holds) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (holds(reader)) resolve()
          else if (response.closed) reject(new Error(`the stream ended; it had ${JSON.stringify(reader.raw)}`))
          else return
          lookers.delete(look)
        }
        lookers.add(look)
        look()
      }),
    ended: new Promise((resolve) => response.once('close', resolve)),
    close: () => request.destroy(),
  }
  const parser = createParser({
    onEvent: (message) => void reader.messages.push(message),
    onRetry: (ms) => void reader.retries.push(ms),
    onComment: (comment) => void reader.comments.push(comment),
    onError: (error) => {
      throw error
    },
  })
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    reader.raw += chunk
    parser.feed(chunk)
    for (const look of lookers) look()
  })
  response.on('close', () => {
    for (const look of lookers) look()
  })
  response.on('error', () => {})
  return reader
}

/** A connection that sends bytes as they are; `received` is everything that came back by its end. */
export async function rawExchange(port: number, bytes: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  socket.end(bytes)
  let received = ''
  for await (const chunk of socket.setEncoding('utf8')) received += chunk
  return received
}

/** Resolves when the condition holds, looked at after each turn of the event loop. */
export async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve))
}
