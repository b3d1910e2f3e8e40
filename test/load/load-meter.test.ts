/** The meter over the real process: memory and a loop that is made to lag. */
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { collectGarbage } from '../../src/load/collect-garbage.ts'
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

test('while memory is over its bound garbage is collected, and not with every measure', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setInterval'] })
  let collected = 0
  const { reason } = meter(t, {
    maxMemoryBytes: 1,
    collect() {
      collected += 1
      // One that takes long is not made again soon.
      now += 1000
    },
  })
  const pass = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      now += 100
      t.mock.timers.tick(100)
    }
  }
  pass(100)
  assert.deepEqual([reason(), collected], [null, 0])
  pass(100)
  assert.deepEqual([reason(), collected], ['memory', 1])
  pass(19_900)
  assert.equal(collected, 1)
  pass(200)
  assert.equal(collected, 2)
})

test('what nobody holds is gone from the heap once garbage is collected', () => {
  const before = process.memoryUsage().heapUsed
  let held: number[][] | null = Array.from({ length: 100 }, (_, index) =>
    Array.from({ length: 20_000 }, () => index / 7),
  )
  const most = process.memoryUsage().heapUsed
  assert.equal(held.length, 100)
  held = null
  collectGarbage()
  const after = process.memoryUsage().heapUsed
  assert.ok(most - before > 10_000_000 && after - before < (most - before) / 2, `${before} ${most} ${after}`)
})
