/**
 * What MiniMax takes, as data: its rows in `profile.ts`, one for each of the two wire formats it speaks. Source: MiniMax's
 * Anthropic API, OpenAI API, prompt caching and error code pages, October 2026.
 *
 * Model ids are told apart by case.
 */
import type { JsonObject } from '../contract/json.ts'
import { type ModelTable, patternsOf, rulesFor } from './model-table.ts'
import type { ProfileRow, ThinkingRule, ThinkingRules } from './profile.ts'

type ModelRules = Pick<ProfileRow, 'reads' | 'maxTokensMost'> & {
  /** `efforts`: always thinks, its own default is `max`, about ten times as long as `low`. */
  readonly thinks: 'efforts' | 'switch' | 'always'
}

const IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

const MODELS: ModelTable<ModelRules> = {
  groups: [
    {
      models: ['MiniMax-M3.1-Flash', 'MiniMax-M3.1-Flash-Preview'],
      rules: { thinks: 'efforts', reads: IMAGES, maxTokensMost: 524_288 },
    },
    { models: ['MiniMax-M3'], rules: { thinks: 'switch', reads: IMAGES, maxTokensMost: 524_288 } },
    { models: ['MiniMax-M2*'], rules: { thinks: 'always', reads: [], maxTokensMost: 204_800 } },
  ],
  others: { thinks: 'efforts', reads: [], maxTokensMost: null },
}

export const minimaxModels = patternsOf(MODELS)

const OWN: ThinkingRule = { body: {}, thinks: true }
const ADAPTIVE: ThinkingRule = { body: { thinking: { type: 'adaptive' } }, thinks: true }
const SWITCH: ThinkingRules = {
  off: { body: { thinking: { type: 'disabled' } }, thinks: false },
  low: ADAPTIVE,
  medium: ADAPTIVE,
  high: ADAPTIVE,
  max: ADAPTIVE,
  unsaid: OWN,
}
const ALWAYS: ThinkingRules = { off: OWN, low: OWN, medium: OWN, high: OWN, max: OWN, unsaid: OWN }

/** @param field where the wire format has the effort */
function rowFor(model: string, field: (level: string) => JsonObject): ProfileRow {
  const { thinks, ...rules } = rulesFor(MODELS, model)
  const effort = (level: string): ThinkingRule => ({ body: field(level), thinks: true })
  const [low, medium, high, max] = [effort('low'), effort('medium'), effort('high'), effort('max')]
  const efforts: ThinkingRules = { off: low, low, medium, high, max, unsaid: low }
  return {
    // A signature of another model is not known to be taken, and without one nothing is lost but quality.
    reasoningGoesTo: 'model',
    // 0 is refused.
    sampling: { temperature: { least: 0.01, most: 1 }, top_p: { least: 0, most: 1 }, together: true },
    stops: 0,
    seed: false,
    parallelToolCalls: false,
    // No word about tools but `auto` is known to be taken.
    toolChoiceNone: 'omit_tools',
    thinking: { efforts, switch: SWITCH, always: ALWAYS }[thinks],
    ...rules,
  }
}

const REGION = 'a key belongs to one region: for the Chinese one the host is api.minimaxi.com'
const LEAST = 'thinking that is not asked for is the least of a model with levels, not its own default'

export function minimaxRow(model: string): ProfileRow {
  return {
    ...rowFor(model, (level) => ({ output_config: { effort: level } })),
    provider: 'minimax',
    dialect: 'anthropic',
    baseUrl: 'https://api.minimax.io/anthropic',
    auth: 'x-api-key',
    family: 'minimax',
    nativeCallIds: /^[a-zA-Z0-9_-]{1,64}$/,
    maxTokens: 32_000,
    anthropic: { emptySignature: true, wrapsArguments: true },
    facts: {
      cache: 'automatic',
      notes: [
        `${REGION} (MINIMAX_BASE_URL=https://api.minimaxi.com/anthropic)`,
        'a subscription has keys of its own; what its window is used up by is a quota, not a rate limit',
        LEAST,
      ],
    },
  }
}

/** Over chat completions, where reasoning is asked for apart: else it would stand inside the text. */
export function minimaxChatRow(model: string): ProfileRow {
  return {
    ...rowFor(model, (level) => ({ reasoning_effort: level })),
    baseUrl: 'https://api.minimax.io/v1',
    family: 'minimax-chat',
    extraBody: { reasoning_split: true },
    chat: { maxTokensField: 'max_completion_tokens', emptyContent: '', thinkTags: true, repeatsDetails: true },
    facts: { cache: 'automatic', notes: [REGION, LEAST] },
  }
}
