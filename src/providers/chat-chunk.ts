/** A chunk in the form of chat completions: what every dialect of that form asks of it first. Pure. */
import { isObject, list, place, type WireObject } from './wire-value.ts'

const DONE = '[DONE]'
/** The mark and some white space round it: longer data is not worth a look. */
const LONGEST_MARK = 16

/** The end mark that stands where a chunk would. */
export function isEndMark(data: string): boolean {
  return data.length <= LONGEST_MARK && data.trim() === DONE
}

/** Choice 0; others exist only where a caller's extra fields asked for them. */
export function firstChoice(chunk: WireObject): WireObject | null {
  for (const choice of list(chunk['choices'])) {
    if (isObject(choice) && (place(choice['index']) ?? 0) === 0) return choice
  }
  return null
}
