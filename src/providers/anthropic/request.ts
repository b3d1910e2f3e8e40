/**
 * The HTTP request of one attempt at the Messages API. Pure: the same call gives the same bytes, and a longer conversation only
 * adds at its end (cache marks move, and are not part of what is compared).
 *
 * The version is 2023-06-01: the one that every compatible vendor speaks, and that still takes sampling for older models.
 */
import type { TextBlockParam, Tool as WireTool } from '@anthropic-ai/sdk/resources/messages'
import type { JsonObject } from '../../contract/json.ts'
import type { Warning } from '../../contract/result.ts'
import type { DialectCall, ProviderRequest } from '../dialect.ts'
import { endpoint } from '../endpoint.ts'
import { jsonBody } from '../json-body.ts'
import { nativeForm, systemText } from '../output-form.ts'
import { losesReasoning } from '../own-material.ts'
import { reasoningDropped } from '../reasoning-dropped.ts'
import { requestHeaders } from '../request-headers.ts'
import { wireSchema } from '../tool-definition.ts'
import { extraFields, omitsTools, paramDropped, wireParams, type WireParams } from '../wire-params.ts'
import { isObject } from '../wire-value.ts'
import { renamedSchema, type ToolNames, toolNames } from './property-names.ts'
import { append, conversationOf, isThinking, type BlockMessage } from './messages.ts'

const VERSION = '2023-06-01'
const CACHED = { cache_control: { type: 'ephemeral' } } as const

export function anthropicRequest(call: DialectCall): ProviderRequest {
  const { target, profile } = call
  const params = wireParams(call)
  const names = toolNames(call.ask.tools, profile.anthropic.propertyNames)
  const { messages, warnings } = conversationOf(call, names)
  const thinking = thinkingFor(call, params, messages)
  if (profile.anthropic.cacheControl) markCached(messages)
  // After the marks: it is gone on the next step, and would take the cached prefix with it.
  append(messages, 'user', lastWords(call, messages))
  const body = {
    model: target.model,
    max_tokens: params.maxTokens,
    stream: true,
    ...thinking.body,
    ...formFields(call, thinking.body),
    ...(params.temperature === null ? {} : { temperature: params.temperature }),
    ...(params.topP === null ? {} : { top_p: params.topP }),
    ...(params.stop.length === 0 ? {} : { stop_sequences: params.stop }),
    ...systemFields(call),
    ...toolFields(call, params, names),
    messages,
    ...profile.extraBody,
    ...extraFields(target.params),
  }
  return {
    url: endpoint(call.baseUrl, '/v1/messages'),
    headers: headersFor(call),
    body: jsonBody(body),
    warnings: [
      ...params.warnings,
      ...thinking.warnings,
      ...warnings,
      ...(losesReasoning(call) ? [reasoningDropped(target.model)] : []),
    ],
  }
}

/** The note of this step. A conversation must end with the user's words, also where a paused answer goes on. */
function lastWords({ ask }: DialectCall, messages: readonly BlockMessage[]): TextBlockParam[] {
  if (ask.note !== null && ask.note.trim() !== '') return [{ type: 'text', text: ask.note }]
  return messages.at(-1)?.role === 'assistant' ? [{ type: 'text', text: 'Please continue.' }] : []
}

function headersFor(call: DialectCall): Readonly<Record<string, string>> {
  const { betas } = call.profile.anthropic
  return requestHeaders(call, {
    'anthropic-version': VERSION,
    ...(betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') }),
  })
}

function systemFields(call: DialectCall): { system?: TextBlockParam[] } {
  const text = systemText(call, 'output_config')
  if (text.trim() === '') return {}
  return { system: [{ type: 'text', text, ...(call.profile.anthropic.cacheControl ? CACHED : {}) }] }
}

/** The form of the answer stands in one field with the effort. */
function formFields(call: DialectCall, { output_config }: JsonObject): JsonObject {
  const form = nativeForm(call, 'output_config')
  if (form?.kind !== 'json_schema') return {}
  const format = { type: 'json_schema', schema: form.schema }
  return { output_config: { ...(isObject(output_config) ? output_config : {}), format } }
}

function toolFields(call: DialectCall, params: WireParams, names: ToolNames): JsonObject {
  const { ask, profile } = call
  if (ask.tools.length === 0 || omitsTools(call, params)) return {}
  const tools = ask.tools.map(
    ({ name, description, input_schema }) =>
      ({
        name,
        ...(description.trim() === '' ? {} : { description }),
        input_schema: { ...renamedSchema(wireSchema(input_schema, profile), names.get(name)), type: 'object' },
      }) satisfies WireTool,
  )
  const last = tools.at(-1)
  if (last !== undefined && profile.anthropic.cacheControl) tools[tools.length - 1] = { ...last, ...CACHED }
  if (ask.toolChoice === 'none') return { tools, tool_choice: { type: 'none' } }
  if (params.parallelToolCalls === false)
    return { tools, tool_choice: { type: 'auto', disable_parallel_tool_use: true } }
  return { tools }
}

/** A budget cannot be used while the call that is being answered was made without thinking, or by another model. */
function thinkingFor(
  call: DialectCall,
  params: WireParams,
  messages: readonly BlockMessage[],
): { body: JsonObject; warnings: Warning[] } {
  const { thinking } = params.thinking
  const answered = messages.findLast((message) => message.role === 'assistant')?.content ?? []
  const inLoop = answered.some((block) => block.type === 'tool_use') && !isThinking(answered[0])
  if (!inLoop || !isObject(thinking) || thinking['budget_tokens'] === undefined) {
    return { body: params.thinking, warnings: [] }
  }
  return { body: {}, warnings: [paramDropped(call, 'thinking', 'cannot begin inside a tool loop and was left out')] }
}

/**
 * Marks the moving end of the history, and the end of the request before it: a lookup goes back 20 blocks only, and one step
 * with many calls adds more. With the marks on tools and system that makes four, the most there may be.
 */
function markCached(messages: readonly BlockMessage[]): void {
  for (const message of messages.filter(({ role }) => role === 'user').slice(-2)) {
    const last = message.content.at(-1)
    if (last !== undefined) message.content[message.content.length - 1] = { ...last, ...CACHED }
  }
}
