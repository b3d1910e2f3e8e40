/** What each of OpenAI's models is sent for each word of a request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Params } from '../../src/contract/run-request.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { wireParams } from '../../src/providers/wire-params.ts'
import { dialectCall } from './dialect-call.ts'

function sent(model: string, params: Partial<Params>) {
  const { warnings, ...wire } = wireParams(dialectCall({ provider: 'openai', model, params }))
  return { ...wire, warned: warnings.length }
}

/** The efforts for off, low, medium, high, max and no word at all. */
function efforts(model: string) {
  return (['off', 'low', 'medium', 'high', 'max', null] as const).map((thinking) => {
    const { reasoning } = sent(model, { thinking }).thinking as { reasoning?: { effort?: string; summary?: string } }
    return reasoning === undefined ? undefined : [reasoning.effort, reasoning.summary].join(' ').trim()
  })
}

const LEVELS = ['low auto', 'medium auto', 'high auto']

test('the words for reasoning are those of each generation', () => {
  const expected: Record<string, [string, string]> = {
    'gpt-5': ['minimal auto', 'high auto'],
    'gpt-5-mini-2025-08-07': ['minimal auto', 'high auto'],
    'gpt-5.1': ['none', 'high auto'],
    'gpt-5.2': ['none', 'xhigh auto'],
    'gpt-5.4-nano': ['none', 'xhigh auto'],
    'gpt-5.5': ['none', 'xhigh auto'],
    'gpt-5.6-luna': ['none', 'max auto'],
    'gpt-6-sol': ['none', 'max auto'],
    'gpt-6-luna': ['none', 'max auto'],
    'gpt-6.1-terra': ['none', 'max auto'],
    'gpt-6-astra': ['low auto', 'max auto'],
    'gpt-6.1-sol': ['low auto', 'max auto'],
    'gpt-6.2-astra': ['low auto', 'max auto'],
    'gpt-6.2-sol-2026-11-17': ['low auto', 'max auto'],
  }
  for (const [model, [off, max]] of Object.entries(expected)) {
    assert.deepEqual(efforts(model), [off, ...LEVELS, max, 'auto'], model)
  }
})

test('an id that nobody knows gets the newest restrictions; one that is not OpenAI’s hears nothing unasked', () => {
  assert.deepEqual(efforts('gpt-7-nova'), efforts('gpt-6.2-sol'))
  assert.deepEqual(efforts('my-deployment'), ['low auto', ...LEVELS, 'max auto', undefined])
  for (const model of ['gpt-7-nova', 'my-deployment']) {
    assert.partialDeepStrictEqual(sent(model, { temperature: 0.3, top_p: 0.5 }), {
      temperature: null,
      topP: null,
      warned: 2,
    })
  }
})

test('a model that does not reason takes sampling and no thinking, also one tuned from it', () => {
  for (const model of ['gpt-4.1', 'gpt-4o-2024-08-06', 'ft:gpt-4.1-mini-2025-04-14:org::id']) {
    assert.partialDeepStrictEqual(
      sent(model, { thinking: 'low', temperature: 0, top_p: 0.5 }),
      { thinking: {}, temperature: 0, topP: 0.5, warned: 1 },
      model,
    )
  }
})

test('an answer is bounded by what its model can write, where that is known', () => {
  const most = (model: string) => sent(model, { max_output_tokens: 500_000 }).maxTokens
  assert.deepEqual(
    ['gpt-6.2-sol', 'gpt-5', 'gpt-4.1-nano', 'gpt-4o', 'gpt-7-nova', 'my-deployment'].map(most),
    [128_000, 128_000, 32_768, 16_384, 500_000, 500_000],
  )
  assert.equal(sent('gpt-6.2-sol', {}).maxTokens, null)
})

test('a reasoning model takes sampling only where it is told not to reason and can do so', () => {
  const taken = (model: string, thinking: Params['thinking']) => sent(model, { thinking, temperature: 0.3 }).temperature
  assert.deepEqual([taken('gpt-5.6-sol', 'off'), taken('gpt-5.1', 'off')], [0.3, 0.3])
  assert.deepEqual([taken('gpt-5.6-sol', 'low'), taken('gpt-5.6-sol', null)], [null, null])
  assert.deepEqual([taken('gpt-5', 'off'), taken('gpt-6.2-sol', 'off')], [null, null])
})

test('the row names its dialect, which is there, and its own host', () => {
  const { target } = dialectCall({ provider: 'openai', model: 'gpt-6.2-sol' })
  const profile = builtIn.profile(target)
  assert.partialDeepStrictEqual(profile, {
    provider: 'openai',
    dialect: 'openai-responses',
    baseUrl: 'https://api.openai.com/v1',
    auth: 'bearer',
    family: 'openai',
    reasoningGoesTo: 'model',
  })
  assert.equal(builtIn.dialect('openai-responses')?.name, 'openai-responses')
})
