/**
 * A tool's schema for a provider that refuses a node without a type: every node gets one, and a type beside `anyOf` moves into
 * the branches. Pure; the same schema gives the same bytes.
 *
 * This is what the model is told, not what holds: arguments are checked against the schema as the caller wrote it.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'

/** @param schema one that says what its lists hold, as `spelled-schema.ts` writes it */
export function typedSchema(schema: JsonObject): JsonObject {
  return typed(schema, undefined)
}

/** Keywords that hold schemas by name, one schema, and schemas in a list. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'contains', 'propertyNames'])
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

/** @param inherited the type of the union that the node is a branch of; undefined: none */
function typed(node: JsonObject, inherited: Json | undefined): JsonObject {
  const { type = inherited, ...rest } = node
  const movesType = rest['anyOf'] !== undefined
  const members = Object.entries<Json>(rest).flatMap(([word, value]): [string, Json][] => {
    if (BY_NAME.has(word) && isJsonObject(value)) return [[word, byName(value)]]
    if (ONE.has(word)) return one(word, value)
    if (!LISTS.has(word) || !Array.isArray(value)) return [[word, value]]
    const branch = (schema: Json) => typed(isJsonObject(schema) ? schema : {}, word === 'anyOf' ? type : undefined)
    return [[word, (value as readonly Json[]).map(branch)]]
  })
  const made = Object.fromEntries(members)
  if (movesType || saysOtherwise(rest)) return type === undefined || movesType ? made : { type, ...made }
  return { type: type ?? typeFor(made), ...made }
}

/** What a node is, where it says so without a type. */
function saysOtherwise({ $ref, allOf, oneOf }: JsonObject): boolean {
  return $ref !== undefined || oneOf !== undefined || allOf !== undefined
}

/** Without a prototype, so that a property named `__proto__` is one. A schema that nothing fits names no member. */
function byName(members: JsonObject): JsonObject {
  const made = Object.create(null) as { [name: string]: Json }
  for (const [name, member] of Object.entries(members)) {
    if (member !== false) made[name] = typed(isJsonObject(member) ? member : {}, undefined)
  }
  return made
}

/** A schema that says nothing is as good as none. */
function one(word: string, value: Json): [string, Json][] {
  if (!isJsonObject(value)) return word === 'additionalProperties' ? [[word, value]] : []
  if (Object.keys(value).length === 0) return word === 'additionalProperties' ? [[word, true]] : []
  return [[word, typed(value, undefined)]]
}

/** From the values and the keywords of a node; one that says nothing may be anything, for which a text is the widest. */
function typeFor(node: JsonObject): string {
  const [value = node['const']] = Array.isArray(node['enum']) ? (node['enum'] as readonly Json[]) : []
  if (value !== undefined) return typeOf(value)
  if (['properties', 'required', 'additionalProperties', 'patternProperties'].some((word) => word in node))
    return 'object'
  if (['items', 'prefixItems', 'minItems', 'maxItems'].some((word) => word in node)) return 'array'
  if (['minimum', 'maximum', 'multipleOf'].some((word) => word in node)) return 'number'
  return 'string'
}

function typeOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (isJsonObject(value)) return 'object'
  return typeof value === 'object' ? 'number' : typeof value
}
