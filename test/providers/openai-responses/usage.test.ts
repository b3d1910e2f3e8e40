/** Usage of the Responses API in the contract's counts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import { responsesUsage } from '../../../src/providers/openai-responses/usage.ts'

function counts(usage: JsonObject | null, wrote = true) {
  const reading = responsesUsage(usage, wrote)
  if (reading === null) return null
  const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens } =
    reading.tokens
  return [
    reading.known,
    input_tokens,
    cache_read_tokens,
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    total_tokens,
  ]
}

test('AC-03, AC-04: what a cache held is counted apart, reasoning is a part of the output', () => {
  const usage = {
    input_tokens: 9300,
    input_tokens_details: { cached_tokens: 8192, cache_write_tokens: 1024 },
    output_tokens: 140,
    output_tokens_details: { reasoning_tokens: 96 },
    total_tokens: 9440,
  }
  assert.deepEqual(counts(usage), ['all', 84, 8192, 1024, 140, 96, 9440])
})

test('AC-05: cache writes that are kept for hours are told apart', () => {
  const usage = (classes: JsonObject) => ({
    input_tokens: 1000,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 700, cache_write_tokens_details: classes },
    output_tokens: 1,
  })
  assert.equal(responsesUsage(usage({ ttl_30m_tokens: 300, ttl_12h_tokens: 400 }), true)?.cacheWriteLong, 400)
  assert.equal(responsesUsage(usage({ ttl_30m_tokens: 700 }), true)?.cacheWriteLong, undefined)
})

test('AC-03: more from the cache than there was is no negative input', () => {
  const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 12 }, output_tokens: 1 }
  assert.deepEqual(counts(usage), ['all', 0, 12, 0, 1, 0, 13])
})

test('AC-06: details may be absent or null, and counts may be strings', () => {
  assert.deepEqual(counts({ input_tokens: 5, output_tokens: 2 }), ['all', 5, 0, 0, 2, 0, 7])
  const untold = { input_tokens: '5', input_tokens_details: null, output_tokens: '2', output_tokens_details: null }
  assert.deepEqual(counts(untold), ['all', 5, 0, 0, 2, 0, 7])
})

test('AC-06: what was not told is not known', () => {
  assert.equal(counts(null), null)
  assert.equal(counts({}), null)
  assert.equal(counts({ total_tokens: 15 }), null)
  assert.equal(counts({ input_tokens: -1, output_tokens: 2 }), null)
  assert.equal(counts({ input_tokens: 1.5, output_tokens: 2 }), null)
  assert.deepEqual(counts({ input_tokens: 5 }), ['input', 5, 0, 0, 0, 0, 5])
})

test('AC-06: zeros for an answer that held something are no count; for one that held nothing they are', () => {
  const zeros = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  assert.equal(counts(zeros), null)
  assert.deepEqual(counts(zeros, false), ['all', 0, 0, 0, 0, 0, 0])
})

test('counts under the names of chat completions are the same counts', () => {
  const usage = { prompt_tokens: 20, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 5 } }
  assert.deepEqual(counts(usage), ['all', 15, 5, 0, 9, 0, 29])
})
