/** docs/providers.md says what the rows say: addresses, keys, bounds, and what each word of thinking becomes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { ModelsInfo } from '../../src/contract/provider-list.ts'
import { PROVIDERS, THINKING } from '../../src/contract/run-request.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { compatibleServers } from '../../src/providers/compatible-servers.ts'
import { providerList } from '../../src/providers/provider-list.ts'
import { root } from '../source-text.ts'

const document = readFileSync(`${root}docs/providers.md`, 'utf8')
const { providers } = providerList(builtIn)

/** The cells of the first table below a heading, head and rule left out. */
function table(heading: string): string[][] {
  const [, below = ''] = document.split(`\n## ${heading}\n`)
  const lines =
    below
      .split('\n## ', 1)[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| ')) ?? []
  assert.ok(lines.length > 2, heading)
  return lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word)

test('the table of keys and addresses names every provider with its variable and its own address', () => {
  const rows = table('Keys and addresses').filter(([name = '']) => /^`[a-z-]+`$/.test(name))
  assert.deepEqual(rows.flatMap(([name = '']) => quoted(name)).toSorted(), [...PROVIDERS].toSorted())
  for (const [name = '', key = '', address = ''] of rows) {
    const info = providers.find(({ profile, provider }) => provider === quoted(name)[0] && profile === null)
    assert.equal(quoted(key)[0] ?? null, info?.key_variable, name)
    if (info?.address !== null) assert.equal(quoted(address)[0], info?.address, name)
    else assert.ok(info.address_variable === null || quoted(address).includes(info.address_variable), name)
  }
})

test('the table of servers names every profile with its own address', () => {
  const rows = table('Servers by name')
  assert.deepEqual(
    rows.map(([name = '']) => quoted(name)[0]),
    ['vllm', 'llama.cpp', 'ollama', 'lmstudio', 'openrouter', 'groq', 'together', 'mistral', 'xai', 'minimax'],
  )
  assert.equal(rows.length, compatibleServers.size)
  for (const [name = '', address = ''] of rows) {
    const info = providers.find(({ profile }) => profile === quoted(name)[0])
    assert.equal(quoted(address)[0], info?.address ?? 'base_url', name)
  }
})

/** The word of the table for what is sent. */
function wordOf(body: JsonObject): string {
  const { output_config, reasoning, reasoning_effort, thinking } = body as Readonly<Record<string, JsonObject | string>>
  const told = (output_config ?? reasoning) as JsonObject | undefined
  const effort = reasoning_effort ?? told?.['effort']
  if (typeof effort === 'string') return effort
  if (Object.keys(body).length === 0) return 'off'
  return (thinking as JsonObject | undefined)?.['type'] === 'disabled' ? 'off' : 'on'
}

test('the table of params tells the words of thinking and the bounds of every model that it names', () => {
  const compared: string[] = []
  for (const [models = '', , words = '', , most = '', stop = ''] of table('What a request may ask for')) {
    for (const pattern of [...quoted(models), ...unknownIn(models)]) {
      const { thinking, max_output_tokens, stop: stops } = groupOf(pattern).params
      if (words === 'not taken') assert.equal(thinking, null, pattern)
      else if (words.includes('budgets')) assert.match(words, budgetsOf(thinking), pattern)
      else if (words !== 'the same' && !words.startsWith('always')) {
        assert.ok(thinking !== null)
        assert.equal(words, THINKING.map((word) => wordOf(thinking[word])).join(' · '), pattern)
      }
      const bound = max_output_tokens.most
      assert.equal(most, bound === null ? 'not known' : bound.toLocaleString('en-US'), pattern)
      const { bytes, most: count } = stops
      assert.equal(stop, `${count === 0 ? 'none' : count}${bytes === null ? '' : ` of ${bytes} bytes`}`, pattern)
      compared.push(pattern)
    }
  }
  const own = providers.filter(({ profile, provider }) => profile === null && Object.values(VENDORS).includes(provider))
  const named = own.flatMap(({ models, provider }) =>
    models.flatMap(({ models: patterns }) => patterns.map((pattern) => (pattern === '*' ? provider : pattern))),
  )
  // The table speaks of the older ones of GLM together.
  const told = named.filter((pattern) => !/^glm-(?:5\.1|5|5-turbo|5v-turbo|4\..*)$/.test(pattern))
  assert.deepEqual(compared.toSorted(), told.toSorted())
})

const VENDORS: Readonly<Record<string, string>> = {
  Claude: 'anthropic',
  OpenAI: 'openai',
  DeepSeek: 'deepseek',
  GLM: 'glm',
  Kimi: 'kimi',
  MiniMax: 'minimax',
  GigaChat: 'gigachat',
}

/** The provider of whose other ids a cell speaks. */
function unknownIn(cell: string): string[] {
  const [, vendor] = /unknown (\w+) ids/.exec(cell) ?? []
  return vendor === undefined ? [] : [VENDORS[vendor] ?? vendor]
}

test('the page says of which vendors unknown ids may be sent images', () => {
  const [, said = ''] =
    /A model id that is not known gets[^;]*; of (.*?) alone\s+it is sent no images/s.exec(document) ?? []
  const blind = Object.entries(VENDORS).filter(([, provider]) => groupOf(provider).reads.length === 0)
  assert.deepEqual(said.split(/, | and /).toSorted(), blind.map(([vendor]) => vendor).toSorted())
})

function budgetsOf(thinking: ModelsInfo['params']['thinking']): RegExp {
  assert.ok(thinking !== null)
  const tokens = (['low', 'medium', 'high', 'max'] as const).map((word) => {
    const { budget_tokens: budget } = thinking[word]['thinking'] as JsonObject
    return (budget as number).toLocaleString('en-US')
  })
  return new RegExp(`^off · budgets of ${tokens.join(' · ')} tokens$`)
}

/** @param pattern of a model, or the name of a provider: then of all its other ids */
function groupOf(pattern: string): ModelsInfo {
  const own = providers.filter(({ profile }) => profile === null)
  const others = own.find(({ provider }) => provider === pattern)
  const group = (others === undefined ? own : [others])
    .flatMap(({ models }) => models)
    .find(({ models }) => models.includes(others === undefined ? pattern : '*'))
  assert.ok(group !== undefined, pattern)
  return group
}
