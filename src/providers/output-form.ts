/**
 * How a request asks for an answer that fits `output.schema`: natively, where the vendor takes a schema or JSON, and else by a
 * sentence at the end of the system text. Pure. SPEC §13.
 *
 * The sentence is there on every step or on none, whatever the tools: it stands before the conversation, and cached prefixes
 * hold only while nothing there changes. So does a native form that is sent beside tools.
 */
import type { JsonObject } from '../contract/json.ts'
import type { DialectCall } from './dialect.ts'
import { jsonBody } from './json-body.ts'
import { fitted, type Fitted, type Subset } from './schema-subset.ts'

/** What a vendor, or one of its models, takes. */
export interface OutputRules {
  readonly form: 'json_schema' | 'json_object' | null
  /** Of `json_schema`: what is compiled. */
  readonly subset: Subset
  /** Of `json_schema`: any other schema is taken too, and binds the model to nothing. */
  readonly loose: boolean
  /** Also on a step that may use tools. Else only where none can be called. */
  readonly besideTools: boolean
  /** The vendor shows the schema to the model itself. */
  readonly shown: boolean
}

/** What stands in the request itself. */
export type NativeForm =
  | { readonly kind: 'json_schema'; readonly schema: JsonObject; readonly strict: boolean }
  | { readonly kind: 'json_object' }

/**
 * null: the request says nothing of a form.
 * @param field of the body that says it; one that `params.extra` lays over it is the caller's own business
 */
export function nativeForm(call: DialectCall, field: string): NativeForm | null {
  const { ask, profile } = call
  if (!profile.output.besideTools && ask.tools.length > 0 && ask.toolChoice === 'auto') return null
  return formOf(call, field)?.native ?? null
}

/** The system text, with what the model must be told of the form of its answer. */
export function systemText(call: DialectCall, field: string): string {
  const { outputSchema, system } = call.ask
  if (outputSchema === null) return system
  const form = formOf(call, field)
  if (call.profile.output.besideTools && form?.told === true) return system
  return [system, sentence(outputSchema)].filter((text) => text.trim() !== '').join('\n\n')
}

/** Some vendors refuse to answer in JSON where these four letters do not stand in the conversation. */
function sentence(schema: JsonObject): string {
  return `The final answer is one JSON value (application/json) and nothing else: no words around it. It fits this JSON Schema: ${jsonBody(schema)}`
}

/** `told`: the vendor shows the model all that the schema says. */
function formOf(
  { ask, profile, repairs, target }: DialectCall,
  field: string,
): { readonly native: NativeForm; readonly told: boolean } | null {
  const { form, loose, shown, subset } = profile.output
  const schema = ask.outputSchema
  if (schema === null || form === null || repairs.has('no_format') || Object.hasOwn(target.params.extra, field))
    return null
  if (form === 'json_object') return { native: { kind: 'json_object' }, told: false }
  const strict = fittedOnce(schema, subset)
  if (strict !== null)
    return { native: { kind: 'json_schema', schema: strict.schema, strict: true }, told: shown && strict.whole }
  if (!loose || !isPlainRoot(schema)) return null
  return { native: { kind: 'json_schema', schema, strict: false }, told: shown }
}

/** What is demanded of a schema's root also where nothing is compiled. */
function isPlainRoot(schema: JsonObject): boolean {
  return schema['type'] === 'object' && ROOT_UNIONS.every((word) => schema[word] === undefined)
}
const ROOT_UNIONS = ['anyOf', 'oneOf', 'allOf', 'enum', 'not'] as const

/** A run asks with the same schema at every step. */
function fittedOnce(schema: JsonObject, subset: Subset): Fitted | null {
  const known = fittings.get(schema) ?? new Map<Subset, Fitted | null>()
  fittings.set(schema, known)
  const made = known.has(subset) ? known.get(subset) : fitted(schema, subset)
  known.set(subset, made ?? null)
  return made ?? null
}
const fittings = new WeakMap<JsonObject, Map<Subset, Fitted | null>>()
