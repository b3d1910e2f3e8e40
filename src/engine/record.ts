/**
 * Everything a run is, as plain JSON: the loop is a state machine over this record and keeps nothing else, so that a record
 * read back from a store goes on where it stood. Deadlines are absolute times.
 */
import { instantText } from '../contract/instant.ts'
import type { CallId, RunId } from '../contract/ids.ts'
import type { Json, JsonObject } from '../contract/json.ts'
import type { NewMessage } from '../contract/message.ts'
import type { PendingCall, ToolCallRecord, Warning } from '../contract/result.ts'
import type { RunRequest, Tool } from '../contract/run-request.ts'
import type { Attempt } from '../contract/usage.ts'
import type { UnsentReason } from './notes.ts'
import type { FinalReason } from './plan.ts'
import type { CallOutcome } from './ports.ts'
import { OPEN_GUARD, type GuardState } from './repeat-guard.ts'
import type { Said } from './transcript.ts'

export interface RunRecord {
  readonly runId: RunId
  readonly request: RunRequest
  /** ISO 8601. */
  readonly startedAt: string
  /** Absolute time in ms at which everything is aborted. */
  readonly deadlineAt: number
  /** Steps begun. */
  steps: number
  /** Of them those that might use tools. */
  toolSteps: number
  /** Index of the model that answered last; the next step begins with it. */
  target: number
  /** New messages, in order; `seq` is the index. */
  readonly messages: NewMessage[]
  readonly toolCalls: ToolCallRecord[]
  /** The calls of the step that is running; null between steps. */
  batch: Batch | null
  readonly pending: PendingCall[]
  readonly attempts: Attempt[]
  /** The attempt that is under way: its request may have left, and its usage is not known yet. null: none. */
  attempting: { readonly attempt: number; readonly target: number } | null
  readonly warnings: Warning[]
  /** Names of tools that may not be called any more in this run. */
  readonly closedTools: string[]
  guard: GuardState
  /** Set when the next step must go without tools, and why. */
  forced: 'loop_protection' | 'empty_answer' | null
  /** A call cut by length was asked again. */
  askedAgainCut: boolean
  /** An answer whose form was wrong and that is being asked again; null otherwise. */
  repair: Repair | null
  /** How often an answer was asked again for its form. */
  repairs: number
  /** The answer as `output.schema` wanted it; null without one. */
  output: Json
  /** The note of the next step, beside what its plan says. */
  note: string | null
  /** It is cancelled and that was told, while its last attempt is drained for its usage. */
  announced: boolean
}

export interface Repair {
  /** What kept the mended step from tools; null: nothing did. */
  readonly final: FinalReason | null
  /** The text of the answer that was given. */
  readonly draft: string
  /** All of it: the model is shown it once more, and it is stored only where no repair brings a text. */
  readonly said: Said
  /** What is wrong with its form, each one sentence. */
  readonly faults: readonly string[]
}

/** What one step asked of its tools, in call order, and what has come of it so far. */
export interface Batch {
  readonly step: number
  readonly calls: readonly BatchCall[]
}

export interface BatchCall {
  readonly callId: CallId
  /** As stored: legal for every provider. */
  readonly tool: string
  /** Of the tool that the model named; null: there is none of that name. */
  readonly effect: Tool['effect'] | null
  readonly args: JsonObject
  readonly argsHash: string
  readonly decision: Decision
  /** Requests that may have left so far. */
  attempts: number
  /** null until it has ended. */
  outcome: CallOutcome | null
}

/** What is done with a call. `error` is what the model is told, `reason` the word for it in the journal. */
export type Decision =
  | { readonly kind: 'send' }
  /** The same read as call `index` of this step: it gets that call's result. */
  | { readonly kind: 'same_as'; readonly index: number }
  | { readonly kind: 'invalid' | 'refused' | 'over_limit'; readonly reason: UnsentReason; readonly error: string }

/** A run before its first step. `now` in milliseconds since the epoch. */
export function openRecord(runId: RunId, request: RunRequest, warnings: readonly Warning[], now: number): RunRecord {
  return {
    runId,
    request,
    startedAt: instantText(now),
    deadlineAt: now + request.limits.timeout_ms,
    steps: 0,
    toolSteps: 0,
    target: 0,
    messages: [],
    toolCalls: [],
    batch: null,
    pending: [],
    attempts: [],
    attempting: null,
    warnings: [...warnings],
    closedTools: [],
    guard: OPEN_GUARD,
    forced: null,
    askedAgainCut: false,
    repair: null,
    repairs: 0,
    output: null,
    note: null,
    announced: false,
  }
}
