/**
 * What a tool's `input_schema` must keep to, judged once at POST /runs (SPEC §5.3). Pure.
 *
 * Schemas come from strangers: one of a few lines can describe more work than any machine does. What is bounded here bounds
 * the schema; what an instance can still multiply (recursion through properties, long lists) is bounded by the step budget
 * of `check-arguments.ts`.
 */
import type { Fault } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import { readSchema } from './read-schema.ts'
import { inPlace, type SchemaNode } from './schema-node.ts'

/** SPEC §5.3: size as JSON, UTF-8 bytes. */
export const MAX_SCHEMA_BYTES = 65_536
/** Schemas that one value is judged by, references followed and counted each time. */
const MAX_EXPANSION = 10_000

/** A schema that keeps to the bounds, ready for use; or every fault, with a JSON Pointer within the schema as its path. */
export type BoundedSchema =
  | { readonly ok: true; readonly root: SchemaNode }
  | { readonly ok: false; readonly faults: readonly Fault[] }

/** What is wrong with a schema, for a 400; empty: nothing. A path is a JSON Pointer within the schema, '' for the whole. */
export function schemaFaults(schema: JsonObject): readonly Fault[] {
  const read = boundedSchema(schema)
  return read.ok ? [] : read.faults
}

/** Reads a schema and holds it against every bound. Never throws. */
export function boundedSchema(schema: JsonObject): BoundedSchema {
  const bytes = Buffer.byteLength(JSON.stringify(schema))
  if (bytes > MAX_SCHEMA_BYTES) {
    return fault('', `must be at most ${MAX_SCHEMA_BYTES} bytes as JSON; got ${bytes}`)
  }
  const read = readSchema(schema)
  if (!read.ok) return read
  if (read.root.types !== null && !read.root.types.includes('object')) {
    return fault('/type', 'must be "object", or be left out: arguments are always an object')
  }
  return expansionFault(read.root) ?? read
}

function fault(path: string, message: string): BoundedSchema {
  return { ok: false, faults: [{ path, message }] }
}

/**
 * Follows what judges the same value: a circle there has no end, and a tree of references doubles at every level. Without
 * recursion, since a chain of references may be as long as the schema has schemas.
 */
function expansionFault(root: SchemaNode): BoundedSchema | null {
  const sizes = new Map<SchemaNode, number>()
  for (const start of reachable(root)) {
    const path = [start]
    const onPath = new Set<SchemaNode>()
    for (let node = path.at(-1); node !== undefined; node = path.at(-1)) {
      const schemas = inPlace(node)
      if (sizes.has(node)) path.pop()
      else if (onPath.has(node)) {
        const size = schemas.reduce((total, schema) => total + (sizes.get(schema) ?? 0), 1)
        if (size > MAX_EXPANSION) return fault(node.path, tooWide(size))
        sizes.set(node, size)
      } else {
        onPath.add(node)
        const unsized = schemas.filter((schema) => !sizes.has(schema))
        if (unsized.some((schema) => onPath.has(schema))) return fault(node.path, ENDLESS)
        path.push(...unsized)
      }
    }
  }
  return null
}

const ENDLESS = 'leads back to itself without entering a property or an item: it would never end'

function tooWide(size: number): string {
  return `must not unfold into more than ${MAX_EXPANSION} schemas for one value; got ${size}`
}

function reachable(root: SchemaNode): Set<SchemaNode> {
  const seen = new Set([root])
  // A set that grows while it is walked: every schema is visited once.
  for (const node of seen) for (const child of children(node)) seen.add(child)
  return seen
}

function children(node: SchemaNode): SchemaNode[] {
  const single = [
    node.additionalProperties,
    node.unevaluatedProperties,
    node.propertyNames,
    node.items,
    node.unevaluatedItems,
    node.contains,
  ].filter((child) => child !== null)
  const patterns = node.patternProperties.map(([, child]) => child)
  return [...inPlace(node), ...single, ...node.properties.values(), ...patterns, ...node.prefixItems]
}
