/** The short form of `npm run chaos`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedFrom } from '../fuzz/random.ts'
import { chaos } from './chaos.ts'

const RUNS = 300

test(
  'every run has one result, in order, with a valid history and exact usage, whatever fails and however often the engine is killed',
  { timeout: 300_000 },
  async (t) => {
    const seed = seedFrom('CHAOS_SEED')
    t.diagnostic(`CHAOS_SEED=${seed}`)
    const report = await chaos({ seed, runs: RUNS, sessions: 20 })
    t.diagnostic(JSON.stringify(report))
    assert.deepEqual(report.faults, [])
    assert.deepEqual([report.runs, report.results], [RUNS, RUNS])
    assert.ok(report.kills > 0)
  },
)
