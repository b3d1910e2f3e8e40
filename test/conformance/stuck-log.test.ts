/** SPEC §12.3: whoever reads the log lines may be stuck; runs, answers and the end are not. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { ENGINE_TOKEN } from '../fakes/engine-process.ts'
import { EngineClient, runBody } from './engine-client.ts'
import { within } from './facts.ts'

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url))

test('§12.3 a reader of standard output that is stuck holds up neither runs nor the end', async (t) => {
  const child = spawn(process.execPath, [MAIN], {
    env: { ENGINE_TOKEN, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'trace' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
  child.stdout.pause()
  const client = new EngineClient({ address: (JSON.parse(line) as { address: string }).address })
  // A pipe takes 64 KiB, and the lines of a run are more than one.
  const runs = await Promise.all(Array.from({ length: 150 }, () => client.run(runBody())))
  assert.ok(runs.every(({ status }) => status === 'completed'))
  assert.equal((await client.send('/health')).status, 200)
  child.kill('SIGTERM')
  assert.deepEqual(await within(exited, () => 'it waits for its reader'), [0, null])
})
