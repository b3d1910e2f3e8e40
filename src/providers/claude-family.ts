/**
 * What each generation of Claude takes, as data: the rows of the `anthropic` profile. Source: Anthropic's model overview,
 * thinking, effort and preserved-thinking pages, November 2026.
 *
 * A new model id is one line in MODELS. An id that is not there gets the newest restrictions, because an older model does
 * with less while a newer one refuses what it does not know.
 */
import type { JsonObject } from '../contract/json.ts'
import type { ParamRules, Profile, SamplingRules, ThinkingRule, ThinkingRules } from './profile.ts'

type ClaudeRules = Omit<ParamRules, 'stops' | 'stopBytes' | 'seed' | 'parallelToolCalls'> & Pick<Profile, 'anthropic'>

/** Thinking is shown as a summary: with the newer models' default, `omitted`, a stream is silent until the answer. */
const ADAPTIVE: JsonObject = { type: 'adaptive', display: 'summarized' }

/**
 * These models bind each thinking block to an unchanged system prompt, tool list and history, and answer 400 where a caller
 * changed one of them. The opt-in makes them drop the block instead. It must stand on every request, with its beta header.
 */
const BOUND: JsonObject = { ...ADAPTIVE, block_binding: { prefix_mismatch_behavior: 'drop_block' } }
const BINDING_BETA = 'thinking-binding-controls-2026-08-01'

const NO_SAMPLING: SamplingRules = { temperature: null, top_p: null, together: false }
const ONE_SAMPLING: SamplingRules = {
  temperature: { least: 0, most: 1 },
  top_p: { least: 0, most: 1 },
  together: false,
}
const SAMPLING_IN_THOUGHT: SamplingRules = { temperature: null, top_p: { least: 0.95, most: 1 }, together: false }

/** Enough for thinking and an answer, and below every model's own ceiling. */
const DEFAULT_MAX_TOKENS = 32_000

function thinks(body: JsonObject): ThinkingRule {
  return { body, thinks: true }
}

/** Levels are efforts of adaptive thinking. */
function efforts(thinking: JsonObject, off: ThinkingRule, unsaid: ThinkingRule): ThinkingRules {
  const effort = (level: string): ThinkingRule => thinks({ thinking, output_config: { effort: level } })
  return { off, low: effort('low'), medium: effort('medium'), high: effort('high'), max: effort('max'), unsaid }
}

const SILENT: ThinkingRule = { body: {}, thinks: false }
const DISABLED: ThinkingRule = { body: { thinking: { type: 'disabled' } }, thinks: false }

/** For a model that cannot be kept from thinking, the least of it. */
function least(thinking: JsonObject): ThinkingRule {
  return thinks({ thinking, output_config: { effort: 'low' } })
}

function budget(tokens: number): ThinkingRule {
  return thinks({ thinking: { type: 'enabled', budget_tokens: tokens } })
}

const BUDGETS: ThinkingRules = {
  off: SILENT,
  low: budget(4_000),
  medium: budget(8_000),
  high: budget(16_000),
  max: budget(31_000),
  unsaid: SILENT,
}

const base = {
  sampling: NO_SAMPLING,
  samplingWhileThinking: null,
  maxTokens: DEFAULT_MAX_TOKENS,
  maxTokensMost: 128_000,
  anthropic: {
    betas: [],
    cacheControl: true,
    emptySignature: false,
    propertyNames: /^[a-zA-Z0-9_.-]{1,64}$/,
    wrapsArguments: false,
  },
} as const
const bound = { ...base, anthropic: { ...base.anthropic, betas: [BINDING_BETA] } } as const
const older = { ...base, sampling: ONE_SAMPLING, samplingWhileThinking: SAMPLING_IN_THOUGHT } as const

const GENERATIONS = {
  /** Always thinks, bound to its prefix. */
  alwaysBound: { ...bound, thinking: efforts(BOUND, least(BOUND), thinks({ thinking: BOUND })) },
  /** Thinks unless told not to, bound to its prefix. */
  onBound: { ...bound, thinking: efforts(BOUND, DISABLED, thinks({ thinking: BOUND })) },
  always: { ...base, thinking: efforts(ADAPTIVE, least(ADAPTIVE), thinks({ thinking: ADAPTIVE })) },
  on: { ...base, thinking: efforts(ADAPTIVE, DISABLED, thinks({ thinking: ADAPTIVE })) },
  /** Thinks only when told to. */
  off: { ...base, thinking: efforts(ADAPTIVE, SILENT, SILENT) },
  offWithSampling: { ...older, thinking: efforts(ADAPTIVE, SILENT, SILENT) },
  budgets: { ...older, maxTokensMost: 64_000, thinking: BUDGETS },
  /** Nothing is said of thinking unless the request does: this may be a model that knows neither form. */
  unknown: {
    ...base,
    maxTokensMost: null,
    thinking: efforts(ADAPTIVE, thinks({ output_config: { effort: 'low' } }), thinks({})),
  },
} as const satisfies Record<string, ClaudeRules>

const MODELS: ReadonlyMap<string, keyof typeof GENERATIONS> = new Map([
  ['claude-fable-5-2', 'alwaysBound'],
  ['claude-fable-5-1', 'alwaysBound'],
  ['claude-mythos-5-2', 'alwaysBound'],
  ['claude-mythos-5-1', 'alwaysBound'],
  ['claude-opus-5-5', 'alwaysBound'],
  ['claude-sonnet-5-5', 'alwaysBound'],
  ['claude-haiku-5-5', 'onBound'],
  ['claude-opus-5', 'on'],
  ['claude-fable-5', 'always'],
  ['claude-mythos-5', 'always'],
  ['claude-sonnet-5', 'on'],
  ['claude-opus-4-8', 'off'],
  ['claude-opus-4-7', 'off'],
  ['claude-opus-4-6', 'offWithSampling'],
  ['claude-sonnet-4-6', 'offWithSampling'],
  ['claude-opus-4-5', 'budgets'],
  ['claude-sonnet-4-5', 'budgets'],
  ['claude-haiku-4-5', 'budgets'],
])

export const claudeModels: readonly string[] = [...MODELS.keys()]

/** The rules of a model id, with or without its date (`claude-opus-4-5-20251101`). */
export function claudeFamily(model: string): ClaudeRules {
  return GENERATIONS[MODELS.get(model.replace(/[-@]\d{8}$/, '')) ?? 'unknown']
}
