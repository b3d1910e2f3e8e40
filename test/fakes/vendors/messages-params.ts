/** What a vendor of the Messages API refuses beside the conversation: fields, tools, thinking, sampling, sizes. Pure. */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { anthropicFault } from './answer-form.ts'
import type { Judge } from './judge.ts'
import type { MessagesModel, MessagesRules } from './messages-rules.ts'

export function judgeMessagesParams(
  body: WireObject,
  model: MessagesModel,
  rules: MessagesRules,
  judge: Judge,
): { readonly thinks: boolean; readonly shown: boolean } {
  for (const field of Object.keys(body)) {
    if (rules.ignoredFields.includes(field)) judge.note(`${field} is sent and ignored`)
    else if (!rules.fields.includes(field)) judge.refuse(`${field}: Extra inputs are not permitted`)
  }
  if (body['stream'] !== true) judge.note('no stream is asked for')
  judgeSizes(body, model, judge)
  judgeForm(body, rules, judge)
  judgeTools(body, model, rules, judge)
  judgeSampling(body, model, rules, judge)
  for (const [at, block] of list(body['system']).entries()) {
    if (isObject(block) && text(block['text']).trim() === '') {
      judge.refuse(`system.${at}: text content blocks must contain non-whitespace text`)
    }
  }
  return judgeThinking(body, model, judge)
}

function judgeSizes({ max_tokens: most, model: name }: WireObject, model: MessagesModel, judge: Judge): void {
  if (most === undefined) judge.refuse('max_tokens: Field required')
  else if (!Number.isInteger(most) || (most as number) < 1) {
    judge.refuse('max_tokens: Input should be greater than or equal to 1')
  } else if ((most as number) > model.maxTokens) {
    judge.refuse(
      `max_tokens: ${most as number} > ${model.maxTokens}, which is the maximum allowed number of output tokens for ${text(name)}`,
    )
  }
}

function judgeForm({ output_config: output }: WireObject, rules: MessagesRules, judge: Judge): void {
  if (!isObject(output)) return
  const odd = Object.keys(output).find((word) => word !== 'effort' && !(word === 'format' && rules.forms))
  if (odd !== undefined) judge.refuse(`output_config.${odd}: Extra inputs are not permitted`)
  const { format } = output
  if (format === undefined) return
  const fault =
    isObject(format) && format['type'] === 'json_schema'
      ? anthropicFault(format['schema'])
      : "output_config.format.type: Input should be 'json_schema'"
  if (fault !== null) judge.refuse(fault)
}

function judgeTools(body: WireObject, model: MessagesModel, rules: MessagesRules, judge: Judge): void {
  const tools = list(body['tools'])
  const choice = body['tool_choice']
  if (body['tools'] !== undefined && tools.length === 0) judge.note('an empty list of tools')
  const names = new Set<string>()
  for (const [at, tool] of tools.entries()) {
    if (!isObject(tool)) continue
    const name = text(tool['name'])
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      judge.refuse(`tools.${at}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`)
    }
    if (names.has(name)) judge.refuse('tools: Tool names must be unique.')
    names.add(name)
    judgeSchema(tool['input_schema'], `tools.${at}.custom.input_schema`, judge)
    const { properties } = isObject(tool['input_schema']) ? tool['input_schema'] : {}
    if (isObject(properties) && Object.keys(properties).some((key) => !rules.propertyNames.test(key))) {
      judge.refuse(
        `tools.${at}.custom.input_schema.properties: Property keys should match pattern '${rules.propertyNames.source}'`,
      )
    }
    if (rules.typedSchemas) judgeTypes(tool['input_schema'], '', judge)
  }
  if (!isObject(choice)) return
  if (tools.length === 0) judge.refuse('tool_choice: tool_choice may only be specified while providing `tools`')
  if ((choice['type'] === 'any' || choice['type'] === 'tool') && !model.forcedChoice) {
    judge.refuse('tool_choice: forced tool use is not supported on this model')
  }
  if (choice['type'] === 'none' && choice['disable_parallel_tool_use'] !== undefined) {
    judge.refuse('tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted')
  }
}

function judgeSchema(schema: unknown, place: string, judge: Judge): void {
  if (!isObject(schema) || schema['type'] === undefined) return judge.refuse(`${place}.type: Field required`)
  if (schema['type'] !== 'object') judge.refuse(`${place}.type: Input should be 'object'`)
  if (['oneOf', 'allOf', 'anyOf'].some((union) => schema[union] !== undefined)) {
    judge.refuse(`${place}: input_schema does not support oneOf, allOf, or anyOf at the top level`)
  }
}

/** Moonshot's own flavour of JSON Schema: every node says what it is. */
function judgeTypes(node: unknown, path: string, judge: Judge): void {
  const refuse = (what: string) =>
    judge.refuse(
      `Invalid request: tools.function.parameters is not a valid moonshot flavored json schema, details: <At path '${path}': ${what}>`,
    )
  if (!isObject(node)) return refuse('a schema must be an object')
  const { $defs, additionalProperties, anyOf, definitions, items, prefixItems, properties, type } = node
  const says = ['type', '$ref', 'anyOf', 'oneOf', 'allOf'].some((word) => node[word] !== undefined)
  if (!says) refuse('type is not defined')
  if (anyOf !== undefined && type !== undefined) refuse('type should be defined in anyOf items instead of the parent')
  if (Array.isArray(items)) refuse('items must be a schema')
  for (const members of [properties, $defs, definitions]) {
    if (isObject(members))
      for (const [name, member] of Object.entries(members)) judgeTypes(member, `${path}.${name}`, judge)
  }
  for (const union of ['anyOf', 'oneOf', 'allOf']) {
    for (const [at, branch] of list(node[union]).entries()) judgeTypes(branch, `${path}.${union}.${at}`, judge)
  }
  for (const [at, item] of list(prefixItems).entries()) judgeTypes(item, `${path}.${at}`, judge)
  if (items !== undefined && !Array.isArray(items)) judgeTypes(items, `${path}.items`, judge)
  if (isObject(additionalProperties)) judgeTypes(additionalProperties, `${path}.additionalProperties`, judge)
}

function judgeSampling(body: WireObject, model: MessagesModel, rules: MessagesRules, judge: Judge): void {
  const { temperature, thinking, top_k: topK, top_p: topP } = body
  const sent = ['temperature', 'top_p', 'top_k'].filter((field) => body[field] !== undefined)
  if (model.sampling === 'none' && sent.length > 0) judge.refuse(`${sent.join(', ')}: not supported on this model`)
  if (temperature !== undefined && topP !== undefined && model.sampling === 'one') {
    judge.refuse('`temperature` and `top_p` cannot both be specified for this model. Please use only one.')
  }
  if (isObject(thinking) && thinking['type'] === 'enabled' && temperature !== undefined && temperature !== 1) {
    judge.refuse('`temperature` may only be set to 1 when thinking is enabled.')
  }
  if (isObject(thinking) && thinking['type'] === 'enabled' && topK !== undefined) {
    judge.refuse('`top_k` must be unset when thinking is enabled.')
  }
  const { above, most } = rules.temperature
  if (typeof temperature === 'number' && !(temperature > above && temperature <= most)) {
    judge.refuse(`invalid params, temperature must be in (${above}, ${most}] (2013)`)
  }
}

const ADAPTIVE_FIELDS: readonly string[] = ['type', 'display', 'block_binding']

function judgeThinking(
  body: WireObject,
  model: MessagesModel,
  judge: Judge,
): { readonly thinks: boolean; readonly shown: boolean } {
  const { max_tokens: most, output_config: output, thinking } = body
  const effort = isObject(output) ? output['effort'] : undefined
  if (effort !== undefined && !model.efforts.includes(text(effort))) {
    judge.refuse(
      model.efforts.length === 0
        ? 'output_config.effort: this model does not support effort'
        : `output_config.effort: Input should be ${model.efforts.map((word) => `'${word}'`).join(', ')}`,
    )
  }
  if (!isObject(thinking)) return { thinks: model.thinksUnasked, shown: model.display === 'summarized' }
  const type = text(thinking['type'])
  if (!model.thinking.includes(type)) {
    judge.refuse(
      type === 'adaptive'
        ? 'adaptive thinking is not supported on this model'
        : `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    )
  }
  const budget = thinking['budget_tokens']
  if (type === 'enabled' && model.thinking.includes('enabled') && budget !== undefined) {
    if (!((budget as number) >= 1024)) judge.refuse('thinking.enabled.budget_tokens: Input should be at least 1024')
    if (!((budget as number) < (most as number))) {
      judge.refuse('`max_tokens` must be greater than `thinking.budget_tokens`.')
    }
  }
  if (type === 'adaptive') {
    const odd = Object.keys(thinking).find((field) => !ADAPTIVE_FIELDS.includes(field))
    if (odd !== undefined) judge.refuse(`thinking.adaptive.${odd}: Extra inputs are not permitted`)
  }
  const display = text(thinking['display']) || model.display
  return { thinks: model.alwaysThinks || type !== 'disabled', shown: display === 'summarized' }
}
