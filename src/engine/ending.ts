/**
 * How a run ends: the few ways there are, and the result made from the record. Pure.
 */
import type { RunErrorCode } from '../contract/errors.ts'
import { instantText } from '../contract/instant.ts'
import { textOf, type StopReason } from '../contract/message.ts'
import type { LimitReached, RunResult, Status } from '../contract/result.ts'
import type { SentenceKey } from '../contract/sentence.ts'
import type { DoneEvent } from '../contract/stream-event.ts'
import type { Usage } from '../contract/usage.ts'
import { isBlank } from './blank.ts'
import { limitBehind, type FinalReason } from './plan.ts'
import type { Interruption } from './ports.ts'
import type { RunRecord } from './record.ts'

export interface Ending {
  readonly status: Status
  readonly limit: LimitReached | null
  readonly stop: StopReason | null
  readonly text: string
  readonly source: 'model' | 'fallback' | null
  readonly error: RunErrorCode | null
}

const PLAIN = { limit: null, error: null } as const

/** The model answered in words. Behind a limit the same answer ends `stopped_limit`. */
export function answered(final: FinalReason | null, stop: StopReason, text: string): Ending {
  const limit = limitBehind(final)
  return { ...PLAIN, status: limit === null ? 'completed' : 'stopped_limit', limit, stop, text, source: 'model' }
}

/** No words came: a fixed sentence stands in their place. */
export function unanswered(
  final: FinalReason | null,
  stop: StopReason | null,
  say: (key: SentenceKey) => string,
): Ending {
  const limit = limitBehind(final)
  const key = limit !== null ? 'limit_no_answer' : stop === 'refusal' ? 'refused' : 'no_answer'
  return {
    ...PLAIN,
    status: limit === null ? 'completed' : 'stopped_limit',
    limit,
    stop,
    text: say(key),
    source: 'fallback',
  }
}

export function awaitingTool(text: string): Ending {
  return { ...PLAIN, status: 'awaiting_tool', stop: 'tool_calls', text, source: text === '' ? null : 'model' }
}

/** No answer could be had. What was shown stays, as the message that keeps it: blank text is none. */
export function failed(error: RunErrorCode, shown: string): Ending {
  const text = isBlank(shown) ? '' : shown
  return { ...PLAIN, status: 'failed', stop: 'error', text, source: text === '' ? null : 'model', error }
}

/** The model failed on the step a limit had left it: the limit ended the run, and there is still an answer. */
export function failedBehindLimit(limit: LimitReached, shown: string, say: (key: SentenceKey) => string): Ending {
  if (isBlank(shown)) return unanswered(limit, 'error', say)
  return { ...PLAIN, status: 'stopped_limit', limit, stop: 'error', text: shown, source: 'model' }
}

/** The run was stopped from outside. `shown` is the text of the step that was cut; where that is none the newest text stands. */
export function interrupted(
  record: RunRecord,
  why: Interruption,
  shown: string,
  say: (key: SentenceKey) => string,
): Ending {
  switch (why) {
    case 'deadline':
      if (isBlank(shown)) return unanswered('timeout_ms', 'timeout', say)
      return { ...PLAIN, status: 'stopped_limit', limit: 'timeout_ms', stop: 'timeout', text: shown, source: 'model' }
    case 'shutdown':
    case 'lost':
      return failed('engine_shutdown', isBlank(shown) ? newestText(record) : shown)
    case 'cancelled': {
      const text = isBlank(shown) ? newestText(record) : shown
      return { ...PLAIN, status: 'cancelled', stop: 'cancelled', text, source: text === '' ? null : 'model' }
    }
  }
}

/** What the stored message of a cut step says of its end. */
export const cutStop: Readonly<Record<Interruption, StopReason>> = {
  cancelled: 'cancelled',
  deadline: 'timeout',
  shutdown: 'error',
  lost: 'error',
}

/** What a reader saw last, of whichever step. */
export function newestText(record: RunRecord): string {
  for (const message of record.messages.toReversed()) {
    const text = message.role === 'assistant' ? textOf(message) : ''
    if (!isBlank(text)) return text
  }
  return ''
}

/** What the stream tells of the end. */
export function doneOf(
  record: RunRecord,
  { error, limit, status, stop }: Ending,
  say: (key: SentenceKey) => string,
): DoneEvent {
  const pending = record.pending.length
  return {
    event: 'done',
    data: { status, stop_reason: stop, limit_reached: limit, error: errorOf(error, say), pending },
  }
}

function errorOf(error: Ending['error'], say: (key: SentenceKey) => string): RunResult['error'] {
  return error === null ? null : { code: error, message: say(error) }
}

export function resultOf(
  record: RunRecord,
  ending: Ending,
  usage: Usage,
  now: number,
  say: (key: SentenceKey) => string,
): RunResult {
  const { request } = record
  return {
    contract_version: '1',
    run_id: record.runId,
    status: ending.status,
    // A raw number where its digits need it; JSON.stringify writes them back.
    history_revision: request.history_revision as number | null,
    idempotency_key: request.idempotency_key,
    origin_request_id: request.origin_request_id,
    text: ending.text,
    answer_source: ending.source,
    stop_reason: ending.stop,
    limit_reached: ending.limit,
    output: record.output,
    messages: record.messages,
    pending: record.pending,
    tool_calls: record.toolCalls,
    usage,
    error: errorOf(ending.error, say),
    warnings: record.warnings,
    steps: record.steps,
    started_at: record.startedAt,
    finished_at: instantText(now),
    meta: request.meta,
  }
}
