/**
 * A tool's `input_schema` in the form that arguments are checked against: keywords sorted by what they do, references
 * resolved, patterns compiled. Made by `read-schema.ts` only; `check-arguments.ts` walks it.
 *
 * One vocabulary serves both drafts: JSON Schema 2020-12 and the older keywords that draft-07 has in their place.
 */
import { canonical } from '../contract/canonical.ts'
import type { Json } from '../contract/json.ts'
import type { LinearPattern } from './linear-pattern.ts'

export const TYPE_NAMES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'] as const
export type TypeName = (typeof TYPE_NAMES)[number]

/** Keywords whose value is a number, checked against a number. */
type Bounds = { -readonly [K in NumberKeyword | CountKeyword]?: number }
export type NumberKeyword = 'minimum' | 'maximum' | 'exclusiveMinimum' | 'exclusiveMaximum' | 'multipleOf'
export type CountKeyword =
  | 'minLength'
  | 'maxLength'
  | 'minItems'
  | 'maxItems'
  | 'minProperties'
  | 'maxProperties'
  | 'minContains'
  | 'maxContains'

/** One schema. Fields are filled in while the schema is read and never change after. */
export interface SchemaNode {
  /** JSON Pointer of this schema in its document. */
  readonly path: string
  /** A schema that is `true` or `false`; null: it has keywords. */
  readonly verdict: boolean | null
  readonly types: readonly TypeName[] | null
  /** From `enum` and `const`; the value must be in each. */
  readonly members: readonly Members[]
  readonly bounds: Readonly<Bounds>
  readonly pattern: LinearPattern | null
  readonly format: string | null

  readonly properties: ReadonlyMap<string, SchemaNode>
  readonly patternProperties: readonly (readonly [LinearPattern, SchemaNode])[]
  readonly additionalProperties: SchemaNode | null
  readonly unevaluatedProperties: SchemaNode | null
  readonly propertyNames: SchemaNode | null
  readonly required: readonly string[]
  readonly dependentRequired: ReadonlyMap<string, readonly string[]>
  readonly dependentSchemas: ReadonlyMap<string, SchemaNode>

  readonly prefixItems: readonly SchemaNode[]
  /** For the items behind `prefixItems`. */
  readonly items: SchemaNode | null
  readonly unevaluatedItems: SchemaNode | null
  readonly contains: SchemaNode | null
  readonly uniqueItems: boolean

  /** null where the schema has no `$ref`. Set once all schemas of the document are read. */
  readonly reference: SchemaNode | null
  readonly allOf: readonly SchemaNode[]
  readonly anyOf: readonly SchemaNode[]
  readonly oneOf: readonly SchemaNode[]
  readonly not: SchemaNode | null
  /** `if`, and its `then` and `else`. */
  readonly condition: SchemaNode | null
  readonly whenMet: SchemaNode | null
  readonly whenUnmet: SchemaNode | null
}

/** The same, while it is being read. */
export type SchemaDraft = { -readonly [K in keyof SchemaNode]: SchemaNode[K] }

// Shared: a schema has few of its many keywords, and reading one replaces the value.
const NO_SCHEMAS: ReadonlyMap<string, SchemaNode> = new Map()
const NO_NAMES: ReadonlyMap<string, readonly string[]> = new Map()

/** A schema that allows everything, to start from. */
export function blankSchema(path: string): SchemaDraft {
  return {
    path,
    verdict: null,
    types: null,
    members: [],
    bounds: {},
    pattern: null,
    format: null,
    properties: NO_SCHEMAS,
    patternProperties: [],
    additionalProperties: null,
    unevaluatedProperties: null,
    propertyNames: null,
    required: [],
    dependentRequired: NO_NAMES,
    dependentSchemas: NO_SCHEMAS,
    prefixItems: [],
    items: null,
    unevaluatedItems: null,
    contains: null,
    uniqueItems: false,
    reference: null,
    allOf: [],
    anyOf: [],
    oneOf: [],
    not: null,
    condition: null,
    whenMet: null,
    whenUnmet: null,
  }
}

/** The values of `enum`, or the one of `const`, and their keys. */
export interface Members {
  readonly list: readonly Json[]
  readonly keys: ReadonlySet<EqualityKey>
}

export function membersOf(list: readonly Json[]): Members {
  return { list, keys: new Set(list.map((value) => equalityKey(value))) }
}

export type EqualityKey = string | number | boolean | null

/** Two values have the same key exactly when JSON Schema calls them equal: 1 and 1.0 are, the order of keys does not count. */
export function equalityKey(value: Json): EqualityKey {
  switch (typeof value) {
    case 'string':
      return `"${value}`
    case 'object':
      return value === null ? null : canonical(value)
    default:
      // -0 and 0 are one number; a Set says so too.
      return value
  }
}

/** The pointer of a member. Long names are the caller's text and are cut, so that a fault stays readable. */
export function below(path: string, name: string | number): string {
  const token = String(name).replaceAll('~', '~0').replaceAll('/', '~1')
  return `${path}/${token.length > 64 ? `${token.slice(0, 64)}…` : token}`
}

/** The schemas that judge the same value as this one, not a part of it. */
export function inPlace(node: SchemaNode): SchemaNode[] {
  const single = [node.reference, node.not, node.condition, node.whenMet, node.whenUnmet].filter(
    (child) => child !== null,
  )
  return [...single, ...node.allOf, ...node.anyOf, ...node.oneOf, ...node.dependentSchemas.values()]
}
