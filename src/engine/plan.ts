/**
 * What a run does next: pure decisions at a step's border (SPEC §8.3). Every limit is judged here, the budgets among them in
 * budget.ts.
 */
import type { LimitReached } from '../contract/result.ts'
import { budgetReached } from './budget.ts'
import { notes } from './notes.ts'
import type { RunRecord } from './record.ts'

/** Why a step goes without tools. */
export type FinalReason = LimitReached | 'loop_protection' | 'empty_answer' | 'repair'

/** The limit behind a step without tools; null where none is behind it. */
export function limitBehind(final: FinalReason | null): LimitReached | null {
  return final === 'loop_protection' || final === 'empty_answer' || final === 'repair' ? null : final
}

export type Plan =
  /** Ask the model; `final` says why it may not use tools, null that it may. */
  | { readonly kind: 'ask'; readonly final: FinalReason | null; readonly note: string | null }
  /** The limit ends the run at once: `final_answer` is off. */
  | { readonly kind: 'end'; readonly limit: LimitReached }

export function planStep(record: RunRecord, now: number): Plan {
  // A repair stands where the answer it mends stood: it reaches no limit of its own.
  if (record.repair !== null) {
    return { kind: 'ask', final: record.repair.final ?? 'repair', note: notes.format(record.repair.faults) }
  }
  const limit = limitReached(record, now)
  if (limit !== null && !record.request.limits.final_answer) return { kind: 'end', limit }
  const final = limit ?? record.forced
  return { kind: 'ask', final, note: noteOf(record, final) }
}

function noteOf(record: RunRecord, final: FinalReason | null): string | null {
  if (final === null) return record.note
  const limit = limitBehind(final)
  const why = limit === null ? (record.forced === null ? null : notes[record.forced]) : notes.limit(limit)
  const lines = [record.note, why].filter((line) => line !== null)
  return lines.length === 0 ? null : lines.join('\n')
}

/** The time kept for the final answer: min(20 s, a quarter of timeout_ms); nothing where no final answer is wanted. */
export function reserveMs(limits: RunRecord['request']['limits']): number {
  return limits.final_answer ? Math.min(20_000, Math.floor(limits.timeout_ms / 4)) : 0
}

/** From here on no tool runs and no step with tools begins. */
export function lastCallAt(record: RunRecord): number {
  return record.deadlineAt - reserveMs(record.request.limits)
}

/** Calls for which a request left the engine; the others cost nothing and do not count. */
export function callsSent(record: RunRecord): number {
  return record.toolCalls.filter(({ attempts }) => attempts > 0).length
}

function limitReached(record: RunRecord, now: number): LimitReached | null {
  const { limits } = record.request
  if (record.toolSteps >= limits.max_steps) return 'max_steps'
  if (callsSent(record) >= limits.max_tool_calls) return 'max_tool_calls'
  const spent = budgetReached(record)
  if (spent !== null) return spent
  return now >= lastCallAt(record) ? 'timeout_ms' : null
}
