/** What is looked up when somebody reads: how things stand, and no longer how they stood. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEngineMetrics } from '../../src/observe/engine-metrics.ts'
import { createMetricsText, type ReadingSources } from '../../src/observe/readings.ts'
import { MetricsText } from '../fakes/prometheus-text.ts'

const openai = {
  provider: 'openai',
  keys: 3,
  paused: 1,
  active: 5,
  waiting: 2,
  smallestWindow: 4,
  largestWindow: 16,
}

function reading(sources: Partial<ReadingSources>) {
  const read = createMetricsText(createEngineMetrics(), {
    counts: async () => ({ running: 7, undelivered: 2 }),
    maxRuns: 500,
    keys: () => [],
    openStreams: () => 3,
    draining: () => false,
    load: { lag: () => ({ meanMs: 2, worstMs: 250 }), reason: () => null },
    version: '1.2.3',
    ...sources,
  })
  return async () => new MetricsText(await read())
}

test('runs, results, streams and the loop are told as they stand', async () => {
  const text = await reading({})()
  assert.equal(text.value('theloop_build_info', { version: '1.2.3' }), 1)
  assert.deepEqual(
    ['theloop_runs_live', 'theloop_runs_limit', 'theloop_results_unstored', 'theloop_streams_open'].map((name) =>
      text.value(name),
    ),
    [7, 500, 2, 3],
  )
  assert.equal(text.value('theloop_event_loop_lag_seconds', { stat: 'mean' }), 0.002)
  assert.equal(text.value('theloop_event_loop_lag_seconds', { stat: 'worst' }), 0.25)
  assert.equal(text.value('theloop_draining') + text.value('theloop_overloaded'), 0)
})

test('draining and an overload are told while they last', async () => {
  const now = { draining: true, reason: 'memory' as 'memory' | null }
  const read = reading({
    draining: () => now.draining,
    load: { lag: () => ({ meanMs: 0, worstMs: 0 }), reason: () => now.reason },
  })
  const during = await read()
  assert.equal(during.value('theloop_draining'), 1)
  assert.equal(during.value('theloop_overloaded', { reason: 'memory' }), 1)
  assert.equal(during.value('theloop_overloaded', { reason: 'event_loop' }), 0)
  now.reason = null
  assert.equal((await read()).value('theloop_overloaded'), 0)
})

test('the keys of a provider are told together, and one whose keys are forgotten is gone', async () => {
  let keys = [openai, { ...openai, provider: 'kimi', waiting: 1 }]
  const read = reading({ keys: () => keys })
  const text = await read()
  const of = { provider: 'openai' }
  assert.equal(text.value('theloop_keys', of), 3)
  assert.equal(text.value('theloop_keys_paused', of), 1)
  assert.equal(text.value('theloop_key_active_requests', of), 5)
  assert.equal(text.value('theloop_key_waiting_requests', of), 2)
  assert.equal(text.value('theloop_key_window_requests', { ...of, bound: 'smallest' }), 4)
  assert.equal(text.value('theloop_key_window_requests', { ...of, bound: 'largest' }), 16)
  assert.equal(text.value('theloop_attempts_queued'), 3)
  keys = [openai]
  const later = await read()
  assert.deepEqual(
    later.samples('theloop_keys').map(({ labels }) => labels['provider']),
    ['openai'],
  )
})

test('CPU time only grows, and what is read twice is not counted twice', async () => {
  const read = reading({})
  const first = (await read()).value('process_cpu_seconds_total')
  const second = (await read()).value('process_cpu_seconds_total')
  const { user, system } = process.cpuUsage()
  assert.ok(first > 0 && second >= first && second <= (user + system) / 1e6)
})
