/**
 * The body of POST /runs (SPEC §3): what may stand in it, and the form the engine works with, in which every default is
 * filled in. Only `parse-run-request.ts` makes a `RunRequest`.
 */
import { Type, type Static } from 'typebox'
import type { Json, JsonObject } from './json.ts'
import { StoredMessage } from './message.ts'
import { anyObject, closed, maybe, oneWordOf, open, secret, text, wholeNumber } from './schema.ts'
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

const Params = closed({
  temperature: maybe(Type.Number({ minimum: 0, maximum: 2 })),
  top_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  max_output_tokens: maybe(wholeNumber(1, 10_000_000, 'tokens of one answer, reasoning included')),
  thinking: maybe(oneWordOf(THINKING)),
  parallel_tool_calls: maybe(Type.Boolean()),
  stop: maybe(Type.Array(text(1, 1000), { maxItems: 16 })),
  seed: maybe(Type.Integer()),
  extra: maybe(anyObject("fields sent to the provider as they are, over the engine's own")),
})

const price = () => Type.Number({ minimum: 0 })
const rates = {
  input: price(),
  cache_read: maybe(price()),
  cache_write: maybe(price()),
  cache_write_1h: maybe(price()),
  output: price(),
}
const Pricing = closed(
  {
    currency: text(1, 10),
    ...rates,
    tiers: maybe(
      Type.Array(closed({ above_input_tokens: wholeNumber(1, 1_000_000_000), ...rates }), {
        maxItems: 8,
        description: 'the rates of a request with more input tokens than that, cache reads and writes among them',
      }),
    ),
  },
  'per million tokens; cache_read and cache_write default to input, cache_write_1h to cache_write',
)

const target = {
  provider: oneWordOf(PROVIDERS),
  model: text(1, 200),
  api_key: maybe(secret(10_000, 'null: the key from the environment')),
  base_url: maybe(text(1, 2000, 'only with openai-compatible, or where an operator allows it')),
  profile: maybe(text(1, 100, 'only with openai-compatible')),
  params: maybe(Params),
  pricing: maybe(Pricing),
}
const Target = closed(target)

const Headers = Type.Unsafe<Readonly<Record<string, string>>>({
  type: 'object',
  maxProperties: 50,
  additionalProperties: Type.String({ maxLength: 8192, 'x-secret': true }),
})

const Tool = closed({
  name: Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-zA-Z0-9_-]+$' }),
  description: maybe(text(0, 20_000)),
  input_schema: maybe(anyObject('JSON Schema 2020-12 or draft-07 of the arguments; default: any object')),
  url: text(1, 8192),
  headers: maybe(Headers),
  effect: maybe(oneWordOf(['read', 'write'])),
  timeout_ms: maybe(wholeNumber(100, 3_600_000, 'for one call, all its attempts')),
  label: maybe(text(1, 200, 'what the stream shows while the tool works')),
  repeatable: maybe(Type.Boolean()),
})

const LoopGuard = closed({
  same_call: maybe(wholeNumber(1, 1000, 'one call is sent at most so often in a run')),
  same_result: maybe(wholeNumber(1, 1000, 'a call that gave the same result so often is refused')),
  refused_steps: maybe(wholeNumber(1, 1000)),
  empty_steps: maybe(wholeNumber(1, 1000)),
  invalid_steps: maybe(wholeNumber(1, 1000)),
  cycle_rounds: maybe(wholeNumber(2, 100)),
})

const Limits = closed({
  max_steps: maybe(wholeNumber(0, 1000, 'steps that may use tools')),
  max_tool_calls: maybe(wholeNumber(0, 10_000)),
  timeout_ms: maybe(wholeNumber(100, 86_400_000, 'of the whole run')),
  max_output_tokens_total: maybe(wholeNumber(1, 1_000_000_000)),
  max_total_tokens: maybe(wholeNumber(1, 10_000_000_000)),
  max_cost: maybe(Type.Number({ exclusiveMinimum: 0, description: 'in the currency of pricing' })),
  tool_result_max_bytes: maybe(wholeNumber(256, 10_485_760)),
  final_answer: maybe(Type.Boolean()),
  approval_ttl_ms: maybe(wholeNumber(1000, 31_536_000_000)),
  on_cancel: maybe(oneWordOf(['cut', 'drain'], 'drain: a cancelled answer is read to its end, for its exact usage')),
  loop_guard: maybe(LoopGuard),
})

const Stream = closed({
  tool_names: maybe(Type.Boolean()),
  tool_args: maybe(Type.Boolean()),
  tool_results: maybe(Type.Boolean()),
  reasoning: maybe(Type.Boolean()),
})

const Meta = open({
  session_id: maybe(text(1, 500)),
  user_id: maybe(text(1, 500)),
  tenant_id: maybe(text(1, 500)),
  assistant_id: maybe(text(1, 500)),
  timezone: maybe(text(1, 100, 'IANA name, such as Europe/London')),
})

export const RunRequestBody = closed({
  contract_version: Type.Literal(CONTRACT_VERSION),
  idempotency_key: text(1, 200),
  origin_request_id: maybe(text(1, 200)),
  history_revision: maybe(Type.Integer()),
  llm: closed({ ...target, fallbacks: maybe(Type.Array(Target, { maxItems: 8 })) }),
  system: maybe(Type.String()),
  messages: Type.Array(StoredMessage, { minItems: 1, maxItems: 100_000 }),
  tools: maybe(Type.Array(Tool, { maxItems: 128 })),
  output: maybe(
    closed({
      schema: maybe(anyObject()),
      blocks: maybe(
        Type.Unsafe<Readonly<Record<string, { schema: JsonObject }>>>({
          type: 'object',
          maxProperties: 32,
          additionalProperties: closed({ schema: anyObject() }),
        }),
      ),
    }),
  ),
  limits: maybe(Limits),
  stream: maybe(Stream),
  callback: maybe(closed({ url: text(1, 8192), headers: maybe(Headers) })),
  meta: maybe(Meta),
  wait: maybe(Type.Boolean()),
})
export type RunRequestBody = Static<typeof RunRequestBody>

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
