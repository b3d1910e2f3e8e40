/**
 * Late results: which calls may still be answered at their `result_url`, and what became of those that ended (SPEC §5.7).
 *
 * A call is always in one of these:
 *
 *     open ──▶ recorded
 *       └────▶ closed
 *
 * - `open` from before its first attempt is sent: a tool may post its result before its `accepted` has been read.
 * - `recorded`: the first result is taken, and the call ends with it. Later ones change nothing.
 * - `closed`: the call ended without a late result. What comes now is too late.
 *
 * Ended calls are remembered for a time, so that a repeat gets the same answer; memory is bounded by time and number. In
 * memory of this instance: a result must be posted to the engine that made the call.
 */
import type { ToolAnswer } from '../contract/tool-exchange.ts'

export type LateAnswer = Extract<ToolAnswer, { readonly status: 'ok' | 'error' }>

/** `unknown`: no such call, or it ended so long ago that it is forgotten. */
type Recorded = 'recorded' | 'already_recorded' | 'closed' | 'unknown'

export interface LateResults {
  /**
   * Opens a call. `onAnswer` is called at most once, synchronously. The function that comes back ends the call and may be
   * called any number of times.
   */
  open(runId: string, callId: string, onAnswer: (answer: LateAnswer) => void): () => void
  /** Takes what was posted to a call's `result_url`; the caller has checked the call token and the answer's form. */
  record(runId: string, callId: string, answer: LateAnswer): Recorded
}

export interface LateResultsOptions {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** How long an ended call is remembered. Default 10 minutes. */
  readonly rememberMs?: number
  /** How many ended calls are remembered. Default 10,000. */
  readonly remember?: number
  /** Told of each result that was handed in. Default: nobody. */
  readonly onRecord?: (runId: string, callId: string, outcome: Recorded) => void
}

interface OpenCall {
  readonly onAnswer: (answer: LateAnswer) => void
  recorded: boolean
}

interface EndedCall {
  readonly recorded: boolean
  readonly at: number
}

export function createLateResults(options: LateResultsOptions): LateResults {
  const { now, rememberMs = 600_000, remember = 10_000, onRecord = () => {} } = options
  const open = new Map<string, OpenCall>()
  /** Oldest first: a Map keeps the order in which its keys came. */
  const ended = new Map<string, EndedCall>()

  function end(key: string, call: OpenCall): void {
    if (open.get(key) !== call) return
    open.delete(key)
    // A call that was open twice stands where it ended last.
    ended.delete(key)
    ended.set(key, { recorded: call.recorded, at: now() })
    forget()
  }

  function forget(): void {
    for (const [key, { at }] of ended) {
      if (ended.size <= remember && now() - at <= rememberMs) return
      ended.delete(key)
    }
  }

  function take(key: string, answer: LateAnswer): Recorded {
    const call = open.get(key) ?? ended.get(key)
    if (call === undefined) return 'unknown'
    if (call.recorded) return 'already_recorded'
    if (!('onAnswer' in call)) return 'closed'
    call.recorded = true
    call.onAnswer(answer)
    return 'recorded'
  }

  return {
    open(runId, callId, onAnswer) {
      const key = `${runId}/${callId}`
      const call = { onAnswer, recorded: false }
      open.set(key, call)
      return () => end(key, call)
    },

    record(runId, callId, answer) {
      forget()
      const outcome = take(`${runId}/${callId}`, answer)
      onRecord(runId, callId, outcome)
      return outcome
    },
  }
}
