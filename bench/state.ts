/**
 * What STATE_DIR costs: CPU time of a run, on the engine's main thread and in the whole process, what the 202 takes, and when
 * the first token is there, each against an engine without it. Harness, provider, tool and receiver are this process; the
 * engines are two others, and work side by side, so that what else the machine does meets both. Figures drift with the
 * machine and its disk; what the two differ by is the result. Two processes of the same program differ by 2 % and more, as
 * they happen to be compiled: so there are several pairs, begun in turn with the one and the other.
 *
 * Three kinds of run: a short one, which nobody watches; a chat, read while it is made; and that chat as a live model makes it,
 * 50 tokens a second, with model, tool and receiver behind TLS. The first two have tokens four times as fast and no TLS: they
 * cost the engine less by themselves, so that what the disk costs is a larger share.
 *
 *     npm run bench:state [folder on the disk to be measured]
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { namedCertificate } from '../test/egress/test-certificate.ts'
import { startEngine, type Engine } from './state-engine.ts'
import { startWorld, type Run } from './state-world.ts'

const PAIRS = 4
/** Of each kind, with each pair. */
const ROUNDS = 4
/** Between the beginnings of two that go on at once. */
const SPREAD_MS = 37
/** A process that has just begun compiles more than it runs. */
const WARM_RUNS = 600
const WARM_AT_ONCE = 30

const KINDS = [
  {
    name: 'short: 3 steps of 50 pieces, 2 tool calls, 41 messages of 50 KB',
    run: { pieces: [50, 50, 50], history: 40, isRead: false, isSecure: false },
    paceMs: 5,
    runs: 30,
    atOnce: 10,
  },
  {
    name: 'chat: 3 steps of 20, 20 and 360 pieces, 2 tool calls, 31 messages, read as a stream',
    run: { pieces: [20, 20, 360], history: 30, isRead: true, isSecure: false },
    paceMs: 5,
    runs: 30,
    atOnce: 10,
  },
  {
    name: 'live chat: the same, a piece every 20 ms, outward by TLS',
    run: { pieces: [20, 20, 360], history: 30, isRead: true, isSecure: true },
    paceMs: 20,
    runs: 40,
    atOnce: 40,
  },
] as const

const world = await startWorld()

interface Figures {
  readonly mainMs: number[]
  readonly processMs: number[]
  readonly acceptedMs: number[]
  readonly askedMs: number[]
  readonly tokenMs: number[]
}

const noFigures = (): Figures => ({ mainMs: [], processMs: [], acceptedMs: [], askedMs: [], tokenMs: [] })

async function round(engine: Engine, kind: Run, figures: Figures, runs: number, atOnce: number): Promise<void> {
  const before = engine.cpu()
  let left = runs
  const worker = async (_: unknown, index: number) => {
    // No two of them in step, as nobody's are: pieces that come at the same moment are cheaper.
    await timers.setTimeout(index * SPREAD_MS)
    while (left > 0) {
      left -= 1
      const times = await world.run(engine.address, kind)
      figures.acceptedMs.push(times.acceptedMs)
      figures.askedMs.push(times.askedMs)
      if (times.tokenMs !== null) figures.tokenMs.push(times.tokenMs)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  const after = engine.cpu()
  figures.mainMs.push((after.mainMs - before.mainMs) / runs)
  figures.processMs.push((after.processMs - before.processMs) / runs)
}

const at = (numbers: readonly number[], share: number) =>
  numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length * share)] ?? Number.NaN

/** Of the rounds' differences, each to the other engine in the same round, %. */
function more(state: readonly number[], memory: readonly number[]): string {
  const ratios = state.map((ms, index) => 100 * (ms / (memory[index] ?? Number.NaN) - 1))
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => at(ratios, share).toFixed(1))
  return `${middle} % (half of the rounds ${low} to ${high})`
}

function tell(name: string, memory: Figures, state: Figures): void {
  console.log(`\n${name}`)
  console.log(
    '           CPU ms a run: main  process   202 ms: median   p95   model asked ms: median   first token ms: median',
  )
  for (const [engine, figures] of [
    ['memory', memory],
    ['STATE_DIR', state],
  ] as const) {
    const columns = [
      at(figures.mainMs, 0.5).toFixed(2).padStart(18),
      at(figures.processMs, 0.5).toFixed(2).padStart(9),
      at(figures.acceptedMs, 0.5).toFixed(1).padStart(17),
      at(figures.acceptedMs, 0.95).toFixed(1).padStart(6),
      at(figures.askedMs, 0.5).toFixed(1).padStart(25),
      (figures.tokenMs.length === 0 ? '–' : at(figures.tokenMs, 0.5).toFixed(1)).padStart(25),
    ]
    console.log(engine.padEnd(10) + columns.join(''))
  }
  console.log(`STATE_DIR takes more CPU, main thread: ${more(state.mainMs, memory.mainMs)}`)
  console.log(`                        whole process: ${more(state.processMs, memory.processMs)}`)
}

const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'bench-state-'))
const trusting = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
writeFileSync(trusting.NODE_EXTRA_CA_CERTS, namedCertificate.cert)

async function startPair(number: number): Promise<{ readonly memory: Engine; readonly state: Engine }> {
  const directory = join(folder, `${number}`)
  mkdirSync(directory)
  const startState = () => startEngine({ ...trusting, STATE_DIR: directory })
  if (number % 2 === 0) return { memory: await startEngine(trusting), state: await startState() }
  const state = await startState()
  return { memory: await startEngine(trusting), state }
}

const started: Engine[] = []
const measured = KINDS.map((kind) => ({ kind, memory: noFigures(), state: noFigures() }))
try {
  for (let number = 0; number < PAIRS; number += 1) {
    const engines = await startPair(number)
    started.push(engines.memory, engines.state)
    for (const { kind, memory, state } of measured) {
      const { run, paceMs, runs, atOnce } = kind
      const both = (count: number, most: number, ofMemory: Figures, ofState: Figures, pace: number) =>
        Promise.all([
          round(engines.memory, { ...run, ...delayOf(pace) }, ofMemory, count, most),
          round(engines.state, { ...run, ...delayOf(pace) }, ofState, count, most),
        ])
      await both(WARM_RUNS, WARM_AT_ONCE, noFigures(), noFigures(), 1)
      for (let count = 0; count < ROUNDS; count += 1) await both(runs, atOnce, memory, state, paceMs)
    }
    engines.memory.kill()
    engines.state.kill()
  }
  for (const { kind, memory, state } of measured) tell(kind.name, memory, state)
} finally {
  for (const engine of started) engine.kill()
  rmSync(folder, { recursive: true, force: true })
  world.close()
}

/** How long the model thinks first, and its pace from piece to piece. */
function delayOf(paceMs: number) {
  return { thinkMs: 20 * paceMs, paceMs }
}
