/**
 * What DeepSeek takes, as data: its row in `profile.ts`. Source: DeepSeek's pricing, thinking mode, rate limit and error pages,
 * October 2026.
 *
 * A conversation with tools is refused where an assistant message lacks the field `reasoning_content`, also where there was
 * no reasoning: it is always there.
 */
import { type ModelTable, patternsOf, rulesFor } from './model-table.ts'
import type { ProfileRow, SamplingRules, ThinkingRule } from './profile.ts'

const SAMPLING: SamplingRules = { temperature: { least: 0, most: 2 }, top_p: { least: 0, most: 1 }, together: true }
/** While a model thinks its temperature is fixed. */
const FIXED: SamplingRules = { temperature: null, top_p: null, together: true }
const NARROW: SamplingRules = { temperature: null, top_p: { least: 0.95, most: 1 }, together: true }

function effort(level: 'low' | 'high' | 'max'): ThinkingRule {
  return { body: { thinking: { type: 'enabled' }, reasoning_effort: level }, thinks: true }
}

const pro = { samplingWhileThinking: FIXED, reads: [], concurrency: 500 } as const satisfies ProfileRow
const flash = { samplingWhileThinking: NARROW, reads: ['image/*'], concurrency: 2500 } as const satisfies ProfileRow

const MODELS: ModelTable<ProfileRow> = {
  groups: [
    { models: ['deepseek-flash', 'deepseek-v4-flash', 'deepseek-v4-flash-vision-exp'], rules: flash },
    { models: ['deepseek-v4-pro'], rules: pro },
  ],
  others: pro,
}

export const deepseekModels = patternsOf(MODELS)

export function deepseekRow(model: string): ProfileRow {
  return {
    provider: 'deepseek',
    dialect: 'openai-chat',
    baseUrl: 'https://api.deepseek.com',
    family: 'deepseek',
    reasoningGoesTo: 'family',
    reasoningFill: { text: '', on: 'all' },
    // A tool choice of any kind is refused while a model thinks.
    toolChoiceNone: 'omit_tools_while_thinking',
    sampling: SAMPLING,
    stops: 16,
    seed: false,
    parallelToolCalls: false,
    thinking: {
      off: { body: { thinking: { type: 'disabled' } }, thinks: false },
      low: effort('low'),
      medium: effort('high'),
      high: effort('high'),
      max: effort('max'),
      // The model's own: it thinks, with effort high.
      unsaid: { body: {}, thinks: true },
    },
    maxTokensMost: 384_000,
    // A schema is refused.
    output: { form: 'json_object' },
    chat: { emptyContent: '' },
    facts: {
      cache: 'automatic',
      notes: [
        'limits count for the account, so that its keys share them',
        'while a model thinks, a step without tools leaves the tools out and reads less from the cache',
        'prices differ by the hour of the day: pricing is what the request says',
      ],
    },
    ...rulesFor(MODELS, model),
  }
}
