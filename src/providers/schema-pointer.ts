/** What a reference within a schema leads to: a JSON Pointer as a URI fragment (RFC 6901). Pure. */
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'

/** undefined where it leads nowhere, or out of the schema. */
export function schemaAt(root: JsonObject, reference: string): Json | undefined {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined
  let value: Json | undefined = root
  for (const token of reference.split('/').slice(1)) {
    const name = decoded(token).replaceAll('~1', '/').replaceAll('~0', '~')
    const below: Json | undefined = value
    if (Array.isArray(below)) value = (below as readonly Json[])[Number(name)]
    else if (isJsonObject(below)) value = Object.hasOwn(below, name) ? below[name] : undefined
    else return undefined
  }
  return value
}

function decoded(token: string): string {
  try {
    return decodeURIComponent(token)
  } catch {
    return token
  }
}
