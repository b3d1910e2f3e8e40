/** The rows of all vendors side by side: what each word of thinking becomes, what a model takes, and what an unknown one gets. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { PROVIDERS, THINKING, type ProviderName } from '../../src/contract/run-request.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { compatibleServers } from '../../src/providers/compatible-servers.ts'
import { rulesFor } from '../../src/providers/model-table.ts'
import { hasProfile, profileFor } from '../../src/providers/profile.ts'
import { fittingParams } from '../../src/providers/wire-params.ts'
import { dialectCall, type CallFacts } from './dialect-call.ts'

type Words = readonly [off: JsonObject, low: JsonObject, medium: JsonObject, high: JsonObject, max: JsonObject]

/** What is sent for off, low, medium, high and max, and for nothing said. */
function bodies(facts: CallFacts): readonly [Words, JsonObject] {
  const body = (thinking: (typeof THINKING)[number] | null) =>
    fittingParams({ ...dialectCall({ ...facts, params: { thinking } }), place: 'llm' }).thinking
  return [THINKING.map((word) => body(word)) as unknown as Words, body(null)]
}

const type = (word: string) => ({ thinking: { type: word } })
const on = type('enabled')
const off = type('disabled')

test('DeepSeek has a switch and three efforts; nothing said is its own default', () => {
  const effort = (reasoning_effort: string) => ({ ...on, reasoning_effort })
  const words: Words = [off, effort('low'), effort('high'), effort('high'), effort('max')]
  for (const model of ['deepseek-flash', 'deepseek-v4-flash', 'deepseek-v4-pro', 'deepseek-v9']) {
    assert.deepEqual(bodies({ provider: 'deepseek', model }), [words, {}], model)
  }
})

test('GLM 5.3 cannot be off and is asked for the least; 5.2 knows two efforts, older models a switch', () => {
  const effort = (reasoning_effort: string) => ({ reasoning_effort })
  const always: Words = [effort('low'), effort('low'), effort('high'), effort('high'), effort('max')]
  for (const model of ['glm-5.3', 'glm-5.3-flash', 'glm-9']) {
    assert.deepEqual(bodies({ provider: 'glm', model }), [always, effort('low')], model)
  }
  const two: Words = [off, effort('high'), effort('high'), effort('high'), effort('max')]
  assert.deepEqual(bodies({ provider: 'glm', model: 'glm-5.2' }), [two, effort('high')])
  for (const model of ['glm-5.1', 'glm-5', 'glm-4.7', 'glm-4.6', 'glm-4.5-air']) {
    assert.deepEqual(bodies({ provider: 'glm', model }), [[off, on, on, on, on], {}], model)
  }
})

test('Kimi K3 has efforts and no off, and is asked for the least; of K2 one model has a switch and the others nothing', () => {
  const effort = (word: string) => ({ output_config: { effort: word } })
  const words: Words = [effort('low'), effort('low'), effort('high'), effort('high'), effort('max')]
  for (const model of ['kimi-k3.1-pro', 'kimi-k3.1-pro-highspeed', 'kimi-k3', 'kimi-k9']) {
    assert.deepEqual(bodies({ provider: 'kimi', model }), [words, effort('low')], model)
  }
  assert.deepEqual(bodies({ provider: 'kimi', model: 'kimi-k2.6' }), [[off, on, on, on, on], {}])
  assert.deepEqual(bodies({ provider: 'kimi', model: 'kimi-k2.7-code' }), [[{}, {}, {}, {}, {}], {}])
})

test('MiniMax M3.1 has efforts and no off, M3 a switch of its own, M2 nothing; over chat the effort is another field', () => {
  const adaptive = type('adaptive')
  const effort = (word: string) => ({ output_config: { effort: word } })
  const efforts: Words = [effort('low'), effort('low'), effort('medium'), effort('high'), effort('max')]
  for (const model of ['MiniMax-M3.1-Flash', 'MiniMax-M9']) {
    assert.deepEqual(bodies({ provider: 'minimax', model }), [efforts, effort('low')], model)
  }
  const m3: readonly [Words, JsonObject] = [[off, adaptive, adaptive, adaptive, adaptive], {}]
  assert.deepEqual(bodies({ provider: 'minimax', model: 'MiniMax-M3' }), m3)
  assert.deepEqual(bodies({ server: 'minimax', model: 'MiniMax-M3' }), m3)
  assert.deepEqual(bodies({ provider: 'minimax', model: 'MiniMax-M2.1' }), [[{}, {}, {}, {}, {}], {}])
  assert.deepEqual(bodies({ server: 'minimax', model: 'MiniMax-M3.1-Flash' })[1], { reasoning_effort: 'low' })
})

test('named servers: each its own words, and only a server that is asked hears of thinking', () => {
  const effort = (reasoning_effort: string) => ({ reasoning_effort })
  const template = (reasoning_effort: string) => ({ chat_template_kwargs: { enable_thinking: true }, reasoning_effort })
  const byTemplate: Words = [
    { chat_template_kwargs: { enable_thinking: false } },
    template('low'),
    template('medium'),
    template('high'),
    template('high'),
  ]
  const capped: Words = [effort('none'), effort('low'), effort('medium'), effort('high'), effort('high')]
  const always: Words = [effort('low'), effort('low'), effort('medium'), effort('high'), effort('high')]
  const nothing: Words = [{}, {}, {}, {}, {}]
  const cases: readonly (readonly [server: string, model: string, Words])[] = [
    ['vllm', 'qwen3', byTemplate],
    ['llama.cpp', 'qwen3', byTemplate],
    ['ollama', 'qwen3', capped],
    ['lmstudio', 'qwen3', nothing],
    [
      'openrouter',
      'z-ai/glm-5.3',
      ['none', 'low', 'medium', 'high', 'xhigh'].map((word) => ({ reasoning: { effort: word } })) as unknown as Words,
    ],
    ['groq', 'openai/gpt-oss-120b', always],
    ['groq', 'qwen/qwen3-32b', [effort('none'), ...Array<JsonObject>(4).fill(effort('default'))] as unknown as Words],
    ['groq', 'llama-4', nothing],
    [
      'together',
      'deepseek-ai/DeepSeek-V4.1-Flash',
      [
        { reasoning: { enabled: false } },
        ...['low', 'medium', 'high', 'high'].map((word) => ({ reasoning: { enabled: true }, ...effort(word) })),
      ] as unknown as Words,
    ],
    [
      'mistral',
      'mistral-medium-latest',
      [effort('none'), ...Array<JsonObject>(4).fill(effort('high'))] as unknown as Words,
    ],
    ['mistral', 'magistral-medium-latest', nothing],
    ['xai', 'grok-4.3', capped],
    ['xai', 'grok-4.5', always],
    ['xai', 'grok-9', always],
    ['xai', 'grok-3-mini', [effort('low'), effort('low'), effort('high'), effort('high'), effort('high')]],
    ['xai', 'grok-4.20-reasoning', nothing],
    ['xai', 'grok-4-fast-reasoning', nothing],
    ['xai', 'grok-3', nothing],
  ]
  for (const [server, model, words] of cases)
    assert.deepEqual(bodies({ server, model }), [words, {}], `${server} ${model}`)
})

test('every provider that a request may name has a row whose dialect is there, and every server profile too', () => {
  for (const provider of PROVIDERS) {
    const profile = profileFor({ provider, model: 'm', profile: null })
    assert.ok(hasProfile({ provider, profile: null }), provider)
    assert.equal(profile.provider, provider)
    assert.ok(builtIn.dialect(profile.dialect) !== null, provider)
  }
  const names = [
    'groq',
    'llama.cpp',
    'lmstudio',
    'minimax',
    'mistral',
    'ollama',
    'openrouter',
    'together',
    'vllm',
    'xai',
  ]
  assert.deepEqual([...compatibleServers.keys()].toSorted(), names)
  for (const profile of names) {
    assert.ok(hasProfile({ provider: 'openai-compatible', profile }), profile)
    assert.equal(hasProfile({ provider: 'glm', profile }), false)
    assert.equal(profileFor({ provider: 'openai-compatible', model: 'm', profile }).provider, 'openai-compatible')
  }
  assert.equal(hasProfile({ provider: 'openai-compatible', profile: 'nobody' }), false)
})

test('no two rows share a family: what one wrote is foreign to the other', () => {
  const families = [
    ...PROVIDERS.map((provider) => profileFor({ provider, model: 'm', profile: null }).family),
    ...[...compatibleServers.keys()].map(
      (profile) => profileFor({ provider: 'openai-compatible', model: 'm', profile }).family,
    ),
  ]
  assert.equal(new Set(families).size, families.length)
})

test('the addresses and the form of the key are the vendors’ own', () => {
  const of = (provider: ProviderName, profile: string | null = null) => {
    const { auth, baseUrl } = profileFor({ provider, model: 'm', profile })
    return [baseUrl, auth]
  }
  assert.deepEqual(of('deepseek'), ['https://api.deepseek.com', 'bearer'])
  assert.deepEqual(of('glm'), ['https://api.z.ai/api/paas/v4', 'bearer'])
  assert.deepEqual(of('kimi'), ['https://api.moonshot.ai/anthropic', 'bearer'])
  assert.deepEqual(of('minimax'), ['https://api.minimax.io/anthropic', 'x-api-key'])
  const servers: Readonly<Record<string, string | null>> = {
    vllm: null,
    'llama.cpp': null,
    ollama: null,
    lmstudio: null,
    openrouter: 'https://openrouter.ai/api/v1',
    groq: 'https://api.groq.com/openai/v1',
    together: 'https://api.together.xyz/v1',
    mistral: 'https://api.mistral.ai/v1',
    xai: 'https://api.x.ai/v1',
    minimax: 'https://api.minimax.io/v1',
  }
  for (const [name, url] of Object.entries(servers)) assert.deepEqual(of('openai-compatible', name), [url, 'bearer'])
})

test('an id that nobody knows reads no images and gets the strictest rules of the newest models', () => {
  for (const provider of ['deepseek', 'glm', 'minimax'] as const) {
    assert.deepEqual(profileFor({ provider, model: 'new-model', profile: null }).reads, [], provider)
  }
  const reads = (provider: ProviderName, model: string) => profileFor({ provider, model, profile: null }).reads
  assert.deepEqual(reads('deepseek', 'deepseek-v4-pro'), [])
  assert.deepEqual(reads('deepseek', 'deepseek-flash'), ['image/*'])
  assert.deepEqual(reads('glm', 'glm-5.3'), [])
  assert.deepEqual(reads('glm', 'glm-5v-turbo'), ['image/*'])
  assert.deepEqual(reads('minimax', 'MiniMax-M2.1'), [])
  assert.ok(reads('minimax', 'MiniMax-M3').includes('image/png'))
  assert.ok(reads('kimi', 'kimi-k3').includes('image/png'))
})

test('the first pattern that fits a model holds; a star stands for any rest, and for an empty one', () => {
  const table = {
    groups: [
      { models: ['a-1', 'b'], rules: 1 },
      { models: ['a-*'], rules: 2 },
    ],
    others: 3,
  }
  assert.deepEqual(
    ['a-1', 'b', 'a-2', 'a-', 'a', 'bb', '', '__proto__'].map((model) => rulesFor(table, model)),
    [1, 1, 2, 2, 3, 3, 3, 3],
  )
})
