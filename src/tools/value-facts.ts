/** Small questions about a JSON value that JSON Schema asks. Pure; values hold no raw numbers. */
import { isJsonObject, type Json } from '../contract/json.ts'
import type { SchemaNode, TypeName } from './schema-node.ts'

export function hasType(type: TypeName, value: Json): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isJsonObject(value)
    case 'integer':
      return Number.isInteger(value)
    case 'string':
    case 'number':
    case 'boolean':
      return typeof value === type
  }
}

/** Length as JSON Schema counts it: code points. */
export function characters(text: string): number {
  let count = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    const pair = unit >= 0xd800 && unit < 0xdc00 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00
    if (pair) index += 1
    count += 1
  }
  return count
}

/** Decided on the decimal digits: 19.99 is a multiple of 0.01, whatever doubles make of their quotient. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(divisor)) return false
  const [digits, power] = decimal(value)
  const [divisorDigits, divisorPower] = decimal(divisor)
  const shift = power - divisorPower
  return shift >= 0
    ? (digits * 10n ** BigInt(shift)) % divisorDigits === 0n
    : digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n
}

/** A double's shortest decimal form as digits × 10^power. */
function decimal(value: number): [digits: bigint, power: number] {
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toString().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), Number(exponent) - fraction.length]
}

/**
 * Whether a schema is meant for a value of this kind: its type fits, and so does every property that tells one form from
 * another by a fixed value. Looks no deeper; a wrong guess costs a less fitting sentence, never a verdict.
 */
export function isMeantFor(node: SchemaNode, value: Json): boolean {
  if (node.verdict !== null) return node.verdict
  if (node.types !== null && !node.types.some((type) => hasType(type, value))) return false
  if (node.reference !== null && !isMeantFor(node.reference, value)) return false
  if (!isJsonObject(value)) return node.members.length === 0
  for (const [name, property] of node.properties) {
    const told = Object.hasOwn(value, name) ? value[name] : undefined
    if (property.members.length === 0 || typeof told !== 'string') continue
    if (!property.members.every((members) => members.list.includes(told))) return false
  }
  return true
}
