/** A chunk in the form of chat completions: what every dialect of that form asks of it first. */
import type { AnswerProgress } from './answer-progress.ts'
import { isEndMark } from './end-mark.ts'
import { malformed } from './provider-fault.ts'
import { isObject, list, parseEvent, place, type WireObject } from './wire-value.ts'

/** undefined: there is no chunk to read, and what follows from that is in `progress`. */
export function nextChunk(progress: AnswerProgress, data: string): unknown {
  if (progress.state === 'closed' || data === '') return undefined
  if (isEndMark(data)) {
    progress.done()
    return undefined
  }
  const chunk = parseEvent(data)
  if (chunk === undefined) progress.fail(malformed('one event of the stream is not JSON'))
  return chunk
}

/** Choice 0; others exist only where a caller's extra fields asked for them. */
export function firstChoice(chunk: WireObject): WireObject | null {
  for (const choice of list(chunk['choices'])) {
    if (isObject(choice) && (place(choice['index']) ?? 0) === 0) return choice
  }
  return null
}
