/** The keywords for strings and numbers. Pure but for the walk's budget and sentences. */
import { got } from './fault-sentences.ts'
import { stringFormats } from './string-formats.ts'
import { characters, isMultipleOf } from './value-facts.ts'
import type { Check } from './walk.ts'

export const checkText: Check<string> = (walk, node, value, place) => {
  const { minLength = 0, maxLength = Infinity } = node.bounds
  if (minLength > 0 || maxLength < Infinity) {
    walk.take(value.length / 50)
    const length = characters(value)
    if (length < minLength) return walk.fault(place, `must have at least ${minLength} characters; got ${length}`)
    if (length > maxLength) return walk.fault(place, `must have at most ${maxLength} characters; got ${length}`)
  }
  if (node.pattern !== null && !walk.matches(node.pattern, value)) {
    const { source } = node.pattern
    return walk.fault(place, () => `must match the pattern ${source.slice(0, 120)}; got ${got(value)}`)
  }
  const format = node.format === null ? undefined : stringFormats.get(node.format)
  if (format === undefined) return true
  walk.take(value.length / 50)
  return format.fits(value) || walk.fault(place, () => `must be ${format.wanted}; got ${got(value)}`)
}

export const checkNumber: Check<number> = (walk, node, value, place) => {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node.bounds
  const must = (what: string) => walk.fault(place, `must be ${what}; got ${value}`)
  if (minimum !== undefined && value < minimum) return must(`at least ${minimum}`)
  if (maximum !== undefined && value > maximum) return must(`at most ${maximum}`)
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return must(`above ${exclusiveMinimum}`)
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return must(`below ${exclusiveMaximum}`)
  if (multipleOf === undefined) return true
  walk.take(20)
  return isMultipleOf(value, multipleOf) || must(`a multiple of ${multipleOf}`)
}
