/**
 * The real process: `src/main.ts` in a Node of its own, with exactly the environment that a test gives. What it writes is kept
 * line by line. Everything else about it is learnt over HTTP.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Signal, within } from '../conformance/facts.ts'
import { freePort } from './free-port.ts'

export const ENGINE_TOKEN = 'engine-SECRET-token-0001'
export const CALLBACK_SECRET = 'callback-SECRET-0001'

/** One line of standard output. */
export interface LogLine {
  readonly level: number
  readonly msg: string
  readonly [fact: string]: unknown
}

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface EngineProcess {
  /** `http://127.0.0.1:<port>` */
  readonly address: string
  readonly lines: readonly LogLine[]
  /** Standard output as it came. */
  stdout(): string
  stderr(): string
  /** The first line that fits, as soon as it is there. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>
  signal(name: NodeJS.Signals): void
  readonly exited: Promise<Exit>
}

export type Environment = Readonly<Record<string, string>>

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

/** Node's own: what one start has compiled, the next one need not. A suite starts the process dozens of times. */
const COMPILE_CACHE = { NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache') }

/** For local work, and as talkative as it can be, so that whatever must not be logged has its chance to be. */
const LOCAL: Environment = {
  ENGINE_TOKEN,
  CALLBACK_SECRET,
  DEV_INSECURE: '1',
  HOST: '127.0.0.1',
  LOG_LEVEL: 'debug',
}

interface Spawned {
  readonly lines: LogLine[]
  readonly written: { stdout: string; stderr: string }
  readonly changed: Signal
  readonly exited: Promise<Exit>
  readonly kill: (name: NodeJS.Signals) => void
}

/** Set among the variables of an engine: it is process 1 of a PID namespace of its own, as in a container. */
export const AS_PID_1 = 'TEST_AS_PID_1'
const UNSHARE = ['--map-root-user', '--pid', '--fork', '--kill-child']

/** Null: this machine can. Else why not. */
export function pid1Problem(): string | null {
  const tried = spawnSync('unshare', [...UNSHARE, 'true'])
  return tried.status === 0 ? null : 'a PID namespace of its own cannot be had here (unshare)'
}

/** What the signals of a test must reach: of a wrapped engine that is the wrapper's only child. */
function pidOf(child: ChildProcess, wrapped: boolean): number {
  const pid = child.pid ?? 0
  return wrapped ? Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) : pid
}

function spawnMain({ [AS_PID_1]: wrap, ...environment }: Environment): Spawned {
  const [command, ...before] = wrap === undefined ? [process.execPath] : ['unshare', ...UNSHARE, process.execPath]
  const child = spawn(command ?? '', [...before, MAIN], {
    env: { ...COMPILE_CACHE, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: LogLine[] = []
  const written = { stdout: '', stderr: '' }
  const changed = new Signal()
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text
    const whole = (rest + text).split('\n')
    rest = whole.pop() ?? ''
    for (const line of whole) lines.push(logLine(line))
    changed.emit()
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written.stderr += text))
  // An engine never outlives the tests that started it.
  const killWithTests = () => child.kill('SIGKILL')
  process.on('exit', killWithTests)
  // `close`, not `exit`: by then everything it wrote has been read.
  const exited = once(child, 'close').then(([code, signal]) => {
    process.off('exit', killWithTests)
    changed.emit()
    return { code, signal }
  })
  const kill = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(pidOf(child, wrap !== undefined), name)
  }
  return { lines, written, changed, exited, kill }
}

/** Every line must be JSON; one that is not is kept as what it is, of the highest level. */
function logLine(line: string): LogLine {
  try {
    return JSON.parse(line) as LogLine
  } catch {
    return { level: 60, msg: `not JSON: ${line}` }
  }
}

/** Starts an engine and waits until it listens. `environment` is laid over what local work needs. */
export async function startEngine(environment: Environment = {}): Promise<EngineProcess> {
  // A port that was free a moment ago may be taken by the next: then another one.
  for (let tries = 1; ; tries += 1) {
    const port = await freePort()
    const engine = await listening({ ...LOCAL, PORT: String(port), ...environment })
    if (engine !== null) return engine
    if (tries === 5) throw new Error('no port could be had')
  }
}

async function listening(environment: Environment): Promise<EngineProcess | null> {
  const { changed, exited, kill, lines, written } = spawnMain(environment)
  let exit: Exit | null = null
  void exited.then((how) => {
    exit = how
    changed.emit()
  })
  const fact = (fits: (line: LogLine) => boolean) => changed.until(() => exit !== null || lines.some(fits))
  const listens = (line: LogLine) => line.msg === 'listening'
  await within(fact(listens), () => `the engine does not listen: ${written.stderr}`)
  const address = lines.find(listens)?.['address']
  if (typeof address !== 'string') {
    if (written.stderr.includes('EADDRINUSE')) return null
    throw new Error(`the engine did not start: ${written.stderr}${written.stdout}`)
  }
  return {
    address,
    lines,
    stdout: () => written.stdout,
    stderr: () => written.stderr,
    async line(fits) {
      await within(fact(fits), () => `no such line; the last one was ${JSON.stringify(lines.at(-1))}`)
      const found = lines.find(fits)
      if (found === undefined) throw new Error(`the engine ended without such a line: ${written.stderr}`)
      return found
    },
    signal: kill,
    exited,
  }
}

export interface Ended extends Exit {
  readonly stdout: string
  readonly stderr: string
}

/** Runs `main.ts` with this environment and nothing beside, until it exits by itself. */
export async function runToExit(environment: Environment): Promise<Ended> {
  const { exited, kill, written } = spawnMain(environment)
  try {
    return { ...(await within(exited, () => `it runs on: ${written.stdout}`)), ...written }
  } catch (error) {
    kill('SIGKILL')
    throw error
  }
}
