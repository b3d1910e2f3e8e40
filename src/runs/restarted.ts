/**
 * The end of a run that was going on when the engine was killed: `failed`, `engine_restarted`, with its finished steps, what
 * is known of its open calls, and its usage; `cancelled` where that had been told and only usage was waited for. Pure.
 */
import type { Attempt } from '../contract/usage.ts'
import { NO_TOKENS } from '../contract/usage.ts'
import type { RunResult } from '../contract/result.ts'
import { closeBatch } from '../engine/close-batch.ts'
import { failed, interrupted, newestText, resultOf } from '../engine/ending.ts'
import type { EnginePorts } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import { keepShown } from '../engine/transcript.ts'
import { addUsage } from '../usage/add.ts'
import { price } from '../usage/price.ts'
import { tokensOf } from './kept-request.ts'
import { shownTextOf, type ShownText } from './shown-text.ts'

const NO_PROMPT = { system: '', messages: [], cacheKey: null, timeNote: null }

/**
 * `record` as it was kept, what was `shown` of the step that was cut, and what its first step sent, in tokens; it is brought
 * to its end.
 */
export function restartedResult(
  record: RunRecord,
  shown: readonly ShownText[],
  promptTokens: number,
  ports: Pick<EnginePorts, 'now' | 'ticket' | 'say'>,
): RunResult {
  closeBatch(record, ports)
  const text = shownTextOf(shown, record.steps)
  const target = record.attempting?.target ?? record.target
  // Nobody asks with this prompt any more.
  keepShown(record, NO_PROMPT, { text, target, stop: 'error' }, ports.now())
  const cut = cutAttempt(record, promptTokens)
  if (cut !== null) record.attempts.push(cut)
  record.attempting = null
  const usage = addUsage(record.attempts, record.request.targets)
  // A cancel that was told stands; the text that was shown is in its messages.
  const ending = record.announced
    ? interrupted(record, 'cancelled', '', ports.say)
    : failed('engine_restarted', newestText(record))
  return resultOf(record, ending, usage, ports.now(), ports.say)
}

/** An attempt whose request may have left is billed by somebody: its figures are an estimate of its input. */
function cutAttempt(record: RunRecord, promptTokens: number): Attempt | null {
  const { attempting, request } = record
  const target = attempting === null ? undefined : request.targets[attempting.target]
  if (attempting === null || target === undefined) return null
  const input = promptTokens + tokensOf(record.messages)
  const tokens = { ...NO_TOKENS, input_tokens: input, total_tokens: input }
  return {
    step: Math.max(1, record.steps),
    attempt: attempting.attempt,
    provider: target.provider,
    model: target.model,
    status: 'unknown',
    ...tokens,
    estimated: true,
    cost: price(tokens, target.pricing),
    http_status: null,
    error_code: 'lost',
    provider_request_id: null,
    queued_ms: 0,
    first_token_ms: null,
    duration_ms: 0,
  }
}
