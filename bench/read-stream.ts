/**
 * What one delta of a provider's stream costs, in CPU time of this process, against doing nothing with the bytes and against
 * the vendor's own SDK, all in the same run over the same sockets. Figures drift with the machine; the ratios are the result.
 *
 *     npm run bench
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createParser } from 'eventsource-parser'
import OpenAI from 'openai'
import { request } from 'undici'
import { runId } from '../src/contract/ids.ts'
import { parseRunRequest } from '../src/contract/parse-run-request.ts'
import { createEgress } from '../src/egress/open.ts'
import type { Ask, StepTap } from '../src/engine/ports.ts'
import { builtIn } from '../src/providers/built-in.ts'
import { createKeyGate } from '../src/providers/key-gate.ts'
import { createModel } from '../src/providers/model.ts'
import { DELTAS } from './provider.ts'

/** Streams open at once. */
const STREAMS = 25
const ROUNDS = 9

type Way = (url: string) => Promise<number>

async function raw(url: string): Promise<number> {
  const { body } = await request(`${url}/chat/completions`, { method: 'POST', body: '{}' })
  for await (const bytes of body) void bytes
  return DELTAS
}

/** The least a client can do: split the events, parse each, add the text up. */
async function parsed(url: string): Promise<number> {
  const { body } = await request(`${url}/chat/completions`, { method: 'POST', body: '{}' })
  const decoder = new TextDecoder()
  const words: string[] = []
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') return
      const event = JSON.parse(data) as { choices: { delta: { content?: string } }[] }
      const word = event.choices[0]?.delta.content
      if (word !== undefined) words.push(word)
    },
  })
  for await (const bytes of body as AsyncIterable<Buffer>) parser.feed(decoder.decode(bytes, { stream: true }))
  return words.length
}

async function sdk(url: string): Promise<number> {
  const client = new OpenAI({ apiKey: 'none', baseURL: url, maxRetries: 0 })
  const stream = await client.chat.completions.create({ model: 'bench', messages: [], stream: true })
  let words = 0
  for await (const event of stream) if (event.choices[0]?.delta.content !== undefined) words += 1
  return words
}

const egress = createEgress({
  allowlist: [],
  providerAllowlist: [],
  devInsecure: true,
  proxies: { all: null, byProvider: {} },
})
const gate = createKeyGate({ startLimit: 1000, mostLimit: 1000 })
const model = createModel({ egress, gate, table: builtIn, keys: { keys: {}, baseUrls: {} } })

/** A whole step of theloop: the queue, the attempt with its deadlines and usage record, the dialect, the tap. */
async function theloop(url: string): Promise<number> {
  const { request: run } = parseRunRequest(
    {
      contract_version: '1',
      idempotency_key: 'bench',
      llm: { provider: 'openai-compatible', model: 'bench', base_url: url },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }], created_at: '2026-11-30T12:00:00Z' }],
    },
    { defaultTimezone: 'UTC' },
  )
  const ask: Ask = {
    runId: runId('01JDZZZZZZZZZZZZZZZZZZZZZZ'),
    step: 1,
    targets: run.targets,
    firstTarget: 0,
    system: '',
    messages: run.messages,
    tools: [],
    toolChoice: 'auto',
    outputSchema: null,
    note: null,
    cacheKey: null,
    deadlineAt: Date.now() + 60_000,
    giveUpAt: Date.now() + 60_000,
  }
  let words = 0
  const tap: StepTap = {
    text: () => (words += 1),
    reasoning: () => {},
    reset: () => {},
    wait: () => {},
    attemptStarting: async () => {},
    attemptEnded: () => {},
    warn: () => {},
    partFetched: () => {},
  }
  const answer = await model.forRun()(ask, tap, new AbortController().signal)
  if (answer.kind !== 'answer') throw new Error(`the stream was not read: ${JSON.stringify(answer)}`)
  return words
}

const ways: readonly (readonly [string, Way])[] = [
  ['raw bytes, nothing read', raw],
  ['eventsource-parser and JSON.parse', parsed],
  ['theloop, a whole step', theloop],
  ['the openai SDK, event iterator', sdk],
]

/** CPU microseconds a delta. */
async function measure(way: Way, url: string): Promise<number> {
  const before = process.cpuUsage()
  const read = await Promise.all(Array.from({ length: STREAMS }, () => way(url)))
  const { user, system } = process.cpuUsage(before)
  if (read.some((words) => words < DELTAS * 0.001)) throw new Error('a stream was not read')
  return (user + system) / (STREAMS * DELTAS)
}

const median = (numbers: readonly number[]) => numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0

const provider = spawn(process.execPath, [new URL('provider.ts', import.meta.url).pathname, 'serve'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [port] = (await once(provider.stdout, 'data')) as [Buffer]
const url = `http://127.0.0.1:${port.toString().trim()}`

const figures = new Map(ways.map(([name]) => [name, [] as number[]]))
// Round robin, so that a busy moment of the machine meets every way alike; the first round warms up.
for (let round = 0; round <= ROUNDS; round += 1) {
  for (const [name, way] of ways) {
    const figure = await measure(way, url)
    if (round > 0) figures.get(name)?.push(figure)
  }
}
provider.kill()
await egress.close()

const base = median(figures.get('eventsource-parser and JSON.parse') ?? [])
console.log(`${STREAMS} streams at once, ${DELTAS} deltas each, median of ${ROUNDS} rounds\n`)
for (const [name, rounds] of figures) {
  const cost = median(rounds)
  console.log(`${name.padEnd(36)} ${cost.toFixed(2).padStart(6)} µs a delta   x ${(cost / base).toFixed(2)}`)
}
