/**
 * The usage record of one attempt (SPEC §6.3). Pure.
 *
 * `status` answers two questions, whether there was an answer and whether its price is known:
 * - `ok`: a whole answer whose usage was told.
 * - `failed`: no answer, and its usage is known. Either it was told (an error after the counts), or there is none: the
 *   request never reached the provider, or the provider itself said that it failed before anything of the model came. So is
 *   one that was cancelled and drained to its usage.
 * - `unknown`: everything else. A whole answer without usage; one that was cut, cancelled, timed out or unreadable.
 *
 * `estimated` is true for `unknown` only. A count that was told stays as told; a count that was not is a rule of thumb over
 * the bytes of the request and of the answer so far.
 */
import type { Target } from '../contract/run-request.ts'
import { NO_TOKENS, type Attempt, type Tokens } from '../contract/usage.ts'
import type { Media } from '../usage/media.ts'
import { price } from '../usage/price.ts'
import type { AttemptOutcome } from './attempt-outcome.ts'
import { estimateInput, estimateOutput } from './estimate.ts'

export interface AttemptFacts {
  readonly step: number
  readonly attempt: number
  readonly target: Target
  readonly queuedMs: number
  /** The body of the request: what an estimate of the input is made from. */
  readonly body: string
  /** What of it is no text. */
  readonly media: Media
  readonly outcome: AttemptOutcome
  /** What ended it where that was no fault: `cancelled`, `deadline`, `out_of_time` …; null for a whole answer. */
  readonly interruption: string | null
}

/** What a drained attempt came to in the end changes nothing: the cancel had stopped it. */
function errorCodeOf({ drained, end, fault }: AttemptOutcome, interruption: string | null): string | null {
  if (drained) return 'cancelled'
  return end === 'answer' ? null : (fault?.class ?? interruption)
}

type Figures = Pick<Attempt, 'status' | 'estimated'> & Tokens

export function attemptRecord(facts: AttemptFacts): Attempt {
  const { outcome, target } = facts
  const { status, estimated, ...tokens } = figuresOf(outcome, facts)
  return {
    step: facts.step,
    attempt: facts.attempt,
    provider: target.provider,
    model: target.model,
    status,
    ...tokens,
    estimated,
    cost: price(tokens, target.pricing, outcome.reading?.usage?.cacheWriteLong),
    http_status: outcome.httpStatus,
    error_code: errorCodeOf(outcome, facts.interruption),
    provider_request_id: outcome.requestId,
    queued_ms: facts.queuedMs,
    first_token_ms: outcome.firstTokenMs,
    duration_ms: outcome.durationMs,
  }
}

function figuresOf(outcome: AttemptOutcome, { body, media }: Pick<AttemptFacts, 'body' | 'media'>): Figures {
  const usage = outcome.reading?.usage ?? null
  if (usage?.known === 'all') {
    return { ...usage.tokens, status: outcome.end === 'answer' && !outcome.drained ? 'ok' : 'failed', estimated: false }
  }
  if (usage === null && costNothing(outcome)) return { ...NO_TOKENS, status: 'failed', estimated: false }
  const told = usage?.tokens ?? { ...NO_TOKENS, input_tokens: estimateInput(body, media) }
  const output = Math.max(told.output_tokens, estimateOutput(outcome.reading?.parts ?? [], outcome.outputLength))
  const tokens = { ...told, output_tokens: output }
  return { ...tokens, total_tokens: totalOf(tokens), status: 'unknown', estimated: true }
}

/** Never sent, or the provider's own word that it failed before the model said anything. */
function costNothing(outcome: AttemptOutcome): boolean {
  if (!outcome.sent) return true
  if (outcome.started || outcome.fault === null) return false
  const refused = outcome.httpStatus !== null && outcome.httpStatus >= 300
  const toldInside = outcome.reading?.fault != null && outcome.reading.fault.class !== 'malformed'
  return refused || toldInside
}

function totalOf(tokens: Tokens): number {
  return tokens.input_tokens + tokens.cache_read_tokens + tokens.cache_write_tokens + tokens.output_tokens
}
