/**
 * `npm run test:unit`: all tests in two processes at once, for a process runs its tests one after another on one core. The
 * folders whose tests take long share one; what it says is printed when it has ended, so that the two are not mixed.
 *
 * A new folder is among the others until it is named here.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const LONG = 'chaos,examples,hazards,soak'

const OPTIONS = ['--test', '--test-isolation=none', '--test-timeout=60000', '--import', './test/strict.ts']

/** Resolves with the exit code. `patterns` are those of `node --test`. */
async function run(patterns: readonly string[], output: 'at once' | 'when it has ended'): Promise<number> {
  const stdio = output === 'at once' ? 'inherit' : 'pipe'
  const child = spawn(process.execPath, [...OPTIONS, ...patterns], { stdio: ['ignore', stdio, 'inherit'] })
  const chunks: Buffer[] = []
  child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = (await once(child, 'close')) as [number | null]
  process.stdout.write(Buffer.concat(chunks))
  return code ?? 1
}

const codes = await Promise.all([
  run(['test/*.test.ts', `test/!(${LONG.replaceAll(',', '|')})/**/*.test.ts`], 'at once'),
  run([`test/{${LONG}}/**/*.test.ts`], 'when it has ended'),
])
process.exitCode = Math.max(...codes)
