/**
 * A provider, tools and a receiver that fail in every way at random, and an engine that is killed and started again all the
 * time. Whatever happens, every run that was taken has one result, told once and for all; its session goes on in order; its
 * history is valid; its usage is what the provider counted; and in the end nothing is locked, going or undelivered.
 *
 *     npm run chaos                                   # 10,000 runs, from a seed that is printed
 *     CHAOS_SEED=7 CHAOS_RUNS=500 npm run chaos       # the same fates again, as far as the clocks of two processes allow
 */
import timers from 'node:timers/promises'
import { EngineClient, runBody } from '../conformance/engine-client.ts'
import { Random, seedFrom } from '../fuzz/random.ts'
import { Ledger } from './ledger.ts'
import { startMortalEngine } from './mortal-engine.ts'
import { converse, type Scene } from './session.ts'
import { startWorld } from './world.ts'

export interface ChaosReport {
  readonly seed: number
  readonly runs: number
  readonly results: number
  /** Results that came more than once, since the answer to them was lost. */
  readonly deliveredAgain: number
  readonly kills: number
  readonly modelRequests: number
  /** How the runs ended. */
  readonly ends: Readonly<Record<string, number>>
  /** Empty: every promise was kept. */
  readonly faults: readonly string[]
}

export interface ChaosOptions {
  readonly seed: number
  readonly runs: number
  /** Conversations at once. */
  readonly sessions: number
}

const LONGEST_LIFE_MS = 3000
/** What is on its way when the last run has ended: callbacks by their whole schedule. */
const LEFT_MS = 60_000

export async function chaos({ seed, runs, sessions }: ChaosOptions): Promise<ChaosReport> {
  const random = new Random(seed)
  const ledger = new Ledger()
  const world = await startWorld(random, ledger)
  const engine = await startMortalEngine(ledger)
  const scene: Scene = { address: engine.address, worldUrl: world.url, ledger, random }
  let made = 0
  const next = () => (made < runs ? `k${(made += 1)}` : null)
  let kills = 0
  try {
    const names = Array.from({ length: sessions }, (_, index) => `s${index}`)
    const talks = Promise.all(names.map((name) => converse(scene, name, next))).then(() => 'over' as const)
    for (;;) {
      const life = random.chance(0.3) ? random.int(300) : random.int(LONGEST_LIFE_MS)
      if ((await Promise.race([talks, timers.setTimeout(life)])) === 'over') break
      await engine.rebirth(random)
      kills += 1
    }
    if (ledger.faults.length === 0) await nothingLeft(scene, names)
  } finally {
    await engine.end()
    await world.close()
  }
  const again = [...ledger.stored.values()].filter(({ times }) => times > 1)
  return {
    seed,
    runs: made,
    results: ledger.stored.size,
    deliveredAgain: again.length,
    kills,
    modelRequests: ledger.told.size,
    ends: Object.fromEntries([...ledger.counts].toSorted(([left], [right]) => (left < right ? -1 : 1))),
    faults: ledger.faults,
  }
}

/** No run is going, no result waits, and every session takes another run. */
async function nothingLeft({ address, ledger }: Scene, sessions: readonly string[]): Promise<void> {
  const client = new EngineClient({ address })
  const since = Date.now()
  for (;;) {
    const { runs } = (await client.send('/health')).json<{ runs: { running: number; undelivered: number } }>()
    if (runs.running === 0 && runs.undelivered === 0) break
    if (Date.now() - since > LEFT_MS) return ledger.fault(`left in the end: ${JSON.stringify(runs)}`)
    await timers.setTimeout(50)
  }
  for (const session of sessions) {
    const answer = await client.post(runBody({ meta: { session_id: session }, wait: true }))
    if (answer.status !== 200) ledger.fault(`${session} takes no run in the end: ${answer.text}`)
  }
}

if (import.meta.main) {
  const { seed, runs } = { seed: seedFrom('CHAOS_SEED'), runs: Number(process.env['CHAOS_RUNS'] ?? 10_000) }
  console.log(`CHAOS_SEED=${seed} CHAOS_RUNS=${runs}`)
  const report = await chaos({ seed, runs, sessions: 40 })
  console.log(JSON.stringify(report, null, 2))
  process.exitCode = report.faults.length === 0 && report.results === runs ? 0 : 1
}
