/** What the tests of this dialect share: an attempt to be written down, and an answer read from events. */
import type { DialectCall, Reading } from '../../../src/providers/dialect.ts'
import { gigachat } from '../../../src/providers/gigachat/dialect.ts'
import { gigachatRequest } from '../../../src/providers/gigachat/request.ts'
import { dialectCall, type CallFacts, type Heard } from '../dialect-call.ts'

export function gigachatCall(facts: CallFacts = {}): DialectCall {
  return dialectCall({ provider: 'gigachat', model: 'GigaChat-2-Max', apiKey: 'bm9ib2R5OnNlY3JldA==', ...facts })
}

/** The body of a request, parsed. */
export function bodyOf(facts: CallFacts): { readonly [field: string]: unknown } {
  return JSON.parse(gigachatRequest(gigachatCall(facts)).body) as { [field: string]: unknown }
}

export function messagesOf(facts: CallFacts): unknown {
  return bodyOf(facts)['messages']
}

/** A reader with a sink that remembers. */
export function listenTo(call: DialectCall = gigachatCall()): Heard {
  const pieces: string[] = []
  const thoughts: string[] = []
  const reader = gigachat.reader(
    { text: (text) => void pieces.push(text), reasoning: (text) => void thoughts.push(text) },
    call,
  )
  return { reader, pieces, shown: () => pieces.join(''), thought: () => thoughts.join('') }
}

/** Reads events, each an object or the very text of its data, to the end. */
export function readAnswer(events: readonly unknown[]): Reading & { readonly heard: Heard } {
  const heard = listenTo()
  for (const event of events) heard.reader.event(undefined, typeof event === 'string' ? event : JSON.stringify(event))
  return { ...heard.reader.end(), heard }
}

/** One chunk of a stream, with the fields that the vendor sends beside. */
export function chunk(delta: object, finish?: string, usage?: object): object {
  const choice = { delta, index: 0, ...(finish === undefined ? {} : { finish_reason: finish }) }
  return {
    choices: [choice],
    created: 1_796_000_000,
    model: 'GigaChat-2-Max:2.0.30.01',
    object: 'chat.completion',
    ...(usage === undefined ? {} : { usage }),
  }
}

export const DONE = '[DONE]'
