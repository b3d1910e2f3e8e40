/** What the Responses API refuses beside the conversation: fields, tools, reasoning, sampling, sizes. Pure. */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { openaiFault } from './answer-form.ts'
import type { Judge } from './judge.ts'
import type { ResponsesModel } from './responses-rules.ts'

const FIELDS: readonly string[] = [
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning',
  'text',
  'include',
  'store',
  'stream',
  'stream_options',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_options',
  'safety_identifier',
  'service_tier',
  'truncation',
  'temperature',
  'top_p',
]

/** @returns whether the model reasons */
export function judgeResponsesParams(body: WireObject, model: ResponsesModel, judge: Judge): boolean {
  const reasons = model.efforts.length > 0
  for (const field of Object.keys(body)) {
    if (!FIELDS.includes(field)) {
      judge.refuse(`Unknown parameter: '${field}'.`, { param: field, code: 'unknown_parameter' })
    }
  }
  if (body['stream'] !== true) judge.note('no stream is asked for')
  if (body['store'] !== false) judge.note('the response is stored')
  if (body['instructions'] !== undefined) judge.note('instructions stand behind the input and are never cached')
  if (reasons && !list(body['include']).includes('reasoning.encrypted_content')) {
    judge.note('encrypted reasoning is not asked for')
  }
  if (!reasons && list(body['include']).length > 0) {
    judge.refuse('Encrypted content is not supported with this model.', { param: 'include' })
  }
  judgeSizes(body, model, judge)
  judgeForm(body, judge)
  judgeTools(body, judge)
  return judgeReasoningParams(body, model, judge)
}

function judgeSizes(
  { max_output_tokens: most, prompt_cache_key: key }: WireObject,
  model: ResponsesModel,
  judge: Judge,
) {
  if (most !== undefined && !(Number.isInteger(most) && (most as number) >= 16)) {
    judge.refuse(
      `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${most as number} instead.`,
      { param: 'max_output_tokens', code: 'integer_below_min_value' },
    )
  } else if (most !== undefined && (most as number) > model.maxTokens) {
    judge.refuse(`Invalid 'max_output_tokens': integer above maximum value. Expected a value <= ${model.maxTokens}.`, {
      param: 'max_output_tokens',
      code: 'integer_above_max_value',
    })
  }
  if (typeof key === 'string' && key.length > 64) {
    judge.refuse("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64.", {
      param: 'prompt_cache_key',
      code: 'string_above_max_length',
    })
  }
}

function judgeForm(body: WireObject, judge: Judge): void {
  const format = isObject(body['text']) ? body['text']['format'] : undefined
  if (!isObject(format)) return
  const facts = { param: 'text.format', code: 'invalid_json_schema' }
  if (format['type'] === 'json_schema') {
    const { name, schema, strict } = format
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(text(name))) judge.refuse("Invalid 'text.format.name'", facts)
    const fault =
      strict === true ? openaiFault(schema) : isObject(schema) && schema['type'] === 'object' ? null : 'no object'
    if (fault !== null) judge.refuse(fault, { ...facts, param: 'text.format.schema' })
  } else if (format['type'] !== 'text') judge.refuse("Invalid value: 'text.format.type'", facts)
}

function judgeReasoningParams(body: WireObject, model: ResponsesModel, judge: Judge): boolean {
  const { reasoning, temperature, top_p: topP } = body
  const effort = isObject(reasoning) ? reasoning['effort'] : undefined
  const reasons = model.efforts.length > 0
  if (reasoning !== undefined && !reasons) {
    judge.refuse("Unsupported parameter: 'reasoning.effort' is not supported with this model.", {
      param: 'reasoning.effort',
      code: 'unsupported_parameter',
    })
  }
  if (effort !== undefined && reasons && !model.efforts.includes(text(effort))) {
    const values = model.efforts.map((word) => `'${word}'`).join(', ')
    judge.refuse(
      `Unsupported value: '${text(effort)}' is not supported with the '${text(body['model'])}' model. Supported values are: ${values}.`,
      { param: 'reasoning.effort', code: 'unsupported_value' },
    )
  }
  const atRest = !reasons || effort === 'none'
  const sampled = (
    [
      ['temperature', temperature],
      ['top_p', topP],
    ] as const
  ).find(([, value]) => value !== undefined)
  if (sampled !== undefined && (model.sampling === 'never' || (model.sampling === 'at_rest' && !atRest))) {
    judge.refuse(`Unsupported parameter: '${sampled[0]}' is not supported with this model.`, {
      param: sampled[0],
      code: 'unsupported_parameter',
    })
  }
  return !atRest
}

function judgeTools(body: WireObject, judge: Judge): void {
  const tools = list(body['tools'])
  if (body['tool_choice'] !== undefined && tools.length === 0) {
    judge.refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
  }
  const names = new Set<string>()
  for (const [at, tool] of tools.entries()) {
    if (!isObject(tool)) continue
    const name = text(tool['name'])
    if (tool['function'] !== undefined || tool['type'] !== 'function') {
      judge.refuse(`Missing required parameter: 'tools[${at}].name'.`, { code: 'missing_required_parameter' })
    }
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      judge.refuse(
        `Invalid 'tools[${at}].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
      )
    }
    if (names.has(name)) judge.refuse(`Duplicate tool name '${name}'.`)
    names.add(name)
    if (tool['strict'] !== false) judge.note(`tool ${name}: without strict false every optional argument is required`)
    const { parameters } = tool
    if (!isObject(parameters) || parameters['type'] !== 'object') {
      const type = isObject(parameters) ? text(parameters['type']) || 'None' : 'None'
      judge.refuse(
        `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "${type}"'.`,
        { param: `tools[${at}].parameters`, code: 'invalid_function_parameters' },
      )
    } else if (['anyOf', 'oneOf', 'allOf', 'not', 'enum'].some((word) => parameters[word] !== undefined)) {
      judge.refuse(
        `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
        { param: `tools[${at}].parameters`, code: 'invalid_function_parameters' },
      )
    } else judgeLists(parameters, name, [], judge)
  }
}

/** A list must say what it holds, at any depth. */
function judgeLists(node: unknown, tool: string, context: readonly string[], judge: Judge): void {
  if (!isObject(node)) return
  const lists = node['type'] === 'array' || list(node['type']).includes('array')
  const refuse = (what: string) =>
    judge.refuse(`Invalid schema for function '${tool}': In context=(${context.join(', ')}), ${what}.`, {
      param: 'tools',
      code: 'invalid_function_parameters',
    })
  if (lists && node['items'] === undefined) refuse('array schema missing items')
  if (Array.isArray(node['items'])) refuse("[…] is not of type 'object', 'boolean'")
  for (const [word, value] of Object.entries(node)) {
    if (word === 'enum' || word === 'const') continue
    for (const inner of Array.isArray(value) ? value : [value])
      judgeLists(inner, tool, [...context, `'${word}'`], judge)
  }
}
