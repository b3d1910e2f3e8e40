/** GET /providers says of every model what a request to it does, for it is made from the same rows. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { ModelsInfo, ProviderInfo } from '../../src/contract/provider-list.ts'
import { PROVIDERS, THINKING } from '../../src/contract/run-request.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { compatibleServers } from '../../src/providers/compatible-servers.ts'
import { providerList } from '../../src/providers/provider-list.ts'
import { settingNames } from '../../src/settings.ts'
import { root } from '../source-text.ts'
import { dialectCall, tool, type CallFacts } from './dialect-call.ts'

const { providers } = providerList(builtIn)

function infoOf(provider: string, profile: string | null = null): ProviderInfo {
  const info = providers.find((each) => each.provider === provider && each.profile === profile)
  assert.ok(info !== undefined, `${provider} ${profile}`)
  return info
}

function modelsOf(info: ProviderInfo, pattern: string): ModelsInfo {
  const models = info.models.find((each) => each.models.includes(pattern))
  assert.ok(models !== undefined, `${info.provider} ${pattern}`)
  return models
}

test('every provider and every named server is there once, each model pattern in one group, all others in the last', () => {
  assert.deepEqual(
    providers.map(({ profile, provider }) => profile ?? provider),
    [...PROVIDERS, ...compatibleServers.keys()],
  )
  for (const { models, provider } of providers) {
    const patterns = models.flatMap((group) => group.models)
    assert.equal(new Set(patterns).size, patterns.length, provider)
    assert.ok(
      models.some((group) => group.models.includes('*')),
      provider,
    )
  }
})

test('the variables that it names are the ones that are read', () => {
  for (const info of providers) {
    for (const name of [info.key_variable, info.address_variable]) {
      if (name !== null) assert.ok(settingNames.includes(name), name)
    }
  }
  assert.partialDeepStrictEqual(infoOf('kimi'), {
    dialect: 'anthropic',
    address: 'https://api.moonshot.ai/anthropic',
    address_variable: 'KIMI_BASE_URL',
    key_variable: 'KIMI_API_KEY',
    key_is: 'bearer',
  })
  assert.partialDeepStrictEqual(infoOf('gigachat'), { key_variable: 'GIGACHAT_API_KEY', key_is: 'exchanged' })
  assert.partialDeepStrictEqual(infoOf('scripted'), { key_variable: null, address_variable: null, key_is: 'none' })
  // A company's server: its key comes with the request, and its address is its own.
  assert.partialDeepStrictEqual(infoOf('openai-compatible', 'groq'), { key_variable: null, address_variable: null })
  // One that anybody runs is where the operator's is.
  assert.partialDeepStrictEqual(infoOf('openai-compatible', 'vllm'), {
    address: null,
    address_variable: 'OPENAI_COMPATIBLE_BASE_URL',
    key_variable: 'OPENAI_COMPATIBLE_API_KEY',
  })
})

test('what a request says for each word of thinking is what is told', () => {
  let compared = 0
  for (const { models, profile, provider } of providers) {
    for (const group of models) {
      for (const pattern of group.models) {
        const facts: CallFacts = {
          provider,
          model: pattern.replace(/^\*$/, 'nobody-knows-it').replace(/\*$/, 'x'),
          ...(profile === null ? {} : { server: profile }),
        }
        for (const thinking of [...THINKING, null]) {
          const call = dialectCall({ ...facts, params: { thinking, max_output_tokens: 40_000 } })
          const dialect = builtIn.dialect(call.profile.dialect)
          assert.ok(dialect !== null)
          const body = JSON.parse(dialect.request(call).body) as Record<string, unknown>
          const told = group.params.thinking?.[thinking ?? 'unsaid'] ?? {}
          for (const [field, value] of Object.entries(told))
            assert.deepEqual(body[field], value, `${provider} ${pattern}`)
          compared += 1
        }
      }
    }
  }
  assert.ok(compared > 400, `${compared} compared`)
})

test('the rules of reasoning, caching, calls and tool-less steps are told per group', () => {
  assert.partialDeepStrictEqual(modelsOf(infoOf('deepseek'), 'deepseek-v4-pro'), {
    params: {
      temperature: { least: 0, most: 2 },
      while_thinking: { temperature: null, top_p: null },
      max_output_tokens: { default: null, most: 384_000 },
      always_thinks: false,
      stop: { most: 16, bytes: null },
      seed: false,
    },
    reads: [],
    reasoning: { goes_back_to: 'family', stand_in: { text: '', on: 'all' } },
    cache: 'automatic',
    calls_per_turn: 'many',
    without_tools: 'omits_tools_while_thinking',
    abort_stops_billing: 'unknown',
    concurrency: 500,
  })
  assert.partialDeepStrictEqual(modelsOf(infoOf('kimi'), 'kimi-k3'), {
    params: { always_thinks: true, stop: { most: 5, bytes: 32 }, max_output_tokens: { default: 32_000 } },
    reasoning: { goes_back_to: 'family', stand_in: { text: '[reasoning unavailable]', on: 'calls' } },
  })
  assert.equal(modelsOf(infoOf('anthropic'), 'claude-opus-5-5').cache, 'marked')
  assert.partialDeepStrictEqual(modelsOf(infoOf('gigachat'), '*'), {
    calls_per_turn: 'one',
    reasoning: { goes_back_to: 'nobody', stand_in: null },
  })
  assert.equal(modelsOf(infoOf('openai-compatible', 'openrouter'), 'anthropic/*').cache, 'marked')
})

test('the example of SPEC §2.8 is what is told', () => {
  const spec = readFileSync(`${root}SPEC.md`, 'utf8')
  const [, text = ''] = /^```json provider-list\n([\s\S]*?)^```$/m.exec(spec) ?? []
  const shown = (JSON.parse(text) as { readonly providers: readonly ProviderInfo[] }).providers[0]
  assert.ok(shown !== undefined)
  const { models, notes, ...info } = infoOf(shown.provider)
  assert.deepEqual(
    { ...shown, models: models.slice(0, 1), notes: notes.slice(0, 1) },
    { ...info, models: shown.models, notes: shown.notes },
  )
})

test('models whose rules are the same stand together, and those of a new id with the newest', () => {
  assert.deepEqual(
    infoOf('kimi').models.map(({ models }) => models),
    [
      ['kimi-k3.1-pro', 'kimi-k3.1-pro-highspeed', 'kimi-k3'],
      ['kimi-k2.7-code', 'kimi-k2.7-code-highspeed'],
      ['kimi-k2.6'],
      ['*'],
    ],
  )
  assert.deepEqual(modelsOf(infoOf('glm'), '*').models, ['glm-5.3', '*'])
})

test('a step without tools does what is told', () => {
  for (const provider of ['deepseek', 'glm', 'kimi', 'minimax'] as const) {
    const call = dialectCall({ provider, model: 'nobody-knows-it', tools: [tool('f')], toolChoice: 'none' })
    const body = JSON.parse(builtIn.dialect(call.profile.dialect)?.request(call).body ?? '') as Record<string, unknown>
    const said = modelsOf(infoOf(provider), '*').without_tools
    assert.equal('tools' in body, said === 'tool_choice_none', provider)
  }
})
