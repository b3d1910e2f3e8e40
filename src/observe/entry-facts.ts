/**
 * Facts of the journal's entries as metrics and spans read them: what is not of the wanted kind is not there. Pure.
 */
import { isRawNumber, type Json } from '../contract/json.ts'

export function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

/** A number of many digits is kept as its text (`JSON.rawJSON`); what is measured needs no more than a double. */
export function numberOf(value: Json | undefined): number | null {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(value.rawJSON) : null
}
