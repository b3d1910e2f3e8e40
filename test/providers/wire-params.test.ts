/** What of a target's params is sent, and what is told about the rest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Params } from '../../src/contract/run-request.ts'
import { hasProfile, profileFor, type Profile } from '../../src/providers/profile.ts'
import { paramWarnings } from '../../src/providers/param-warnings.ts'
import { extraFields, wireParams } from '../../src/providers/wire-params.ts'
import { dialectCall } from './dialect-call.ts'

function sent(params: Partial<Params>, model: string | null, profile?: (row: Profile) => Profile) {
  const { warnings, ...wire } = wireParams(
    dialectCall({
      ...(model === null ? {} : { provider: 'anthropic', model }),
      params,
      ...(profile === undefined ? {} : { profile }),
    }),
  )
  return { ...wire, warned: warnings.map(({ message }) => message) }
}

test('a param that a model does not take is left out, with a warning that names both and the place', () => {
  const { warnings } = wireParams(
    dialectCall({ provider: 'anthropic', model: 'claude-opus-5-5', params: { temperature: 0.2 } }),
  )
  assert.deepEqual(warnings, [
    {
      code: 'param_dropped',
      message: 'temperature is not taken and was left out (model claude-opus-5-5)',
      path: 'llm.params.temperature',
    },
  ])
})

test('RF-13: the warning of a fallback names its own place', () => {
  const call = dialectCall({ provider: 'anthropic', model: 'claude-opus-5-5', params: { seed: 1 } })
  const first = { ...call.target, model: 'first' }
  const { warnings } = wireParams({ ...call, ask: { ...call.ask, targets: [first, call.target] } })
  assert.equal(warnings[0]?.path, 'llm.fallbacks[0].params.seed')
})

test('an older Claude takes one of temperature and top_p, and while it thinks only top_p near 1', () => {
  assert.partialDeepStrictEqual(sent({ temperature: 0.3, top_p: 0.5 }, 'claude-opus-4-6'), {
    temperature: 0.3,
    topP: null,
    warned: ['top_p is not taken beside temperature and was left out (model claude-opus-4-6)'],
  })
  assert.partialDeepStrictEqual(sent({ temperature: 1.5 }, 'claude-haiku-4-5-20251001'), {
    temperature: 1,
    warned: ['temperature was sent as 1, the nearest value that is taken (model claude-haiku-4-5-20251001)'],
  })
  assert.partialDeepStrictEqual(sent({ temperature: 0.3, top_p: 0.5, thinking: 'low' }, 'claude-sonnet-4-5'), {
    temperature: null,
    topP: 0.95,
  })
})

test('an id that nobody knows gets the newest restrictions', () => {
  const wire = sent({ temperature: 0.3, top_p: 0.5 }, 'claude-epic-9')
  assert.deepEqual(
    [wire.temperature, wire.topP, wire.thinking, wire.maxTokens, wire.warned.length],
    [null, null, {}, 32_000, 2],
  )
})

test('every level of thinking of every generation is what that generation takes', () => {
  const levels = ['off', 'low', 'medium', 'high', 'max', null] as const
  const bodies = (model: string) => levels.map((thinking) => sent({ thinking }, model).thinking)
  const adaptive = { type: 'adaptive', display: 'summarized' }
  const bound = { ...adaptive, block_binding: { prefix_mismatch_behavior: 'drop_block' } }
  const efforts = (thinking: object) =>
    ['low', 'medium', 'high', 'max'].map((effort) => ({ thinking, output_config: { effort } }))
  const least = (thinking: object) => ({ thinking, output_config: { effort: 'low' } })

  assert.deepEqual(bodies('claude-sonnet-5-5'), [least(bound), ...efforts(bound), { thinking: bound }])
  assert.deepEqual(bodies('claude-haiku-5-5'), [
    { thinking: { type: 'disabled' } },
    ...efforts(bound),
    { thinking: bound },
  ])
  assert.deepEqual(bodies('claude-fable-5'), [least(adaptive), ...efforts(adaptive), { thinking: adaptive }])
  assert.deepEqual(bodies('claude-opus-5'), [
    { thinking: { type: 'disabled' } },
    ...efforts(adaptive),
    { thinking: adaptive },
  ])
  assert.deepEqual(bodies('claude-opus-4-8'), [{}, ...efforts(adaptive), {}])
  // The last one leaves room for an answer within the default of 32,000.
  const budgets = [4_000, 8_000, 16_000, 30_976].map((budget_tokens) => ({
    thinking: { type: 'enabled', budget_tokens },
  }))
  assert.deepEqual(bodies('claude-opus-4-5-20251101'), [{}, ...budgets, {}])
  assert.deepEqual(bodies('claude-epic-9'), [{ output_config: { effort: 'low' } }, ...efforts(adaptive), {}])
})

test('a generic server takes everything but thinking', () => {
  const wire = sent(
    { temperature: 0, top_p: 0.5, seed: 7, thinking: 'low', parallel_tool_calls: false, max_output_tokens: 99 },
    null,
  )
  assert.deepEqual(wire, {
    temperature: 0,
    topP: 0.5,
    maxTokens: 99,
    stop: [],
    seed: 7,
    parallelToolCalls: false,
    thinking: {},
    thinks: false,
    warned: ['thinking is not taken and was left out (model some-model)'],
  })
})

test('max_output_tokens above what a model gives is brought down to it', () => {
  assert.partialDeepStrictEqual(sent({ max_output_tokens: 500_000 }, 'claude-opus-4-5'), {
    maxTokens: 64_000,
    warned: ['max_output_tokens was sent as 64000, the most that is taken (model claude-opus-4-5)'],
  })
})

test('stop sequences beyond what is taken, and blank ones, are left out', () => {
  assert.partialDeepStrictEqual(sent({ stop: ['a', ' \n', 'b', 'c', 'd', 'e'] }, null), {
    stop: ['a', 'b', 'c', 'd'],
    warned: [
      'stop has a blank sequence, which was left out (model some-model)',
      'stop is taken with 4 sequences at most; the later ones were left out (model some-model)',
    ],
  })
  const none = sent({ stop: ['a'], parallel_tool_calls: true }, null, (row) => ({
    ...row,
    stops: 0,
    parallelToolCalls: false,
  }))
  assert.deepEqual([none.stop, none.parallelToolCalls, none.warned.length], [[], null, 2])
})

test('the own fields of a caller are all sent but the script, which is for a scripted model', () => {
  const extra = JSON.parse('{"script":[1],"top_k":3,"__proto__":{"x":1}}') as Params['extra']
  assert.equal(
    JSON.stringify(extraFields({ ...dialectCall({}).target.params, extra })),
    '{"top_k":3,"__proto__":{"x":1}}',
  )
})

test('a budget needs room for the answer beside it, and counts with the model’s other rules', () => {
  assert.partialDeepStrictEqual(sent({ thinking: 'high', max_output_tokens: 4096 }, 'claude-opus-4-5'), {
    thinking: { thinking: { type: 'enabled', budget_tokens: 3072 } },
    warned: [],
  })
  // Where it is left out the model does not think, and takes what only a model that thinks refuses.
  assert.partialDeepStrictEqual(
    sent({ thinking: 'high', max_output_tokens: 2047, temperature: 0.4 }, 'claude-opus-4-5'),
    {
      thinking: {},
      thinks: false,
      temperature: 0.4,
      warned: ['thinking needs a max_output_tokens of at least 2048 and was left out (model claude-opus-4-5)'],
    },
  )
})

test('thinking that cannot be off is told, and is the least there is', () => {
  assert.partialDeepStrictEqual(sent({ thinking: 'off' }, 'claude-opus-5-5'), {
    thinks: true,
    warned: ['thinking cannot be off: the model thinks as little as it can (model claude-opus-5-5)'],
  })
  assert.deepEqual(sent({ thinking: 'off' }, 'claude-opus-5').warned, [])
})

test('a stop sequence of more bytes than a model takes is left out before they are counted', () => {
  const wire = sent({ stop: ['a', 'ж'.repeat(17), 'b'] }, null, (row) => ({ ...row, stops: 2, stopBytes: 32 }))
  assert.deepEqual(wire.stop, ['a', 'b'])
  assert.deepEqual(wire.warned, [
    'stop is taken with 32 bytes at most; the longer ones were left out (model some-model)',
  ])
})

test('what will be left out is told before a run, word for word as its requests tell it', () => {
  const targets = [
    { model: 'claude-opus-5-5', params: { temperature: 0.2, thinking: 'off' } },
    { model: 'claude-opus-4-5', params: { seed: 1, max_output_tokens: 1000, thinking: 'max' } },
  ].map(({ model, params }) => dialectCall({ provider: 'anthropic', model, params: params as Partial<Params> }).target)
  const [first, second] = targets
  assert.ok(first !== undefined && second !== undefined)
  const ask = { ...dialectCall({}).ask, targets: [first, second] as const }
  const told = targets.flatMap((target) => {
    const { warnings } = wireParams({ ...dialectCall({}), ask, target, profile: profileFor(target) })
    return warnings
  })
  assert.equal(told.length, 4)
  assert.deepEqual(paramWarnings(targets), told)
  assert.deepEqual(
    told.map(({ path }) => path),
    [
      'llm.params.thinking',
      'llm.params.temperature',
      'llm.fallbacks[0].params.thinking',
      'llm.fallbacks[0].params.seed',
    ],
  )
  // A target that is refused anyway has no rules to be judged by.
  assert.deepEqual(paramWarnings([{ ...first, profile: 'vllm' }]), [])
})

test('each row that is there stamps its own family; without a row a target is any compatible server', () => {
  const row = (provider: 'anthropic' | 'scripted' | 'openai-compatible') => profileFor(dialectCall({ provider }).target)
  assert.partialDeepStrictEqual(row('anthropic'), { dialect: 'anthropic', auth: 'x-api-key', family: 'anthropic' })
  assert.partialDeepStrictEqual(row('scripted'), { dialect: 'openai-chat', auth: 'none', family: 'scripted' })
  const named = { ...dialectCall({}).target, profile: 'no-such' }
  assert.equal(hasProfile(named), false)
  assert.deepEqual(profileFor(named), row('openai-compatible'))
})

test('a bound of the output that was refused is never replaced by a higher one', () => {
  const bound = (model: string | null, asked: number) =>
    wireParams(
      dialectCall({
        ...(model === null ? {} : { provider: 'anthropic' as const, model }),
        params: { max_output_tokens: asked },
        repairs: new Set(['drop_max_output_tokens'] as const),
      }),
    )
  assert.equal(bound('claude-haiku-4-5', 8_000).maxTokens, 8_000)
  assert.deepEqual(bound('claude-haiku-4-5', 8_000).warnings, [])
  assert.equal(bound('claude-haiku-4-5', 60_000).maxTokens, 32_000)
  assert.match(
    bound('claude-haiku-4-5', 60_000).warnings[0]?.message ?? '',
    /max_output_tokens was refused and left out/,
  )
  assert.equal(bound(null, 8_000).maxTokens, null)
})
