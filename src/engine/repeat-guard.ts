/**
 * Loop protection (SPEC §8.5): notices a model that asks the same thing again and again. Pure: a state and what was seen give the
 * next state; the loop acts on the difference.
 *
 * "In a row" counts steps, so that a model which made one mistake in three parallel calls gets one chance to mend it.
 */
import type { GuardLimits } from '../contract/run-request.ts'

/** Calls of one step beyond this are refused. SPEC §8.5. */
export const CALLS_PER_STEP = 32

export interface GuardState {
  /** By call identity: tool and canonical arguments. */
  readonly calls: Readonly<Record<string, { readonly sent: number; readonly same: number; readonly result: string }>>
  readonly refusedSteps: number
  readonly invalidSteps: number
  /** By tool. */
  readonly emptySteps: Readonly<Record<string, number>>
  /** The newest sent calls and their results, oldest first. */
  readonly recent: readonly { readonly call: string; readonly result: string }[]
}

export const OPEN_GUARD: GuardState = { calls: {}, refusedSteps: 0, invalidSteps: 0, emptySteps: {}, recent: [] }

/** What became of one call of a step. */
export type Seen =
  | {
      readonly kind: 'sent'
      readonly call: string
      readonly tool: string
      readonly result: string
      readonly empty: boolean
      readonly repeatable: boolean
    }
  | { readonly kind: 'refused' }
  | { readonly kind: 'invalid' }
  | { readonly kind: 'other' }

/** The identity of a call: no tool name holds a space. */
export function identity(tool: string, argsHash: string): string {
  return `${tool} ${argsHash}`
}

/** Why this call must not be sent, or null. */
export function refusal(
  state: GuardState,
  limits: GuardLimits,
  call: string,
  repeatable: boolean,
): 'same_result' | 'same_call' | null {
  const known = Object.hasOwn(state.calls, call) ? state.calls[call] : undefined
  if (known === undefined || repeatable) return null
  if (known.same >= limits.same_result) return 'same_result'
  return known.sent >= limits.same_call ? 'same_call' : null
}

/** The state after a step's calls, in call order. */
export function next(state: GuardState, limits: GuardLimits, seen: readonly Seen[]): GuardState {
  const sent = seen.filter((one) => one.kind === 'sent')
  const counted = sent.filter((one) => !one.repeatable)
  return {
    calls: countCalls(state.calls, counted),
    refusedSteps: stepsOf('refused', state.refusedSteps, seen),
    invalidSteps: stepsOf('invalid', state.invalidSteps, seen),
    emptySteps: countEmpty(state.emptySteps, counted),
    recent: [...state.recent, ...counted.map(({ call, result }) => ({ call, result }))].slice(-3 * limits.cycle_rounds),
  }
}

/** Only a call that was sent begins the row anew: refused and invalid calls in turn are no progress either. */
function stepsOf(kind: 'refused' | 'invalid', before: number, seen: readonly Seen[]): number {
  if (seen.some((one) => one.kind === 'sent')) return 0
  return seen.some((one) => one.kind === kind) ? before + 1 : before
}

type Sent = Extract<Seen, { kind: 'sent' }>

function countCalls(calls: GuardState['calls'], sent: readonly Sent[]): GuardState['calls'] {
  if (sent.length === 0) return calls
  const counted = { ...calls }
  for (const { call, result } of sent) {
    const known = Object.hasOwn(counted, call) ? counted[call] : undefined
    const same = known !== undefined && known.result === result ? known.same + 1 : 1
    counted[call] = { sent: (known?.sent ?? 0) + 1, same, result }
  }
  return counted
}

function countEmpty(steps: GuardState['emptySteps'], sent: readonly Sent[]): GuardState['emptySteps'] {
  const counted = new Map(Object.entries(steps))
  for (const [tool, results] of Map.groupBy(sent, (one) => one.tool)) {
    counted.set(tool, results.every((one) => one.empty) ? (counted.get(tool) ?? 0) + 1 : 0)
  }
  return Object.fromEntries(counted)
}

/** Why the next step must go without tools, or null. */
export function verdict(
  state: GuardState,
  limits: GuardLimits,
): 'refusals' | 'invalid_calls' | 'empty_results' | 'cycle' | null {
  if (state.refusedSteps >= limits.refused_steps) return 'refusals'
  if (state.invalidSteps >= limits.invalid_steps) return 'invalid_calls'
  if (Object.values(state.emptySteps).some((steps) => steps >= limits.empty_steps)) return 'empty_results'
  return [2, 3].some((length) => cycles(state.recent, length, limits.cycle_rounds)) ? 'cycle' : null
}

/** True when the newest calls are `rounds` rounds of the same `length` different calls with the same results. */
function cycles(recent: GuardState['recent'], length: number, rounds: number): boolean {
  const window = recent.slice(-length * rounds)
  if (window.length < length * rounds) return false
  if (new Set(window.slice(0, length).map((one) => one.call)).size !== length) return false
  return window.every((one, index) => {
    const first = window[index % length]
    return first !== undefined && one.call === first.call && one.result === first.result
  })
}
