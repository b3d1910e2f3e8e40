/** Finish reasons of chat servers in the contract's words (SPEC §6.6). Pure. */
import type { ChatCompletionChunk } from 'openai/resources/chat/completions'
import type { StopReason } from '../../contract/message.ts'
import type { FaultClass } from '../dialect.ts'

/** OpenAI's own words. */
const OWN: Readonly<Record<NonNullable<ChatCompletionChunk.Choice['finish_reason']>, StopReason>> = {
  stop: 'end_turn',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'refusal',
}

/** In lower case; with those of servers that write their own. */
const WORDS: ReadonlyMap<string, StopReason> = new Map<string, StopReason>([
  ...Object.entries(OWN),
  ['eos', 'end_turn'],
  ['eos_token', 'end_turn'],
  ['end', 'end_turn'],
  ['end_turn', 'end_turn'],
  ['stop_sequence', 'stop_sequence'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['max_output_tokens', 'length'],
  ['model_length', 'length'],
  // The reader makes a failure of it where not even a text came.
  ['model_context_window_exceeded', 'length'],
  ['sensitive', 'refusal'],
  ['guardrail', 'refusal'],
  ['refusal', 'refusal'],
  ['safety', 'refusal'],
  ['image_safety', 'refusal'],
  ['prohibited_content', 'refusal'],
  ['blocklist', 'refusal'],
  ['recitation', 'refusal'],
  ['spii', 'refusal'],
])

/** What a reason means; some servers write behind a colon what the filter has found. */
function meaningOf(word: string): StopReason | undefined {
  const [reason = ''] = word.toLowerCase().split(':')
  return WORDS.get(reason.trim())
}

/** Reasons that say that this is no answer. */
const FAULTS: ReadonlyMap<string, FaultClass> = new Map<string, FaultClass>([
  ['error', 'server'],
  ['network_error', 'server'],
  ['insufficient_system_resource', 'overloaded'],
])

/** A reason of a chunk; null where it says none: absent, empty, and the word that a careless server makes of null. */
export function finishWord(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value !== 'null' ? value : null
}

export function finishFault(word: string): FaultClass | null {
  return FAULTS.get(word.toLowerCase()) ?? null
}

export function isLength(word: string | null): boolean {
  return word !== null && meaningOf(word) === 'length'
}

/**
 * Whether there are calls decides, not the word: servers say `stop` beside calls and `tool_calls` without any.
 * @param word null: the stream never said one
 */
export function chatStop(word: string | null, hasCalls: boolean, refused: boolean): StopReason {
  if (refused) return 'refusal'
  const said = word === null ? 'end_turn' : (meaningOf(word) ?? 'other')
  if (said === 'end_turn' && hasCalls) return 'tool_calls'
  return said === 'tool_calls' && !hasCalls ? 'end_turn' : said
}
