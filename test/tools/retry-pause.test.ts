import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryPauseMs } from '../../src/tools/retry-pause.ts'

test('RF-06: pauses double from half a second and are spread between half and whole', () => {
  assert.deepEqual(
    [1, 2, 3].map((attempt) => retryPauseMs(attempt, null, 0)),
    [250, 500, 1000],
  )
  assert.deepEqual(
    [1, 2, 3].map((attempt) => retryPauseMs(attempt, null, 0.999_999)),
    [500, 1000, 2000],
  )
})

test('a tool that asks for a longer pause gets it, never a shorter one', () => {
  assert.equal(retryPauseMs(1, 3000, 0.5), 3000)
  assert.equal(retryPauseMs(1, 1, 0.5), 375)
})
