/** An engine in a process of its own, with the probe in it. What it says at the level of an error is kept. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { within } from '../conformance/facts.ts'
import { CALLBACK_SECRET, ENGINE_TOKEN } from '../fakes/engine-process.ts'
import type { Holdings, Question } from './probe.ts'

export interface SoakedEngine {
  readonly address: string
  /** Lines of level 50 and above, results that nobody took left out: these are what the soak is about. */
  readonly loud: readonly string[]
  holdings(): Promise<Holdings>
  /** So much later, retention included. */
  later(ms: number): Promise<Holdings>
  /** SIGTERM, and its end. */
  end(): Promise<void>
}

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const LONGEST_MS = 180_000
const EXPECTED = new Set(['undelivered', 'dropped_undelivered'])

export async function startSoakedEngine(environment: Readonly<Record<string, string>>): Promise<SoakedEngine> {
  const quiet = '--disable-warning=ExperimentalWarning'
  const child = spawn(process.execPath, [quiet, '--import', file('./probe.ts'), file('../../src/main.ts')], {
    env: { ENGINE_TOKEN, CALLBACK_SECRET, DEV_INSECURE: '1', HOST: '127.0.0.1', PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const exited = once(child, 'close').then(() => process.off('exit', kill))
  const loud: string[] = []
  child.stderr?.setEncoding('utf8').on('data', (text: string) => loud.push(text))
  const address = await within(
    new Promise<string>((resolve) => {
      let rest = ''
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        const lines = (rest + text).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) {
          if (/^\{"level":[56]/.test(line) && !EXPECTED.has(/"event":"(\w+)"/.exec(line)?.[1] ?? '')) loud.push(line)
          const found = line.includes('"msg":"listening"') ? /"address":"([^"]+)"/.exec(line)?.[1] : undefined
          if (found !== undefined) resolve(found)
        }
      })
    }),
    () => `the engine does not listen: ${loud.join('\n')}`,
  )

  async function ask(question: Question): Promise<Holdings> {
    const answer = once(child, 'message')
    child.send(question)
    const [holdings] = await within(answer, () => 'the engine tells nothing of itself', LONGEST_MS)
    return holdings as Holdings
  }

  return {
    address,
    loud,
    holdings: () => ask({ ask: 'holdings' }),
    later: (ms) => ask({ ask: 'later', ms }),
    async end() {
      child.kill('SIGTERM')
      await within(exited, () => 'the engine does not end', LONGEST_MS)
    },
  }
}
