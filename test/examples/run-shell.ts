/** Runs a shell command or script as a reader of the documents would. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { within } from '../conformance/facts.ts'

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Not everywhere: an image of Node alone has none. */
export const hasCurl = spawnSync('curl', ['--version']).status === 0

/** @param words behind `sh`: a file, or `-c` and a command */
export async function runShell(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<Ran> {
  const child = spawn('sh', words, {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  try {
    const ended = once(child, 'close') as Promise<[number | null]>
    const [code] = await within(ended, () => `the command runs on: ${stdout}${stderr}`, 60_000)
    return { code, stdout, stderr }
  } finally {
    child.kill('SIGKILL')
  }
}
