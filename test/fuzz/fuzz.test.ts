/** The bounded form of `npm run fuzz`, and that it finds what is wrong. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fuzz } from './fuzz.ts'
import { hunt, leftOut, type Quarry } from './hunt.ts'
import { seedFrom, type Random } from './random.ts'

/** All kinds together. */
const INPUTS = 200_000

test(
  '200,000 wrong inputs are borne: answers of providers and tools, requests to the endpoints',
  { timeout: 600_000 },
  async (t) => {
    await fuzz({ seed: seedFrom('FUZZ_SEED'), total: INPUTS, only: null }, (line) => t.diagnostic(line))
  },
)

/** Words of digits; one with a 7 in it is not borne. */
const digits: Quarry<string> = {
  name: 'digits',
  make: (random: Random) => Array.from({ length: 50 }, () => random.int(10)).join(''),
  bear: (word) => assert.ok(!word.includes('7'), 'a seven'),
  *smaller(word) {
    yield* leftOut(word.length, (from, to) => word.slice(0, from) + word.slice(to))
  },
  show: (word) => `<${word}>`,
}

test('an input that is not borne is told with its seed, in its smallest form', async () => {
  const failed = await hunt(digits, { seed: 1, count: 100 }).then(
    () => '',
    (error: Error) => error.message,
  )
  assert.match(failed, /^digits: FUZZ_SEED=\d+ FUZZ_COUNT=1: [^]*a seven[^]*for: <7>$/)
  const [, seed] = /FUZZ_SEED=(\d+)/.exec(failed) ?? []
  await assert.rejects(hunt(digits, { seed: Number(seed), count: 1 }), /for: <7>/)
})

test('an input that takes too long, or memory that is not given back, is not borne', async () => {
  const waiting: Quarry<number> = {
    name: 'waits',
    make: () => 0,
    bear: () => {
      const until = performance.now() + 12
      while (performance.now() < until);
    },
    smaller: () => [],
    show: String,
  }
  await assert.rejects(hunt(waiting, { seed: 1, count: 1, mostMs: 10 }), /took \d+ ms/)
  const kept: number[][] = []
  const keeping: Quarry<number> = {
    ...waiting,
    name: 'keeps',
    bear: () => void kept.push(Array.from({ length: 100_000 }, (_, at) => at + 0.5)),
  }
  await assert.rejects(hunt(keeping, { seed: 1, count: 100 }), /memory has grown by \d+ bytes/)
})

test('an input that never ends is told by its seed, and the process ends', () => {
  const watchdog = new URL('watchdog.ts', import.meta.url).href
  const script = `import { watch } from '${watchdog}'; (await watch('loops', 100)).next(77); for (;;);`
  const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 20_000,
  })
  assert.match(stderr, /^loops: FUZZ_SEED=77 FUZZ_COUNT=1: has not ended for 100 ms\n$/)
  assert.equal(signal, 'SIGKILL')
})
