/**
 * The HTTP request of one attempt at the Responses API. Pure: the same call gives the same bytes, and a longer conversation
 * only adds at its end.
 *
 * Nothing is stored at the provider: `store` is false, and reasoning travels encrypted in the conversation itself.
 */
import type {
  FunctionTool,
  ResponseFormatTextConfig,
  ResponseIncludable,
  ResponseTextConfig,
} from 'openai/resources/responses/responses'
import type { JsonObject } from '../../contract/json.ts'
import type { Warning } from '../../contract/result.ts'
import type { DialectCall, ProviderRequest } from '../dialect.ts'
import { endpoint } from '../endpoint.ts'
import { jsonBody } from '../json-body.ts'
import { nativeForm } from '../output-form.ts'
import { losesReasoning } from '../own-material.ts'
import { reasoningDropped } from '../reasoning-dropped.ts'
import { requestHeaders } from '../request-headers.ts'
import { wireSchema } from '../tool-definition.ts'
import { extraFields, omitsTools, paramDropped, wireParams, type WireParams } from '../wire-params.ts'
import { inputItems } from './input-items.ts'

/** Refused by models that do not reason. */
const INCLUDE = { include: ['reasoning.encrypted_content' satisfies ResponseIncludable] }
/** Without the padding that hides the length of tokens from who can see the traffic. */
const STREAM_OPTIONS = { stream_options: { include_obfuscation: false } }
/** The API refuses a smaller bound. */
const LEAST_TOKENS = 16

export function responsesRequest(call: DialectCall): ProviderRequest {
  const { ask, target, profile } = call
  const params = wireParams(call)
  const bound = tokenBound(call, params.maxTokens)
  const { items, warnings } = inputItems(call)
  const body = {
    model: target.model,
    stream: true,
    store: false,
    ...(profile.thinking === null ? {} : INCLUDE),
    ...(call.repairs.has('no_stream_options') ? {} : STREAM_OPTIONS),
    ...(bound.maxTokens === null ? {} : { max_output_tokens: bound.maxTokens }),
    ...params.thinking,
    ...(params.temperature === null ? {} : { temperature: params.temperature }),
    ...(params.topP === null ? {} : { top_p: params.topP }),
    ...(ask.cacheKey === null ? {} : { prompt_cache_key: ask.cacheKey }),
    ...formFields(call),
    ...toolFields(call, params),
    input: items,
    ...profile.extraBody,
    ...extraFields(target.params),
  }
  return {
    url: endpoint(call.baseUrl, '/responses'),
    headers: requestHeaders(call),
    body: jsonBody(body),
    warnings: [
      ...params.warnings,
      ...bound.warnings,
      ...warnings,
      ...(losesReasoning(call) ? [reasoningDropped(target.model)] : []),
    ],
  }
}

function tokenBound(
  call: DialectCall,
  maxTokens: number | null,
): { readonly maxTokens: number | null; readonly warnings: readonly Warning[] } {
  if (maxTokens === null || maxTokens >= LEAST_TOKENS) return { maxTokens, warnings: [] }
  const warning = paramDropped(call, 'max_output_tokens', `was sent as ${LEAST_TOKENS}, the least that is taken`)
  return { maxTokens: LEAST_TOKENS, warnings: [warning] }
}

/** The same on every step, for it is a part of what is cached. */
function formFields(call: DialectCall): { text?: ResponseTextConfig } {
  const form = nativeForm(call, 'text')
  if (form === null) return {}
  // A schema is an object; JSON with all its digits is more than the typings know.
  const format: ResponseFormatTextConfig =
    form.kind === 'json_object'
      ? { type: 'json_object' }
      : { type: 'json_schema', name: 'answer', schema: form.schema, strict: form.strict }
  return { text: { format } }
}

/** The tools stay where none may be called: they stand before the conversation, and a cached prefix holds only with them. */
function toolFields(call: DialectCall, params: WireParams): JsonObject {
  const { ask, profile } = call
  if (ask.tools.length === 0 || omitsTools(call, params)) return {}
  const tools = ask.tools.map(
    ({ name, description, input_schema }) =>
      ({
        type: 'function',
        name,
        ...(description.trim() === '' ? {} : { description }),
        parameters: wireSchema(input_schema, profile),
        // Left out, the API makes every optional argument a required one.
        strict: false,
      }) satisfies FunctionTool,
  )
  return {
    tools,
    ...(ask.toolChoice === 'none' ? { tool_choice: 'none' } : {}),
    ...(params.parallelToolCalls === null ? {} : { parallel_tool_calls: params.parallelToolCalls }),
  }
}
