/**
 * What GLM takes, as data: its row in `profile.ts`. Source: Z.ai's chat completion, thinking mode, cache and error code pages,
 * November 2026.
 *
 * Earlier reasoning is always sent back: inside a tool loop it is needed, elsewhere the service drops it itself.
 */
import { type ModelTable, patternsOf, rulesFor } from './model-table.ts'
import type { ProfileRow, ThinkingRule, ThinkingRules } from './profile.ts'

const DISABLED: ThinkingRule = { body: { thinking: { type: 'disabled' } }, thinks: false }
const ENABLED: ThinkingRule = { body: { thinking: { type: 'enabled' } }, thinks: true }

function effort(level: 'low' | 'high' | 'max'): ThinkingRule {
  return { body: { reasoning_effort: level }, thinks: true }
}

/** Cannot be kept from thinking; their own default is `max`, many times slower and dearer than `low`. */
const ALWAYS: ThinkingRules = {
  off: effort('low'),
  low: effort('low'),
  medium: effort('high'),
  high: effort('high'),
  max: effort('max'),
  unsaid: effort('low'),
}
/** Knows two efforts, and the higher one is its own default. */
const TWO_EFFORTS: ThinkingRules = {
  off: DISABLED,
  low: effort('high'),
  medium: effort('high'),
  high: effort('high'),
  max: effort('max'),
  unsaid: effort('high'),
}
const SWITCH: ThinkingRules = {
  off: DISABLED,
  low: ENABLED,
  medium: ENABLED,
  high: ENABLED,
  max: ENABLED,
  unsaid: { body: {}, thinks: true },
}

/** Without it a call comes whole, after as long a silence as it took to write. */
const STREAMED_CALLS = { withTools: { tool_stream: true } }

const MODELS: ModelTable<ProfileRow> = {
  groups: [
    { models: ['glm-5.3-flash'], rules: { thinking: ALWAYS, chat: STREAMED_CALLS, reads: ['image/*'] } },
    { models: ['glm-5.3'], rules: { thinking: ALWAYS, chat: STREAMED_CALLS } },
    { models: ['glm-5.2'], rules: { thinking: TWO_EFFORTS, chat: STREAMED_CALLS } },
    { models: ['glm-5v-turbo', 'glm-4.6v'], rules: { thinking: SWITCH, chat: STREAMED_CALLS, reads: ['image/*'] } },
    {
      models: ['glm-5.1', 'glm-5', 'glm-5-turbo', 'glm-4.7', 'glm-4.7-flashx', 'glm-4.7-flash', 'glm-4.6'],
      rules: { thinking: SWITCH, chat: STREAMED_CALLS },
    },
    { models: ['glm-4.5', 'glm-4.5-air'], rules: { thinking: SWITCH, maxTokensMost: 98_304 } },
  ],
  others: { thinking: ALWAYS, chat: STREAMED_CALLS },
}

export const glmModels = patternsOf(MODELS)

export function glmRow(model: string): ProfileRow {
  const { chat, ...rules } = rulesFor(MODELS, model)
  return {
    provider: 'glm',
    dialect: 'openai-chat',
    baseUrl: 'https://api.z.ai/api/paas/v4',
    family: 'glm',
    reasoningGoesTo: 'family',
    reads: [],
    // It knows no choice but `auto`.
    toolChoiceNone: 'omit_tools',
    sampling: { temperature: { least: 0.01, most: 1 }, top_p: { least: 0.01, most: 1 }, together: true },
    stops: 1,
    output: { form: 'json_object' },
    seed: false,
    parallelToolCalls: false,
    maxTokensMost: 131_072,
    facts: {
      cache: 'automatic',
      notes: [
        'a key belongs to one region: for the Chinese one set GLM_BASE_URL to https://open.bigmodel.cn/api/paas/v4',
        'a coding plan has addresses of its own: https://api.z.ai/api/coding/paas/v4',
        'limits count for the account and model and are not published',
        'thinking that is not asked for is the least the model has, not its own default',
      ],
    },
    ...rules,
    // Usage comes unasked.
    chat: { streamOptions: false, emptyContent: '', ...chat },
  }
}
