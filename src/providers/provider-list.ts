/**
 * What GET /providers answers, made from the very rows that requests are made from. Pure.
 *
 * A vendor's table of models says which ids to ask the rows about; models whose rows say the same stand together.
 */
import type { ModelsInfo, ProviderInfo, ProviderList } from '../contract/provider-list.ts'
import { NO_PARAMS, PROVIDERS, type ProviderName, type Target } from '../contract/run-request.ts'
import { claudeModels } from './claude-family.ts'
import { compatibleServers } from './compatible-servers.ts'
import { deepseekModels } from './deepseek.ts'
import { gigachatModels } from './gigachat/row.ts'
import { glmModels } from './glm.ts'
import { kimiModels } from './kimi.ts'
import { minimaxModels } from './minimax.ts'
import { openaiModels } from './openai-models.ts'
import type { ParamRules, Profile, SamplingRules } from './profile.ts'
import type { ProviderTable } from './provider-table.ts'

/** Patterns of the models that a provider has rules of their own for. */
const MODELS: { readonly [P in ProviderName]?: readonly string[] } = {
  anthropic: claudeModels,
  openai: openaiModels,
  deepseek: deepseekModels,
  glm: glmModels,
  kimi: kimiModels,
  minimax: minimaxModels,
  gigachat: gigachatModels,
}

/** Every id that no pattern of a provider fits. */
const OTHERS = '*'

export function providerList(table: ProviderTable): ProviderList {
  const own = PROVIDERS.map((provider) => infoOf(table, provider, null, MODELS[provider] ?? []))
  const servers = [...compatibleServers].map(([name, { models }]) => infoOf(table, 'openai-compatible', name, models))
  return { providers: [...own, ...servers].filter((info) => info !== null) }
}

/** null: this version has no row for it. */
function infoOf(
  table: ProviderTable,
  provider: ProviderName,
  profile: string | null,
  patterns: readonly string[],
): ProviderInfo | null {
  const rowOf = (pattern: string) => table.profile(exampleOf(provider, profile, pattern))
  const others = rowOf(OTHERS)
  if (others === null) return null
  const groups = new Map<string, ModelsInfo>()
  for (const pattern of [...patterns, OTHERS]) {
    const row = rowOf(pattern)
    if (row === null) continue
    const said = modelsOf(row)
    const key = JSON.stringify(said)
    groups.set(key, { models: [...(groups.get(key)?.models ?? []), pattern], ...said })
  }
  return {
    provider,
    profile,
    dialect: others.dialect,
    address: others.baseUrl,
    ...variablesOf(others, profile),
    key_is: others.exchangesKey ? 'exchanged' : others.auth,
    notes: [...others.facts.notes],
    models: [...groups.values()],
  }
}

/** A target whose id the pattern fits: one with nothing where the star stands; for all others one that nobody has. */
function exampleOf(provider: ProviderName, profile: string | null, pattern: string): Target {
  const model = pattern === OTHERS ? '-' : pattern.replace(/\*$/, '')
  return { provider, model, profile, api_key: null, base_url: null, params: NO_PARAMS, pricing: null }
}

/** SPEC §12.1. The environment's key for compatible servers is for the operator's own server alone. */
function variablesOf(
  { auth, baseUrl, provider }: Profile,
  profile: string | null,
): Pick<ProviderInfo, 'address_variable' | 'key_variable'> {
  const name = provider.toUpperCase().replaceAll('-', '_')
  const elsewhere = provider === 'scripted' || (profile !== null && baseUrl !== null)
  return {
    address_variable: elsewhere ? null : `${name}_BASE_URL`,
    key_variable: elsewhere || auth === 'none' ? null : `${name}_API_KEY`,
  }
}

function modelsOf(row: Profile): Omit<ModelsInfo, 'models'> {
  const { facts } = row
  return {
    params: paramsOf(row),
    reads: [...row.reads],
    reads_urls: row.readsByUrl.length > 0,
    reasoning: { goes_back_to: row.reasoningGoesTo, stand_in: row.reasoningFill },
    cache: facts.cache,
    calls_per_turn: facts.callsPerTurn,
    without_tools: WITHOUT_TOOLS[row.toolChoiceNone],
    output: { form: row.output.form, beside_tools: row.output.besideTools },
    abort_stops_billing: facts.abortStopsBilling,
    concurrency: row.concurrency,
  }
}

const WITHOUT_TOOLS: Readonly<Record<Profile['toolChoiceNone'], ModelsInfo['without_tools']>> = {
  send: 'tool_choice_none',
  omit_tools: 'omits_tools',
  omit_tools_while_thinking: 'omits_tools_while_thinking',
}

function paramsOf(rules: ParamRules): ModelsInfo['params'] {
  const { thinking } = rules
  return {
    ...samplingOf(rules.sampling),
    while_thinking: rules.samplingWhileThinking === null ? null : samplingOf(rules.samplingWhileThinking),
    max_output_tokens: { default: rules.maxTokens, most: rules.maxTokensMost },
    thinking:
      thinking === null
        ? null
        : {
            off: thinking.off.body,
            low: thinking.low.body,
            medium: thinking.medium.body,
            high: thinking.high.body,
            max: thinking.max.body,
            unsaid: thinking.unsaid.body,
          },
    always_thinks: thinking?.off.thinks === true,
    parallel_tool_calls: rules.parallelToolCalls,
    stop: { most: rules.stops, bytes: rules.stopBytes },
    seed: rules.seed,
  }
}

function samplingOf({ temperature, together, top_p }: SamplingRules) {
  return { temperature, top_p, both: together }
}
