/**
 * The check of a call's arguments against the tool's `input_schema`, before anything is sent (SPEC §5.3).
 *
 * A schema is prepared on the first call of its tool and let go with the run that brought it: nothing outlives the schema,
 * and one tenant's schema never meets another's.
 */
import { rounded, type Json, type JsonObject } from '../contract/json.ts'
import type { Tool } from '../contract/run-request.ts'
import { judge } from './check-arguments.ts'
import { boundedSchema, type BoundedSchema } from './schema-bounds.ts'

const prepared = new WeakMap<JsonObject, BoundedSchema>()

/**
 * What is wrong with the arguments, at most ten sentences for the model; empty: nothing. Numbers are compared as doubles.
 * Takes bounded time whatever the schema and the arguments are.
 */
export function checkArguments(tool: Tool, args: JsonObject): readonly string[] {
  return checkValue(tool.input_schema, args)
}

/** The same for any value and any schema that passed `schemaFaults`. */
export function checkValue(declared: JsonObject, value: Json): readonly string[] {
  const schema = prepare(declared)
  if (!schema.ok) return ['Its schema itself is broken, so nothing fits it: do not try again.']
  const judgement = judge(schema.root, rounded(value))
  switch (judgement.kind) {
    case 'fits':
      return []
    case 'faults':
      return judgement.sentences
    case 'too_costly':
      return ['The value is too large or too deep to be checked: send fewer or shorter values.']
  }
}

function prepare(schema: JsonObject): BoundedSchema {
  const known = prepared.get(schema)
  if (known !== undefined) return known
  const fresh = boundedSchema(schema)
  prepared.set(schema, fresh)
  return fresh
}
