/**
 * A tool's schema as GigaChat takes it: an object with properties at the root, one type a node, properties on every object,
 * items on every array, enums of strings only, and neither references nor unions. Everything else is a 422 on every request.
 * Pure, bounded; the same schema gives the same bytes.
 *
 * This is what the model is told, not what holds: arguments are checked against the schema as the caller wrote it.
 */
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts'
import { schemaAt } from '../schema-pointer.ts'

/** Rewrites a schema. The same object is rewritten once: a run sends its tools with every step. */
export function functionSchema(schema: JsonObject): JsonObject {
  const known = rewritten.get(schema)
  if (known !== undefined) return known
  const made = new Rewriting(schema).rewritten()
  rewritten.set(schema, made)
  return made
}
const rewritten = new WeakMap<JsonObject, JsonObject>()

/** References are written out where they stand, which may multiply a schema. What goes beyond is any object. */
const MAX_NODES = 2_000
const MAX_DEPTH = 24

const TYPES: ReadonlySet<Json | undefined> = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean'])
const FORMATS: ReadonlySet<Json | undefined> = new Set(['date', 'date-time', 'time'])
/** Taken as they are. */
const KEPT = ['description', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems'] as const

/** Keywords of a node, its references and unions resolved. */
interface Plain {
  readonly keywords: JsonObject
  /** References on the way from the root to here: one that comes again would never end. */
  readonly seen: readonly string[]
}

class Rewriting {
  readonly #root: JsonObject
  #left = MAX_NODES

  constructor(root: JsonObject) {
    this.#root = root
  }

  rewritten(): JsonObject {
    const { keywords, seen } = this.#plain(this.#root, [], 0)
    return this.#node({ keywords: { ...keywords, type: 'object' }, seen }, 0)
  }

  #child(value: Json | undefined, seen: readonly string[], depth: number): JsonObject {
    this.#left -= 1
    if (this.#left < 0 || depth > MAX_DEPTH) return ANY_OBJECT
    return this.#node(isJsonObject(value) ? this.#plain(value, seen, depth) : { keywords: {}, seen }, depth)
  }

  #node({ keywords, seen }: Plain, depth: number): JsonObject {
    const type = typeOf(keywords)
    const allowed = allowedValues(keywords)
    const strings = type === 'string' ? [...new Set(allowed.filter((value) => typeof value === 'string'))] : []
    const described = type === 'string' ? keywords : withValues(keywords, allowed)
    const kept = KEPT.flatMap((name) => {
      const value = described[name]
      return typeof value === 'string' || typeof value === 'number' ? [[name, value] as const] : []
    })
    return {
      type,
      ...Object.fromEntries(kept),
      ...(strings.length === 0 ? {} : { enum: strings }),
      ...(type === 'string' && FORMATS.has(keywords['format']) ? { format: keywords['format'] as string } : {}),
      ...(type === 'object' ? this.#members(keywords, seen, depth) : {}),
      ...(type === 'array' ? { items: this.#child(itemsOf(keywords), seen, depth + 1) } : {}),
    }
  }

  #members(keywords: JsonObject, seen: readonly string[], depth: number): JsonObject {
    const declared = objectAt(keywords, 'properties')
    const names = Object.keys(declared)
    const required = strings(keywords['required']).filter((name) => Object.hasOwn(declared, name))
    return {
      properties: Object.fromEntries(names.map((name) => [name, this.#child(declared[name], seen, depth + 1)])),
      ...(required.length === 0 ? {} : { required: [...new Set(required)] }),
    }
  }

  /** What a node says by itself stands before what it takes from a reference or a branch. */
  #plain(node: JsonObject, seen: readonly string[], depth: number): Plain {
    const { $ref, allOf, anyOf, oneOf, ...own } = node
    this.#left -= 1
    if (this.#left < 0 || depth > MAX_DEPTH) return { keywords: own, seen }
    let plain: Plain = { keywords: own, seen }
    const take = (other: Plain) => (plain = { keywords: merged(other.keywords, plain.keywords), seen: other.seen })
    if (typeof $ref === 'string') take(this.#referred($ref, plain.seen, depth))
    for (const part of objects(allOf)) take(this.#plain(part, plain.seen, depth + 1))
    for (const union of [anyOf, oneOf]) {
      const branches = objects(union).filter((branch) => branch['type'] !== 'null')
      if (branches.length === 0) continue
      const alternatives: JsonObject[] = []
      let all = plain.seen
      for (const branch of branches) {
        const alternative = this.#plain(branch, all, depth + 1)
        alternatives.push(alternative.keywords)
        all = alternative.seen
      }
      take({ keywords: oneOfMany(alternatives), seen: all })
    }
    return plain
  }

  #referred(reference: string, seen: readonly string[], depth: number): Plain {
    const target = schemaAt(this.#root, reference)
    if (!isJsonObject(target)) return { keywords: {}, seen }
    if (!seen.includes(reference)) return this.#plain(target, [...seen, reference], depth + 1)
    const { type = 'object', description } = target
    return { keywords: description === undefined ? { type } : { type, description }, seen }
  }
}

const ANY_OBJECT: JsonObject = { type: 'object', properties: {} }

/** One type a node; the first of several. A node that says nothing may be anything, for which a text is the widest. */
function typeOf(keywords: JsonObject): string {
  const { type } = keywords
  const named = (Array.isArray(type) ? (type as readonly Json[]) : [type]).find((word) => TYPES.has(word))
  if (typeof named === 'string') return named
  if (keywords['properties'] !== undefined || keywords['additionalProperties'] !== undefined) return 'object'
  if (keywords['items'] !== undefined || keywords['prefixItems'] !== undefined) return 'array'
  const value = allowedValues(keywords)[0]
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'number' ? (Number.isInteger(value) ? 'integer' : 'number') : 'string'
}

function allowedValues(keywords: JsonObject): readonly Json[] {
  const { const: only, enum: some } = keywords
  const values = Array.isArray(some) ? (some as readonly Json[]) : only === undefined ? [] : [only]
  return values.filter((value) => value !== null)
}

/** An enum of anything but strings is refused; in words it still tells the model what it may write. */
function withValues(keywords: JsonObject, allowed: readonly Json[]): JsonObject {
  if (allowed.length === 0) return keywords
  const { description } = keywords
  const values = `One of: ${allowed.map((value) => JSON.stringify(value)).join(', ')}.`
  return { ...keywords, description: typeof description === 'string' ? `${description} ${values}` : values }
}

function itemsOf({ items, prefixItems }: JsonObject): Json | undefined {
  if (isJsonObject(items)) return items
  const [first] = [items, prefixItems].flatMap((list) => (Array.isArray(list) ? (list as readonly Json[]) : []))
  return first
}

/** Properties side by side, required of both; of everything else the second's. */
function merged(first: JsonObject, second: JsonObject): JsonObject {
  const properties = { ...objectAt(first, 'properties'), ...objectAt(second, 'properties') }
  const required = [...strings(first['required']), ...strings(second['required'])]
  return {
    ...first,
    ...second,
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  }
}

/**
 * Branches of a union as one node. Of one type: properties side by side, the values of all, what all of them demand, and no
 * bounds, for those are each branch's own. Of several types: the first, which is as good as any.
 */
function oneOfMany(branches: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = branches
  const type = typeOf(first)
  if (others.length === 0 || others.some((branch) => typeOf(branch) !== type)) return first
  const { description, items, properties } = branches.reduceRight((sum, branch) => merged(sum, branch))
  const values = branches.map((branch) => allowedValues(branch))
  const demanded = strings(first['required']).filter((name) =>
    others.every((branch) => strings(branch['required']).includes(name)),
  )
  return {
    type,
    ...(description === undefined ? {} : { description }),
    ...(properties === undefined ? {} : { properties }),
    ...(items === undefined ? {} : { items }),
    ...(values.every((some) => some.length > 0) ? { enum: values.flat() } : {}),
    ...(demanded.length === 0 ? {} : { required: demanded }),
  }
}

function objectAt(schema: JsonObject, key: string): JsonObject {
  const value = schema[key]
  return isJsonObject(value) ? value : {}
}

function objects(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => isJsonObject(item)) : []
}

function strings(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter((item) => typeof item === 'string') : []
}
