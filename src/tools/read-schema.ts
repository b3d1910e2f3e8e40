/**
 * Reads an `input_schema` into the form that arguments are checked against, or lists what is wrong with it. Pure.
 *
 * It fetches nothing: a reference that leaves the document is a fault, and so is what would let a reference mean another
 * place than it says (`$id` below the root, dynamic references). Unknown keywords are annotations and are not read.
 * Expects JSON as `parseJson` gives it (nesting bounded).
 */
import { Faults } from '../contract/check.ts'
import type { Fault } from '../contract/errors.ts'
import { isJsonObject, rounded, type Json, type JsonObject } from '../contract/json.ts'
import { keywords, type Reading } from './schema-keywords.ts'
import { below, blankSchema, type SchemaDraft, type SchemaNode } from './schema-node.ts'

/** SPEC §5.3. Schemas in the document, and schemas within schemas. */
export const MAX_SCHEMAS = 2000
export const MAX_SCHEMA_DEPTH = 32
/** All patterns of a document together, in instructions. */
const MAX_PATTERNS_SIZE = 5000

export type ReadSchema =
  | { readonly ok: true; readonly root: SchemaNode }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** Never throws. The path of a fault is a JSON Pointer within the schema, '' for the whole. */
export function readSchema(schema: JsonObject): ReadSchema {
  // Arguments are compared as doubles, so the schema's own numbers must be doubles too.
  const document = rounded(schema) as JsonObject
  const dialect = Object.hasOwn(document, '$schema') ? dialectOf(document['$schema']) : '2020-12'
  const reading = new SchemaReading(document, dialect === 'draft-07')
  if (dialect === null) reading.fault('/$schema', 'must be JSON Schema 2020-12 or draft-07, or be left out')
  const root = reading.schema(document, '', 0)
  reading.resolveReferences()
  return reading.faults.list.length === 0 ? { ok: true, root } : { ok: false, faults: reading.faults.list }
}

const DRAFT_7 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/
const DRAFT_2020 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/

function dialectOf(uri: Json | undefined): '2020-12' | 'draft-07' | null {
  if (typeof uri !== 'string') return null
  if (DRAFT_7.test(uri)) return 'draft-07'
  return DRAFT_2020.test(uri) ? '2020-12' : null
}

/** One document on its way from JSON to nodes. */
class SchemaReading implements Reading {
  readonly faults = new Faults()
  patternRoom = MAX_PATTERNS_SIZE
  /** In draft-07 `$ref` stands alone: what is beside it does not count. */
  readonly #referenceStandsAlone: boolean
  readonly #document: JsonObject
  readonly #nodes = new Map<Json, SchemaDraft>()
  readonly #anchors = new Map<string, SchemaNode>()
  readonly #references: { readonly from: SchemaDraft; readonly to: string }[] = []
  #schemas = 0

  constructor(document: JsonObject, referenceStandsAlone: boolean) {
    this.#document = document
    this.#referenceStandsAlone = referenceStandsAlone
  }

  /** Reads one schema and all below it. After a fault the rest is read on, so that every fault is told. */
  schema(value: Json, path: string, depth: number): SchemaNode {
    const node = blankSchema(path)
    this.#schemas += 1
    if (this.#schemas > MAX_SCHEMAS) {
      if (this.#schemas === MAX_SCHEMAS + 1) this.fault('', `must hold at most ${MAX_SCHEMAS} schemas`)
      return node
    }
    if (typeof value === 'boolean') {
      node.verdict = value
      return node
    }
    if (!isJsonObject(value)) {
      this.fault(path, 'must be a schema: an object, true or false')
      return node
    }
    if (depth >= MAX_SCHEMA_DEPTH) {
      this.fault(path, `must not nest deeper than ${MAX_SCHEMA_DEPTH} schemas`)
      return node
    }
    this.#nodes.set(value, node)
    this.#readKeywords(node, value, depth)
    return node
  }

  #readKeywords(node: SchemaDraft, value: JsonObject, depth: number): void {
    const alone = this.#referenceStandsAlone && Object.hasOwn(value, '$ref')
    for (const [name, setting] of Object.entries(value)) {
      if (this.faults.full) return
      if (alone && name !== '$ref') continue
      const path = below(node.path, name)
      keywords.get(name)?.({ reading: this, node, value: setting, path, depth, schema: value })
    }
  }

  fault(path: string, message: string): void {
    this.faults.add(path, message)
  }

  anchor(name: string, node: SchemaNode): void {
    this.#anchors.set(name, node)
  }

  refer(from: SchemaDraft, to: string): void {
    this.#references.push({ from, to })
  }

  /** References may point forward, and to places that no keyword leads to; reading those may bring new references. */
  resolveReferences(): void {
    for (let next = 0; next < this.#references.length && !this.faults.full; next += 1) {
      const { from, to } = this.#references[next] as { from: SchemaDraft; to: string }
      from.reference = this.#target(to)
      if (from.reference !== null) continue
      this.fault(below(from.path, '$ref'), 'must point to a schema in this document: nothing stands there')
    }
  }

  /** `#`, `#/pointer` or `#anchor`. */
  #target(reference: string): SchemaNode | null {
    const fragment = decoded(reference.slice(1))
    if (fragment === null) return null
    if (fragment !== '' && !fragment.startsWith('/')) return this.#anchors.get(fragment) ?? null
    const value = atPointer(this.#document, fragment)
    if (value === undefined) return null
    return this.#nodes.get(value) ?? this.schema(value, fragment, 0)
  }
}

function decoded(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return null
  }
}

/** RFC 6901, by own properties only. */
function atPointer(document: Json, pointer: string): Json | undefined {
  let value: Json = document
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as JsonObject)[key] as Json
  }
  return value
}
