/**
 * Starts the engine as a process of its own, for local work: fresh secrets, loopback and plain http allowed, a free port.
 * It gets no more of this process's environment than it is given. It never outlives this process.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { DemoFailure } from './failure.ts'

export interface EngineProcess {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string
  readonly engineToken: string
  readonly callbackSecret: string
  /** The newest lines the engine wrote, for when something went wrong. */
  lastLines(): readonly string[]
  /** Sends SIGTERM and waits for the end; rejects with a DemoFailure if it was not a clean one. */
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
/** Its input ends when this process does, however that ends: then the engine drains, as it does for SIGTERM. */
const ENDS_WITH_ITS_STARTER = `data:text/javascript,${encodeURIComponent(
  "process.stdin.on('end', () => process.kill(process.pid, 'SIGTERM')).resume().unref()",
)}`
const STARTS = 3
const START_WITHIN_MS = 15_000
const STOP_WITHIN_MS = 15_000
const KEPT_LINES = 20

/** @param environment settings of SPEC §12.1 beside those made here, such as a provider's key */
export async function startEngine(environment: Readonly<Record<string, string>> = {}): Promise<EngineProcess> {
  for (let start = 1; ; start += 1) {
    const engine = await tryToStart(environment)
    if (typeof engine !== 'string') return engine
    // Between finding a free port and using it, somebody else may have taken it.
    if (start === STARTS || !engine.includes('EADDRINUSE')) throw new DemoFailure(`the engine did not start: ${engine}`)
  }
}

/** The engine, or what it said instead. */
async function tryToStart(environment: Readonly<Record<string, string>>): Promise<EngineProcess | string> {
  const url = `http://127.0.0.1:${await freePort()}`
  const engineToken = randomBytes(32).toString('base64url')
  const callbackSecret = `whsec_${randomBytes(32).toString('base64')}`
  const settings = {
    ENGINE_TOKEN: engineToken,
    CALLBACK_SECRET: callbackSecret,
    PUBLIC_URL: url,
    HOST: '127.0.0.1',
    PORT: new URL(url).port,
    DEV_INSECURE: '1',
    SHUTDOWN_GRACE_MS: '2000',
  }
  const child = spawn(process.execPath, ['--import', ENDS_WITH_ITS_STARTER, MAIN], {
    env: { ...inherited(), ...settings, ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A Ctrl+C in a terminal goes to the whole group: the engine is ended by this process, with care, and not by both.
    detached: true,
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const lines = keepLines(child)
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => {
      process.off('exit', kill)
      resolve(code ?? signal ?? 'unknown')
    })
    child.once('error', (error) => resolve(error.message))
  })

  const fate = await withinMs(START_WITHIN_MS, Promise.race([lines.listening, ended]))
  if (fate !== 'listening') {
    kill()
    return lines.all.join(' | ') || `nothing was heard of it (${fate})`
  }
  return {
    url,
    engineToken,
    callbackSecret,
    lastLines: () => lines.all,
    async stop() {
      child.kill('SIGTERM')
      const code = await withinMs(STOP_WITHIN_MS, ended)
      if (code === 'late') kill()
      if (code !== 0) throw new DemoFailure(`the engine did not end cleanly: ${code}`)
    },
  }
}

/** What any process may need to run and to reach the outside; none of the engine's own settings. */
function inherited(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot', 'NODE_EXTRA_CA_CERTS']
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}

/** Reads everything the child writes, so that it never waits for a reader, and keeps the newest lines. */
function keepLines(child: ChildProcess): { readonly all: string[]; readonly listening: Promise<'listening'> } {
  const all: string[] = []
  const listening = new Promise<'listening'>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on('line', (line) => {
        if (line.trim() !== '') all.push(line)
        if (all.length > KEPT_LINES) all.shift()
        if (line.includes('"msg":"listening"')) resolve('listening')
      })
    }
  })
  return { all, listening }
}

async function withinMs<T>(ms: number, promise: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms)
  })
  const first = await Promise.race([promise, late])
  clearTimeout(timer)
  return first
}
