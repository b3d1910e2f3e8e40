/** The keywords for objects. Fields are looked up as own properties only. Pure but for the walk's budget and sentences. */
import type { Json, JsonObject } from '../contract/json.ts'
import { wanted, type Place } from './fault-sentences.ts'
import type { SchemaNode } from './schema-node.ts'
import type { Check, Walk } from './walk.ts'

export const checkObject: Check<JsonObject> = (walk, node, value, place, judged) => {
  const keys = Object.keys(value)
  if (!walk.take(keys.length + node.properties.size + node.required.length)) return false
  let good = hasRequired(walk, node, value, place, judged)
  if (walk.goesOn(good)) good = hasEnough(walk, node, keys, place, judged) && good

  for (const [name, schema] of node.properties) {
    if (!walk.goesOn(good)) return false
    if (!Object.hasOwn(value, name)) continue
    good = walk.fits(schema, value[name] as Json, walk.at(place, name), null) && good
    judged?.keys.add(name)
  }
  if (node.patternProperties.length === 0 && node.additionalProperties === null && node.propertyNames === null)
    return good
  for (const key of keys) {
    if (!walk.goesOn(good)) return false
    good = checkField(walk, node, { key, value: value[key] as Json }, walk.at(place, key), judged) && good
  }
  return good
}

const hasRequired: Check<JsonObject> = (walk, node, value, place) => {
  let good = true
  for (const name of node.required) {
    if (!walk.goesOn(good)) return false
    if (Object.hasOwn(value, name)) continue
    good = walk.fault(walk.at(place, name), () => `is missing; it is required: ${wantedField(node, name)}`)
  }
  for (const [name, others] of node.dependentRequired) {
    if (!Object.hasOwn(value, name)) continue
    walk.take(others.length)
    for (const other of others) {
      if (!walk.goesOn(good)) return false
      if (Object.hasOwn(value, other)) continue
      const message = `is missing; it is required where ${JSON.stringify(name.slice(0, 64))} is given`
      good = walk.fault(walk.at(place, other), message)
    }
  }
  return good
}

const hasEnough: Check<readonly string[]> = (walk, node, keys, place) => {
  const { minProperties = 0, maxProperties = Infinity } = node.bounds
  const count = keys.length
  if (count < minProperties) return walk.fault(place, `must have at least ${minProperties} fields; got ${count}`)
  if (count > maxProperties) return walk.fault(place, `must have at most ${maxProperties} fields; got ${count}`)
  return true
}

/** The name of a field, its patterns, and `additionalProperties` where no other keyword speaks of it. */
const checkField: Check<{ readonly key: string; readonly value: Json }> = (
  walk,
  node,
  { key, value },
  here,
  judged,
) => {
  let good = true
  const names = node.propertyNames
  if (names !== null && !walk.fitsSilently(names, key, null)) {
    good = walk.fault(here, () => `no field may have this name: a name must be ${wantedName(names)}`)
  }
  let known = node.properties.has(key)
  for (const [pattern, schema] of node.patternProperties) {
    if (!walk.goesOn(good)) return false
    if (!walk.matches(pattern, key)) continue
    known = true
    good = walk.fits(schema, value, here, null) && good
    judged?.keys.add(key)
  }
  const rest = node.additionalProperties
  if (known || rest === null || !walk.goesOn(good)) return good
  judged?.keys.add(key)
  return leftOver(walk, node, rest, value, here) && good
}

export const checkUnevaluatedProperties: Check<JsonObject> = (walk, node, value, place, judged) => {
  const rest = node.unevaluatedProperties
  if (rest === null) return true
  let good = true
  for (const key of Object.keys(value)) {
    if (!walk.goesOn(good)) return false
    walk.take(1)
    if (judged?.keys.has(key) === true) continue
    judged?.keys.add(key)
    good = leftOver(walk, node, rest, value[key] as Json, walk.at(place, key)) && good
  }
  return good
}

/** A field that only `rest`, the schema for all others, speaks of. */
function leftOver(walk: Walk, node: SchemaNode, rest: SchemaNode, value: Json, here: Place | null): boolean {
  return rest.verdict === false ? walk.fault(here, () => unknownField(node)) : walk.fits(rest, value, here, null)
}

function wantedField(node: SchemaNode, name: string): string {
  const schema = node.properties.get(name)
  return schema === undefined ? 'any value' : wanted(schema)
}

function wantedName(names: SchemaNode): string {
  return names.pattern === null ? wanted(names) : `one that matches ${names.pattern.source.slice(0, 120)}`
}

function unknownField(node: SchemaNode): string {
  const names = [...node.properties.keys()].slice(0, 20).map((name) => JSON.stringify(name))
  return names.length === 0 ? 'no such field; none is known here' : `no such field; known here: ${names.join(', ')}`
}
