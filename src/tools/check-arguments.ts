/**
 * Judges a value by a schema that was read and bounded: a plain walk, without code generation.
 *
 * What a schema within its bounds and a value of any size can still cost is held by a budget of steps; when it is used up
 * the walk stops, and the answer is neither yes nor no. Own code because no library takes a linear-time regex engine, and a
 * pattern below `not` or `anyOf` cannot be judged apart from the rest.
 */
import { isJsonObject, type Json } from '../contract/json.ts'
import { checkInPlace } from './check-in-place.ts'
import { checkList, checkUnevaluatedItems } from './check-list.ts'
import { checkObject, checkUnevaluatedProperties } from './check-object.ts'
import { checkNumber, checkText } from './check-scalar.ts'
import { FaultSentences, got, wanted, wrongType, type Place } from './fault-sentences.ts'
import type { LinearPattern } from './linear-pattern.ts'
import { equalityKey, type EqualityKey, type SchemaNode } from './schema-node.ts'
import { hasType } from './value-facts.ts'
import { addJudged, nothingJudged, type Judged, type Walk } from './walk.ts'

/** Steps of about 0.1 µs, for one walk over the arguments; there are at most two. */
const MAX_STEPS = 500_000
/** Schemas being judged within one another at one time; each holds some stack. */
const MAX_LEVELS = 500

export type Judgement =
  | { readonly kind: 'fits' }
  /** At least one sentence. */
  | { readonly kind: 'faults'; readonly sentences: readonly string[] }
  /** The budget is used up: the value is too large or too deep for this schema. */
  | { readonly kind: 'too_costly' }

/** Never throws; the same value gets the same answer. `value` holds no raw numbers (`rounded`). */
export function judge(root: SchemaNode, value: Json): Judgement {
  const silent = new BudgetedWalk(null)
  const fits = silent.fits(root, value, null, null)
  if (silent.spent) return { kind: 'too_costly' }
  if (fits) return { kind: 'fits' }

  // A second walk tells what is wrong; most calls never need it.
  const sentences = new FaultSentences()
  new BudgetedWalk(sentences).fits(root, value, null, null)
  return sentences.list.length === 0 ? { kind: 'too_costly' } : { kind: 'faults', sentences: sentences.list }
}

class BudgetedWalk implements Walk {
  spent = false
  #sentences: FaultSentences | null
  #steps = MAX_STEPS
  #levels = 0

  constructor(sentences: FaultSentences | null) {
    this.#sentences = sentences
  }

  fits(node: SchemaNode, value: Json, place: Place | null, judged: Judged | null): boolean {
    if (node.verdict !== null) return node.verdict || this.fault(place, 'must not be given')
    if (!this.take(1)) return false
    if (node.types !== null && !node.types.some((type) => hasType(type, value))) {
      return this.fault(place, () => wrongType(node, value))
    }
    this.#levels += 1
    if (this.#levels > MAX_LEVELS) this.spent = true
    const unevaluated = node.unevaluatedProperties !== null || node.unevaluatedItems !== null
    const good = unevaluated ? this.#all(node, value, place, judged) : this.#keywords(node, value, place, judged)
    this.#levels -= 1
    return good
  }

  #keywords(node: SchemaNode, value: Json, place: Place | null, judged: Judged | null): boolean {
    let good = this.#isMember(node, value, place)
    if (this.goesOn(good)) good = this.#byKind(node, value, place, judged) && good
    if (this.goesOn(good)) good = checkInPlace(this, node, value, place, judged) && good
    return good
  }

  /** With the two keywords that judge what all others left over. */
  #all(node: SchemaNode, value: Json, place: Place | null, judged: Judged | null): boolean {
    const own = nothingJudged()
    let good = this.#keywords(node, value, place, own)
    if (this.goesOn(good)) {
      if (Array.isArray(value)) good = checkUnevaluatedItems(this, node, value, place, own) && good
      else if (isJsonObject(value)) good = checkUnevaluatedProperties(this, node, value, place, own) && good
    }
    if (judged !== null) this.#addJudged(own, judged)
    return good
  }

  #addJudged(from: Judged, into: Judged): void {
    if (this.take(from.keys.size + from.indexes.size)) addJudged(from, into)
  }

  #isMember(node: SchemaNode, value: Json, place: Place | null): boolean {
    if (node.members.length === 0) return true
    const key = this.keyOf(value)
    if (node.members.every((members) => members.keys.has(key))) return true
    return this.fault(place, () => `must be ${wanted(node)}; got ${got(value)}`)
  }

  #byKind(node: SchemaNode, value: Json, place: Place | null, judged: Judged | null): boolean {
    if (typeof value === 'string') return checkText(this, node, value, place, judged)
    if (typeof value === 'number') return checkNumber(this, node, value, place, judged)
    if (Array.isArray(value)) return checkList(this, node, value, place, judged)
    return isJsonObject(value) ? checkObject(this, node, value, place, judged) : true
  }

  fitsSilently(node: SchemaNode, value: Json, judged: Judged | null): boolean {
    const sentences = this.#sentences
    this.#sentences = null
    const own = judged === null ? null : nothingJudged()
    const good = this.fits(node, value, null, own)
    if (good && own !== null && judged !== null) this.#addJudged(own, judged)
    this.#sentences = sentences
    return good
  }

  get telling(): boolean {
    return this.#sentences !== null
  }

  goesOn(good: boolean): boolean {
    if (this.spent) return false
    return good || (this.#sentences !== null && !this.#sentences.full)
  }

  fault(place: Place | null, message: string | (() => string)): false {
    if (this.#sentences === null) return false
    this.take(50)
    this.#sentences.add(place, typeof message === 'string' ? message : message())
    return false
  }

  at(place: Place | null, key: string | number): Place | null {
    return this.#sentences === null ? null : { parent: place, key }
  }

  take(steps: number): boolean {
    this.#steps -= steps
    if (this.#steps < 0) this.spent = true
    return !this.spent
  }

  keyOf(value: Json): EqualityKey {
    const key = equalityKey(value)
    this.take(typeof key === 'string' ? 5 + key.length * (typeof value === 'string' ? 0.1 : 1.5) : 1)
    return key
  }

  matches(pattern: LinearPattern, text: string): boolean {
    return this.take(pattern.cost(text.length)) && pattern.test(text)
  }
}
