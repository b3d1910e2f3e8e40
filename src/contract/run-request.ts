/**
 * A run's request (SPEC §3) in the form the engine works with, in which every default is filled in, and those defaults. What
 * may stand in the body of POST /runs is `run-request-body.ts`; only `parse-run-request.ts` makes a `RunRequest` of it.
 */
import type { Json, JsonObject } from './json.ts'
import type { StoredMessage } from './message.ts'
import type { TraceContext } from './trace-context.ts'

export const CONTRACT_VERSION = '1'

export const PROVIDERS = [
  'anthropic',
  'openai',
  'deepseek',
  'glm',
  'gigachat',
  'minimax',
  'kimi',
  'openai-compatible',
  'scripted',
] as const
export type ProviderName = (typeof PROVIDERS)[number]

export const THINKING = ['off', 'low', 'medium', 'high', 'max'] as const
export type Thinking = (typeof THINKING)[number]

/** One model of the chain. Nothing is inherited from another. */
export interface Target {
  readonly provider: ProviderName
  readonly model: string
  readonly api_key: string | null
  readonly base_url: string | null
  readonly profile: string | null
  readonly params: Params
  readonly pricing: Pricing | null
}

export interface Params {
  readonly temperature: number | null
  readonly top_p: number | null
  readonly max_output_tokens: number | null
  readonly thinking: Thinking | null
  readonly parallel_tool_calls: boolean | null
  readonly stop: readonly string[]
  readonly seed: number | null
  readonly extra: JsonObject
}

/** Per million tokens. Numbers or raw numbers: prices are decimals and are never rounded. */
export interface Rates {
  readonly input: Json
  readonly cache_read: Json
  /** What is kept for minutes. */
  readonly cache_write: Json
  /** What is kept for an hour or longer. Absent: the same. */
  readonly cache_write_1h?: Json
  readonly output: Json
}

export interface Pricing extends Rates {
  readonly currency: string
  /** In any order. Absent: none. */
  readonly tiers?: readonly PriceTier[]
}

/** The rates of a request whose input, cache reads and writes among them, is above so many tokens. */
export interface PriceTier extends Rates {
  readonly above_input_tokens: number
}

export interface Tool {
  readonly name: string
  readonly description: string
  readonly input_schema: JsonObject
  readonly url: string
  /** Only `Authorization` and `X-*`; the others were dropped with a warning. */
  readonly headers: Readonly<Record<string, string>>
  readonly effect: 'read' | 'write'
  readonly timeout_ms: number
  readonly label: string | null
  readonly repeatable: boolean
}

export interface Limits {
  readonly max_steps: number
  readonly max_tool_calls: number
  readonly timeout_ms: number
  readonly max_output_tokens_total: number | null
  readonly max_total_tokens: number | null
  readonly max_cost: Json
  readonly tool_result_max_bytes: number
  readonly final_answer: boolean
  readonly approval_ttl_ms: number
  /** `drain`: a cancelled answer is read to its end, unshown, for its exact usage. */
  readonly on_cancel: 'cut' | 'drain'
  readonly loop_guard: GuardLimits
}

/** Thresholds of loop protection; SPEC §8.5. */
export interface GuardLimits {
  readonly same_call: number
  readonly same_result: number
  readonly refused_steps: number
  readonly empty_steps: number
  readonly invalid_steps: number
  readonly cycle_rounds: number
}

/** What the final answer must look like; SPEC §13. */
export interface OutputFormat {
  /** Of the whole answer; null: any text. */
  readonly schema: JsonObject | null
  /** Of every fenced block with this name. */
  readonly blocks: Readonly<Record<string, JsonObject>>
}

export interface StreamOptions {
  readonly tool_names: boolean
  readonly tool_args: boolean
  readonly tool_results: boolean
  readonly reasoning: boolean
}

export interface Callback {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** As that of the request: it is kept as long as the callback is. */
  readonly trace?: TraceContext
}

/** A request with every default filled in. Plain JSON. */
export interface RunRequest {
  readonly idempotency_key: string
  readonly origin_request_id: string
  readonly history_revision: Json
  /** The chain: the first model, then its fallbacks. Never empty. */
  readonly targets: readonly [Target, ...Target[]]
  readonly system: string
  readonly messages: readonly StoredMessage[]
  readonly tools: readonly Tool[]
  readonly output: OutputFormat
  readonly limits: Limits
  readonly stream: StreamOptions
  readonly callback: Callback | null
  readonly meta: JsonObject
  readonly session_id: string | null
  readonly tenant_id: string | null
  /** IANA name: meta.timezone, else DEFAULT_TIMEZONE. */
  readonly timezone: string
  readonly wait: boolean
  /** Where the request stands in its caller's trace; it came in headers. Absent: the caller named none. */
  readonly trace?: TraceContext
}

/** Of a model of which the request says no more. */
export const NO_PARAMS: Params = {
  temperature: null,
  top_p: null,
  max_output_tokens: null,
  thinking: null,
  parallel_tool_calls: null,
  stop: [],
  seed: null,
  extra: {},
}

/** SPEC §3.6: what stands where the request says nothing. */
export const defaults = {
  max_steps: 12,
  max_tool_calls: 40,
  timeout_ms: 180_000,
  tool_result_max_bytes: 32_768,
  approval_ttl_ms: 7 * 24 * 3600 * 1000,
  tool_timeout_ms: 30_000,
} as const

/** SPEC §8.5: what `limits.loop_guard` sets apart from. */
export const guardDefaults: GuardLimits = {
  same_call: 8,
  same_result: 2,
  refused_steps: 2,
  empty_steps: 2,
  invalid_steps: 3,
  cycle_rounds: 2,
}

/** The size of `meta` as JSON, UTF-8 bytes. */
export const META_MAX_BYTES = 16_384

/** `deadline_at` of the 202 = the run's own deadline + this: then a harness's safety net looks. */
export const DEADLINE_GRACE_MS = 120_000
