/** The meter over the real process: memory and a loop that is made to lag. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createLoadMeter, type LoadMeterOptions } from '../../src/load/load-meter.ts'
import type { LoadSample } from '../../src/load/overload.ts'

const GIB = 1_073_741_824

function meter(t: TestContext, options: Partial<LoadMeterOptions>) {
  const changes: { readonly reason: string | null; readonly sample: LoadSample }[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const made = createLoadMeter({
    maxMemoryBytes: 1024 * GIB,
    maxLagMs: 60_000,
    sampleMs: 100,
    onChange(reason, sample) {
      changes.push({ reason, sample })
      resolve()
    },
    ...options,
  })
  t.after(() => made.close())
  return { reason: () => made.reason(), lag: () => made.lag(), changes, changed: promise }
}

test('memory over its bound is told, with what was measured', async (t) => {
  const { reason, changes, changed } = meter(t, { maxMemoryBytes: 1 })
  assert.equal(reason(), null)
  // What is measured does not keep the process: the wait does.
  const awake = setTimeout(() => {}, 10_000)
  await changed
  clearTimeout(awake)
  assert.equal(reason(), 'memory')
  const [{ sample } = { sample: null }] = changes
  assert.ok(sample !== null && sample.rssBytes > 10_000_000 && sample.heapBytes > 1_000_000)
  assert.ok(sample.lagMs >= 0 && sample.lagMs < 10_000)
})

test('a loop that lags is told', async (t) => {
  const { reason, lag, changed } = meter(t, { maxLagMs: 20 })
  assert.deepEqual(lag(), { meanMs: 0, worstMs: 0 })
  const block = setInterval(() => {
    const until = performance.now() + 90
    while (performance.now() < until);
  }, 1)
  await changed
  clearInterval(block)
  assert.equal(reason(), 'event_loop')
  const { meanMs, worstMs } = lag()
  assert.ok(meanMs > 10 && worstMs >= 60 && worstMs < 10_000, `${meanMs} ${worstMs}`)
})
