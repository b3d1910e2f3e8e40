/**
 * What vendors refuse of the form that an answer shall have: schemas beyond what they compile, in their own words as far as they
 * are known. Pure, and written without a look at how the engine decides. Sources as for each vendor.
 */
import { isObject, list, text, type WireObject } from '../../../src/providers/wire-value.ts'
import type { Judge } from './judge.ts'

/** Every schema within a schema, with its place; the root first. */
function* nodesOf(node: unknown, place: string, depth = 1): Generator<readonly [WireObject, string, number]> {
  if (!isObject(node)) return
  yield [node, place, depth]
  for (const word of ['properties', '$defs']) {
    const members = node[word]
    if (!isObject(members)) continue
    for (const [name, member] of Object.entries(members)) yield* nodesOf(member, `${place}.${word}.${name}`, depth + 1)
  }
  yield* nodesOf(node['items'], `${place}.items`, depth + 1)
  for (const [at, branch] of list(node['anyOf']).entries()) yield* nodesOf(branch, `${place}.anyOf.${at}`, depth)
}

const isOf = (node: WireObject, type: string) => [node['type']].flat().includes(type)
const propertiesOf = (node: WireObject) => (isObject(node['properties']) ? Object.keys(node['properties']) : [])

const OPENAI_REFUSED = ['allOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependentRequired', 'patternProperties']
const OPENAI_UNKNOWN = ['propertyNames', 'minLength', 'maxLength', 'uniqueItems', 'default', '$schema', 'examples']

/** OpenAI's strict mode. */
export function openaiFault(schema: unknown): string | null {
  const says = (place: string, what: string) =>
    `Invalid schema for response_format 'answer': In context=(${place}), ${what}`
  if (!isObject(schema) || schema['type'] !== 'object' || schema['anyOf'] !== undefined) {
    return says('', `schema must be a JSON Schema of 'type: "object"'`)
  }
  for (const [node, place, depth] of nodesOf(schema, '')) {
    const word = [...OPENAI_REFUSED, ...OPENAI_UNKNOWN].find((one) => node[one] !== undefined)
    if (word !== undefined) return says(place, `'${word}' is not permitted.`)
    if (node['$ref'] !== undefined && Object.keys(node).length > 1) return says(place, '$ref cannot have keywords.')
    if (['type', '$ref', 'anyOf'].every((one) => node[one] === undefined))
      return says(place, "schema must have a 'type' key.")
    if (depth > 20) return says(place, 'too deep')
    if (!isOf(node, 'object')) continue
    if (node['additionalProperties'] !== false)
      return says(place, "'additionalProperties' is required to be supplied and to be false.")
    const missing = propertiesOf(node).find((name) => !list(node['required']).includes(name))
    if (missing !== undefined) {
      return says(
        place,
        `'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`,
      )
    }
  }
  return null
}

const ANTHROPIC_REFUSED =
  'allOf oneOf not if patternProperties propertyNames minimum maximum multipleOf minLength maxLength maxItems exclusiveMinimum exclusiveMaximum uniqueItems'.split(
    ' ',
  )

export function anthropicFault(schema: unknown): string | null {
  const says = (what: string) => `output_config.format.schema: ${what}`
  if (!isObject(schema)) return says('Input should be an object')
  let optional = 0
  let unions = 0
  for (const [node] of nodesOf(schema, '')) {
    const word = ANTHROPIC_REFUSED.find((one) => node[one] !== undefined)
    if (word !== undefined) return says(`For '${String(node['type'])}' type, property '${word}' is not supported`)
    if (typeof node['minItems'] === 'number' && node['minItems'] > 1)
      return says("'minItems' values other than 0 or 1 are not supported")
    if (/\\[bB]/.test(text(node['pattern']))) return says('Invalid regex in pattern field')
    if (node['anyOf'] !== undefined || Array.isArray(node['type'])) unions += 1
    if (!isOf(node, 'object')) continue
    if (node['additionalProperties'] !== false)
      return says("For 'object' type, 'additionalProperties' must be explicitly set to false")
    optional += propertiesOf(node).filter((name) => !list(node['required']).includes(name)).length
  }
  if (optional > 24 || unions > 16) return says('Schema is too complex for compilation.')
  return null
}

export function gigachatFault(schema: unknown): string | null {
  if (!isObject(schema) || schema['type'] !== 'object') return 'Invalid params: response_format.schema'
  for (const [node, place] of nodesOf(schema, 'schema')) {
    if (typeof node['type'] !== 'string') return `Invalid params: response_format: Field '${place}.type' is missing`
    const word = ['$ref', '$defs', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'].find(
      (one) => node[one] !== undefined,
    )
    if (word !== undefined) return `Invalid params: response_format: ${place}.${word}`
    if (isOf(node, 'object') && !isObject(node['properties'])) {
      return `Invalid params: response_format: Field '${place}.properties' is missing`
    }
    if (isOf(node, 'array') && !isObject(node['items']))
      return `Invalid params: response_format: Field '${place}.items' is missing`
    if (list(node['enum']).some((value) => typeof value !== 'string'))
      return `Invalid params: response_format: ${place}.enum`
  }
  return null
}

/** `response_format` of chat completions, and its like: the object with `type` and schema. */
export function judgeChatForm(body: WireObject, taken: readonly string[], judge: Judge): void {
  const format = body['response_format']
  if (format === undefined) return
  const type = isObject(format) ? text(format['type']) : ''
  const facts = { param: 'response_format' }
  if (!taken.includes(type)) return judge.refuse('This response_format type is unavailable now', facts)
  if (type === 'json_object' && !/json/.test(JSON.stringify(body['messages']))) {
    judge.refuse(
      "Prompt must contain the word 'json' in some form to use 'response_format' of type 'json_object'.",
      facts,
    )
  }
  if (type !== 'json_schema') return
  const asked = isObject(format) && isObject(format['json_schema']) ? format['json_schema'] : {}
  if (!/^[a-zA-Z0-9_-]{1,64}$/.test(text(asked['name'])))
    judge.refuse("Invalid 'response_format.json_schema.name'", facts)
  const fault = asked['strict'] === true ? openaiFault(asked['schema']) : null
  if (fault !== null) judge.refuse(fault, facts)
}
