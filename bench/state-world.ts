/** What stands around the engines in the benchmark of STATE_DIR: harness, model, tool, receiver and reader, in one process. */
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import timers from 'node:timers/promises'
import { namedCertificate } from '../test/egress/test-certificate.ts'
import { TOKEN } from './state-engine.ts'

/** A run to be made. */
export interface Run {
  /** Of each step. All but the last call the tool. */
  readonly pieces: readonly number[]
  /** Messages of a kilobyte before the one that is answered. */
  readonly history: number
  /** Somebody reads its stream. */
  readonly isRead: boolean
  /** Model, tool and receiver are spoken to by TLS. */
  readonly isSecure: boolean
  /** Before the first piece of a step, and between two. */
  readonly thinkMs: number
  readonly paceMs: number
}

/** Counted from the POST on. */
export interface RunTimes {
  readonly acceptedMs: number
  /** The model had the first request. */
  readonly askedMs: number
  /** The reader had the first piece; null: nobody read. */
  readonly tokenMs: number | null
}

export interface World {
  /** Resolves when the result is delivered. */
  run(engine: string, run: Run): Promise<RunTimes>
  close(): void
}

interface Going {
  readonly run: Run
  readonly asked: () => void
  readonly delivered: () => void
}

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 9, completion_tokens: 50, total_tokens: 59 } })}\n\n`
const created_at = '2026-11-30T12:00:00Z'

/** No connection outlives its request: an engine that waits for its turn closes idle ones. */
const agent = new http.Agent({ keepAlive: false })

export async function startWorld(): Promise<World> {
  const going = new Map<string, Going>()
  let made = 0

  const handler = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const body = (await textOf(request)).toString()
    if (request.url?.startsWith('/v1') === true) return answer(response, body, going)
    if (request.url === '/tool') {
      return void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"status":"ok","result":{"state":"sent"}}')
    }
    response.writeHead(204).end()
    const { payload } = JSON.parse(body) as { payload: { idempotency_key: string; status: string } }
    if (payload.status !== 'completed') throw new Error(`a run ended ${body.slice(0, 1000)}`)
    going.get(payload.idempotency_key)?.delivered()
  }
  const servers = [http.createServer(handler), https.createServer(namedCertificate, handler)] as const
  for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const [plain, secure] = servers.map((server) => (server.address() as AddressInfo).port)

  async function run(engine: string, wanted: Run): Promise<RunTimes> {
    const key = `bench-key-${(made += 1)}`
    const from = performance.now()
    let askedMs = Number.NaN
    const stored = new Promise<void>((delivered) => {
      going.set(key, { run: wanted, asked: () => (askedMs = performance.now() - from), delivered })
    })
    const here = wanted.isSecure ? `https://localhost:${secure}` : `http://127.0.0.1:${plain}`
    const accepted = await send(`${engine}/runs`, bodyOf(key, wanted.history, here, made))
    if (accepted.statusCode !== 202) throw new Error(`POST /runs: ${accepted.statusCode}`)
    const { run_id } = JSON.parse((await textOf(accepted)).toString()) as { run_id: string }
    const acceptedMs = performance.now() - from
    let tokenMs: number | null = null
    if (wanted.isRead) {
      const stream = await send(`${engine}/runs/${run_id}/stream`, null)
      for await (const part of stream) {
        if (tokenMs === null && (part as Buffer).includes('event: delta')) tokenMs = performance.now() - from
      }
    }
    await stored
    going.delete(key)
    return { acceptedMs, askedMs, tokenMs }
  }

  return {
    run,
    close() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
      agent.destroy()
    },
  }
}

async function answer(response: http.ServerResponse, body: string, going: ReadonlyMap<string, Going>): Promise<void> {
  const { messages } = JSON.parse(body) as { messages: readonly { role: string; content: unknown }[] }
  const step = messages.filter(({ role }) => role === 'tool').length
  const key = /bench-key-[\w-]+/.exec(JSON.stringify(messages.find(({ role }) => role === 'system')))?.[0] ?? ''
  const found = going.get(key)
  if (found === undefined) throw new Error(`nobody began ${key}`)
  const { pieces, thinkMs, paceMs } = found.run
  if (step === 0) found.asked()
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  await timers.setTimeout(thinkMs)
  for (let piece = 0; piece < (pieces[step] ?? 0); piece += 1) {
    response.write(chunk({ content: ' word' }))
    await timers.setTimeout(paceMs)
  }
  const call = { index: 0, id: `call-${step}`, function: { name: 'look', arguments: `{"n":${step}}` } }
  response.write(step < pieces.length - 1 ? chunk({ tool_calls: [call] }, 'tool_calls') : chunk({}, 'stop'))
  response.end(`${usage}data: [DONE]\n\n`)
}

const past = Array.from({ length: 100 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: [{ type: 'text', text: `${index} ${'lorem ipsum dolor '.repeat(60)}` }],
  created_at,
}))

function bodyOf(key: string, history: number, here: string, number: number): string {
  return JSON.stringify({
    contract_version: '1',
    idempotency_key: key,
    llm: { provider: 'openai-compatible', model: 'bench', base_url: `${here}/v1`, api_key: `secret-key-${number % 8}` },
    system: key,
    messages: [...past.slice(0, history), { role: 'user', content: [{ type: 'text', text: 'hi' }], created_at }],
    tools: [
      { name: 'look', description: 'look', input_schema: { type: 'object' }, url: `${here}/tool`, effect: 'read' },
    ],
    callback: { url: `${here}/result` },
    meta: { session_id: key },
  })
}

/** `body` null: a GET. */
function send(url: string, body: string | null): Promise<http.IncomingMessage> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  return new Promise((resolve, reject) => {
    const request =
      body === null
        ? http.request(url, { agent, headers: { ...headers, accept: 'text/event-stream' } })
        : http.request(url, {
            method: 'POST',
            agent,
            headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
          })
    request.on('response', resolve)
    request.on('error', reject)
    request.end(body ?? undefined)
  })
}

async function textOf(stream: http.IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of stream) parts.push(part as Buffer)
  return Buffer.concat(parts)
}
