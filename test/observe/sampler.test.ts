/** Which traces are kept. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { traceIdOf, type TraceContext } from '../../src/contract/trace-context.ts'
import { createSampler, type SamplerName } from '../../src/observe/sampler.ts'

const parent = (flags: number): TraceContext => ({
  traceId: 'a'.repeat(32),
  parentId: 'b'.repeat(16),
  flags,
  state: '',
})
const ids = Array.from({ length: 10_000 }, (_each, n) => traceIdOf(`run_${n}`, null))

test('each sampler answers for a root, for a recorded caller and for one that is not', () => {
  const answers = (name: SamplerName, ratio = 1) => {
    const sampler = createSampler(name, ratio)
    return [null, parent(1), parent(0), parent(2)].map((one) => sampler('0'.repeat(32), one))
  }
  assert.deepEqual(answers('always_on'), [true, true, true, true])
  assert.deepEqual(answers('always_off'), [false, false, false, false])
  assert.deepEqual(answers('parentbased_always_on'), [true, true, false, false])
  assert.deepEqual(answers('parentbased_always_off'), [false, true, false, false])
  assert.deepEqual(answers('parentbased_traceidratio', 0), [false, true, false, false])
  assert.deepEqual(answers('traceidratio', 0), [false, false, false, false])
  assert.deepEqual(answers('traceidratio', 1), [true, true, true, true])
})

test('a ratio keeps about its share, and what a smaller one keeps a larger one does', () => {
  const kept = (ratio: number) => ids.filter((id) => createSampler('traceidratio', ratio)(id, null))
  const [tenth, half] = [kept(0.1), kept(0.5)]
  assert.ok(Math.abs(tenth.length - 1000) < 150, String(tenth.length))
  assert.ok(Math.abs(half.length - 5000) < 300, String(half.length))
  const inHalf = new Set(half)
  assert.ok(tenth.every((id) => inHalf.has(id)))
  assert.equal(kept(1).length, ids.length)
  assert.equal(kept(0).length, 0)
})
