/** How a response ended, in the contract's words (SPEC §6.6). Pure. */
import type { Response } from 'openai/resources/responses/responses'
import type { StopReason } from '../../contract/message.ts'

type Reason = NonNullable<NonNullable<Response['incomplete_details']>['reason']>

/** Why a response is incomplete. */
const REASONS: Readonly<Record<Reason, StopReason>> & { readonly [word: string]: StopReason | undefined } = {
  max_output_tokens: 'length',
  content_filter: 'refusal',
  // Only where a caller steers or bounds the response by fields of its own.
  max_messages: 'other',
  steered: 'other',
}

/**
 * There is no word for tool calls: whether there are any decides.
 * @param word `completed`, or the reason of a response that is not
 */
export function responsesStop(word: string | null, hasCalls: boolean, refused: boolean): StopReason {
  if (refused) return 'refusal'
  if (word === null || word === 'completed') return hasCalls ? 'tool_calls' : 'end_turn'
  return (Object.hasOwn(REASONS, word) ? REASONS[word] : undefined) ?? 'other'
}
