/**
 * Whether a schema can be one that a vendor compiles into a grammar: each vendor takes a part of JSON Schema, and answers the
 * rest with a 400. Pure, linear in the schema; what each vendor takes is data.
 *
 * What is handed to the vendor only helps the model. The answer is checked against the schema as the caller wrote it, so a bound
 * that a vendor does not know may be left out here. Two things are never done: nothing becomes required, and nothing that the
 * caller's schema refuses is asked for.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'

export interface Subset {
  /** Bounds that are taken. Others of `BOUNDS` are left out. */
  readonly bounds: ReadonlySet<string>
  /** The highest `minItems` that is taken. */
  readonly minItems: number
  readonly formats: ReadonlySet<string>
  /** Every object says `additionalProperties: false`; else none says anything of it. */
  readonly closed: boolean
  /** Properties that are not required, in the whole schema. */
  readonly optional: number
  /** `anyOf`, and lists of types, in the whole schema. */
  readonly unions: number
  /** `$ref` to `#/$defs/…`, and to itself. */
  readonly references: 'none' | 'without_loops' | 'any'
  /** Enums hold strings only. */
  readonly textEnums: boolean
  /** Objects and lists within each other. */
  readonly depth: number
  readonly properties: number
  readonly enumValues: number
  /** UTF-16 units of names and enum values. */
  readonly letters: number
}

export interface Fitted {
  readonly schema: JsonObject
  /** Nothing that narrows it was left out. */
  readonly whole: boolean
}

/** null: it cannot be one. The root must be an object. */
export function fitted(schema: JsonObject, subset: Subset): Fitted | null {
  const fitting = new Fitting(schema, subset)
  const made = schema['type'] === 'object' && schema['anyOf'] === undefined ? fitting.root() : null
  return made === null ? null : { schema: made, whole: fitting.whole }
}

/** Say nothing of what is allowed. `$id` is not among them: it moves what references mean. */
const REMARKS = new Set('$schema $comment examples default deprecated readOnly writeOnly'.split(' '))
const BOUNDS = new Set(
  [
    'pattern multipleOf minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems',
    'minLength maxLength uniqueItems minProperties maxProperties',
  ].flatMap((words) => words.split(' ')),
)
const TYPES: ReadonlySet<Json | undefined> = new Set('object array string number integer boolean null'.split(' '))
/** One enum of more values than this may have so many letters. */
const LARGE_ENUM = { values: 250, letters: 15_000 }

class Fitting {
  whole = true
  readonly #schema: JsonObject
  readonly #subset: Subset
  readonly #defs: JsonObject
  #optional = 0
  #unions = 0
  #properties = 0
  #enumValues = 0
  #letters = 0

  constructor(schema: JsonObject, subset: Subset) {
    this.#schema = schema
    this.#subset = subset
    const { $defs } = schema
    this.#defs = isJsonObject($defs) ? $defs : {}
  }

  root(): JsonObject | null {
    const { $defs, ...root } = this.#schema
    const { references } = this.#subset
    if ($defs !== undefined && (!isJsonObject($defs) || references === 'none')) return null
    if (references === 'without_loops' && this.#loops()) return null
    const made = this.#node(root, 1)
    const defs = this.#members(this.#defs, 1)
    if (made === null || defs === null || !this.#isWithin()) return null
    return $defs === undefined ? made : { ...made, $defs: defs }
  }

  #isWithin(): boolean {
    const { enumValues, letters, optional, properties, unions } = this.#subset
    return (
      this.#optional <= optional &&
      this.#unions <= unions &&
      this.#properties <= properties &&
      this.#enumValues <= enumValues &&
      this.#letters <= letters
    )
  }

  /** null: it does not fit. */
  #node(node: Json | undefined, depth: number): JsonObject | null {
    if (!isJsonObject(node) || depth > this.#subset.depth) return null
    if (node['$ref'] !== undefined) return this.#reference(node)
    const { additionalProperties, anyOf, items, properties, required, ...rest } = node
    const types = typesOf(node)
    if (types === null || (anyOf !== undefined && types.length > 0)) return null
    const plain = this.#plain(rest, types)
    const union = anyOf === undefined ? {} : this.#union(anyOf, depth)
    const object = types.includes('object')
      ? this.#object({ additionalProperties, properties, required }, depth)
      : unless(additionalProperties ?? properties ?? required)
    const array = types.includes('array') ? this.#array(items, depth) : unless(items)
    if (plain === null || union === null || object === null || array === null) return null
    return { ...plain, ...union, ...object, ...array }
  }

  /** Beside a reference stands nothing but remarks, and they are left out. */
  #reference(node: JsonObject): JsonObject | null {
    const { $ref, description: _, title: __, ...rest } = node
    if (this.#subset.references === 'none' || Object.keys(rest).some((word) => !REMARKS.has(word))) return null
    return typeof $ref === 'string' && ($ref === '#' || nameOf($ref, this.#defs) !== null) ? { $ref } : null
  }

  #plain(rest: JsonObject, types: readonly Json[]): JsonObject | null {
    const kept: [string, Json][] = []
    for (const [word, value] of Object.entries(rest)) {
      if (REMARKS.has(word)) continue
      if (word === 'description' || word === 'title') {
        if (typeof value !== 'string') return null
        kept.push([word, value])
      } else if (word === 'type') {
        if (types.length > 1) this.#unions += 1
        kept.push([word, value])
      } else if (word === 'enum' || word === 'const') {
        if (!this.#values(word === 'const' ? [value] : value)) return null
        kept.push([word, value])
      } else if (word === 'format' || BOUNDS.has(word)) {
        if (this.#takes(word, value)) kept.push([word, value])
        else this.whole = false
      } else return null
    }
    return Object.fromEntries(kept)
  }

  #takes(word: string, value: Json): boolean {
    if (word === 'format') return typeof value === 'string' && this.#subset.formats.has(value)
    // Word borders are refused in a grammar.
    if (word === 'pattern' && (typeof value !== 'string' || /\\[bB]/.test(value))) return false
    if (word === 'minItems') return typeof value === 'number' && value <= this.#subset.minItems
    return this.#subset.bounds.has(word)
  }

  #values(values: Json): boolean {
    if (!Array.isArray(values) || values.length === 0) return false
    const all = values as readonly Json[]
    if (
      all.some(
        (value) =>
          (typeof value === 'object' && value !== null) || (this.#subset.textEnums && typeof value !== 'string'),
      )
    )
      return false
    const letters = all.reduce((sum: number, value) => sum + JSON.stringify(value).length, 0)
    this.#enumValues += all.length
    this.#letters += letters
    return all.length <= LARGE_ENUM.values || letters <= LARGE_ENUM.letters
  }

  #union(anyOf: Json, depth: number): JsonObject | null {
    this.#unions += 1
    const branches = Array.isArray(anyOf) ? (anyOf as readonly Json[]).map((branch) => this.#node(branch, depth)) : []
    return branches.length === 0 || branches.includes(null) ? null : { anyOf: branches as JsonObject[] }
  }

  #object(
    { additionalProperties, properties, required = [] }: { readonly [word: string]: Json | undefined },
    depth: number,
  ): JsonObject | null {
    // An object of any fields cannot be closed.
    if (!isJsonObject(properties) || !(additionalProperties === undefined || additionalProperties === false))
      return null
    const names = Object.keys(properties)
    const demanded = Array.isArray(required) ? (required as readonly Json[]) : [null]
    if (demanded.some((name) => typeof name !== 'string' || !Object.hasOwn(properties, name))) return null
    const made = this.#members(properties, depth + 1)
    if (made === null) return null
    this.#properties += names.length
    this.#optional += names.length - new Set(demanded).size
    if (!this.#subset.closed && additionalProperties === false) this.whole = false
    return {
      properties: made,
      ...(this.#subset.closed || demanded.length > 0 ? { required: [...demanded] } : {}),
      ...(this.#subset.closed ? { additionalProperties: false } : {}),
    }
  }

  #array(items: Json | undefined, depth: number): JsonObject | null {
    const made = this.#node(items, depth + 1)
    return made === null ? null : { items: made }
  }

  /** Schemas by name. Without a prototype, so that a property named `__proto__` is one. */
  #members(members: JsonObject, depth: number): JsonObject | null {
    const made = Object.create(null) as { [name: string]: Json }
    for (const [name, member] of Object.entries(members)) {
      const node = this.#node(member, depth)
      if (node === null) return null
      this.#letters += name.length
      made[name] = node
    }
    return made
  }

  /** A schema that leads back to itself. */
  #loops(): boolean {
    if (referencesIn(this.#schema).has('#')) return true
    const leadsTo = new Map(Object.entries(this.#defs).map(([name, node]) => [name, referencesIn(node)]))
    const state = new Map<string, 'open' | 'done'>()
    const loops = (name: string): boolean => {
      if (state.get(name) === 'open') return true
      if (state.get(name) === 'done') return false
      state.set(name, 'open')
      const found = [...(leadsTo.get(name) ?? [])].some(loops)
      state.set(name, 'done')
      return found
    }
    return Object.keys(this.#defs).some(loops)
  }
}

/** null: what stands here belongs to another type. */
function unless(value: Json | undefined): JsonObject | null {
  return value === undefined ? {} : null
}

/** The types a node names; `[]`: none, which is good only for a union. null: no node that a grammar can be made of. */
function typesOf({ anyOf, type }: JsonObject): readonly Json[] | null {
  if (type === undefined) return anyOf === undefined ? null : []
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type]
  return types.length > 0 && types.every((word) => TYPES.has(word)) ? types : null
}

/** The definition that a reference names; null: none, or something else. */
function nameOf(reference: string, defs: JsonObject): string | null {
  const [, name] = /^#\/\$defs\/([^/~%]+)$/.exec(reference) ?? []
  return name !== undefined && Object.hasOwn(defs, name) ? name : null
}

/** Every definition that is named anywhere in a value, and `#` for the whole. */
function referencesIn(value: Json): Set<string> {
  const found = new Set<string>()
  const look = (inner: Json): void => {
    if (Array.isArray(inner)) (inner as readonly Json[]).forEach(look)
    if (!isJsonObject(inner)) return
    const { $ref } = inner
    if (typeof $ref === 'string') found.add($ref === '#' ? '#' : $ref.slice('#/$defs/'.length))
    Object.values(inner).forEach(look)
  }
  look(value)
  return found
}
