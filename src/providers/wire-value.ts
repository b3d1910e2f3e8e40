/**
 * Looking into JSON that nobody has checked: what a provider sends may lack any field and hold anything in it. Pure, and
 * cheap enough for every event of a stream.
 */

/** An object of unknown content; not an array, not null. */
export type WireObject = { readonly [key: string]: unknown }

export function isObject(value: unknown): value is WireObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The string, or '' for everything else: an absent text and an empty one mean the same on every wire. */
export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The array, or an empty one. */
export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NOTHING
}
const NOTHING: readonly unknown[] = []

/** Reads one event. A value, not a throw; `undefined` is a text that is no JSON. */
export function parseEvent(data: string): unknown {
  try {
    return JSON.parse(data) as unknown
  } catch {
    return undefined
  }
}

/** A number that tells which of several is meant, also where it comes as digits; null where none is told. */
export function place(value: unknown): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : null
}
