/** Token counts, wherever a server puts them and whatever it calls them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/contract/json.ts'
import { chatUsage } from '../../../src/providers/openai-chat/usage.ts'
import { dialectCall, read } from '../dialect-call.ts'

/** Input, cache read, cache write, output, reasoning, total. */
function counts(usage: JsonObject | null, wrote = true): number[] | null {
  const reading = chatUsage(usage, wrote)
  if (reading === null) return null
  const { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens } =
    reading.tokens
  return [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens, total_tokens]
}

function streamed(...events: unknown[]) {
  return read(dialectCall({}), [{ choices: [{ delta: { content: 'x' } }] }, ...events, '[DONE]'])
}

const usage = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
})

test('AC-02: of running totals in every chunk the last one counts', () => {
  const chunks = [1, 2, 3, 3, 3].map((output) => ({ choices: [{ delta: { content: 'a' } }], usage: usage(10, output) }))
  const { usage: read, rawUsage } = streamed(...chunks)
  assert.deepEqual([read?.tokens.input_tokens, read?.tokens.output_tokens, rawUsage], [10, 3, usage(10, 3)])
})

test('counts under the names of other APIs are the same counts', () => {
  assert.deepEqual(
    counts({
      input_tokens: 20,
      output_tokens: 9,
      total_tokens: 29,
      input_tokens_details: { cached_tokens: 5 },
      output_tokens_details: { reasoning_tokens: 4 },
    }),
    [15, 5, 0, 9, 4, 29],
  )
  assert.deepEqual(counts({ prompt_tokens: 20, input_tokens: 99, output_tokens: 9 }), [20, 0, 0, 9, 0, 29])
})

test('AC-03: what was read from and written to a cache is taken out of the prompt, and never makes it negative', () => {
  assert.deepEqual(
    counts({ ...usage(2006, 100), prompt_tokens_details: { cached_tokens: 1920 } }),
    [86, 1920, 0, 100, 0, 2106],
  )
  assert.deepEqual(
    counts({ ...usage(100, 9), prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 36 }),
    [36, 64, 0, 9, 0, 109],
  )
  assert.deepEqual(
    counts({ ...usage(100, 9), cached_tokens: 64, prompt_tokens_details: { cached_tokens: 0 } }),
    [36, 64, 0, 9, 0, 109],
  )
  assert.deepEqual(
    counts({ ...usage(100, 9), prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } }),
    [10, 60, 30, 9, 0, 109],
  )
  assert.deepEqual(counts({ ...usage(10, 1), prompt_tokens_details: { cached_tokens: 60 } }), [0, 60, 0, 1, 0, 61])
})

test('AC-04: reasoning is a part of the output', () => {
  assert.deepEqual(
    counts({ ...usage(10, 1944), completion_tokens_details: { reasoning_tokens: 1360 } }),
    [10, 0, 0, 1944, 1360, 1954],
  )
  assert.deepEqual(
    counts({ ...usage(43, 10), completion_tokens_details: { reasoning_tokens: 11 } }),
    [43, 0, 0, 10, 10, 53],
  )
})

test('AC-04: reasoning that a server counts beside the output is added to it', () => {
  const xai = {
    prompt_tokens: 12,
    completion_tokens: 2,
    total_tokens: 354,
    completion_tokens_details: { reasoning_tokens: 340 },
  }
  assert.deepEqual(counts(xai), [12, 0, 0, 342, 340, 354])
})

test('AC-06: usage that is missing, null, partial, negative or no number is unknown; digits in a string count', () => {
  for (const odd of [
    null,
    {},
    { total_tokens: 15 },
    { prompt_tokens: -1, completion_tokens: 2 },
    { prompt_tokens: 'x' },
    { prompt_tokens: 1.5, completion_tokens: 1 },
  ]) {
    assert.equal(counts(odd), null)
  }
  assert.deepEqual(counts({ prompt_tokens: '10', completion_tokens: '3' }), [10, 0, 0, 3, 0, 13])
  assert.equal(chatUsage({ prompt_tokens: 10 }, true)?.known, 'input')
  assert.equal(chatUsage({ prompt_tokens: 10, completion_tokens: 3 }, true)?.known, 'all')
})

test('AC-06: zeros for an answer that held something are unknown, and never replace real counts', () => {
  assert.equal(counts(usage(0, 0)), null)
  assert.deepEqual(counts(usage(0, 0), false), [0, 0, 0, 0, 0, 0])
  assert.equal(
    streamed({ choices: [], usage: usage(7, 2) }, { choices: [], usage: usage(0, 0) }).usage?.tokens.total_tokens,
    9,
  )
})

test('AC-08: usage inside the choice is read, and counted once where it is told twice', () => {
  const inside = { choices: [{ delta: {}, finish_reason: 'stop', usage: usage(7, 2) }] }
  assert.equal(streamed(inside).usage?.tokens.total_tokens, 9)
  assert.equal(
    streamed({ ...inside, usage: usage(7, 2) }, { choices: [], usage: usage(7, 2) }).usage?.tokens.total_tokens,
    9,
  )
})

test('usage inside x_groq is read', () => {
  assert.equal(streamed({ choices: [], x_groq: { id: 'r', usage: usage(4, 1) } }).usage?.tokens.total_tokens, 5)
})

test('usage: null in a later chunk takes nothing away', () => {
  assert.equal(
    streamed({ choices: [], usage: usage(4, 1) }, { choices: [], usage: null }).usage?.tokens.total_tokens,
    5,
  )
})

test('a zero for a prompt that was counted before says nothing of it', () => {
  const counted = { prompt_tokens: 100, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 80 } }
  const last = {
    prompt_tokens: 0,
    completion_tokens: 50,
    total_tokens: 50,
    prompt_tokens_details: { cached_tokens: 0 },
  }
  const { rawUsage } = streamed({ choices: [], usage: counted }, { choices: [], usage: last })
  assert.deepEqual(counts(rawUsage), [20, 80, 0, 50, 0, 150])
})
