/** A machine's clock that is set while a run goes on: the run's time is what has passed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { steadyClock } from '../../src/runs/steady-clock.ts'
import { recordedEngine } from '../cassette/recorded-engine.ts'
import { runBody } from '../conformance/engine-client.ts'
import { ok, startTools } from '../fakes/tool-server.ts'

const DAY_MS = 24 * 3600 * 1000

test('a clock goes on from the time at which it was made, whatever the machine’s is set to', (t) => {
  const now = steadyClock()
  const before = now()
  assert.ok(Math.abs(before - Date.now()) < 1000)
  const real = Date.now
  t.mock.method(Date, 'now', () => real() + DAY_MS)
  assert.ok(Number.isInteger(now()))
  assert.ok(now() >= before && now() - before < 10_000)
})

for (const [how, setMs] of [
  ['ahead', DAY_MS],
  ['back', -DAY_MS],
] as const) {
  test(`SPEC §8.3: a run during which the clock is set ${how} by a day goes on, and took what it took`, async (t) => {
    let set = 0
    const real = Date.now
    t.mock.method(Date, 'now', () => real() + set)
    const engine = await recordedEngine(t)
    const tools = await startTools(t, {
      getOrders: () => {
        set = setMs
        return ok({ state: 'shipped' })
      },
    })
    const script = [[{ tool_call: { name: 'getOrders', args: {} } }], [{ text: 'It is shipped.' }]]
    const result = await engine.client.run(
      runBody({
        llm: { provider: 'scripted', model: 'm', params: { extra: { script } } },
        tools: [tools.tool('getOrders')],
        limits: { timeout_ms: 30_000 },
      }),
    )
    assert.deepEqual([result.status, result.text, result.limit_reached], ['completed', 'It is shipped.', null])
    const tookMs = Date.parse(result.finished_at) - Date.parse(result.started_at)
    assert.ok(tookMs >= 0 && tookMs < 20_000, `${tookMs} ms`)
    assert.ok(result.usage.attempts.every(({ duration_ms }) => duration_ms < 20_000))
    await engine.end()
  })
}
