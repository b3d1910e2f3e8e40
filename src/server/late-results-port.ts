/** The door through which a tool hands in a late result (SPEC §5.7). The server has checked the token and the form. */
import type { ToolAnswer } from '../contract/tool-exchange.ts'

export type LateResult = Extract<ToolAnswer, { readonly status: 'ok' | 'error' }>

/** `closed`: the call is over, by its time limit or with its run. `unknown`: no such call is, or was, waited for. */
export type LateOutcome = 'recorded' | 'already_recorded' | 'closed' | 'unknown'

export interface LateResults {
  /** The first result of a call wins; every later one is `already_recorded`. */
  record(runId: string, callId: string, result: LateResult): LateOutcome | Promise<LateOutcome>
}
