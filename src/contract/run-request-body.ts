/**
 * The body of POST /runs as a schema: what may stand in it, and within which bounds (SPEC §3). OpenAPI is made from it too.
 */
import { Type, type Static } from 'typebox'
import type { JsonObject } from './json.ts'
import { StoredMessage } from './message.ts'
import { CONTRACT_VERSION, PROVIDERS, THINKING } from './run-request.ts'
import { anyObject, closed, maybe, oneWordOf, open, secret, text, wholeNumber } from './schema.ts'

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
