/** An answer of the Responses API, read from events, with all that was shown of it. */
import type { DialectCall, Reading } from '../../../src/providers/dialect.ts'
import { openaiResponses } from '../../../src/providers/openai-responses/dialect.ts'
import type { Heard } from '../dialect-call.ts'

/** A reader with a sink that remembers. */
export function hear(call: DialectCall): Heard {
  const pieces: string[] = []
  const thoughts: string[] = []
  const reader = openaiResponses.reader(
    { text: (text) => void pieces.push(text), reasoning: (text) => void thoughts.push(text) },
    call,
  )
  return { reader, pieces, shown: () => pieces.join(''), thought: () => thoughts.join('') }
}

/** Reads events, each an object or the very text of its data, to the end. */
export function read(call: DialectCall, events: readonly unknown[]): Reading & { readonly heard: Heard } {
  const heard = hear(call)
  for (const event of events) heard.reader.event(undefined, typeof event === 'string' ? event : JSON.stringify(event))
  return { ...heard.reader.end(), heard }
}
