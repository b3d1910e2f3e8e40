/**
 * The HTTP request of one attempt at a chat completions server. Pure: the same call gives the same bytes, and a longer
 * conversation only adds at its end.
 *
 * The body is as small as it can be: servers refuse fields that they do not know, so what is optional is sent only where it
 * was asked for.
 */
import type { ChatCompletionFunctionTool } from 'openai/resources/chat/completions'
import type { JsonObject } from '../../contract/json.ts'
import type { DialectCall, ProviderRequest } from '../dialect.ts'
import { endpoint } from '../endpoint.ts'
import { jsonBody } from '../json-body.ts'
import { nativeForm } from '../output-form.ts'
import { losesReasoning } from '../own-material.ts'
import { reasoningDropped } from '../reasoning-dropped.ts'
import { requestHeaders } from '../request-headers.ts'
import { wireSchema } from '../tool-definition.ts'
import { extraFields, omitsTools, wireParams, type WireParams } from '../wire-params.ts'
import { chatMessages } from './messages.ts'

export function chatRequest(call: DialectCall): ProviderRequest {
  const { target, profile } = call
  const params = wireParams(call)
  const { messages, warnings } = chatMessages(call)
  const body = {
    model: target.model,
    stream: true,
    ...(profile.chat.streamOptions && !call.repairs.has('no_stream_options')
      ? { stream_options: { include_usage: true } }
      : {}),
    ...paramFields(params, call),
    ...formFields(call),
    ...toolFields(call, params),
    messages,
    ...profile.extraBody,
    ...extraFields(target.params),
  }
  return {
    url: endpoint(call.baseUrl, '/chat/completions'),
    headers: requestHeaders(call),
    body: jsonBody(body),
    warnings: [...params.warnings, ...warnings, ...(losesReasoning(call) ? [reasoningDropped(target.model)] : [])],
  }
}

function paramFields(params: WireParams, { profile, repairs }: DialectCall): JsonObject {
  const { maxTokensField, seedField } = profile.chat
  const bound = repairs.has('other_max_tokens') ? OTHER_NAME[maxTokensField] : maxTokensField
  return {
    ...(params.maxTokens === null ? {} : { [bound]: params.maxTokens }),
    ...params.thinking,
    ...(params.temperature === null ? {} : { temperature: params.temperature }),
    ...(params.topP === null ? {} : { top_p: params.topP }),
    ...(params.stop.length === 0 ? {} : { stop: params.stop }),
    ...(params.seed === null ? {} : { [seedField]: params.seed }),
  }
}

const OTHER_NAME = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const

function formFields(call: DialectCall): JsonObject {
  const form = nativeForm(call, 'response_format')
  if (form === null) return {}
  if (form.kind === 'json_object') return { response_format: { type: 'json_object' } }
  const { schema, strict } = form
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict } } }
}

/** Nothing about tools where there are none: some servers refuse an empty list, and a choice without tools. */
function toolFields(call: DialectCall, params: WireParams): JsonObject {
  const { ask, profile } = call
  if (ask.tools.length === 0 || omitsTools(call, params)) return {}
  const tools = ask.tools.map(
    ({ name, description, input_schema }) =>
      ({
        type: 'function',
        function: {
          name,
          ...(description.trim() === '' ? {} : { description }),
          parameters: wireSchema(input_schema, profile),
        },
      }) satisfies ChatCompletionFunctionTool,
  )
  return {
    tools,
    ...(ask.toolChoice === 'none' ? { tool_choice: 'none' } : {}),
    ...(params.parallelToolCalls === null ? {} : { parallel_tool_calls: params.parallelToolCalls }),
    ...profile.chat.withTools,
  }
}
