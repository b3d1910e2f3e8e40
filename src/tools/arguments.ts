/**
 * The check of a call's arguments against the tool's `input_schema`, before anything is sent (SPEC §5.3).
 *
 * A schema is prepared on the first call of its tool and let go with the run that brought it: nothing outlives the schema,
 * and one tenant's schema never meets another's.
 */
import { rounded, type JsonObject } from '../contract/json.ts'
import type { Tool } from '../contract/run-request.ts'
import { judge } from './check-arguments.ts'
import { boundedSchema, type BoundedSchema } from './schema-bounds.ts'

const prepared = new WeakMap<JsonObject, BoundedSchema>()

/**
 * What is wrong with the arguments, at most ten sentences for the model; empty: nothing. Numbers are compared as doubles.
 * Takes bounded time whatever the schema and the arguments are.
 */
export function checkArguments(tool: Tool, args: JsonObject): readonly string[] {
  const schema = prepare(tool.input_schema)
  if (!schema.ok)
    return ["The tool's own description of its arguments is broken, so it cannot be called: do not call it again."]
  const judgement = judge(schema.root, rounded(args))
  switch (judgement.kind) {
    case 'fits':
      return []
    case 'faults':
      return judgement.sentences
    case 'too_costly':
      return ['The arguments are too large or too deep to be checked: send fewer or shorter values.']
  }
}

function prepare(schema: JsonObject): BoundedSchema {
  const known = prepared.get(schema)
  if (known !== undefined) return known
  const fresh = boundedSchema(schema)
  prepared.set(schema, fresh)
  return fresh
}
