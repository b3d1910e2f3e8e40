/** Stop reasons of the Messages API in the contract's words (SPEC §6.6). Pure. */
import type { StopReason as WireStopReason } from '@anthropic-ai/sdk/resources/messages'
import type { StopReason } from '../../contract/message.ts'

const WORDS: Readonly<Record<WireStopReason, StopReason>> & { readonly [word: string]: StopReason | undefined } = {
  end_turn: 'end_turn',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  stop_sequence: 'stop_sequence',
  pause_turn: 'paused',
  refusal: 'refusal',
  // The reader makes a failure of it where not even a text came.
  model_context_window_exceeded: 'length',
  compaction: 'paused',
}

/** Whether there are calls decides, not the word: a word can say `tool_use` without any, and `end_turn` beside some. */
export function anthropicStop(word: string | null, hasCalls: boolean): StopReason {
  const said = (word !== null && Object.hasOwn(WORDS, word) ? WORDS[word] : undefined) ?? 'other'
  if (said === 'end_turn' && hasCalls) return 'tool_calls'
  return said === 'tool_calls' && !hasCalls ? 'end_turn' : said
}
