/**
 * What a model does with one request, in no vendor's words. Data only: how it looks on a wire is the answer's business
 * (`vendor-answer.ts`), what a scripted model makes of it is the row's (`vendors.ts`).
 */
import type { JsonObject } from '../../../src/contract/json.ts'
import type { Received } from './vendor-request.ts'
import type { VendorAnswer } from './vendor-answer.ts'

export interface Turn {
  /** Left out by a model that does not think as it was asked. */
  readonly thinking?: string
  readonly text?: string
  /** Side by side; where a vendor has one call a message they come one after the other, a request each. */
  readonly calls?: readonly TurnCall[]
  /** Behind all this nothing more ever comes. */
  readonly hang?: boolean
}

export interface TurnCall {
  readonly tool: string
  readonly args: JsonObject
}

/** A turn, or a hand that writes the answer piece by piece. */
export type Play = Turn | ((answer: VendorAnswer, request: Received) => void | Promise<void>)

/** Tokens of one answer. No token is in two of the first four; `reasoning` is a part of `output`. */
export interface TurnUsage {
  readonly input: number
  readonly cacheRead: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
}

/** What every answer costs unless a test says otherwise. All figures differ, so that a swap shows. */
export const TURN_USAGE: TurnUsage = { input: 40, cacheRead: 100, cacheWrite: 9, output: 31, reasoning: 12 }

/** The turns as a vendor with one call a message plays them. */
export function oneCallEach(turns: readonly Play[]): Play[] {
  return turns.flatMap((turn): Play[] => {
    if (typeof turn === 'function' || turn.calls === undefined || turn.calls.length < 2) return [turn]
    return turn.calls.map((call, index) => (index === 0 ? { ...turn, calls: [call] } : { calls: [call] }))
  })
}
