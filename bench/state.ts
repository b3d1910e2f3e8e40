/**
 * What STATE_DIR costs: CPU time of the engine's process a run, what the 202 takes, and what the provider waits for, each
 * against an engine without it. Harness, provider, tool and receiver are this process; the engines are two others, and take
 * turns. Figures drift with the machine and its disk; what the two differ by is the result.
 *
 *     npm run bench:state [folder on the disk to be measured]
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'

/** Runs of one round, and how many of them at once. */
const RUNS = 60
const AT_ONCE = 30
const ROUNDS = 3
/** Pieces of one answer, a model's pace apart. */
const DELTAS = 50
const PACE_MS = 20
/** Steps that call a tool, before the one that answers. */
const CALLING_STEPS = 2

const TOKEN = 'bench-engine-token-0001'
const TICKS_MS = 10

/** When the request of a run's first step came, by its idempotency key, ms. */
const asked = new Map<string, number>()
/** Told of a run's result, by its idempotency key. */
const delivered = new Map<string, () => void>()

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const usage = `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 9, completion_tokens: DELTAS, total_tokens: DELTAS + 9 } })}\n\n`

async function answer(response: http.ServerResponse, body: string): Promise<void> {
  const { messages } = JSON.parse(body) as { messages: readonly { role: string; content: unknown }[] }
  const step = messages.filter(({ role }) => role === 'tool').length
  const key = /bench-key-[\w-]+/.exec(JSON.stringify(messages.find(({ role }) => role === 'system')))?.[0] ?? ''
  if (step === 0) asked.set(key, performance.now())
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let delta = 0; delta < DELTAS; delta += 1) {
    response.write(chunk({ content: ' word' }))
    await timers.setTimeout(PACE_MS)
  }
  const call = { index: 0, id: `call-${step}`, function: { name: 'look', arguments: `{"n":${step}}` } }
  response.write(step < CALLING_STEPS ? chunk({ tool_calls: [call] }, 'tool_calls') : chunk({}, 'stop'))
  response.end(`${usage}data: [DONE]\n\n`)
}

const server = http.createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const part of request) chunks.push(part as Buffer)
  const body = Buffer.concat(chunks).toString()
  if (request.url?.startsWith('/v1') === true) return answer(response, body)
  if (request.url === '/tool') {
    return void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"status":"ok","result":{"state":"sent"}}')
  }
  response.writeHead(204).end()
  const { payload } = JSON.parse(body) as { payload: { idempotency_key: string; status: string } }
  if (payload.status !== 'completed') throw new Error(`a run ended ${body.slice(0, 1000)}`)
  delivered.get(payload.idempotency_key)?.()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const here = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** No connection outlives its request: an engine that waits for its turn closes idle ones. */
const agent = new http.Agent({ keepAlive: false })

function post(address: string, body: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = http.request(`${address}/runs`, {
      method: 'POST',
      agent,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    request.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject)
    request.end(body)
  })
}

interface Engine {
  readonly name: string
  readonly address: string
  readonly child: ChildProcess
  readonly figures: { cpuMs: number[]; acceptedMs: number[]; askedMs: number[] }
}

async function startEngine(name: string, environment: Readonly<Record<string, string>>): Promise<Engine> {
  const main = new URL('../src/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [main], {
    env: {
      ENGINE_TOKEN: TOKEN,
      CALLBACK_SECRET: 'bench-callback-secret',
      DEV_INSECURE: '1',
      HOST: '127.0.0.1',
      PORT: '0',
      KEY_CONCURRENCY: '64',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve) => {
    child.stdout?.on('data', (text: Buffer) => {
      const found = /"address":"([^"]+)"/.exec(text.toString())?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  return { name, address, child, figures: { cpuMs: [], acceptedMs: [], askedMs: [] } }
}

/** User and system time of a process so far. */
function cpuMs({ child }: Engine): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * TICKS_MS
}

const history = Array.from({ length: 40 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: [{ type: 'text', text: `${index} ${'lorem ipsum dolor '.repeat(60)}` }],
  created_at: '2026-11-30T12:00:00Z',
}))
let made = 0

async function run(engine: Engine): Promise<void> {
  const key = `bench-key-${(made += 1)}`
  const body = JSON.stringify({
    contract_version: '1',
    idempotency_key: key,
    llm: { provider: 'openai-compatible', model: 'bench', base_url: `${here}/v1`, api_key: `secret-key-${made % 8}` },
    system: key,
    messages: [
      ...history,
      { role: 'user', content: [{ type: 'text', text: 'hi' }], created_at: '2026-11-30T12:00:00Z' },
    ],
    tools: [
      { name: 'look', description: 'look', input_schema: { type: 'object' }, url: `${here}/tool`, effect: 'read' },
    ],
    callback: { url: `${here}/result` },
    meta: { session_id: key },
  })
  const stored = new Promise<void>((resolve) => delivered.set(key, resolve))
  const startedAt = performance.now()
  const status = await post(engine.address, body)
  if (status !== 202) throw new Error(`POST /runs: ${status}`)
  engine.figures.acceptedMs.push(performance.now() - startedAt)
  await stored
  engine.figures.askedMs.push((asked.get(key) ?? Number.NaN) - startedAt)
  delivered.delete(key)
  asked.delete(key)
}

/** One after another begins, so that none of them waits for a crowd that only a benchmark makes. */
async function round(engine: Engine): Promise<void> {
  const before = cpuMs(engine)
  let left = RUNS
  const worker = async (number: number) => {
    await timers.setTimeout(number * 40)
    while (left > 0) {
      left -= 1
      await run(engine)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => worker(number)))
  engine.figures.cpuMs.push((cpuMs(engine) - before) / RUNS)
}

const sorted = (numbers: readonly number[]) => numbers.toSorted((left, right) => left - right)
const at = (numbers: readonly number[], share: number) => sorted(numbers)[Math.floor(numbers.length * share)] ?? 0

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'bench-state-'))
const engines = [await startEngine('memory', {}), await startEngine('STATE_DIR', { STATE_DIR: folder })]
try {
  for (let number = 0; number <= ROUNDS; number += 1) {
    for (const engine of engines) {
      await round(engine)
      // The first warms up.
      if (number === 0) for (const figures of Object.values(engine.figures)) figures.length = 0
    }
  }
} finally {
  for (const { child } of engines) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  server.closeAllConnections()
  server.close()
  agent.destroy()
}

console.log(
  `${ROUNDS} rounds of ${RUNS} runs, ${AT_ONCE} at once; a run: ${CALLING_STEPS + 1} steps of ${DELTAS} pieces\n`,
)
console.log('             CPU ms a run    202 ms, median  p95    first request to the model ms, median  p95')
for (const { name, figures } of engines) {
  const columns = [
    at(figures.cpuMs, 0.5).toFixed(2).padStart(13),
    at(figures.acceptedMs, 0.5).toFixed(1).padStart(16),
    at(figures.acceptedMs, 0.95).toFixed(1).padStart(6),
    at(figures.askedMs, 0.5).toFixed(1).padStart(36),
    at(figures.askedMs, 0.95).toFixed(1).padStart(6),
  ]
  console.log(name.padEnd(10) + columns.join(''))
}
const [memory, state] = engines.map(({ figures }) => at(figures.cpuMs, 0.5))
console.log(`\nSTATE_DIR takes ${((100 * ((state ?? 0) - (memory ?? 0))) / (memory ?? 1)).toFixed(1)} % more CPU`)
