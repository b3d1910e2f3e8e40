import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEngine } from '../../../examples/demo/engine-process.ts'

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
