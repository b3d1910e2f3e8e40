/** Finish reasons of GigaChat in the contract's words (SPEC §6.6). Pure. */
import type { StopReason } from '../../contract/message.ts'

const WORDS: ReadonlyMap<string, StopReason> = new Map<string, StopReason>([
  ['stop', 'end_turn'],
  ['function_call', 'tool_calls'],
  // Of what stands before it and speaks the words of other APIs.
  ['tool_calls', 'tool_calls'],
  ['length', 'length'],
  // A topic that the service does not speak of; a fixed sentence stands in for the answer.
  ['blacklist', 'refusal'],
])

/** A reason of a chunk; null where it says none. */
export function finishWord(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** The model wrote a call that is none: no answer, and another sample may pass. */
export function isFailure(word: string): boolean {
  return word === 'error'
}

/**
 * Whether there are calls decides, not the word.
 * @param word null: the stream never said one
 */
export function gigachatStop(word: string | null, hasCalls: boolean): StopReason {
  const said = word === null ? 'end_turn' : (WORDS.get(word) ?? 'other')
  if (said === 'end_turn' && hasCalls) return 'tool_calls'
  return said === 'tool_calls' && !hasCalls ? 'end_turn' : said
}
