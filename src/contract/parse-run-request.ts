/**
 * The only maker of a `RunRequest`: checks the form of a body, fills in every default, lists every fault.
 *
 * What needs more than the body itself (history rules, providers, URLs, tool schemas) is judged by its own folder; those
 * judgements add to the same list of faults.
 */
import { AMOUNT_RULE, amountText } from './amount.ts'
import { check, Faults } from './check.ts'
import { type Json, rounded } from './json.ts'
import type { Warning } from './result.ts'
import {
  defaults,
  guardDefaults,
  META_MAX_BYTES,
  type Callback,
  type GuardLimits,
  type Limits,
  type OutputFormat,
  type Params,
  type PriceTier,
  type Pricing,
  type Rates,
  type RunRequest,
  type StreamOptions,
  type Target,
  type Tool,
} from './run-request.ts'
import { RunRequestBody } from './run-request-body.ts'
import type { Keywords } from './schema.ts'
import { soundCopy } from './sound-copy.ts'
import { isTimeZone } from './time-zone.ts'
import { allowedHeaders } from './tool-headers.ts'

export interface ParseOptions {
  readonly defaultTimezone: string
}

/**
 * `request` is made of the fields whose form is right, so that one wrong field hides no fault of another; what stands in a
 * wrong one's place means nothing. With a fault in `faults` it must not be run.
 */
export interface ParsedRequest {
  readonly request: RunRequest
  readonly faults: Faults
  readonly warnings: Warning[]
}

export function parseRunRequest(body: Json, options: ParseOptions): ParsedRequest {
  const faults = new Faults()
  const warnings: Warning[] = []
  check(RunRequestBody as unknown as Keywords, body, '', faults)
  // What has no fault has passed the check, which is what makes it this type.
  // A list that is full ended the check early: then nothing of the body is known to be right.
  const judged = faults.full ? {} : body
  const wire = soundCopy(RunRequestBody as unknown as Keywords, judged, '', faults) as unknown as RunRequestBody
  const timezone = checkMeta(wire.meta ?? {}, faults) ?? options.defaultTimezone
  const { fallbacks, ...first } = wire.llm
  const request: RunRequest = {
    idempotency_key: wire.idempotency_key,
    origin_request_id: wire.origin_request_id ?? wire.idempotency_key,
    // A whole number, or a raw one where its digits need it.
    history_revision: wire.history_revision ?? null,
    targets: [
      target(first, 'llm', faults),
      ...(fallbacks ?? []).map((fallback, index) => target(fallback, `llm.fallbacks[${index}]`, faults)),
    ],
    system: wire.system ?? '',
    messages: wire.messages,
    tools: tools(wire.tools ?? [], faults, warnings),
    output: outputFormat(wire.output ?? {}),
    limits: limits(wire.limits ?? {}),
    stream: streamOptions(wire.stream ?? {}),
    callback: wire.callback == null ? null : callback(wire.callback, faults, warnings),
    meta: wire.meta ?? {},
    session_id: wire.meta?.session_id ?? null,
    tenant_id: wire.meta?.tenant_id ?? null,
    timezone,
    wait: wire.wait ?? false,
  }
  checkCost(request, faults)
  return { request, faults, warnings }
}

/** A cost limit means something only where every attempt has a cost, in one currency. */
function checkCost({ limits: { max_cost }, targets }: RunRequest, faults: Faults): void {
  if (max_cost === null) return
  checkAmount(max_cost, 'limits.max_cost', faults)
  const currencies = new Set(targets.map(({ pricing }) => pricing?.currency))
  if (currencies.has(undefined)) faults.add('limits.max_cost', 'needs pricing in llm and in each of its fallbacks')
  else if (currencies.size > 1)
    faults.add('limits.max_cost', 'needs one currency in the pricing of llm and all its fallbacks')
}

/** One that nobody can reckon with would be a price of nothing, or a limit that never ends a run. */
function checkAmount(amount: Json | undefined, path: string, faults: Faults): void {
  if (amount != null && !faults.under(path) && amountText(amount) === null) faults.add(path, AMOUNT_RULE)
}

function checkMeta(meta: NonNullable<RunRequestBody['meta']>, faults: Faults): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(meta))
  if (bytes > META_MAX_BYTES) faults.add('meta', `must be at most ${META_MAX_BYTES} bytes as JSON; got ${bytes}`)
  if (meta.timezone != null && !isTimeZone(meta.timezone)) {
    const got = JSON.stringify(meta.timezone)
    faults.add('meta.timezone', `must be an IANA time zone such as "Europe/London"; got ${got}`)
  }
  return meta.timezone ?? null
}

function target(wire: Omit<RunRequestBody['llm'], 'fallbacks'>, path: string, faults: Faults): Target {
  return {
    provider: wire.provider,
    model: wire.model,
    api_key: wire.api_key ?? null,
    base_url: wire.base_url ?? null,
    profile: wire.profile ?? null,
    params: params(wire.params ?? {}),
    pricing: wire.pricing == null ? null : pricing(wire.pricing, `${path}.pricing`, faults),
  }
}

type WirePricing = NonNullable<RunRequestBody['llm']['pricing']>

function params(wire: NonNullable<RunRequestBody['llm']['params']>): Params {
  return {
    temperature: double(wire.temperature),
    top_p: double(wire.top_p),
    max_output_tokens: wire.max_output_tokens ?? null,
    thinking: wire.thinking ?? null,
    parallel_tool_calls: wire.parallel_tool_calls ?? null,
    stop: wire.stop ?? [],
    seed: wire.seed ?? null,
    extra: wire.extra ?? {},
  }
}

/** Of a param that is reckoned with: digits beyond a double's mean nothing there. */
function double(value: Json | undefined): number | null {
  return value == null ? null : Number(rounded(value))
}

function pricing(wire: WirePricing, path: string, faults: Faults): Pricing {
  const thresholds = new Set<number>()
  const tiers = (wire.tiers ?? []).map((tier, index): PriceTier => {
    const { above_input_tokens } = tier
    const place = `${path}.tiers[${index}].above_input_tokens`
    // What stands in a wrong one's place is nobody's word.
    if (!faults.under(place)) {
      if (thresholds.has(above_input_tokens)) faults.add(place, `stands twice; got ${above_input_tokens}`)
      thresholds.add(above_input_tokens)
    }
    return { above_input_tokens, ...rates(tier, `${path}.tiers[${index}]`, faults) }
  })
  return { currency: wire.currency, ...rates(wire, path, faults), tiers }
}

function rates(wire: Omit<WirePricing, 'currency'>, path: string, faults: Faults): Rates {
  const { input, cache_read, cache_write, cache_write_1h, output } = wire
  for (const [name, amount] of Object.entries({ input, cache_read, cache_write, cache_write_1h, output })) {
    checkAmount(amount, `${path}.${name}`, faults)
  }
  const written = cache_write ?? input
  return {
    input,
    cache_read: cache_read ?? input,
    cache_write: written,
    cache_write_1h: cache_write_1h ?? written,
    output,
  }
}

function callback(wire: NonNullable<RunRequestBody['callback']>, faults: Faults, warnings: Warning[]): Callback {
  return { url: wire.url, headers: allowedHeaders(wire.headers ?? {}, 'callback.headers', faults, warnings) }
}

function tools(wire: NonNullable<RunRequestBody['tools']>, faults: Faults, warnings: Warning[]): Tool[] {
  const names = new Set<string>()
  return wire.map((tool, index) => {
    if (names.has(tool.name)) faults.add(`tools[${index}].name`, `stands twice; got ${JSON.stringify(tool.name)}`)
    names.add(tool.name)
    return {
      name: tool.name,
      description: tool.description ?? '',
      input_schema: tool.input_schema ?? { type: 'object' },
      url: tool.url,
      headers: allowedHeaders(tool.headers ?? {}, `tools[${index}].headers`, faults, warnings),
      effect: tool.effect ?? 'read',
      timeout_ms: tool.timeout_ms ?? defaults.tool_timeout_ms,
      label: tool.label ?? null,
      repeatable: tool.repeatable ?? false,
    }
  })
}

function outputFormat({ schema, blocks }: NonNullable<RunRequestBody['output']>): OutputFormat {
  const named = Object.entries(blocks ?? {}).map(([name, block]) => [name, block.schema] as const)
  return { schema: schema ?? null, blocks: Object.fromEntries(named) }
}

function limits(wire: NonNullable<RunRequestBody['limits']>): Limits {
  return {
    max_steps: wire.max_steps ?? defaults.max_steps,
    max_tool_calls: wire.max_tool_calls ?? defaults.max_tool_calls,
    timeout_ms: wire.timeout_ms ?? defaults.timeout_ms,
    max_output_tokens_total: wire.max_output_tokens_total ?? null,
    max_total_tokens: wire.max_total_tokens ?? null,
    max_cost: wire.max_cost ?? null,
    tool_result_max_bytes: wire.tool_result_max_bytes ?? defaults.tool_result_max_bytes,
    final_answer: wire.final_answer ?? true,
    approval_ttl_ms: wire.approval_ttl_ms ?? defaults.approval_ttl_ms,
    on_cancel: wire.on_cancel ?? 'cut',
    loop_guard: guardLimits(wire.loop_guard ?? {}),
  }
}

type WireGuard = NonNullable<NonNullable<RunRequestBody['limits']>['loop_guard']>

function guardLimits(wire: WireGuard): GuardLimits {
  return {
    same_call: wire.same_call ?? guardDefaults.same_call,
    same_result: wire.same_result ?? guardDefaults.same_result,
    refused_steps: wire.refused_steps ?? guardDefaults.refused_steps,
    empty_steps: wire.empty_steps ?? guardDefaults.empty_steps,
    invalid_steps: wire.invalid_steps ?? guardDefaults.invalid_steps,
    cycle_rounds: wire.cycle_rounds ?? guardDefaults.cycle_rounds,
  }
}

function streamOptions(wire: NonNullable<RunRequestBody['stream']>): StreamOptions {
  return {
    tool_names: wire.tool_names ?? false,
    tool_args: wire.tool_args ?? false,
    tool_results: wire.tool_results ?? false,
    reasoning: wire.reasoning ?? false,
  }
}
