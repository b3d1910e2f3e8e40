/**
 * What every provider demands of a tool's name and schema on the wire. Pure. Arguments are always checked against the schema as
 * the caller wrote it; the rewrites here only keep one unusual schema, or one invented name, from making every request a 400.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'

/**
 * The name of a call in history. A model may have called a tool by a name that no provider takes back; the name is already
 * answered with an error, so that its look no longer matters.
 */
export function wireToolName(name: string): string {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
}

/**
 * A schema whose root is an object with properties. Unions at the root, which several providers refuse, are resolved by
 * putting the properties of all branches side by side; what only some branches demand is no longer demanded.
 */
export function objectSchema(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...root } = schema
  const unions = [...branches(anyOf), ...branches(oneOf)]
  const parts = [...branches(allOf), root]
  if (anyOf === undefined && oneOf === undefined && allOf === undefined && isPlain(root)) return schema
  // Without a prototype, so that a property named `__proto__` is one.
  const properties = Object.create(null) as { [name: string]: Json }
  for (const part of [...unions, ...parts]) Object.assign(properties, objectAt(part, 'properties'))
  const required = new Set(
    parts.flatMap((part) => (Array.isArray(part['required']) ? (part['required'] as Json[]) : [])),
  )
  return { ...root, type: 'object', properties, ...(required.size === 0 ? {} : { required: [...required] }) }
}

function isPlain(root: JsonObject): boolean {
  return root['type'] === 'object' && isJsonObject(root['properties'])
}

function branches(union: Json | undefined): readonly JsonObject[] {
  return Array.isArray(union) ? (union as readonly Json[]).filter((branch) => isJsonObject(branch)) : []
}

function objectAt(schema: JsonObject, key: string): JsonObject {
  const value = schema[key]
  return isJsonObject(value) ? value : {}
}
