/**
 * The JSON Schema keywords a tool's `input_schema` may use, and how each is read. A keyword that is not here is an
 * annotation (`title`, `default`, `examples`, `nullable` …) and judges nothing.
 */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'
import { compilePattern, type LinearPattern } from './linear-pattern.ts'
import {
  below,
  membersOf,
  TYPE_NAMES,
  type CountKeyword,
  type NumberKeyword,
  type SchemaDraft,
  type SchemaNode,
  type TypeName,
} from './schema-node.ts'

/** The document that is being read, as a keyword sees it. */
export interface Reading {
  fault(path: string, message: string): void
  /** Reads a schema and all below it. */
  schema(value: Json, path: string, depth: number): SchemaNode
  /** Instructions that are left for the document's patterns. */
  patternRoom: number
  /** `$ref: "#name"` means this schema. */
  anchor(name: string, node: SchemaNode): void
  /** `to` is resolved once the whole document is read. */
  refer(from: SchemaDraft, to: string): void
}

/** One keyword where it stands. */
interface Setting {
  readonly reading: Reading
  /** The schema being filled in. */
  readonly node: SchemaDraft
  readonly value: Json
  readonly path: string
  readonly depth: number
  /** The schema as JSON, for keywords that mean something only beside another. */
  readonly schema: JsonObject
}

type Read = (setting: Setting) => void

const NUMBERS: readonly NumberKeyword[] = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const COUNTS: readonly CountKeyword[] = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'minContains',
  'maxContains',
]

export const keywords: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...NUMBERS.map((name): [string, Read] => [name, (setting) => readNumber(setting, name)]),
  ...COUNTS.map((name): [string, Read] => [name, (setting) => readCount(setting, name)]),
  ['type', readType],
  ['enum', readEnum],
  ['const', ({ node, value }) => (node.members = [...node.members, membersOf([value])])],
  ['pattern', readPattern],
  ['format', (setting) => (setting.node.format = stringAt(setting))],
  ['uniqueItems', readUniqueItems],

  ['properties', (setting) => (setting.node.properties = new Map(schemaMap(setting)))],
  ['patternProperties', readPatternProperties],
  ['additionalProperties', (setting) => (setting.node.additionalProperties = oneSchema(setting))],
  ['unevaluatedProperties', (setting) => (setting.node.unevaluatedProperties = oneSchema(setting))],
  ['propertyNames', (setting) => (setting.node.propertyNames = oneSchema(setting))],
  ['required', (setting) => (setting.node.required = namesAt(setting))],
  ['dependentRequired', readDependentRequired],
  [
    'dependentSchemas',
    (setting) => (setting.node.dependentSchemas = new Map([...setting.node.dependentSchemas, ...schemaMap(setting)])),
  ],
  ['dependencies', readDependencies],

  ['prefixItems', (setting) => (setting.node.prefixItems = schemaList(setting))],
  ['items', readItems],
  ['additionalItems', readAdditionalItems],
  ['unevaluatedItems', (setting) => (setting.node.unevaluatedItems = oneSchema(setting))],
  ['contains', (setting) => (setting.node.contains = oneSchema(setting))],

  ['allOf', (setting) => (setting.node.allOf = schemaList(setting))],
  ['anyOf', (setting) => (setting.node.anyOf = schemaList(setting))],
  ['oneOf', (setting) => (setting.node.oneOf = schemaList(setting))],
  ['not', (setting) => (setting.node.not = oneSchema(setting))],
  ['if', (setting) => (setting.node.condition = oneSchema(setting))],
  ['then', (setting) => (setting.node.whenMet = oneSchema(setting))],
  ['else', (setting) => (setting.node.whenUnmet = oneSchema(setting))],

  ['$defs', schemaMap],
  ['definitions', schemaMap],
  ['$ref', readReference],
  ['$anchor', readAnchor],
  ['$id', readId],
  ['$dynamicRef', refuseDynamic],
  ['$recursiveRef', refuseDynamic],
])

// ------------------------------------------------------------------------------------------------ plain values

function readNumber({ reading, node, value, path }: Setting, name: NumberKeyword): void {
  if (typeof value !== 'number') return reading.fault(path, 'must be a number')
  if (name === 'multipleOf' && !(value > 0)) return reading.fault(path, 'must be a number above 0')
  node.bounds = { ...node.bounds, [name]: value }
}

function readCount({ reading, node, value, path }: Setting, name: CountKeyword): void {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {
    return reading.fault(path, 'must be a whole number of at least 0')
  }
  node.bounds = { ...node.bounds, [name]: value }
}

function readType({ reading, node, value, path }: Setting): void {
  const names = Array.isArray(value) ? (value as readonly Json[]) : [value]
  const known = names.filter((name): name is TypeName => TYPE_NAMES.some((type) => type === name))
  if (known.length < names.length || known.length === 0) {
    return reading.fault(path, `must be one or a list of ${TYPE_NAMES.join(', ')}`)
  }
  node.types = known
}

function readEnum({ reading, node, value, path }: Setting): void {
  if (!Array.isArray(value) || value.length === 0) return reading.fault(path, 'must be a list of at least one value')
  node.members = [...node.members, membersOf(value as readonly Json[])]
}

function readUniqueItems({ reading, node, value, path }: Setting): void {
  if (typeof value === 'boolean') node.uniqueItems = value
  else reading.fault(path, 'must be true or false')
}

function stringAt({ reading, value, path }: Setting): string | null {
  if (typeof value === 'string') return value
  reading.fault(path, 'must be a string')
  return null
}

function namesAt({ reading, value, path }: Setting): readonly string[] {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return value
  reading.fault(path, 'must be a list of strings')
  return []
}

// ---------------------------------------------------------------------------------------------------- patterns

function readPattern(setting: Setting): void {
  const source = stringAt(setting)
  if (source !== null) setting.node.pattern = compiled(setting, source)
}

function readPatternProperties(setting: Setting): void {
  const pairs: [LinearPattern, SchemaNode][] = []
  for (const [source, child] of schemaMap(setting)) {
    const pattern = compiled({ ...setting, path: child.path }, source)
    if (pattern !== null) pairs.push([pattern, child])
  }
  setting.node.patternProperties = pairs
}

function compiled({ reading, path }: Setting, source: string): LinearPattern | null {
  const result = compilePattern(source, reading.patternRoom)
  if (!result.ok) {
    reading.fault(path, `the pattern ${result.reason}`)
    return null
  }
  reading.patternRoom -= result.pattern.size
  return result.pattern
}

// --------------------------------------------------------------------------------------------- schemas in schemas

function oneSchema({ reading, value, path, depth }: Setting): SchemaNode {
  return reading.schema(value, path, depth + 1)
}

function schemaList({ reading, value, path, depth }: Setting): readonly SchemaNode[] {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item: Json, index) => reading.schema(item, below(path, index), depth + 1))
  }
  reading.fault(path, 'must be a list of at least one schema')
  return []
}

function schemaMap({ reading, value, path, depth }: Setting): readonly [string, SchemaNode][] {
  if (isJsonObject(value)) {
    return Object.entries(value).map(([name, item]) => [name, reading.schema(item, below(path, name), depth + 1)])
  }
  reading.fault(path, 'must be an object of schemas')
  return []
}

function readItems(setting: Setting): void {
  // The list form is draft-07's, and schemas without `$schema` have it too: it is what 2020-12 calls prefixItems.
  if (Array.isArray(setting.value)) setting.node.prefixItems = setting.value.length === 0 ? [] : schemaList(setting)
  else setting.node.items = oneSchema(setting)
}

function readAdditionalItems(setting: Setting): void {
  if (Object.hasOwn(setting.schema, 'items') && Array.isArray(setting.schema['items']))
    setting.node.items = oneSchema(setting)
}

function readDependentRequired(setting: Setting): void {
  const { reading, node, value, path } = setting
  if (!isJsonObject(value)) return reading.fault(path, 'must be an object of lists')
  const lists = Object.entries(value).map(([name, item]): [string, readonly string[]] => [
    name,
    namesAt({ ...setting, value: item, path: below(path, name) }),
  ])
  node.dependentRequired = new Map([...node.dependentRequired, ...lists])
}

/** Draft-07: lists of names and schemas under one keyword. */
function readDependencies(setting: Setting): void {
  const { reading, node, value, path } = setting
  if (!isJsonObject(value)) return reading.fault(path, 'must be an object of lists and schemas')
  const entries = Object.entries(value)
  readDependentRequired({ ...setting, value: Object.fromEntries(entries.filter(([, item]) => Array.isArray(item))) })
  const schemas = schemaMap({
    ...setting,
    value: Object.fromEntries(entries.filter(([, item]) => !Array.isArray(item))),
  })
  node.dependentSchemas = new Map([...node.dependentSchemas, ...schemas])
}

// -------------------------------------------------------------------------------------------------- references

function readReference(setting: Setting): void {
  const reference = stringAt(setting)
  if (reference === null) return
  if (reference.startsWith('#')) setting.reading.refer(setting.node, reference)
  else setting.reading.fault(setting.path, 'must point into this document and begin with #: nothing is fetched')
}

function readAnchor(setting: Setting): void {
  const name = stringAt(setting)
  if (name !== null) setting.reading.anchor(name, setting.node)
}

/** At the root an `$id` is a name and no more; below it, it would move what `#` means. `#name` is draft-07's anchor. */
function readId(setting: Setting): void {
  const id = stringAt(setting)
  if (id === null) return
  if (id.startsWith('#')) setting.reading.anchor(id.slice(1), setting.node)
  else if (setting.node.path !== '')
    setting.reading.fault(setting.path, 'may stand only at the root of the schema: leave it out')
}

function refuseDynamic({ reading, path }: Setting): void {
  reading.fault(path, 'is not supported: use $ref')
}
