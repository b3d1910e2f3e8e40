/**
 * Arguments that a server wrote, as one text, into a field of its own naming. Pure.
 *
 * They are taken out only where nothing else can be meant: the tool declares no such field, and declares every field in the text.
 */
import { isJsonObject, parseJson, type JsonObject } from '../../contract/json.ts'
import { MOST_LEVELS } from '../arguments.ts'
import { objectSchema } from '../tool-definition.ts'

/** @param schema of the tool that is called; @returns the very same object where nothing is wrapped */
export function unwrappedArguments(args: JsonObject, schema: JsonObject): JsonObject {
  const [name = '', ...others] = Object.keys(args)
  const text = args[name]
  const { properties } = objectSchema(schema)
  if (typeof text !== 'string' || others.length > 0 || !isJsonObject(properties)) return args
  const parsed = parseJson(text, MOST_LEVELS)
  if (Object.hasOwn(properties, name) || !parsed.ok || !isJsonObject(parsed.value)) return args
  return Object.keys(parsed.value).every((field) => Object.hasOwn(properties, field)) ? parsed.value : args
}
