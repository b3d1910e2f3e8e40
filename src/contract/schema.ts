/**
 * How the words on the wire are written down: a small set of TypeBox schemas, read by `check.ts` (validation), by the type
 * checker (`Static`) and by `GET /openapi.json`. One source for all three.
 */
import { Type, type Static, type TObject, type TSchema, type TProperties } from 'typebox'

/** The JSON Schema keywords `check.ts` understands; a test refuses a schema that uses another one. */
export interface Keywords {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly properties?: Readonly<Record<string, Keywords>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Keywords
  readonly items?: Keywords
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly pattern?: string
  readonly format?: string
  readonly oneOf?: readonly Keywords[]
  readonly discriminator?: { readonly propertyName: string }
  readonly description?: string
  /** The value is a secret: a fault tells its kind only, never what was got. */
  readonly 'x-secret'?: boolean
}

/** An object in which an unknown field is a fault. */
export function closed<P extends TProperties>(properties: P, description?: string): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...(description === undefined ? {} : { description }) })
}

/** An object in which unknown fields are tolerated and ignored: stored messages survive an upgrade and a rollback. */
export function open<P extends TProperties>(properties: P, description?: string): TObject<P> {
  return Type.Object(properties, { additionalProperties: true, ...(description === undefined ? {} : { description }) })
}

/** A value that may be null. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: members, ...rest } = schema as unknown as Keywords
  const types = typeof type === 'string' ? [type] : (type ?? [])
  return Type.Unsafe<Static<S> | null>({
    ...rest,
    ...(types.length > 0 ? { type: [...types, 'null'] } : {}),
    ...(members === undefined ? {} : { enum: [...members, null] }),
  })
}

/** A field that may be left out; null and absent mean the default. */
export function maybe<S extends TSchema>(schema: S) {
  return Type.Optional(nullable(schema))
}

export function oneWordOf<const W extends string>(words: readonly W[], description?: string) {
  return Type.Unsafe<W>({ type: 'string', enum: [...words], ...(description === undefined ? {} : { description }) })
}

/** A union of objects told apart by one field. */
export function taggedUnion<T>(propertyName: string, branches: readonly TSchema[], description?: string) {
  return Type.Unsafe<T>({
    type: 'object',
    discriminator: { propertyName },
    oneOf: [...branches],
    ...(description === undefined ? {} : { description }),
  })
}

/** Any JSON object, kept as it is. */
export function anyObject(description?: string) {
  return Type.Unsafe<import('./json.ts').JsonObject>({
    type: 'object',
    additionalProperties: true,
    ...(description === undefined ? {} : { description }),
  })
}

/** Any JSON value, kept as it is. */
export function anyJson(description?: string) {
  return Type.Unsafe<import('./json.ts').Json>(description === undefined ? {} : { description })
}

export function wholeNumber(minimum: number, maximum: number, description?: string) {
  return Type.Integer({ minimum, maximum, ...(description === undefined ? {} : { description }) })
}

export function text(minLength: number, maxLength: number, description?: string) {
  return Type.String({ minLength, maxLength, ...(description === undefined ? {} : { description }) })
}

export function secret(maxLength: number, description?: string) {
  return Type.String({
    minLength: 1,
    maxLength,
    'x-secret': true,
    ...(description === undefined ? {} : { description }),
  })
}

/** ISO 8601 with a zone, such as `2026-11-30T12:00:00.000Z`. */
export function instant(description?: string) {
  return Type.String({ format: 'date-time', maxLength: 40, ...(description === undefined ? {} : { description }) })
}
