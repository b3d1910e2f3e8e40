/** The short form of `npm run soak`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seedFrom } from '../fuzz/random.ts'
import { MOST_GROWTH, soak } from './soak.ts'

const RUNS = 1000
/** So many fill the journal that memory holds. */
const WARM = 1500

for (const isDurable of [false, true]) {
  const where = isDurable ? 'with STATE_DIR' : 'in memory'
  test(
    `SD-02: ${where}, a day after many runs, half never acked, the heap is back and nothing is left of them`,
    { timeout: 300_000 },
    async (t) => {
      const seed = seedFrom('SOAK_SEED')
      t.diagnostic(`SOAK_SEED=${seed}`)
      const report = await soak({ seed, runs: RUNS, warm: WARM, isDurable })
      t.diagnostic(JSON.stringify(report))
      assert.deepEqual(report.faults, [])
      assert.ok(report.neverAcked > RUNS * 0.4)
      assert.ok(report.grownBy <= MOST_GROWTH, `the heap has grown by ${report.grownBy} %`)
    },
  )
}
