/** The keywords that hold the same value against further schemas. Pure but for the walk's budget and sentences. */
import { isJsonObject, type Json } from '../contract/json.ts'
import { either, got, listed, wanted, type Place } from './fault-sentences.ts'
import type { SchemaNode } from './schema-node.ts'
import { isMeantFor } from './value-facts.ts'
import type { Check, Walk } from './walk.ts'

export const checkInPlace: Check<Json> = (walk, node, value, place, judged) => {
  let good = true
  for (const check of CHECKS) {
    if (!walk.goesOn(good)) return false
    good = check(walk, node, value, place, judged) && good
  }
  return good
}

const allOf: Check<Json> = (walk, node, value, place, judged) => {
  let good = node.reference === null || walk.fits(node.reference, value, place, judged)
  for (const schema of node.allOf) {
    if (!walk.goesOn(good)) return false
    good = walk.fits(schema, value, place, judged) && good
  }
  return good
}

const anyOf: Check<Json> = (walk, node, value, place, judged) => {
  if (node.anyOf.length === 0) return true
  let good = false
  for (const schema of node.anyOf) {
    good = walk.fitsSilently(schema, value, judged) || good
    // Where somebody asks what was judged, every branch that fits counts.
    if (good && judged === null) return true
  }
  return good || explain(walk, node.anyOf, value, place)
}

const oneOf: Check<Json> = (walk, node, value, place, judged) => {
  if (node.oneOf.length === 0) return true
  const fitting: string[] = []
  for (const [index, schema] of node.oneOf.entries()) {
    if (walk.fitsSilently(schema, value, judged)) fitting.push(String(index + 1))
  }
  if (fitting.length === 1) return true
  if (fitting.length === 0) return explain(walk, node.oneOf, value, place)
  const forms = `${node.oneOf.length} forms`
  return walk.fault(place, () => `must fit exactly one of its ${forms}; it fits numbers ${listed(fitting, 'and')}`)
}

const not: Check<Json> = (walk, node, value, place) => {
  const schema = node.not
  if (schema === null || !walk.fitsSilently(schema, value, null)) return true
  return walk.fault(place, () => `must not be ${wanted(schema)}; got ${got(value)}`)
}

const condition: Check<Json> = (walk, node, value, place, judged) => {
  if (node.condition === null) return true
  const schema = walk.fitsSilently(node.condition, value, judged) ? node.whenMet : node.whenUnmet
  return schema === null || walk.fits(schema, value, place, judged)
}

const dependentSchemas: Check<Json> = (walk, node, value, place, judged) => {
  if (node.dependentSchemas.size === 0 || !isJsonObject(value)) return true
  let good = true
  for (const [name, schema] of node.dependentSchemas) {
    if (!walk.goesOn(good)) return false
    if (Object.hasOwn(value, name)) good = walk.fits(schema, value, place, judged) && good
  }
  return good
}

const CHECKS = [allOf, anyOf, oneOf, not, condition, dependentSchemas]

/** None of the branches fits. Where one of them is clearly meant, its own faults say more than that. */
function explain(walk: Walk, branches: readonly SchemaNode[], value: Json, place: Place | null): false {
  if (!walk.telling || !walk.take(20 * branches.length)) return false
  const meant = branches.filter((schema) => isMeantFor(schema, value))
  const [only] = meant
  if (only !== undefined && meant.length === 1) {
    walk.fits(only, value, place, null)
    return false
  }
  return walk.fault(
    place,
    `must be ${either(meant.length === 0 ? branches : meant)}; got ${got(value)}, which is none of these`,
  )
}
