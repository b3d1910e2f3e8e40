/**
 * One walk over a value and its schema, as the checks of single keywords see it. Types only; `check-arguments.ts` has the
 * walk itself.
 *
 * A silent walk stops at the first fault; a telling one goes on until there are enough sentences. Both hold one budget of
 * steps, so that the time of a check is bounded whatever the schema and the value are.
 */
import type { Json } from '../contract/json.ts'
import type { Place } from './fault-sentences.ts'
import type { LinearPattern } from './linear-pattern.ts'
import type { EqualityKey, SchemaNode } from './schema-node.ts'

export interface Walk {
  /** The budget is used up: from here on nothing is looked at, and what is answered means nothing. */
  readonly spent: boolean
  /** `judged` is null where nobody asks for it. */
  fits(node: SchemaNode, value: Json, place: Place | null, judged: Judged | null): boolean
  /** The same without a word, and with `judged` filled in only if it fits. */
  fitsSilently(node: SchemaNode, value: Json, judged: Judged | null): boolean
  /** Whether there is more to look for after what was found so far. */
  goesOn(good: boolean): boolean
  /** Always false. A message that takes work is made only if somebody listens. */
  fault(place: Place | null, message: string | (() => string)): false
  /** Whether somebody listens. */
  readonly telling: boolean
  /** A place below another; null while nobody listens. */
  at(place: Place | null, key: string | number): Place | null
  /** Takes steps of about 0.1 µs from the budget. False: it is used up. */
  take(steps: number): boolean
  keyOf(value: Json): EqualityKey
  matches(pattern: LinearPattern, text: string): boolean
}

/** The check of some keywords of `node`. True where the value has nothing to do with them. */
export type Check<V> = (walk: Walk, node: SchemaNode, value: V, place: Place | null, judged: Judged | null) => boolean

/** Which fields and items some keyword has judged: `unevaluatedProperties` and `unevaluatedItems` judge the rest. */
export interface Judged {
  readonly keys: Set<string>
  readonly indexes: Set<number>
}

export function nothingJudged(): Judged {
  return { keys: new Set(), indexes: new Set() }
}

export function addJudged(from: Judged, into: Judged): void {
  for (const key of from.keys) into.keys.add(key)
  for (const index of from.indexes) into.indexes.add(index)
}
