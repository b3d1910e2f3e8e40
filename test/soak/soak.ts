/**
 * Many short runs against a real engine process, half of them never acked, and then a day later: the heap is back where it was,
 * and no run, stream, timer, socket or file is left. In memory alone, and with STATE_DIR.
 *
 *     npm run soak                             # 20,000 runs each, from a seed that is printed
 *     SOAK_SEED=7 SOAK_RUNS=500 npm run soak   # the same fates again
 *
 * Others go before, so that code is compiled and what is bounded by number (the journal's last entries, the values that are
 * redacted, whose session a run was) is full. What is held from there on must not grow.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { Random, seedFrom } from '../fuzz/random.ts'
import { drawFate, Harness, isUnstored, type Fate } from './harness.ts'
import { startPeers } from './peers.ts'
import type { Holdings } from './probe.ts'
import { startSoakedEngine, type SoakedEngine } from './soaked-engine.ts'

export interface SoakOptions {
  readonly seed: number
  /** Measured. */
  readonly runs: number
  /** Of the same kinds, before them. */
  readonly warm: number
  readonly isDurable: boolean
}

export interface SoakReport {
  readonly runsPerSecond: number
  readonly neverAcked: number
  /** Heaps, MB: warm and a day later; with every result kept; a day after that. */
  readonly before: number
  readonly full: number
  readonly after: number
  /** How much larger the last is than the first, %. */
  readonly grownBy: number
  /** What is left that should not be, and what the engine said of itself. */
  readonly faults: readonly string[]
}

const DAY_MS = 24 * 3600 * 1000
const AT_ONCE = 32
const LONGEST_MS = 30_000
const POLL_MS = 500
const FIRST_USE = 8
/** So many of these fill the tokens that are redacted, together with the warm ones: each calls a tool 40 times. */
const FILLING = 100
const FILLS: Fate = { ending: 'waited', reader: 'none', model: 'fills', hasSession: true, key: 0 }
/** Every result is kept for a day: it is time that drops them, and nothing else. */
const ENVIRONMENT = {
  MAX_RESULTS: '100000',
  RESULT_TTL_MS: String(DAY_MS),
  UNDELIVERED_TTL_MS: String(DAY_MS),
  CALLBACK_SCHEDULE: '0.05',
  KEY_CONCURRENCY: '32',
  // The probe holds the loop up while it looks.
  MAX_EVENT_LOOP_LAG_MS: '60000',
}

export async function soak({ isDurable, runs, seed, warm }: SoakOptions): Promise<SoakReport> {
  const folder = mkdtempSync(join(tmpdir(), 'soak-'))
  const peers = await startPeers()
  const engine = await startSoakedEngine({ ...ENVIRONMENT, ...(isDurable && { STATE_DIR: folder }) })
  const random = new Random(seed)
  const faults: string[] = []
  try {
    const scene: Scene = { engine, peers: peers.url, folder, faults }
    // What is made with the first use, and stays.
    const { abortSignals, sockets, timers: set } = (await engine.holdings()).objects
    const made = { abortSignals: abortSignals + FIRST_USE, sockets: sockets + FIRST_USE, timers: set + FIRST_USE }
    await crowd(
      scene,
      'fills',
      Array.from({ length: FILLING }, () => FILLS),
    )
    await crowd(scene, 'warm', drawn(random, warm))
    const { idle: before } = await dayLater(scene, made)
    const { neverAcked, seconds } = await crowd(scene, 'run', drawn(random, runs))
    const { full, idle: after } = await dayLater(scene, before.objects)
    faults.push(...engine.loud)
    const mb = (bytes: number) => Math.round(bytes / 1e5) / 10
    return {
      runsPerSecond: Math.round(runs / seconds),
      neverAcked,
      before: mb(before.heapBytes),
      full: mb(full.heapBytes),
      after: mb(after.heapBytes),
      grownBy: Math.round((1000 * (after.heapBytes - before.heapBytes)) / before.heapBytes) / 10,
      faults: faults.slice(0, 20),
    }
  } finally {
    await engine.end()
    await peers.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Scene {
  readonly engine: SoakedEngine
  readonly peers: string
  readonly folder: string
  readonly faults: string[]
}

const drawn = (random: Random, count: number) => Array.from({ length: count }, () => drawFate(random))

/** So many runs, some at once, until nothing is going and every callback has had its last try. */
async function crowd(
  { engine, faults, peers }: Scene,
  word: string,
  fates: readonly Fate[],
): Promise<{ readonly neverAcked: number; readonly seconds: number }> {
  const harness = new Harness(engine.address, peers)
  const neverAcked = fates.filter(isUnstored).length
  const since = performance.now()
  let next = 0
  const live = async () => {
    for (let index = next++; index < fates.length; index = next++) {
      await harness.live(fates[index] as Fate, `${word}-${index}`).catch((error: Error) => faults.push(error.message))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, live))
  const seconds = (performance.now() - since) / 1000
  harness.close()
  await settled(faults, async () => {
    const { running, undelivered } = await health(engine)
    const tried = await metric(engine, 'theloop_results_total{outcome="undelivered"}')
    const refused = (await metric(engine, 'theloop_callback_attempts_total{answer="5xx"}')) / 2
    return running === 0 && undelivered === neverAcked && tried === refused
      ? null
      : `${running} runs are going; ${undelivered} results of ${neverAcked} are not stored; ${tried} of ${refused} given up`
  })
  return { neverAcked, seconds }
}

/** What is held with all results in it, and a day and an hour later, when nothing may be left. */
async function dayLater(
  { engine, faults, folder }: Scene,
  bound: Holdings['objects'],
): Promise<{ readonly full: Holdings; readonly idle: Holdings }> {
  const full = await engine.holdings()
  let idle = await engine.later(DAY_MS + 3600 * 1000)
  await settled(faults, async () => {
    const { running, undelivered } = await health(engine)
    const streams = await metric(engine, 'theloop_streams_open')
    // What stays of a run that was let go of is its key (SPEC §7.3), many to a file.
    // Empty ones wait for the next runs.
    const files = readdirSync(folder).filter(
      (name) => name.endsWith('.run') && (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) > 0,
    )
    if (running + undelivered + streams + files.length > 0) {
      return `left: ${running} runs, ${undelivered} results, ${streams} streams, files ${files.slice(0, 5).join(' ')}`
    }
    idle = await engine.holdings()
    const more = (Object.keys(bound) as (keyof typeof bound)[]).some((kind) => idle.objects[kind] > bound[kind])
    return more ? `held before ${JSON.stringify(bound)}, now ${JSON.stringify(idle.objects)}` : null
  })
  return { full, idle }
}

/** Waits until nothing is wrong; what still is after a minute is a fault. */
async function settled(faults: string[], wrong: () => Promise<string | null>): Promise<void> {
  const since = performance.now()
  for (;;) {
    const what = await wrong()
    if (what === null) return
    if (performance.now() - since > LONGEST_MS) return void faults.push(what)
    await timers.setTimeout(POLL_MS)
  }
}

async function health({ address }: SoakedEngine): Promise<{ readonly running: number; readonly undelivered: number }> {
  const { runs } = JSON.parse((await get(address, '/health')).text) as {
    readonly runs: { readonly running: number; readonly undelivered: number }
  }
  return runs
}

/** 0 where it does not stand. */
async function metric({ address }: SoakedEngine, name: string): Promise<number> {
  const line = (await get(address, '/metrics')).text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length + 1) ?? 0)
}

/** A connection of its own, so that none is left of it. */
async function get(address: string, path: string): Promise<{ readonly text: string }> {
  const harness = new Harness(address, '')
  try {
    return await harness.send('GET', path)
  } finally {
    harness.close()
  }
}

/** How much larger the heap may be, %. */
export const MOST_GROWTH = 10

if (import.meta.main) {
  const seed = seedFrom('SOAK_SEED')
  const runs = Number(process.env['SOAK_RUNS'] ?? 20_000)
  console.log(`SOAK_SEED=${seed} SOAK_RUNS=${runs}`)
  for (const isDurable of [false, true]) {
    const report = await soak({ seed, runs, warm: runs, isDurable })
    console.log(JSON.stringify({ kept: isDurable ? 'STATE_DIR' : 'memory', ...report }, null, 2))
    if (report.faults.length > 0 || report.grownBy > MOST_GROWTH) process.exitCode = 1
  }
}
