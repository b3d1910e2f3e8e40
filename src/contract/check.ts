/**
 * Reads a value against a schema of `schema.ts` and lists every fault with its path and what was got.
 *
 * Own code because the list is the product: exact paths, a sentence a caller can act on, no secret quoted, and an end at
 * `MAX_FAULTS`, so that a hostile body cannot make the answer larger than itself.
 */
import type { Fault } from './errors.ts'
import { isInstant } from './instant.ts'
import { isJsonObject, isRawNumber, type Json } from './json.ts'
import type { Keywords } from './schema.ts'

/** SPEC §2.3: at most this many faults are told. */
export const MAX_FAULTS = 50

/** What is wrong with a body. One place is told once: what stands below a fault is not judged again. */
export class Faults {
  readonly list: Fault[] = []

  get full(): boolean {
    return this.list.length >= MAX_FAULTS
  }

  add(path: string, message: string): void {
    if (!this.full && !this.list.some((fault) => isWithin(path, fault.path))) this.list.push({ path, message })
  }

  /** True when a fault stands at just this path. */
  at(path: string): boolean {
    return this.list.some((fault) => fault.path === path)
  }

  /** True when a fault stands at this path or below it. */
  under(path: string): boolean {
    return this.list.some((fault) => isWithin(fault.path, path))
  }
}

function isWithin(path: string, ancestor: string): boolean {
  return ancestor === '' || path === ancestor || path.startsWith(`${ancestor}.`) || path.startsWith(`${ancestor}[`)
}

export function check(schema: Keywords, value: Json, path: string, faults: Faults): void {
  if (faults.full) return
  if (!hasType(schema, value)) return faults.add(path, `must be ${wanted(schema)}; got ${got(schema, value)}`)
  if (value === null) return
  if (schema.const !== undefined && schema.const !== value) {
    return faults.add(path, `must be ${JSON.stringify(schema.const)}; got ${got(schema, value)}`)
  }
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return faults.add(path, `must be ${wanted(schema)}; got ${got(schema, value)}`)
  }
  if (typeof value === 'string') checkText(schema, value, path, faults)
  else if (typeof value === 'number' || isRawNumber(value)) checkNumber(schema, value, path, faults)
  else if (Array.isArray(value)) checkList(schema, value, path, faults)
  else if (isJsonObject(value)) checkObject(schema, value, path, faults)
}

function typesOf(schema: Keywords): readonly string[] {
  if (schema.type === undefined) return []
  return typeof schema.type === 'string' ? [schema.type] : schema.type
}

function hasType(schema: Keywords, value: Json): boolean {
  const types = typesOf(schema)
  return types.length === 0 || types.some((type) => isOf(type, value))
}

function isOf(type: string, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    case 'integer':
      return Number.isInteger(value) || (isRawNumber(value) && /^-?\d+$/.test(value.rawJSON))
    case 'number':
      return typeof value === 'number' || isRawNumber(value)
    default:
      return typeof value === type
  }
}

function checkText(schema: Keywords, value: string, path: string, faults: Faults): void {
  const { minLength = 0, maxLength = Infinity } = schema
  if (value === '' && minLength > 0) {
    const orNull = typesOf(schema).includes('null') ? ': leave it out or send null where none is meant' : ''
    return faults.add(path, `must not be empty${orNull}; got ""`)
  }
  if (value.length < minLength || value.length > maxLength) {
    return faults.add(path, `must be ${wanted(schema)}; got ${value.length} characters`)
  }
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, 'u').test(value)) {
    return faults.add(path, `must match ${schema.pattern}; got ${got(schema, value)}`)
  }
  if (schema.format === 'date-time' && !isInstant(value)) {
    faults.add(
      path,
      `must be a date and time with its zone, such as "2026-11-30T12:00:00.000Z"; got ${got(schema, value)}`,
    )
  }
}

function checkNumber(schema: Keywords, value: Json, path: string, faults: Faults): void {
  const number = isRawNumber(value) ? Number(value.rawJSON) : Number(value)
  const { minimum = -Infinity, maximum = Infinity, exclusiveMinimum } = schema
  // Where nothing bounds it a number may be -1e400, which is no double.
  const tooSmall = number < minimum || (exclusiveMinimum !== undefined && number <= exclusiveMinimum)
  if (tooSmall || number > maximum) {
    faults.add(path, `must be ${wanted(schema)}; got ${got(schema, value)}`)
  }
}

function checkList(schema: Keywords, value: readonly Json[], path: string, faults: Faults): void {
  const { minItems = 0, maxItems = Infinity, items } = schema
  if (value.length < minItems || value.length > maxItems) {
    return faults.add(path, `must have ${span(minItems, maxItems)} items; got ${value.length}`)
  }
  if (items === undefined) return
  for (let index = 0; index < value.length && !faults.full; index += 1) {
    check(items, value[index] as Json, `${path}[${index}]`, faults)
  }
}

function checkObject(schema: Keywords, value: { readonly [key: string]: Json }, path: string, faults: Faults): void {
  if (schema.discriminator !== undefined) return checkTagged(schema, value, path, faults)
  const { properties = {}, required = [], additionalProperties = true, maxProperties = Infinity } = schema
  const keys = Object.keys(value)
  if (keys.length > maxProperties)
    return faults.add(path, `must have at most ${maxProperties} fields; got ${keys.length}`)
  for (const key of required) {
    if (!Object.hasOwn(value, key)) faults.add(fieldPath(path, key), `is required: ${wanted(properties[key] ?? {})}`)
  }
  for (const key of keys) {
    if (faults.full) return
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (property !== undefined) check(property, value[key] as Json, fieldPath(path, key), faults)
    else if (additionalProperties === false) faults.add(fieldPath(path, key), 'unknown field')
    else if (additionalProperties !== true)
      check(additionalProperties, value[key] as Json, fieldPath(path, key), faults)
  }
}

function checkTagged(schema: Keywords, value: { readonly [key: string]: Json }, path: string, faults: Faults): void {
  const tag = schema.discriminator?.propertyName ?? ''
  const branches = schema.oneOf ?? []
  const branch = branches.find(
    (candidate) => Object.hasOwn(value, tag) && candidate.properties?.[tag]?.const === value[tag],
  )
  if (branch !== undefined) return check(branch, value, path, faults)
  const words = branches.map((candidate) => JSON.stringify(candidate.properties?.[tag]?.const)).join(', ')
  const found = Object.hasOwn(value, tag) ? `; got ${got({}, value[tag] as Json)}` : ' and is missing'
  faults.add(fieldPath(path, tag), `must be one of ${words}${found}`)
}

/** The path of a field: `a.b`, or `a["odd key"]` where the key is no plain name. Long keys are cut: they are the caller's text. */
export function fieldPath(path: string, key: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(key)) return path === '' ? key : `${path}.${key}`
  return `${path}[${JSON.stringify(key.slice(0, 64))}]`
}

function span(least: number, most: number): string {
  if (most === Infinity) return `at least ${least}`
  return least === most ? String(least) : `${least} to ${most}`
}

function wanted(schema: Keywords): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return `one of ${schema.enum.map((word) => JSON.stringify(word)).join(', ')}`
  const types = typesOf(schema)
  const names = types.map((type) => nameOf(type, schema))
  return names.length === 0 ? 'a value' : names.join(' or ')
}

function nameOf(type: string, schema: Keywords): string {
  const { minimum = -Infinity, maximum = Infinity, minLength = 0, maxLength = Infinity, exclusiveMinimum } = schema
  switch (type) {
    case 'integer':
      return `a whole number${range(minimum, maximum)}`
    case 'number':
      return exclusiveMinimum === undefined
        ? `a number${range(minimum, maximum)}`
        : `a number above ${exclusiveMinimum}`
    case 'string':
      return maxLength === Infinity ? 'a string' : `a string of ${minLength} to ${maxLength} characters`
    case 'array':
      return 'an array'
    case 'object':
      return 'an object'
    case 'boolean':
      return 'true or false'
    default:
      return type
  }
}

function range(minimum: number, maximum: number): string {
  if (minimum === -Infinity && maximum === Infinity) return ''
  if (maximum === Infinity) return ` of at least ${minimum}`
  return ` from ${minimum} to ${maximum}`
}

/** What was got, short, and never a secret. */
function got(schema: Keywords, value: Json): string {
  if (Array.isArray(value)) return 'an array'
  if (isJsonObject(value)) return 'an object'
  // What stands in the place of an object or a list may be what belongs inside: an address with its query, a header, a key.
  const secretive = schema['x-secret'] === true || typesOf(schema).some((type) => type === 'object' || type === 'array')
  if (secretive && value !== null) return `a ${isRawNumber(value) ? 'number' : typeof value}`
  const shown = JSON.stringify(value)
  return shown.length > 60 ? `${shown.slice(0, 60)}… (${shown.length} characters)` : shown
}
