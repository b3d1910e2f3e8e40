/**
 * The arguments text of a call on its way back. A provider that binds its reasoning to an unchanged conversation sees a
 * change in other white space too, so a text that says the same as the stored arguments goes back as the model wrote it.
 */
import { isJsonObject, parseJson, type JsonObject } from '../../contract/json.ts'
import { jsonBody } from '../json-body.ts'

/** What `provider_data` must hold of the text; nothing where it is the text that would be written anyway. */
export function keptArguments(argsText: string, args: JsonObject | null): { readonly arguments?: string } {
  if (args === null) return {}
  const written = jsonBody(args)
  return argsText !== written && says(argsText, written) ? { arguments: argsText } : {}
}

/** The kept text where it still says what is stored: a harness may have changed the arguments. */
export function sentArguments(own: JsonObject | null, args: JsonObject): string {
  const written = jsonBody(args)
  const kept = own?.['arguments']
  return typeof kept === 'string' && says(kept, written) ? kept : written
}

/** An escaped half of a pair is left alone by the escaping of the body, and refused by the provider. */
const HALF = /\\u[dD][89a-fA-F]/

function says(text: string, written: string): boolean {
  if (HALF.test(text) || !text.isWellFormed()) return false
  const parsed = parseJson(text)
  return parsed.ok && isJsonObject(parsed.value) && jsonBody(parsed.value) === written
}
