import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFlags } from '../../../examples/demo/flags.ts'

const KEY = { ANTHROPIC_API_KEY: 'a key' }

test('without flags a scripted model answers, with prices to show a cost by', () => {
  const flags = readFlags([], {})
  assert.deepEqual(flags, {
    kind: 'play',
    choice: { provider: 'scripted', model: 'shop-script', baseUrl: null, pricing: { input: 3, output: 15 } },
  })
})

test('a real provider is taken with its model, and without prices unless they are given', () => {
  assert.deepEqual(readFlags(['--provider', 'anthropic', '--model', 'claude-sonnet-4-5'], KEY), {
    kind: 'play',
    choice: { provider: 'anthropic', model: 'claude-sonnet-4-5', baseUrl: null, pricing: null },
  })
  const url = 'http://127.0.0.1:11434/v1'
  const compatible = ['--provider=openai-compatible', '--model=qwen3', `--base-url=${url}`, '--pricing=0.5,1.25']
  assert.deepEqual(readFlags(compatible, {}), {
    kind: 'play',
    choice: { provider: 'openai-compatible', model: 'qwen3', baseUrl: url, pricing: { input: 0.5, output: 1.25 } },
  })
})

test('help is given whatever else is typed with it', () => {
  assert.deepEqual(readFlags(['--provider', 'anthropic', '--help'], {}), { kind: 'help' })
})

test('a wrong flag is told in one sentence that names it', () => {
  const wrong: readonly (readonly [typed: string, told: RegExp])[] = [
    ['--nope', /'--nope'/],
    ['extra', /'extra'/],
    ['--model', /'--model <value>'/],
    ['--provider openai', /--provider must be one of scripted, anthropic, openai-compatible; got "openai"/],
    ['--provider anthropic', /needs --model/],
    ['--provider anthropic --model x', /needs a key: set ANTHROPIC_API_KEY/],
    ['--provider anthropic --model x --base-url http://127.0.0.1:1', /only for --provider openai-compatible/],
    ['--provider openai-compatible --model x', /needs --base-url/],
    ['--provider openai-compatible --model x --base-url 127.0.0.1:1', /needs --base-url/],
    ['--model x', /give --provider/],
    ['--pricing 3', /two prices/],
    ['--pricing 3,-1', /two prices/],
  ]
  for (const [typed, told] of wrong) {
    const flags = readFlags(typed.split(' '), { ANTHROPIC_API_KEY: ' ' })
    assert.ok(flags.kind === 'wrong', typed)
    assert.match(flags.message, told)
  }
})
