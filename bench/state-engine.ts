/** An engine of the benchmark of STATE_DIR: a process of its own, and what CPU time it has taken. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const TOKEN = 'bench-engine-token-0001'

export interface Engine {
  readonly address: string
  /** So far, user and system. The process counts threads that have ended no more. */
  cpu(): { readonly mainMs: number; readonly processMs: number }
  kill(): void
}

/** `environment`: settings beside those that any run here needs. */
export async function startEngine(environment: Readonly<Record<string, string>>): Promise<Engine> {
  const main = new URL('../src/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [main], {
    env: {
      ENGINE_TOKEN: TOKEN,
      CALLBACK_SECRET: 'bench-callback-secret',
      DEV_INSECURE: '1',
      HOST: '127.0.0.1',
      PORT: '0',
      KEY_CONCURRENCY: '64',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve) => {
    child.stdout.on('data', (text: Buffer) => {
      const found = /"address":"([^"]+)"/.exec(text.toString())?.[1]
      if (found !== undefined) resolve(found)
    })
  })
  const pid = child.pid ?? 0
  return { address, cpu: () => cpuOf(pid), kill: () => void child.kill('SIGKILL') }
}

function cpuOf(pid: number): { mainMs: number; processMs: number } {
  const threads = readdirSync(`/proc/${pid}/task`).map((thread) => ({ thread, ms: threadMs(pid, thread) }))
  return {
    mainMs: threads.find(({ thread }) => thread === String(pid))?.ms ?? 0,
    processMs: threads.reduce((sum, { ms }) => sum + ms, 0),
  }
}

/** By the scheduler's own count, in nanoseconds: the ticks of `stat` are too coarse for a round. */
function threadMs(pid: number, thread: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}
