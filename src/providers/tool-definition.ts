/**
 * What every provider demands of a tool's name and schema on the wire. Pure. Arguments are always checked against the schema as
 * the caller wrote it; the rewrites here only keep one unusual schema, or one invented name, from making every request a 400.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'
import type { Profile } from './profile.ts'
import { schemaAt } from './schema-pointer.ts'
import { spelledSchema } from './spelled-schema.ts'
import { typedSchema } from './typed-schema.ts'

/**
 * The name of a call in history. A model may have called a tool by a name that no provider takes back; the name is already
 * answered with an error, so that its look no longer matters.
 */
export function wireToolName(name: string): string {
  return /^[a-zA-Z0-9_-]{1,64}$/.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64)
}

/** A tool's schema as the model of a profile takes it. Made once of the same object. */
export function wireSchema(schema: JsonObject, { typedSchemas }: Pick<Profile, 'typedSchemas'>): JsonObject {
  const made = typedSchemas ? madeTyped : madePlain
  const known = made.get(schema)
  if (known !== undefined) return known
  const plain = spelledSchema(objectSchema(schema))
  const written = typedSchemas ? typedSchema(plain) : plain
  made.set(schema, written)
  return written
}
const madePlain = new WeakMap<JsonObject, JsonObject>()
const madeTyped = new WeakMap<JsonObject, JsonObject>()

/**
 * A schema whose root is an object with properties and nothing that providers refuse there. A reference at the root is followed;
 * unions are resolved by putting the properties of all branches side by side; what only some branches demand is no longer
 * demanded. Whole values and negations are left out: they only forbid.
 */
export function objectSchema(schema: JsonObject): JsonObject {
  if (isPlain(schema)) return schema
  const known = madeObjects.get(schema)
  if (known !== undefined) return known
  const { properties, required, rest } = flat(schema, { root: schema, seen: [] })
  const made = { ...rest, type: 'object', properties, ...(required.size === 0 ? {} : { required: [...required] }) }
  madeObjects.set(schema, made)
  return made
}
/** What is made of a schema is made once: a run sends its tools with every step. */
const madeObjects = new WeakMap<JsonObject, JsonObject>()

/** Keywords that several providers refuse at the root. */
const REFUSED = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const'] as const

function isPlain(root: JsonObject): boolean {
  return (
    root['type'] === 'object' && isJsonObject(root['properties']) && REFUSED.every((word) => root[word] === undefined)
  )
}

interface Flat {
  /** Without a prototype, so that a property named `__proto__` is one. */
  readonly properties: { [name: string]: Json }
  readonly required: Set<Json>
  /** Everything else that the node says, and what it refers to. */
  readonly rest: JsonObject
}

/** @param within `seen`: references on the way here, for one that comes again would never end */
function flat(node: JsonObject, within: { readonly root: JsonObject; readonly seen: readonly string[] }): Flat {
  const { $ref, anyOf, oneOf, allOf, not: _not, enum: _enum, const: _const, properties: own, required, ...rest } = node
  const properties = Object.create(null) as Flat['properties']
  const demanded = new Set<Json>()
  const target = typeof $ref === 'string' && !within.seen.includes($ref) ? schemaAt(within.root, $ref) : undefined
  const deeper = { ...within, seen: typeof $ref === 'string' ? [...within.seen, $ref] : within.seen }
  const referred = isJsonObject(target) ? flat(target, deeper) : null
  const alternatives = [...objects(anyOf), ...objects(oneOf)].map((branch) => flat(branch, deeper))
  const parts = [...(referred === null ? [] : [referred]), ...objects(allOf).map((part) => flat(part, deeper))]
  for (const part of [...alternatives, ...parts]) Object.assign(properties, part.properties)
  if (isJsonObject(own)) Object.assign(properties, own)
  for (const part of parts) for (const name of part.required) demanded.add(name)
  if (Array.isArray(required)) for (const name of required as readonly Json[]) demanded.add(name)
  return { properties, required: demanded, rest: { ...referred?.rest, ...rest } }
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => isJsonObject(item)) : []
}
