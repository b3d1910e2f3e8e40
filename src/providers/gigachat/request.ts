/**
 * The HTTP request of one attempt at GigaChat's v1 API. Pure: the same call gives the same bytes, and a longer conversation only
 * adds at its end. The access token is not known here: it is added when the request leaves.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { DialectCall, ProviderRequest } from '../dialect.ts'
import { endpoint } from '../endpoint.ts'
import { jsonBody } from '../json-body.ts'
import { nativeForm } from '../output-form.ts'
import { extraFields, wireParams, type WireParams } from '../wire-params.ts'
import { functionName } from './function-name.ts'
import { functionSchema } from './function-schema.ts'
import { functionMessages } from './messages.ts'
import { USER_AGENT } from './user-agent.ts'

export function gigachatRequest(call: DialectCall): ProviderRequest {
  const { ask, target, profile } = call
  const params = wireParams(call)
  const { messages, warnings } = functionMessages(call)
  const body = {
    model: target.model,
    stream: true,
    ...paramFields(params),
    ...formFields(call),
    ...functionFields(call),
    messages,
    ...profile.extraBody,
    ...extraFields(target.params),
  }
  return {
    url: endpoint(call.baseUrl, '/v1/chat/completions'),
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'user-agent': USER_AGENT,
      // Requests of one session find what the service has cached of their beginning. Without a session a run has its steps.
      'x-session-id': ask.cacheKey ?? ask.runId,
    },
    body: jsonBody(body),
    warnings: [...params.warnings, ...warnings],
  }
}

function paramFields(params: WireParams): JsonObject {
  return {
    ...(params.maxTokens === null ? {} : { max_tokens: params.maxTokens }),
    ...params.thinking,
    ...(params.temperature === null ? {} : { temperature: params.temperature }),
    ...(params.topP === null ? {} : { top_p: params.topP }),
  }
}

function formFields(call: DialectCall): JsonObject {
  const form = nativeForm(call, 'response_format')
  if (form?.kind !== 'json_schema') return {}
  return { response_format: { type: 'json_schema', schema: form.schema, strict: form.strict } }
}

/** Functions go with every request of a run; without any, the mode is not said, for `auto` would call built-in ones. */
function functionFields({ ask }: DialectCall): JsonObject {
  if (ask.tools.length === 0) return {}
  const functions = ask.tools.map(({ name, description, input_schema }) => ({
    name: functionName(name),
    ...(description.trim() === '' ? {} : { description }),
    parameters: functionSchema(input_schema),
  }))
  return { functions, function_call: ask.toolChoice }
}
