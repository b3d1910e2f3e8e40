/**
 * One engine after another on the same STATE_DIR and port, each killed at a moment that nobody chose. What it says of itself at
 * the level of an error, beside results that nobody took, is a fault.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { within } from '../conformance/facts.ts'
import { startEngine, type EngineProcess } from '../fakes/engine-process.ts'
import { freePort } from '../fakes/free-port.ts'
import type { Random } from '../fuzz/random.ts'
import type { Ledger } from './ledger.ts'

export interface MortalEngine {
  /** The same for every life. */
  readonly address: string
  /** Kills it, as a crash or as a deployment does, and starts the next. */
  rebirth(random: Random): Promise<void>
  /** Ends the last life in peace and clears its folder. */
  end(): Promise<void>
}

/** Short waits, so that every kind of silence is met within a run, and the last try of a callback within the hunt. */
const ENVIRONMENT = {
  LOG_LEVEL: 'info',
  FIRST_TOKEN_MS: '1000',
  STALL_MS: '1000',
  SHUTDOWN_GRACE_MS: '300',
  CALLBACK_SCHEDULE: '0.05,0.1,0.2,0.2,0.5,0.5,1,1,1,1,2,2,2,4,4,4',
}

export async function startMortalEngine(ledger: Ledger): Promise<MortalEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-'))
  const environment = { ...ENVIRONMENT, STATE_DIR: folder, PORT: String(await freePort()) }
  const address = `http://127.0.0.1:${environment.PORT}`
  let engine = await startEngine(environment)

  async function stop(signal: NodeJS.Signals): Promise<void> {
    engine.signal(signal)
    await within(engine.exited, () => `the engine outlives ${signal}`, 30_000)
    for (const fault of loudWords(engine)) ledger.fault(fault)
  }

  return {
    address,
    async rebirth(random) {
      await stop(random.chance(0.85) ? 'SIGKILL' : 'SIGTERM')
      if (random.chance(0.3)) await timers.setTimeout(random.int(300))
      engine = await startEngine(environment)
    },
    async end() {
      await stop('SIGTERM')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function* loudWords(engine: EngineProcess): Generator<string> {
  const written = engine.stderr()
  if (written !== '') yield `the engine writes to stderr: ${written.slice(0, 1000)}`
  for (const line of engine.lines) {
    if (line.level >= 50 && line['event'] !== 'undelivered')
      yield `the engine says ${JSON.stringify(line).slice(0, 1000)}`
  }
}
