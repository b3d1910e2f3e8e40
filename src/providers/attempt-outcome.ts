/**
 * What comes of an attempt, whatever ended it, and how it is drawn from what the attempt has seen. Pure.
 *
 * Ways to end, and what the outcome says:
 * - `answer`: the protocol's end mark was seen. The reading is whole.
 * - `fault`: the provider, the network, the egress gate or a deadline of the attempt's own ended it.
 * - `aborted`, `given_up`, `deadline`: the signal, the step's `giveUpAt` (nothing shown by then) or the run's deadline did.
 *   An answer that only waited for late usage then counts as `answer`: nothing of it is missing.
 *
 * Whatever came before the end is in `reading`, so that usage told early is kept.
 */
import type { EgressResponse } from '../egress/egress.ts'
import type { KeySlot } from '../engine/ports.ts'
import type { AttemptTimes } from './attempt-deadlines.ts'
import type { AttemptFault } from './attempt-fault.ts'
import type { Reader, Reading } from './dialect.ts'
import { requestIdOf } from './request-id.ts'

/** How an attempt ended. */
export interface AttemptEnd {
  readonly end: 'answer' | 'fault' | 'aborted' | 'given_up' | 'deadline'
  /** Set when `end` is `fault`. */
  readonly fault: AttemptFault | null
  /** null: no 2xx answer began. */
  readonly reading: Reading | null
}

export interface AttemptOutcome extends AttemptEnd {
  /** False: the request cannot have reached the provider. */
  readonly sent: boolean
  /** It was cancelled, and read on for its usage. */
  readonly drained: boolean
  /** Something of the model came. */
  readonly started: boolean
  /** Output in UTF-16 units as far as it came. */
  readonly outputLength: number
  readonly httpStatus: number | null
  /** The provider's name for this exchange: its header, else the id inside the answer. */
  readonly requestId: string | null
  readonly firstTokenMs: number | null
  readonly durationMs: number
}

/** What an attempt has seen by its end. */
export interface AttemptFacts extends Pick<AttemptOutcome, 'sent' | 'drained'> {
  readonly times: AttemptTimes
  /** null: no head of an answer came. */
  readonly response: EgressResponse | null
  readonly reader: Reader | null
  readonly requestHeaders: Readonly<Record<string, string>>
}

export function outcomeOf(how: AttemptEnd, facts: AttemptFacts, now: number): AttemptOutcome {
  const { drained, reader, requestHeaders, response, sent, times } = facts
  const started = reader?.started ?? false
  // A whole document starts and ends in one moment.
  const firstAt = times.firstTokenAt ?? (started ? now : null)
  const named = response?.headers['request-id'] ?? response?.headers['x-request-id'] ?? how.reading?.responseId ?? null
  return {
    ...how,
    sent,
    drained,
    started,
    outputLength: reader?.outputLength ?? 0,
    httpStatus: response?.status ?? null,
    requestId: requestIdOf(named, requestHeaders),
    firstTokenMs: firstAt === null ? null : Math.max(0, firstAt - times.startedAt),
    durationMs: Math.max(0, now - times.startedAt),
  }
}

/** What the queue of its key learns from it. */
export function slotOutcomeOf({ end, fault }: AttemptOutcome): Parameters<KeySlot['release']>[0] {
  if (end === 'answer') return { kind: 'ok' }
  if (fault?.class !== 'rate' && fault?.class !== 'overloaded') return { kind: 'other' }
  return fault.retryAfterMs === null ? { kind: 'limited' } : { kind: 'limited', pauseMs: fault.retryAfterMs }
}

/** The word that stands in the record of an attempt which was not ended by a fault; `reason`: that of the signal. */
export function interruptionOf({ end }: AttemptOutcome, reason: unknown): string | null {
  switch (end) {
    case 'aborted':
      // An `Interruption`, by the port's promise.
      return typeof reason === 'string' ? reason : 'aborted'
    case 'deadline':
      return 'deadline'
    case 'given_up':
      return 'out_of_time'
    default:
      return null
  }
}
