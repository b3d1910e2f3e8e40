/**
 * What Kimi takes, as data: its row in `profile.ts`. Source: Moonshot's API reference, models, pricing and limits pages, October
 * 2026; for its layer of the Messages API, which those hardly describe, what clients of it have recorded.
 *
 * A message that calls tools is refused without its thinking. Its signature is never read: an empty one will do, and for a
 * message of another provider a few words do.
 */
import { type ModelTable, patternsOf, rulesFor } from './model-table.ts'
import type { ProfileRow, ThinkingRule, ThinkingRules } from './profile.ts'

function effort(level: 'low' | 'high' | 'max'): ThinkingRule {
  return { body: { output_config: { effort: level } }, thinks: true }
}

/** Cannot be kept from thinking; their own default is `max`, which is slow. */
const EFFORTS: ThinkingRules = {
  off: effort('low'),
  low: effort('low'),
  medium: effort('high'),
  high: effort('high'),
  max: effort('max'),
  unsaid: effort('low'),
}

const OWN: ThinkingRule = { body: {}, thinks: true }
const ENABLED: ThinkingRule = { body: { thinking: { type: 'enabled' } }, thinks: true }
/** Always thinks, and knows no levels. */
const ALWAYS: ThinkingRules = { off: OWN, low: OWN, medium: OWN, high: OWN, max: OWN, unsaid: OWN }
const SWITCH: ThinkingRules = {
  off: { body: { thinking: { type: 'disabled' } }, thinks: false },
  low: ENABLED,
  medium: ENABLED,
  high: ENABLED,
  max: ENABLED,
  unsaid: OWN,
}

const MODELS: ModelTable<ProfileRow> = {
  groups: [
    {
      models: ['kimi-k3.1-pro', 'kimi-k3.1-pro-highspeed', 'kimi-k3'],
      rules: { thinking: EFFORTS, maxTokensMost: 1_048_576 },
    },
    { models: ['kimi-k2.7-code', 'kimi-k2.7-code-highspeed'], rules: { thinking: ALWAYS } },
    { models: ['kimi-k2.6'], rules: { thinking: SWITCH } },
  ],
  others: { thinking: EFFORTS },
}

export const kimiModels = patternsOf(MODELS)

export function kimiRow(model: string): ProfileRow {
  return {
    provider: 'kimi',
    dialect: 'anthropic',
    baseUrl: 'https://api.moonshot.ai/anthropic',
    family: 'kimi',
    reasoningGoesTo: 'family',
    // White space alone counts as none.
    reasoningFill: { text: '[reasoning unavailable]', on: 'calls' },
    nativeCallIds: /^.{1,64}$/,
    madeCallIds: 'numbered',
    reads: ['image/jpeg', 'image/png', 'image/gif', 'image/webp'],
    // An upload or the bytes themselves.
    readsByUrl: [],
    typedSchemas: true,
    sampling: { temperature: null, top_p: null, together: false },
    stops: 5,
    stopBytes: 32,
    seed: false,
    parallelToolCalls: false,
    // The dialect demands one; with less than 16,000 the answer may be nothing but thinking.
    maxTokens: 32_000,
    anthropic: { emptySignature: true },
    facts: {
      cache: 'automatic',
      notes: [
        'a key belongs to one region: for the Chinese one set KIMI_BASE_URL to https://api.moonshot.cn/anthropic',
        'limits count for the organisation and grow with what it has paid in: from 1 request at once to 1000',
        'cache writes are billed at a price of their own',
        'thinking that is not asked for is the least the model has, not its own default',
      ],
    },
    ...rulesFor(MODELS, model),
  }
}
