/**
 * What each generation of OpenAI's models takes, as data: the rows of the `openai` profile. Source: OpenAI's model pages and
 * guides to reasoning and deployment, November 2026.
 *
 * A new model id is one line in MODELS. A `gpt-` id that is not there gets the newest restrictions, because an older model
 * does with less while a newer one refuses what it does not know.
 */
import type { ParamRules, SamplingRules, ThinkingRule } from './profile.ts'

type ModelRules = Pick<ParamRules, 'sampling' | 'samplingWhileThinking' | 'thinking' | 'maxTokens' | 'maxTokensMost'>

const SAMPLING: SamplingRules = { temperature: { least: 0, most: 2 }, top_p: { least: 0, most: 1 }, together: true }
const NO_SAMPLING: SamplingRules = { temperature: null, top_p: null, together: false }

/** Reasoning is shown as a summary: without one a stream is silent until the answer. */
const SUMMARY = { summary: 'auto' } as const

function effort(word: string): ThinkingRule {
  return { body: { reasoning: { effort: word, ...SUMMARY } }, thinks: true }
}

/** The model's own effort, which may be any; nothing is taken that only a model at rest takes. */
const OWN_EFFORT: ThinkingRule = { body: { reasoning: SUMMARY }, thinks: true }
/** The model does not reason, and takes sampling. */
const NONE: ThinkingRule = { body: { reasoning: { effort: 'none' } }, thinks: false }

/** @param off what the model takes for the least reasoning; @param max its highest effort; @param unsaid without a word of it */
function reasons(off: ThinkingRule, max: string, unsaid: ThinkingRule = OWN_EFFORT): ModelRules {
  const [low, medium, high] = [effort('low'), effort('medium'), effort('high')]
  return {
    sampling: SAMPLING,
    samplingWhileThinking: NO_SAMPLING,
    thinking: { off, low, medium, high, max: effort(max), unsaid },
    maxTokens: null,
    maxTokensMost: 128_000,
  }
}

function plain(maxTokensMost: number): ModelRules {
  return { sampling: SAMPLING, samplingWhileThinking: null, thinking: null, maxTokens: null, maxTokensMost }
}

const GENERATIONS = {
  plain: plain(16_384),
  plainLong: plain(32_768),
  /** Knows no `none`, but `minimal`. */
  minimal: reasons(effort('minimal'), 'high'),
  toHigh: reasons(NONE, 'high'),
  toXhigh: reasons(NONE, 'xhigh'),
  toMax: reasons(NONE, 'max'),
  /** Always reasons: `none` and `minimal` are refused. */
  always: reasons(effort('low'), 'max'),
} as const satisfies Record<string, ModelRules>

/** How much a model that nobody knows may write is not known either. */
const UNKNOWN: ModelRules = { ...GENERATIONS.always, maxTokensMost: null }
/** A name that is none of OpenAI's own, behind another address: nothing is said of reasoning unless the request does. */
const FOREIGN: ModelRules = {
  ...reasons(effort('low'), 'max', { body: {}, thinks: true }),
  maxTokensMost: null,
}

const MODELS: ReadonlyMap<string, keyof typeof GENERATIONS> = new Map([
  ['gpt-6.2-astra', 'always'],
  ['gpt-6.2-sol', 'always'],
  ['gpt-6.1-sol', 'always'],
  ['gpt-6.1-terra', 'toMax'],
  ['gpt-6-astra', 'always'],
  ['gpt-6-sol', 'toMax'],
  ['gpt-6-luna', 'toMax'],
  ['gpt-5.6-sol', 'toMax'],
  ['gpt-5.6-terra', 'toMax'],
  ['gpt-5.6-luna', 'toMax'],
  ['gpt-5.5', 'toXhigh'],
  ['gpt-5.4', 'toXhigh'],
  ['gpt-5.4-mini', 'toXhigh'],
  ['gpt-5.4-nano', 'toXhigh'],
  ['gpt-5.2', 'toXhigh'],
  ['gpt-5.1', 'toHigh'],
  ['gpt-5', 'minimal'],
  ['gpt-5-mini', 'minimal'],
  ['gpt-5-nano', 'minimal'],
  ['gpt-4.1', 'plainLong'],
  ['gpt-4.1-mini', 'plainLong'],
  ['gpt-4.1-nano', 'plainLong'],
  ['gpt-4o', 'plain'],
  ['gpt-4o-mini', 'plain'],
])

export const openaiModels: readonly string[] = [...MODELS.keys()]

/** The rules of a model id, with or without its date (`gpt-5-2025-08-07`), also of one tuned from it (`ft:gpt-4.1:…`). */
export function openaiModel(model: string): ModelRules {
  const id = model.replace(/^ft:([^:]*).*$/s, '$1').replace(/-\d{4}-\d{2}-\d{2}$/, '')
  const known = MODELS.get(id)
  if (known !== undefined) return GENERATIONS[known]
  return id.startsWith('gpt-') ? UNKNOWN : FOREIGN
}
