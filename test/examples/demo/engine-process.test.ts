import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { startEngine } from '../../../examples/demo/engine-process.ts'
import { within } from '../../conformance/facts.ts'

test('an engine that does not start says why', async () => {
  await assert.rejects(startEngine({ MAX_RUNS: 'many' }), /the engine did not start: .*MAX_RUNS must be a whole number/)
})

test('an engine that is stopped ends cleanly, and its port with it', async () => {
  const engine = await startEngine({ MAX_RUNS: '3' })
  assert.match(engine.lastLines().join('\n'), /"msg":"listening"/)
  assert.equal((await fetch(`${engine.url}/ready`)).status, 200)
  await engine.stop()
  assert.match(engine.lastLines().join('\n'), /"msg":"stopped"/)
  await assert.rejects(fetch(`${engine.url}/ready`))
})

test('an engine ends with the process that started it, however that ends', async (t) => {
  const module = new URL('../../../examples/demo/engine-process.ts', import.meta.url).href
  const script = `const { url } = await (await import(${JSON.stringify(module)})).startEngine(); console.log(url)`
  const starter = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => starter.kill('SIGKILL'))
  const [line] = (await once(createInterface(starter.stdout), 'line')) as [string]
  assert.equal((await fetch(`${line}/ready`)).status, 200)
  starter.kill('SIGKILL')
  const over = new AbortController()
  t.after(() => over.abort())
  const gone = async () => {
    while (!over.signal.aborted && (await fetch(`${line}/ready`).then(Boolean, () => false)))
      await new Promise(setImmediate)
  }
  await within(gone(), () => 'the engine outlives its starter')
})
