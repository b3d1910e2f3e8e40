/**
 * A value of a model or a tool as a page on the AI SDK can read it. Pure. The SDK parses each chunk with a parser that refuses
 * keys by which prototypes are changed, and whoever reads the stream would lose the whole rest of the message for one of them.
 */
import { isJsonObject, type Json } from '../contract/json.ts'

/** The same value without `__proto__`, and without a `constructor` that holds a `prototype`; itself where there is none. */
export function aiSdkValue(value: Json): Json {
  if (Array.isArray(value)) {
    const items = value.map(aiSdkValue)
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (!isJsonObject(value)) return value
  const entries = Object.entries(value)
  const kept = entries
    .filter(([key, inner]) => !isRefused(key, inner))
    .map(([key, inner]) => [key, aiSdkValue(inner)] as const)
  const isSame = kept.length === entries.length && kept.every(([key, inner]) => inner === value[key])
  return isSame ? value : Object.fromEntries(kept)
}

function isRefused(key: string, value: Json): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}
