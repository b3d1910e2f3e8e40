/**
 * What of a target's params goes into a request, the same for every dialect: what the model does not take is left out or
 * brought into its range, and each such change is a warning. Pure; which model takes what stands in `profile.ts`.
 *
 * It needs nothing of the conversation, so that the same is told before a run has begun (`param-warnings.ts`).
 */
import type { JsonObject } from '../contract/json.ts'
import type { Warning } from '../contract/result.ts'
import type { Params } from '../contract/run-request.ts'
import type { DialectCall, DroppableParam } from './dialect.ts'
import type { Range, ThinkingRule } from './profile.ts'
import { isObject } from './wire-value.ts'

export interface WireParams {
  readonly temperature: number | null
  readonly topP: number | null
  readonly maxTokens: number | null
  readonly stop: readonly string[]
  readonly seed: number | null
  readonly parallelToolCalls: boolean | null
  /** Fields that switch thinking on, off or to a level. */
  readonly thinking: JsonObject
  /** The model thinks with these fields. */
  readonly thinks: boolean
  readonly warnings: readonly Warning[]
}

/** What params are judged by. */
export interface ParamFacts extends Pick<DialectCall, 'target' | 'profile' | 'repairs'> {
  /** Where the target stands in the request: `llm`, `llm.fallbacks[0]`. */
  readonly place: string
}

export function wireParams(call: DialectCall): WireParams {
  return fittingParams({ ...call, place: placeOf(call) })
}

export function fittingParams(asked: ParamFacts): WireParams {
  const { profile } = asked
  const warnings: Warning[] = extraWarnings(asked)
  const warn = (param: keyof Params, what: string): null => {
    warnings.push(dropped(asked, param, what))
    return null
  }
  const params = withoutRefused(asked, warn)
  const facts = { ...asked, target: { ...asked.target, params } }
  const tokens = maxTokens(facts, warn)
  const thinking = thinkingFor(facts, tokens, warn)
  return {
    ...sampling(facts, thinking.thinks, warn),
    maxTokens: tokens,
    stop: stops(facts, warn),
    seed: params.seed === null || profile.seed ? params.seed : warn('seed', NOT_TAKEN),
    parallelToolCalls:
      params.parallel_tool_calls === null || profile.parallelToolCalls
        ? params.parallel_tool_calls
        : warn('parallel_tool_calls', NOT_TAKEN),
    thinking: thinking.body,
    thinks: thinking.thinks,
    warnings,
  }
}

/** What the model has refused in this run, though its row says nothing against it. */
function withoutRefused({ profile, repairs, target }: ParamFacts, warn: Warn): Params {
  const { params } = target
  const isRefused = (param: DroppableParam) => {
    const value = params[param]
    if (value === null || (Array.isArray(value) && value.length === 0) || !repairs.has(`drop_${param}`)) return false
    // What stands in its place is no lower, and would let the model write more than was asked for.
    if (param === 'max_output_tokens' && (profile.maxTokens ?? 0) >= (params.max_output_tokens ?? 0)) return false
    warn(param, 'was refused and left out')
    return true
  }
  return {
    ...params,
    ...(isRefused('temperature') ? { temperature: null } : {}),
    ...(isRefused('top_p') ? { top_p: null } : {}),
    ...(isRefused('max_output_tokens') ? { max_output_tokens: null } : {}),
    ...(isRefused('stop') ? { stop: [] } : {}),
    ...(isRefused('seed') ? { seed: null } : {}),
    ...(isRefused('parallel_tool_calls') ? { parallel_tool_calls: null } : {}),
  }
}

/** A step without tools leaves them out of the request, because its model does not take a word that keeps them from use. */
export function omitsTools({ ask, profile }: DialectCall, { thinks }: WireParams): boolean {
  if (ask.toolChoice !== 'none') return false
  return profile.toolChoiceNone === 'omit_tools' || (profile.toolChoiceNone === 'omit_tools_while_thinking' && thinks)
}

type Warn = (param: keyof Params, what: string) => null

const NOT_TAKEN = 'is not taken and was left out'
const NOT_SAID: ThinkingRule = { body: {}, thinks: false }

function thinkingFor({ profile, repairs, target }: ParamFacts, tokens: number | null, warn: Warn): ThinkingRule {
  const { thinking: wanted } = target.params
  if (profile.thinking === null) {
    if (wanted !== null) warn('thinking', NOT_TAKEN)
    return NOT_SAID
  }
  if (repairs.has('no_thinking')) {
    warn('thinking', 'was switched off: the model wants reasoning back that this conversation does not have')
    return profile.thinking.off
  }
  const rule = profile.thinking[wanted ?? 'unsaid']
  if (wanted === 'off' && rule.thinks) warn('thinking', 'cannot be off: the model thinks as little as it can')
  return withinBudget(rule, tokens, warn)
}

/** The answer itself needs room beside a thinking budget, and a budget has a least size. */
const LEAST = 1024

function withinBudget(rule: ThinkingRule, tokens: number | null, warn: Warn): ThinkingRule {
  const { thinking } = rule.body
  if (!isObject(thinking) || typeof thinking['budget_tokens'] !== 'number') return rule
  const fitting = Math.min(thinking['budget_tokens'], (tokens ?? 0) - LEAST)
  if (fitting < LEAST) {
    warn('thinking', `needs a max_output_tokens of at least ${2 * LEAST} and was left out`)
    return NOT_SAID
  }
  return { ...rule, body: { ...rule.body, thinking: { ...thinking, budget_tokens: fitting } } }
}

function sampling(
  { profile, target }: ParamFacts,
  thinks: boolean,
  warn: Warn,
): Pick<WireParams, 'temperature' | 'topP'> {
  const { params } = target
  const rules = (thinks ? profile.samplingWhileThinking : null) ?? profile.sampling
  const temperature = within('temperature', params.temperature, rules.temperature, warn)
  if (temperature !== null && params.top_p !== null && !rules.together) {
    return { temperature, topP: warn('top_p', 'is not taken beside temperature and was left out') }
  }
  return { temperature, topP: within('top_p', params.top_p, rules.top_p, warn) }
}

function within(param: 'temperature' | 'top_p', value: number | null, range: Range | null, warn: Warn): number | null {
  if (value === null) return null
  if (range === null) return warn(param, NOT_TAKEN)
  const taken = Math.min(Math.max(value, range.least), range.most)
  if (taken !== value) warn(param, `was sent as ${taken}, the nearest value that is taken`)
  return taken
}

function maxTokens({ profile, target }: ParamFacts, warn: Warn): number | null {
  const wanted = target.params.max_output_tokens ?? profile.maxTokens
  if (wanted === null || profile.maxTokensMost === null || wanted <= profile.maxTokensMost) return wanted
  warn('max_output_tokens', `was sent as ${profile.maxTokensMost}, the most that is taken`)
  return profile.maxTokensMost
}

/** A stop sequence of white space only is a 400 at some vendors and cuts every answer at the others. */
function stops({ profile, target }: ParamFacts, warn: Warn): readonly string[] {
  const { stop } = target.params
  if (stop.length > 0 && profile.stops === 0) {
    warn('stop', NOT_TAKEN)
    return []
  }
  const written = stop.filter((sequence) => sequence.trim() !== '')
  if (written.length < stop.length) warn('stop', 'has a blank sequence, which was left out')
  const { stopBytes: most } = profile
  const short = written.filter((sequence) => most === null || Buffer.byteLength(sequence) <= most)
  if (short.length < written.length) warn('stop', `is taken with ${most} bytes at most; the longer ones were left out`)
  if (short.length > profile.stops) {
    warn('stop', `is taken with ${profile.stops} sequences at most; the later ones were left out`)
  }
  return short.slice(0, profile.stops)
}

/** A warning that names the param, the model and the place in the request. */
export function paramDropped(call: DialectCall, param: keyof Params, what: string): Warning {
  return dropped({ target: call.target, place: placeOf(call) }, param, what)
}

function dropped({ place, target }: Pick<ParamFacts, 'place' | 'target'>, param: keyof Params, what: string): Warning {
  return {
    code: 'param_dropped',
    message: `${param} ${what} (model ${target.model})`,
    path: `${place}.params.${param}`,
  }
}

function placeOf({ ask, target }: DialectCall): string {
  return targetPlace(ask.targets.indexOf(target))
}

/** @param index in the chain; -1 counts as the first */
export function targetPlace(index: number): string {
  return index > 0 ? `llm.fallbacks[${index - 1}]` : 'llm'
}

/**
 * What the engine answers for, in every dialect: which model is asked, what it is told, which tools it may call, that the answer
 * is streamed and that nothing is stored at the provider. No caller's own field replaces these.
 */
const ENGINE_FIELDS: ReadonlySet<string> = new Set(
  'model messages input system tools functions stream store'.split(' '),
)

/** The caller's own fields, laid over the engine's. `script` is what a scripted model plays, and is for nobody else. */
export function extraFields(params: Params): JsonObject {
  const { script: _, ...extra } = params.extra
  return Object.fromEntries(Object.entries(extra).filter(([field]) => !ENGINE_FIELDS.has(field)))
}

function extraWarnings({ place, target }: ParamFacts): Warning[] {
  const dropped = Object.keys(target.params.extra).filter((field) => ENGINE_FIELDS.has(field))
  return dropped.map((field) => ({
    code: 'param_dropped',
    message: `extra.${field} is for the engine to say and was left out (model ${target.model})`,
    path: `${place}.params.extra.${field}`,
  }))
}
