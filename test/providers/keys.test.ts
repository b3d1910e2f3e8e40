/** Which key goes where, and what of a request's models is refused before anything is sent. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Target } from '../../src/contract/run-request.ts'
import type { Egress, Refusal } from '../../src/egress/egress.ts'
import { baseUrlOf, type KeySettings, ownHostsOf, resolveKey } from '../../src/providers/keys.ts'
import { profileFor } from '../../src/providers/profile.ts'
import { builtIn } from '../../src/providers/built-in.ts'
import { targetFaults } from '../../src/providers/target-faults.ts'
import { openEgress } from '../egress/test-egress.ts'
import { noKeys, target } from './chain.ts'

const settings: KeySettings = {
  keys: { anthropic: 'sk-env-a', 'openai-compatible': 'sk-env-c' },
  baseUrls: { 'openai-compatible': 'https://llm.operator.example/v1/' },
}

function keyOf(more: Partial<Target>, given: KeySettings = settings): string | null | false {
  const wanted = target(more)
  const key = resolveKey(wanted, profileFor(wanted), given)
  return key.ok && key.apiKey
}

test('a key of the request goes before the one of the environment', () => {
  assert.equal(keyOf({ provider: 'anthropic', api_key: 'sk-own' }), 'sk-own')
  assert.equal(keyOf({ provider: 'anthropic' }), 'sk-env-a')
})

test('a key of the environment goes only to the origin it belongs to', () => {
  const anthropic = (base_url: string) => keyOf({ provider: 'anthropic', base_url })
  assert.equal(anthropic('https://api.anthropic.com/other/path'), 'sk-env-a')
  for (const url of [
    'http://api.anthropic.com',
    'https://api.anthropic.com:8443',
    'https://api.anthropic.com.evil.example',
    'https://evil.example/api.anthropic.com',
    'https://evil.example#@api.anthropic.com',
    'nonsense',
  ]) {
    assert.equal(anthropic(url), false, url)
  }
  assert.equal(keyOf({ base_url: 'https://llm.operator.example/v2' }), 'sk-env-c')
  assert.equal(keyOf({}), 'sk-env-c')
  assert.equal(keyOf({ base_url: 'https://evil.example/v1' }), null)
})

test('the key for compatible servers is the operator’s server’s alone', () => {
  const given: KeySettings = { keys: { 'openai-compatible': 'sk-env-c' }, baseUrls: {} }
  const profile = { ...profileFor(target()), baseUrl: 'https://some-vendor.example/v1' }
  const message = 'is required with this profile: the environment has no key for it. Send one'
  assert.deepEqual(resolveKey(target(), profile, given), { ok: false, message })
  // Behind an address of the caller's own nothing is known of keys.
  const elsewhere = target({ base_url: 'https://gateway.example/v1' })
  assert.deepEqual(resolveKey(elsewhere, profile, given), { ok: true, apiKey: null, source: 'none' })
})

test('a compatible server and a scripted model need no key, others do', () => {
  assert.equal(keyOf({ base_url: 'http://127.0.0.1:1/v1' }, noKeys), null)
  assert.equal(keyOf({ provider: 'scripted' }, noKeys), null)
  assert.equal(keyOf({ provider: 'anthropic' }, noKeys), false)
})

test('an address that is a host alone means the API below /v1, where the provider has it there; a path is taken as it is', () => {
  const addressOf = (
    base_url: string,
    provider: Target['provider'] = 'openai-compatible',
    profile: string | null = null,
  ) => {
    const one = target({ base_url, provider, profile })
    return baseUrlOf(one, profileFor(one), noKeys)
  }
  for (const profile of [null, 'vllm', 'ollama', 'lmstudio', 'llama.cpp']) {
    assert.equal(addressOf('http://vllm.internal:8000', 'openai-compatible', profile), 'http://vllm.internal:8000/v1')
  }
  assert.equal(addressOf('https://b.example/'), 'https://b.example/v1')
  assert.equal(addressOf('https://b.example/v1/'), 'https://b.example/v1')
  assert.equal(addressOf('https://b.example/chat/completions'), 'https://b.example/chat/completions')
  assert.equal(addressOf('https://[fd12::1]:8000', 'openai'), 'https://[fd12::1]:8000/v1')
  assert.equal(addressOf('https://b.example', 'deepseek'), 'https://b.example')
  assert.equal(addressOf('https://b.example', 'glm'), 'https://b.example')
  assert.equal(addressOf('https://b.example', 'anthropic'), 'https://b.example')
  const bare: KeySettings = { keys: {}, baseUrls: { openai: 'https://gateway.example' } }
  const openai = target({ provider: 'openai' })
  assert.equal(baseUrlOf(openai, profileFor(openai), bare), 'https://gateway.example/v1')
})

test('the address is the request’s, else the operator’s, else the provider’s own', () => {
  const addressOf = (more: Partial<Target>, given: KeySettings) =>
    baseUrlOf(target(more), profileFor(target(more)), given)
  assert.equal(addressOf({}, settings), 'https://llm.operator.example/v1')
  assert.equal(addressOf({ base_url: 'https://b.example/coding//' }, settings), 'https://b.example/coding')
  assert.equal(addressOf({}, noKeys), null)
  assert.equal(addressOf({ provider: 'anthropic' }, noKeys), 'https://api.anthropic.com')
  const proxied: KeySettings = { keys: {}, baseUrls: { anthropic: 'https://gateway.example:8443/a' } }
  assert.equal(addressOf({ provider: 'anthropic' }, proxied), 'https://gateway.example:8443/a')
  const profile = profileFor(target({ provider: 'anthropic' }))
  assert.deepEqual(ownHostsOf('anthropic', profile, proxied), ['api.anthropic.com', 'gateway.example:8443'])
})

const allowed: Egress['judge'] = () => null
const refuse =
  (reason: Refusal['reason']): Egress['judge'] =>
  () => ({ reason, host: 'x' })

function faultsOf(targets: readonly Partial<Target>[], judge: Egress['judge'] = allowed, keys: KeySettings = settings) {
  return targetFaults(targets.map(target), { keys, table: builtIn, judge })
}

test('good models have no fault', () => {
  const scriptedTarget = target({ provider: 'scripted' })
  const script = { ...scriptedTarget.params, extra: { script: [[{ text: 'Hi' }]] } }
  const good: Partial<Target>[] = [
    { provider: 'anthropic' },
    { base_url: 'https://b.example/v1' },
    {},
    { provider: 'scripted', params: script },
  ]
  assert.deepEqual(faultsOf(good), [])
})

test('every fault of a model is told with its path, and no key is quoted', () => {
  const params = { ...target().params, extra: { script: [[{ text: 1 }]] } }
  const cases: [Partial<Target>, string, RegExp, Egress['judge']?, KeySettings?][] = [
    [{ profile: 'nonsense' }, 'profile', /names no profile of this version; got "nonsense"/],
    [{ provider: 'anthropic', profile: 'vllm' }, 'profile', /only with provider "openai-compatible"/],
    [{}, 'base_url', /is required with provider "openai-compatible"/, allowed, noKeys],
    [{ provider: 'scripted', base_url: 'https://x.example' }, 'base_url', /not taken with provider "scripted"/],
    [{ base_url: 'https://x.example/v1?key=secret' }, 'base_url', /without a query, a fragment or white space/],
    [
      { base_url: 'https://x.example/v1' },
      'base_url',
      /^the egress rules refuse it \(host_not_listed\)/,
      refuse('host_not_listed'),
    ],
    [
      { base_url: 'http://x.example/v1' },
      'base_url',
      /^the egress rules refuse it \(scheme\): send an https/,
      refuse('scheme'),
    ],
    [
      { provider: 'anthropic', base_url: 'https://x.example', api_key: 'k' },
      'base_url',
      /only with provider "openai-compatible"; the egress rules refuse it/,
      refuse('host_not_listed'),
    ],
    [{ provider: 'anthropic' }, 'provider', /an address that the egress rules refuse/, refuse('address_blocked')],
    [{ provider: 'anthropic' }, 'api_key', /is required: the environment holds no key for anthropic/, allowed, noKeys],
    [{ provider: 'anthropic', base_url: 'https://x.example' }, 'api_key', /is not sent to a base_url of the request/],
    [
      { provider: 'anthropic', api_key: 'sk-secret\n' },
      'api_key',
      /^holds a character that cannot stand in an HTTP header/,
    ],
    [{ provider: 'scripted', params }, 'params.extra.script[0][0].text', /must be a string/],
  ]
  for (const [more, path, message, judge, keys] of cases) {
    const [fault, ...others] = faultsOf([{ provider: 'scripted' }, more], judge, keys)
    assert.equal(fault?.path, `llm.fallbacks[0].${path}`, JSON.stringify(more))
    assert.match(fault?.message ?? '', message)
    assert.doesNotMatch(fault?.message ?? '', /secret/)
    assert.deepEqual(others, [])
  }
  const none = { profile: () => null, dialect: () => null }
  assert.deepEqual(targetFaults([target({ provider: 'kimi' })], { keys: settings, table: none, judge: allowed }), [
    { path: 'llm.provider', message: 'provider kimi is not built in this version' },
  ])
  const bad: KeySettings = { ...settings, keys: { anthropic: 'sk secret' } }
  const [fault] = faultsOf([{ provider: 'anthropic' }], allowed, bad)
  assert.deepEqual([fault?.path, /the key of the environment holds/.test(fault?.message ?? '')], ['llm.api_key', true])
})

test('RF-16: every address is judged by the egress gate, with the provider’s own host allowed', (t) => {
  const egress = openEgress(t, { devInsecure: false, allowProviders: 'b.example' })
  const judge: Egress['judge'] = (...asked) => egress.judge(...asked)
  assert.deepEqual(faultsOf([{ provider: 'anthropic' }, {}, { base_url: 'https://b.example/v1' }], judge), [])
  assert.deepEqual(faultsOf([{ provider: 'anthropic', base_url: 'https://b.example/coding', api_key: 'k' }], judge), [])
  const paths = ['https://c.example/v1', 'http://b.example/v1', 'https://127.0.0.1/v1', 'nonsense'].map(
    (base_url) => faultsOf([{ base_url }], judge)[0]?.path,
  )
  assert.deepEqual(paths, ['llm.base_url', 'llm.base_url', 'llm.base_url', 'llm.base_url'])
})
