/**
 * What an engine needs: memory for a run that is going and for a reader of a stream, disk for a run with STATE_DIR, CPU for a
 * whole run. Model, tool, receiver and harness are this process; the engine is another, with the probe of the soak in it.
 *
 *     npm run bench:sizing [folder on the disk to be measured]
 */
import http from 'node:http'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { EngineClient, runBody, user, type Accepted } from '../test/conformance/engine-client.ts'
import { startPeers } from '../test/soak/peers.ts'
import { startSoakedEngine } from '../test/soak/soaked-engine.ts'

/** Runs that are going at once, and readers of their streams. */
const LIVE = 400
const READERS = 800
/** Whole runs, and how many at once. */
const WHOLE = 1500
const AT_ONCE = 16
const AT_MOST = String(2 * LIVE)

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'bench-sizing-'))
const peers = await startPeers()
const readers = new http.Agent({ keepAlive: false })

let made = 0
/** Many keys, so that no run waits for one. */
const llm = (model: string) => ({
  llm: {
    provider: 'openai-compatible',
    model,
    base_url: `${peers.url}/v1`,
    api_key: `bench-provider-key-${(made += 1) % 100}`,
  },
})
const tools = [
  { name: 'look', description: 'look', input_schema: { type: 'object' }, url: `${peers.url}/tool`, effect: 'read' },
]
const history = (chars: number) => [
  user('lorem ipsum '.repeat(chars / 12)),
  { ...user('Good.'), role: 'assistant' },
  user('And now?'),
]

async function startEngine(environment: Readonly<Record<string, string>>) {
  // The probe holds the loop up while it looks.
  const limits = { MAX_RUNS: AT_MOST, KEY_CONCURRENCY: '64', MAX_EVENT_LOOP_LAG_MS: '60000' }
  const engine = await startSoakedEngine({ ...limits, ...environment })
  const client = new EngineClient(engine)
  return {
    ...engine,
    client,
    async cpuSeconds(): Promise<number> {
      const { text } = await client.send('/metrics')
      return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1])
    },
    async held(): Promise<number> {
      const { externalBytes, heapBytes } = await engine.holdings()
      return heapBytes + externalBytes
    },
  }
}

type Engine = Awaited<ReturnType<typeof startEngine>>

async function many<T>(count: number, atOnce: number, one: () => Promise<T>): Promise<T[]> {
  const all: T[] = []
  let left = count
  const work = async () => {
    while (left > 0) {
      left -= 1
      all.push(await one())
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return all
}

/** A reader that stays: its first bytes have come. */
function read({ stream_url }: Accepted): Promise<http.ClientRequest> {
  return new Promise((resolve, reject) => {
    const request = http.get(stream_url, { agent: readers }, (response) => {
      response.on('error', () => {}).once('data', () => resolve(request))
    })
    request.on('error', reject)
  })
}

function bytesOf(ending: string): number {
  const names = readdirSync(folder).filter((name) => name.endsWith(ending))
  return names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
}

const kb = (bytes: number) => `${(bytes / 1000).toFixed(1)} KB`
const tell = (what: string, figure: string) => console.log(`${what.padEnd(58)}${figure}`)

async function measureLive(engine: Engine, chars: number): Promise<void> {
  const before = await engine.held()
  const bytesBefore = bytesOf('.run')
  const going = await many(LIVE, AT_ONCE, () =>
    engine.client.start(runBody({ ...llm('holds'), tools, messages: history(chars) })),
  )
  await timers.setTimeout(1500)
  const live = await engine.held()
  const what = `a request of ${chars / 1000} KB`
  tell(`memory of a run that is going, ${what}`, kb((live - before) / LIVE))
  const open = await Promise.all(Array.from({ length: READERS }, (_, index) => read(going[index % LIVE] as Accepted)))
  tell('memory of a reader of a stream', kb(((await engine.held()) - live) / READERS))
  tell(`STATE_DIR: a run that is going, ${what}`, kb((bytesOf('.run') - bytesBefore) / LIVE))
  for (const request of open) request.on('error', () => {}).destroy()
  await many(LIVE, AT_ONCE, async () => engine.client.cancel(going.pop()?.run_id ?? ''))
  await timers.setTimeout(1000)
  tell('memory of a result that is kept', kb(((await engine.held()) - before) / LIVE))
  tell('STATE_DIR: a result that is kept', kb((bytesOf('.run') - bytesBefore) / LIVE))
}

async function measureWhole(name: string, engine: Engine): Promise<void> {
  const body = () => runBody({ ...llm('calls'), tools, callback: { url: `${peers.url}/takes` }, wait: true })
  await many(WHOLE / 3, AT_ONCE, () => engine.client.run(body()))
  const before = await engine.cpuSeconds()
  await many(WHOLE, AT_ONCE, () => engine.client.run(body()))
  const ms = (1000 * ((await engine.cpuSeconds()) - before)) / WHOLE
  tell(
    `CPU of a run of two steps and a tool call, ${name}`,
    `${ms.toFixed(1)} ms: ${Math.round(1000 / ms)} runs/s a core`,
  )
}

console.log(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}\n`)
const memory = await startEngine({})
const durable = await startEngine({ STATE_DIR: folder })
try {
  tell('heap and buffers of an idle engine', kb(await memory.held()))
  await measureWhole('in memory', memory)
  await measureWhole('with STATE_DIR', durable)
  for (const chars of [1200, 60_000]) await measureLive(durable, chars)
} finally {
  await Promise.all([memory.end(), durable.end()])
  await peers.close()
  readers.destroy()
  rmSync(folder, { recursive: true, force: true })
}
