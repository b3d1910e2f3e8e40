/** Runs the demo as anybody would, in a process of its own, and tells what it wrote and how it ended. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { within } from '../conformance/facts.ts'

export interface Demo {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** Standard output as far as it stood each time that more of it came. */
  readonly growth: readonly string[]
}

const DEMO = fileURLToPath(new URL('../../examples/demo/demo.ts', import.meta.url))

/** @param environment all that the process gets beside PATH */
export async function runDemo(
  flags: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Demo> {
  const child = spawn(process.execPath, [DEMO, ...flags], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const growth: string[] = []
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => growth.push((stdout += text)))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  try {
    const [code] = await within(
      once(child, 'close') as Promise<[number | null]>,
      () => `the demo runs on: ${stdout}${stderr}`,
      60_000,
    )
    return { code, stdout, stderr, growth }
  } finally {
    child.kill('SIGKILL')
  }
}
