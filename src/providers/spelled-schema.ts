/**
 * A tool's schema with what JSON Schema lets its writer leave out: a list says what it holds, a schema that everything fits is
 * `{}` and not `true`, and items by place stand under `prefixItems`, as the newest draft has it. It says the same as before;
 * OpenAI refuses a list without items, Anthropic the words of the older draft. Pure.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'

/** Keywords that hold schemas by name, one schema, and schemas in a list. */
const BY_NAME: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions'])
const ONE: ReadonlySet<string> = new Set(['items', 'additionalProperties', 'contains', 'not'])
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems'])

/** The very same object where nothing is to be said. */
export function spelledSchema(schema: JsonObject): JsonObject {
  const node = withItems(schema)
  const made = Object.entries<Json>(node).map(([word, value]) => [word, spelledWord(word, value)] as const)
  const changed = node !== schema || made.some(([word, value]) => value !== node[word])
  return changed ? Object.fromEntries(made) : schema
}

function withItems(node: JsonObject): JsonObject {
  const { additionalItems, items, ...rest } = node
  if (Array.isArray(items)) {
    const more = isJsonObject(additionalItems) || additionalItems === false ? additionalItems : {}
    return { ...rest, prefixItems: items, items: more }
  }
  const { type } = node
  const isList = type === 'array' || (Array.isArray(type) && (type as readonly Json[]).includes('array'))
  return isList && items === undefined ? { ...node, items: {} } : node
}

function spelledWord(word: string, value: Json): Json {
  if (BY_NAME.has(word) && isJsonObject(value)) return byName(value)
  if (ONE.has(word) && isJsonObject(value)) return spelledSchema(value)
  if (word === 'items' && value === true) return {}
  if (!LISTS.has(word) || !Array.isArray(value)) return value
  const branches = (value as readonly Json[]).map(spelled)
  return branches.some((branch, at) => branch !== (value as readonly Json[])[at]) ? branches : value
}

function spelled(schema: Json): Json {
  if (schema === true) return {}
  return isJsonObject(schema) ? spelledSchema(schema) : schema
}

/** Without a prototype, so that a property named `__proto__` is one. */
function byName(members: JsonObject): JsonObject {
  const made = Object.create(null) as { [name: string]: Json }
  for (const [name, member] of Object.entries(members)) made[name] = spelled(member)
  return Object.entries(members).some(([name, member]) => made[name] !== member) ? made : members
}
