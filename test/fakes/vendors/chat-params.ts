/** What a vendor of chat completions refuses beside the conversation: fields, tools, thinking, sampling, sizes. Pure. */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import { judgeChatForm } from './answer-form.ts'
import type { ChatModel, ChatRules } from './chat-rules.ts'
import type { Judge } from './judge.ts'

/** @returns whether the model thinks */
export function judgeChatParams(body: WireObject, model: ChatModel, rules: ChatRules, judge: Judge): boolean {
  const { says } = rules
  for (const field of Object.keys(body)) {
    if (!rules.fields.includes(field)) judge.refuse(says.unknownField(field), { param: field })
  }
  if (body['stream'] !== true) judge.note('no stream is asked for')
  const most = body['max_tokens']
  if (most !== undefined && !(Number.isInteger(most) && (most as number) >= 1 && (most as number) <= model.maxTokens)) {
    judge.refuse(says.badParam('max_tokens', `[1, ${model.maxTokens}]`), { param: 'max_tokens' })
  }
  const stops = body['stop']
  if (Array.isArray(stops) && stops.length > rules.stops) judge.refuse(says.badParam('stop', `at most ${rules.stops}`))
  const thinks = judgeThinking(body, model, rules, judge)
  judgeSampling(body, thinks, rules, judge)
  judgeChatForm(body, rules.forms, judge)
  judgeTools(body, thinks, rules, judge)
  return thinks
}

function judgeThinking(body: WireObject, model: ChatModel, rules: ChatRules, judge: Judge): boolean {
  const { reasoning_effort: effort, thinking } = body
  if (effort !== undefined && !model.efforts.includes(text(effort))) {
    judge.refuse(rules.says.badParam('reasoning_effort', model.efforts.join(', ')), { param: 'reasoning_effort' })
  }
  if (thinking === undefined) return model.thinksUnasked
  const type = isObject(thinking) ? text(thinking['type']) : ''
  if (!model.thinking.includes(type)) {
    judge.refuse(rules.says.badParam('thinking.type', model.thinking.join(', ')), { param: 'thinking' })
  }
  if (type === 'disabled' && effort !== undefined) judge.note('an effort for a model that is told not to think')
  return type !== 'disabled'
}

function judgeSampling(body: WireObject, thinks: boolean, rules: ChatRules, judge: Judge): void {
  const { temperature, top_p: topP } = body
  if (thinks && !rules.temperatureWhileThinking && temperature !== undefined) {
    judge.note('temperature for a model that thinks is ignored')
  }
  const { above, most } = rules.temperature
  if (temperature !== undefined && !((temperature as number) > above && (temperature as number) <= most)) {
    judge.refuse(rules.says.badParam('temperature', `(${above}, ${most}]`), { param: 'temperature' })
  }
  if (topP !== undefined && !((topP as number) >= rules.topP.least && (topP as number) <= rules.topP.most)) {
    judge.refuse(rules.says.badParam('top_p', `[${rules.topP.least}, ${rules.topP.most}]`), { param: 'top_p' })
  }
}

function judgeTools(body: WireObject, thinks: boolean, rules: ChatRules, judge: Judge): void {
  const { says } = rules
  const tools = list(body['tools'])
  const choice = body['tool_choice']
  if (body['tools'] !== undefined && tools.length === 0) judge.refuse("[] is too short - 'tools'")
  if (tools.length > rules.tools) judge.refuse(says.badParam('tools', `at most ${rules.tools}`))
  if (choice !== undefined && tools.length === 0) {
    judge.refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
  }
  if (choice !== undefined && !rules.toolChoices.includes(text(choice))) judge.refuse(says.forcedChoice)
  if (choice !== undefined && thinks && !rules.toolChoiceWhileThinking) {
    judge.refuse('Thinking mode does not support this tool_choice')
  }
  const names = new Set<string>()
  for (const tool of tools) {
    const declared = isObject(tool) && isObject(tool['function']) ? tool['function'] : {}
    const name = text(declared['name'])
    if (!isObject(tool) || tool['type'] !== 'function') judge.refuse(says.badParam('tools.type', '`function`'))
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
      judge.refuse(`Invalid 'tools.function.name': string does not match pattern. Expected '^[a-zA-Z0-9_-]+$'.`)
    }
    if (names.has(name)) judge.refuse(says.badParam('tools', 'names that differ'))
    names.add(name)
    if (declared['strict'] !== undefined) judge.note(`tool ${name} is sent with strict`)
    const { parameters } = declared
    if (parameters === undefined) continue
    if (!isObject(parameters) || parameters['type'] !== 'object') {
      judge.refuse(`Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'`)
    } else if (['anyOf', 'oneOf', 'allOf', 'not', 'enum'].some((word) => parameters[word] !== undefined)) {
      judge.refuse(
        `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
      )
    }
  }
}
