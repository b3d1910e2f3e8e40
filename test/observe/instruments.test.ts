/** The text that Prometheus reads, and that nothing a request names can make it grow without end. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createBound, createRegistry } from '../../src/observe/instruments.ts'
import { MetricsText } from '../fakes/prometheus-text.ts'

const closed = (name: string) => ({ name, bound: null })

test('counters, gauges and histograms are written as the format wants them', () => {
  const registry = createRegistry()
  const runs = registry.counter({ name: 'runs_total', help: 'Runs\\all\nof them.', labels: [closed('status')] })
  registry.counter({ name: 'bare_total', help: 'Without labels.' })
  const live = registry.gauge({ name: 'live', help: 'Live.' })
  const seconds = registry.histogram({ name: 'run_seconds', help: 'Time.', labels: [closed('status')] }, [0.5, 1])
  runs.add(['completed'])
  runs.add(['completed'], 2)
  runs.add(['a "quote", a \\ and\na line'])
  live.set([], 3)
  live.set([], Infinity)
  for (const value of [0.1, 0.5, 0.7, 99]) seconds.observe(['completed'], value)
  assert.equal(
    registry.text(),
    `# HELP runs_total Runs\\\\all\\nof them.
# TYPE runs_total counter
runs_total{status="completed"} 3
runs_total{status="a \\"quote\\", a \\\\ and\\na line"} 1
# HELP bare_total Without labels.
# TYPE bare_total counter
bare_total 0
# HELP live Live.
# TYPE live gauge
live +Inf
# HELP run_seconds Time.
# TYPE run_seconds histogram
run_seconds_bucket{status="completed",le="0.5"} 2
run_seconds_bucket{status="completed",le="1"} 3
run_seconds_bucket{status="completed",le="+Inf"} 4
run_seconds_sum{status="completed"} 100.3
run_seconds_count{status="completed"} 4
`,
  )
})

test('whatever values labels have, the text can be read back and says the same', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.string({ unit: 'binary' }), fc.string(), fc.integer({ min: 1, max: 9 })), { maxLength: 30 }),
      (added) => {
        const registry = createRegistry()
        const counter = registry.counter({ name: 'x_total', help: 'X.', labels: [closed('left'), closed('right')] })
        const expected = new Map<string, number>()
        for (const [left, right, by] of added) {
          counter.add([left, right], by)
          const key = JSON.stringify([left, right])
          expected.set(key, (expected.get(key) ?? 0) + by)
        }
        const read = new MetricsText(registry.text()).samples('x_total')
        assert.deepEqual(
          read.map(({ labels, value }) => [JSON.stringify([labels['left'], labels['right']]), value]),
          [...expected],
        )
      },
    ),
    { numRuns: 200 },
  )
})

test('beyond its bound a label says other, and what it knew before it still knows', () => {
  const bound = createBound(2)
  assert.deepEqual(['a', 'b', 'c', 'a', 'd', 'b'].map(bound), ['a', 'b', 'other', 'a', 'other', 'b'])
  assert.equal(createBound(1)('x'.repeat(5000)).length, 100)
  // A cut inside a character leaves no half of one.
  assert.equal(createBound(1)(`${'x'.repeat(99)}😀`), `${'x'.repeat(99)}\ufffd`)
})

test('two bounded labels together have no more series than one family may have', () => {
  const registry = createRegistry()
  const labels = ['model', 'tool'].map((name) => ({ name, bound: createBound(100) }))
  const counter = registry.counter({ name: 'x_total', help: 'X.', labels: [...labels, closed('outcome')] })
  for (let model = 0; model < 200; model += 1)
    for (let tool = 0; tool < 200; tool += 1) counter.add([`m${model}`, `t${tool}`, 'ok'])
  const text = new MetricsText(registry.text())
  assert.ok(text.samples('x_total').length <= 2001, `${text.samples('x_total').length} series`)
  assert.equal(text.value('x_total'), 40_000)
  assert.ok(text.value('x_total', { model: 'other', tool: 'other', outcome: 'ok' }) > 30_000)
})
