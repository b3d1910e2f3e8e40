/** The keywords for arrays. Pure but for the walk's budget and sentences. */
import type { Json } from '../contract/json.ts'
import { wanted } from './fault-sentences.ts'
import type { EqualityKey } from './schema-node.ts'
import type { Check } from './walk.ts'

export const checkList: Check<readonly Json[]> = (walk, node, value, place, judged) => {
  const { minItems = 0, maxItems = Infinity } = node.bounds
  if (value.length < minItems) return walk.fault(place, `must have at least ${minItems} items; got ${value.length}`)
  if (value.length > maxItems) return walk.fault(place, `must have at most ${maxItems} items; got ${value.length}`)

  let good = true
  for (let index = 0; index < value.length && walk.goesOn(good); index += 1) {
    const schema = node.prefixItems[index] ?? node.items
    if (schema === null) break
    good = walk.fits(schema, value[index] as Json, walk.at(place, index), null) && good
    judged?.indexes.add(index)
  }
  if (node.uniqueItems && walk.goesOn(good)) good = isUnique(walk, node, value, place, judged) && good
  if (node.contains !== null && walk.goesOn(good)) good = contains(walk, node, value, place, judged) && good
  return good
}

const isUnique: Check<readonly Json[]> = (walk, _node, value, place) => {
  const first = new Map<EqualityKey, number>()
  for (const [index, item] of value.entries()) {
    const key = walk.keyOf(item)
    if (walk.spent) return false
    const earlier = first.get(key)
    if (earlier !== undefined) {
      return walk.fault(place, `must hold no item twice; items ${earlier} and ${index} are the same`)
    }
    first.set(key, index)
  }
  return true
}

const contains: Check<readonly Json[]> = (walk, node, value, place, judged) => {
  const schema = node.contains
  if (schema === null) return true
  const { minContains = 1, maxContains = Infinity } = node.bounds
  let count = 0
  for (let index = 0; index < value.length && !walk.spent; index += 1) {
    if (!walk.fitsSilently(schema, value[index] as Json, null)) continue
    count += 1
    judged?.indexes.add(index)
  }
  if (count >= minContains && count <= maxContains) return true
  const range = count < minContains ? `at least ${minContains}` : `at most ${maxContains}`
  return walk.fault(place, () => `must hold ${range} of: ${wanted(schema)}; got ${count}`)
}

export const checkUnevaluatedItems: Check<readonly Json[]> = (walk, node, value, place, judged) => {
  const schema = node.unevaluatedItems
  if (schema === null) return true
  let good = true
  for (let index = 0; index < value.length && walk.goesOn(good); index += 1) {
    if (judged?.indexes.has(index) === true) continue
    good = walk.fits(schema, value[index] as Json, walk.at(place, index), null) && good
    judged?.indexes.add(index)
  }
  return good
}
