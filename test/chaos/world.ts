/**
 * The provider, the tools and the receiver of results on one server, each failing in every way that its kind can: refusals,
 * broken connections before and within an answer, silence, garbage, answers that get lost after the work was done. What they
 * did stands in the ledger.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import timers from 'node:timers/promises'
import { send } from '../conformance/http.ts'
import type { Random } from '../fuzz/random.ts'
import type { Ledger } from './ledger.ts'

export interface World {
  /** `http://127.0.0.1:<port>`: `/model/<key>`, `/tool/<name>`, `/result/<key>`. */
  readonly url: string
  close(): Promise<void>
}

interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { readonly id: string }[]
  readonly tool_call_id?: string
}

interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly unknown[]
}

interface ToolBody {
  readonly run_id: string
  readonly call_id: string
  readonly tool: string
  readonly result_url?: string
}

export async function startWorld(random: Random, ledger: Ledger): Promise<World> {
  const server = createServer((request, response) => {
    // A caller that was killed in the middle of its request, or of the answer, is what this is for.
    void take(request, response).catch(() => response.destroy())
  })

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    const [, kind, key = ''] = (request.url ?? '').split('/')
    if (kind === 'model') await answerModel({ random, ledger, key, response }, JSON.parse(body) as ChatRequest)
    else if (kind === 'tool') await answerTool({ random, ledger, response }, JSON.parse(body) as ToolBody)
    else await receive({ random, ledger, key, response }, body)
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

interface Turn {
  readonly random: Random
  readonly ledger: Ledger
  readonly key: string
  readonly response: ServerResponse
}

// ---------------------------------------------------------------------------------------------------------- the provider

async function answerModel(
  { random, ledger, key, response }: Turn,
  { messages, tools = [] }: ChatRequest,
): Promise<void> {
  const id = `req-${key}-${(ledger.asked.get(key)?.size ?? 0) + 1}`
  ledger.ask(key, id)
  checkPairs(messages, (text) => ledger.fault(`${key}: ${text}`))
  if (random.chance(0.05)) {
    const status = random.pick([429, 500, 503, 400, 401])
    return void response.writeHead(status, { 'retry-after': '0', 'x-request-id': id }).end('{}')
  }
  if (random.chance(0.02)) return void response.destroy()
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-request-id': id })
  if (random.chance(0.01)) return response.flushHeaders()
  const pieces = random.int(6)
  for (let piece = 0; piece < pieces; piece += 1) {
    if (response.destroyed) return
    response.write(chunk({ content: `w${piece} ` }))
    if (random.chance(0.3)) await timers.setTimeout(random.int(25))
    if (random.chance(0.01)) return void response.destroy()
    if (random.chance(0.003)) return void response.end('data: {"choices":[{"del\n\n')
  }
  const answered = messages.slice(messages.findLastIndex(({ role }) => role === 'user')).filter(isResult).length
  const calls = tools.length > 0 && answered < 4 && random.chance(0.6) ? drawCalls(random) : []
  if (calls.length > 0) response.write(chunk({ tool_calls: calls }))
  response.write(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'))
  const told = { input: 1 + random.int(1000), output: 1 + random.int(1000) }
  const usage = { prompt_tokens: told.input, completion_tokens: told.output, total_tokens: told.input + told.output }
  // Told before it is sent: an engine that has read it may post its result sooner than this side hears of its own write.
  ledger.told.set(id, told)
  response.end(`data: ${JSON.stringify({ id, choices: [], usage })}\n\ndata: [DONE]\n\n`)
}

function isResult({ role }: ChatMessage): boolean {
  return role === 'tool'
}

function chunk(delta: object, finish: string | null = null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }]
  return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`
}

function drawCalls(random: Random): object[] {
  return Array.from({ length: 1 + random.int(3) }, (_, index) => {
    const name = random.pick(['read', 'read', 'read', 'write', 'nobody'])
    const text = random.chance(0.05) ? '{"n":' : JSON.stringify({ n: random.int(1e9) })
    return { index, id: `p${random.int(1e9)}`, type: 'function', function: { name, arguments: text } }
  })
}

/** The rule of every chat API: the calls of a message are answered right behind it, each once, and nothing else is. */
function checkPairs(messages: readonly ChatMessage[], fault: (text: string) => void): void {
  let open = new Set<string>()
  for (const [index, { role, tool_calls: calls = [], tool_call_id: id }] of messages.entries()) {
    if (role === 'tool') {
      if (!open.delete(id ?? '')) fault(`messages.${index} answers ${id}, which is not open`)
      continue
    }
    if (open.size > 0) fault(`messages.${index} stands before the answers to ${[...open].join(', ')}`)
    open = new Set(calls.map((call) => call.id))
  }
  if (open.size > 0) fault(`calls at the end are not answered: ${[...open].join(', ')}`)
}

// ------------------------------------------------------------------------------------------------------------- the tools

async function answerTool({ random, ledger, response }: Omit<Turn, 'key'>, body: ToolBody): Promise<void> {
  ledger.call(body.run_id, body.call_id)
  if (random.chance(0.3)) await timers.setTimeout(random.int(40))
  if (random.chance(0.04)) return void response.destroy()
  if (random.chance(0.04)) return void response.writeHead(503, { 'retry-after': '0' }).end()
  if (random.chance(0.02)) return
  response.writeHead(200, { 'content-type': 'application/json' })
  if (random.chance(0.03)) return void response.end('not JSON')
  if (body.tool === 'write') {
    return void response.end(JSON.stringify({ status: 'deferred', operation_id: `op_${body.call_id}` }))
  }
  const result = JSON.stringify({ status: 'ok', result: { call_id: body.call_id } })
  if (body.result_url === undefined || random.chance(0.9)) return void response.end(result)
  response.end(JSON.stringify({ status: 'accepted' }))
  await timers.setTimeout(random.int(30))
  const headers = { 'content-type': 'application/json' }
  // The engine may be gone by now; then its next life has told the call as it knows it.
  const answer = await send({ method: 'POST', url: body.result_url, headers, body: result }).catch(() => null)
  if (answer !== null && ![200, 404, 410].includes(answer.status)) {
    ledger.fault(`${body.run_id}: a late result is answered ${answer.status}: ${answer.text}`)
  }
}

// ---------------------------------------------------------------------------------------------------------- the receiver

async function receive({ random, ledger, key, response }: Turn, body: string): Promise<void> {
  if (random.chance(0.08)) return void response.writeHead(random.pick([500, 502, 429]), { 'retry-after': '0' }).end()
  if (random.chance(0.05)) return void response.destroy()
  const text = body.slice('{"payload":'.length, -1)
  if (random.chance(0.01)) {
    ledger.refuse((JSON.parse(text) as { run_id: string }).run_id)
    return void response.writeHead(410).end()
  }
  ledger.store(key, text)
  if (random.chance(0.1)) await timers.setTimeout(random.int(200))
  // It is stored, and its sender will never know.
  if (random.chance(0.1)) return void response.destroy()
  response.writeHead(204).end()
}
