/**
 * Names of arguments as a vendor takes them, and back: Anthropic answers 400 to every request with a tool one of whose arguments
 * has a name with, say, a space in it. Only the arguments themselves are judged, not what stands inside them. Pure; the same
 * schema gives the same names, so that a request keeps its bytes from turn to turn.
 */
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts'
import type { Tool } from '../../contract/run-request.ts'
import { objectSchema } from '../tool-definition.ts'

/** Of one tool: own names to those on the wire; names that go as they are are not in it. */
export type PropertyNames = ReadonlyMap<string, string>

/** By tool; a tool all of whose names are taken is not in it. */
export type ToolNames = ReadonlyMap<string, PropertyNames>

const NOTHING: ToolNames = new Map()
/** Leaves room for a number behind it. */
const LONGEST = 60

/** @param taken names that the vendor takes; null: all */
export function toolNames(tools: readonly Tool[], taken: RegExp | null): ToolNames {
  if (taken === null) return NOTHING
  const found = tools.map(({ input_schema, name }) => [name, propertyNames(input_schema, taken)] as const)
  return new Map(found.filter(([, names]) => names.size > 0))
}

function propertyNames(schema: JsonObject, taken: RegExp): PropertyNames {
  const { properties } = objectSchema(schema)
  const own = isJsonObject(properties) ? Object.keys(properties) : []
  const used = new Set(own.filter((name) => taken.test(name)))
  const names = new Map<string, string>()
  for (const name of own) {
    if (used.has(name) && taken.test(name)) continue
    const plain = name.replaceAll(/[^a-zA-Z0-9_.-]/g, '_').slice(0, LONGEST) || '_'
    let made = plain
    for (let number = 2; used.has(made); number += 1) made = `${plain}_${number}`
    used.add(made)
    names.set(name, made)
  }
  return names
}

/** A schema with its arguments under their names on the wire. */
export function renamedSchema(schema: JsonObject, names: PropertyNames | undefined): JsonObject {
  const { properties, required } = schema
  if (names === undefined || !isJsonObject(properties)) return schema
  const demanded = Array.isArray(required) ? (required as readonly Json[]) : null
  const wireName = (name: Json) => (typeof name === 'string' ? (names.get(name) ?? name) : name)
  return {
    ...schema,
    properties: renamed(properties, names),
    ...(demanded === null ? {} : { required: demanded.map(wireName) }),
  }
}

/** Arguments under other names, in their order. Without a prototype, so that one named `__proto__` is one. */
export function renamed(args: JsonObject, names: PropertyNames | undefined): JsonObject {
  if (names === undefined) return args
  const made = Object.create(null) as { [name: string]: Json }
  for (const [name, value] of Object.entries(args)) made[names.get(name) ?? name] = value
  return made
}

/** From the names on the wire to a tool's own. */
export function turnedRound(names: PropertyNames | undefined): PropertyNames | undefined {
  return names === undefined ? undefined : new Map([...names].map(([own, wire]) => [wire, own]))
}
