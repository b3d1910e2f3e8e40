/**
 * Engines for tests. Most tests of a file share one: started by the first that needs it, ended by the file's last test,
 * which also looks at everything it wrote. A test that needs other settings, or an end, has one of its own.
 */
import assert from 'node:assert/strict'
import { after, type TestContext } from 'node:test'
import { within } from './facts.ts'
import { startEngine, type EngineProcess, type Environment } from '../fakes/engine-process.ts'
import { EngineClient } from './engine-client.ts'

export interface SharedEngine {
  client(): Promise<EngineClient>
  process(): Promise<EngineProcess>
  /** Ends the engine by SIGTERM and checks that it went in peace and kept its secrets. */
  finish(): Promise<void>
}

export function sharedEngine(environment: Environment = {}): SharedEngine {
  let started: Promise<EngineProcess> | null = null
  let finished = false
  // Where only some tests of a file are run, its last one may not be among them.
  after(async () => {
    if (started !== null && !finished) (await started).signal('SIGKILL')
  })
  // A callback whose receiver went with its test must not hold up the end.
  const standard = { SHUTDOWN_GRACE_MS: '1000', CALLBACK_SCHEDULE: '0' }
  const engine = () => (started ??= startEngine({ ...standard, ...environment }))
  return {
    client: async () => new EngineClient(await engine()),
    process: engine,
    async finish() {
      await endInPeace(await engine())
      finished = true
    },
  }
}

/** An engine for one test, killed with it unless it has ended by then. */
export async function ownEngine(t: TestContext, environment: Environment = {}): Promise<EngineProcess> {
  const engine = await startEngine(environment)
  t.after(async () => {
    engine.signal('SIGKILL')
    await engine.exited
  })
  return engine
}

/** Ends an engine by SIGTERM: exit code 0, and nothing written that must not be. */
export async function endInPeace(engine: EngineProcess): Promise<void> {
  engine.signal('SIGTERM')
  assert.deepEqual(await within(engine.exited, () => 'the engine does not end on SIGTERM'), { code: 0, signal: null })
  assertQuiet(engine)
}

/** Results that nobody took: of this level because somebody must look, and not because anything is broken. */
const TRUE_WORDS: readonly unknown[] = ['undelivered', 'dropped_undelivered']

/**
 * Nothing on standard error, no bug in the journal; nowhere a secret, a token of a URL, or content. Tests write SECRET into
 * their secrets and CONTENT into what must not be logged.
 */
export function assertQuiet(process: Pick<EngineProcess, 'lines' | 'stdout' | 'stderr'>): void {
  assert.equal(process.stderr(), '')
  assert.deepEqual(
    process.lines.filter(({ event, level }) => level >= 50 && !TRUE_WORDS.includes(event)),
    [],
  )
  const written = process.stdout()
  assert.doesNotMatch(written, /SECRET|CONTENT/)
  assert.doesNotMatch(written, /token=/)
}
