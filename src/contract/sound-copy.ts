/**
 * The part of a faulty body whose form is right, so that one wrong field hides no fault of another: what is wrong is left out
 * where it may be, and stands replaced by the plainest right value where it may not. It is judged further and never run.
 */
import { fieldPath, type Faults } from './check.ts'
import { isJsonObject, type Json } from './json.ts'
import type { Keywords } from './schema.ts'

export function soundCopy(schema: Keywords, value: Json | undefined, path: string, faults: Faults): Json {
  if (value === undefined || faults.at(path)) return plainest(schema)
  if (!faults.under(path)) return value
  if (Array.isArray(value)) {
    return value.map((item: Json, index) => soundCopy(schema.items ?? {}, item, `${path}[${index}]`, faults))
  }
  if (!isJsonObject(value)) return value
  const branch = branchOf(schema, value)
  const others = typeof branch.additionalProperties === 'object' ? branch.additionalProperties : {}
  const kept = Object.entries(value).flatMap(([key, item]): [string, Json][] => {
    const place = fieldPath(path, key)
    const property = branch.properties?.[key] ?? others
    if (faults.at(place) && branch.required?.includes(key) !== true) return []
    return [[key, soundCopy(property, item, place, faults)]]
  })
  const missing = (branch.required ?? []).filter((key) => !Object.hasOwn(value, key))
  return Object.fromEntries([
    ...kept,
    ...missing.map((key): [string, Json] => [key, plainest(branch.properties?.[key] ?? {})]),
  ])
}

function branchOf(schema: Keywords, value: { readonly [key: string]: Json }): Keywords {
  const tag = schema.discriminator?.propertyName
  if (tag === undefined) return schema
  return schema.oneOf?.find((branch) => branch.properties?.[tag]?.const === value[tag]) ?? schema.oneOf?.[0] ?? schema
}

/** The plainest value of a schema's form; what it says means nothing. */
function plainest(schema: Keywords): Json {
  const branch = schema.oneOf?.[0] ?? schema
  const types = typeof branch.type === 'string' ? [branch.type] : (branch.type ?? [])
  if (types.includes('null')) return null
  if (branch.const !== undefined) return branch.const as Json
  if (branch.enum !== undefined) return branch.enum[0] as Json
  switch (types[0]) {
    case 'object':
      return Object.fromEntries((branch.required ?? []).map((key) => [key, plainest(branch.properties?.[key] ?? {})]))
    case 'array':
      return []
    case 'string':
      return branch.format === 'date-time' ? '1970-01-01T00:00:00.000Z' : '-'.repeat(branch.minLength ?? 0)
    case 'integer':
    case 'number':
      return branch.minimum ?? 1
    case 'boolean':
      return false
    default:
      return null
  }
}
