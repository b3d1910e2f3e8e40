/**
 * What follows from a failed attempt: the one retry rule of the system. Pure; `model-step.ts` acts on it. SPEC §8.1.
 *
 * - At most three requests go to one model in one step, whatever for.
 * - A fault that may pass is tried again on the same model, after the time the provider asked for, else after a backoff.
 * - A request the dialect can mend (`repair`) is repeated at once without what the provider refused, once a repair.
 * - What cannot pass, or has not passed three times, goes to the next model of the chain, but never once text of this step
 *   has been shown: an answer is one model's from its first word to its last.
 * - A wait that would end beyond the time there is is not begun.
 */
import { assertNever } from '../contract/assert-never.ts'
import type { AttemptFault, AttemptFaultClass } from './attempt-fault.ts'
import type { Repair } from './dialect.ts'

export const ATTEMPTS_PER_MODEL = 3
const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 8_000

export interface Situation {
  /** Requests sent to this model in this step, the failed one included. */
  readonly tries: number
  /** The chain goes on after this model. */
  readonly hasNext: boolean
  /** Text of this step has been shown at some time, discarded or not. */
  readonly textShown: boolean
  /** Repairs that this model's requests already carry. */
  readonly repairs: ReadonlySet<Repair>
  /** What is left until the run's deadline, and until the step is given up. */
  readonly leftMs: number
  readonly untilGiveUpMs: number
  /** 0 up to 1. */
  readonly random: number
}

export type Decision =
  /** The same model at once, without what it refused. */
  | { readonly kind: 'repair'; readonly repair: Repair }
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'next_model' }
  /** `tooLongMs`: the wait that was asked for and did not fit. */
  | { readonly kind: 'end'; readonly tooLongMs: number | null }

export function decide(fault: AttemptFault, situation: Situation): Decision {
  const { hasNext, textShown, tries } = situation
  const mayMoveOn = hasNext && !textShown
  const elsewhere: Decision = mayMoveOn ? { kind: 'next_model' } : { kind: 'end', tooLongMs: null }
  if (tries >= ATTEMPTS_PER_MODEL) return elsewhere
  if (fault.repair !== null && !situation.repairs.has(fault.repair)) return { kind: 'repair', repair: fault.repair }
  if (!mayPass(fault.class)) return elsewhere

  // Never at once: a wait of nothing counts as none.
  const waitMs =
    fault.retryAfterMs === null || fault.retryAfterMs <= 0 ? backoffMs(tries, situation.random) : fault.retryAfterMs
  if (waitMs >= situation.leftMs) return mayMoveOn ? elsewhere : { kind: 'end', tooLongMs: waitMs }
  // Another model now is worth more than this one after the step has been given up.
  if (waitMs >= situation.untilGiveUpMs && mayMoveOn) return elsewhere
  return { kind: 'retry', waitMs }
}

/** 0.5 s doubling to 8 s, spread between half and whole. */
export function backoffMs(tries: number, random: number): number {
  const whole = Math.min(FIRST_BACKOFF_MS * 2 ** (tries - 1), LONGEST_BACKOFF_MS)
  return Math.round(whole / 2 + (whole / 2) * random)
}

/** Whether the same request to the same model may succeed later. */
function mayPass(faultClass: AttemptFaultClass): boolean {
  switch (faultClass) {
    case 'network':
    case 'rate':
    case 'overloaded':
    case 'server':
    case 'timeout':
    case 'malformed':
    case 'interrupted':
      return true
    case 'quota':
    case 'auth':
    case 'not_found':
    case 'bad_request':
    case 'content':
    case 'context_overflow':
    case 'egress_denied':
      return false
    default:
      return assertNever(faultClass)
  }
}
