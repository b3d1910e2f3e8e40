/**
 * What the loop needs from outside, and nothing else: a model, tools, a clock, ids, a place to commit to and a stream.
 *
 * Every port promises never to throw or reject: what can go wrong is a value. An `AbortSignal` given to a port carries an
 * `Interruption` as its reason; a port that sees it abort lets go of its sockets and timers at once and answers.
 */
import type { RunErrorCode } from '../contract/errors.ts'
import type { CallId, RunId } from '../contract/ids.ts'
import type { Json, JsonObject } from '../contract/json.ts'
import type { ReasoningPart, StopReason, StoredMessage, TextPart } from '../contract/message.ts'
import type { PendingCall, Warning } from '../contract/result.ts'
import type { RunRequest, Tool } from '../contract/run-request.ts'
import type { SentenceKey } from '../contract/sentence.ts'
import type { DoneEvent, ResetReason, StreamEvent } from '../contract/stream-event.ts'
import type { TraceContext } from '../contract/trace-context.ts'
import type { Attempt } from '../contract/usage.ts'

/** Why a run is being stopped from outside. */
export type Interruption = 'cancelled' | 'deadline' | 'shutdown' | 'lost'

// ---------------------------------------------------------------------------------------------------------- model

/** One question to the model chain: everything a step sends, in neutral form. */
export interface Ask {
  readonly runId: RunId
  readonly step: number
  readonly targets: RunRequest['targets']
  /** Index of the model to begin with: the one that answered the step before. Later ones are its fallbacks. */
  readonly firstTarget: number
  readonly system: string
  /** History and the run's new messages, dates stamped, oldest first. The same array on every step, longer each time. */
  readonly messages: readonly StoredMessage[]
  /** Always the whole list, so that a cached prefix holds; `toolChoice` says whether they may be used. */
  readonly tools: readonly Tool[]
  readonly toolChoice: 'auto' | 'none'
  /**
   * The final answer must be JSON that fits this, and any step may bring it: the same on every step of a run. How and on which of
   * them it is asked for natively is the provider's row.
   */
  readonly outputSchema: JsonObject | null
  /** Stands at the very end of the request of this step only; never stored. */
  readonly note: string | null
  /** A stable name of the conversation for providers that route caches by one; null without a session. */
  readonly cacheKey: string | null
  /** Absolute time in ms: no attempt and no wait goes beyond it. */
  readonly deadlineAt: number
  /** Absolute time in ms: where no text of the step has been shown by then, the step is given up as `out_of_time`. */
  readonly giveUpAt: number
}

/** What came of fetching one image or file for a model that does not read its address. SPEC §10. */
export interface PartFetch {
  /** Of the address, which is not told; '' where it is no URL. */
  readonly host: string
  /** `ok`, or one word for why a stand-in takes its place. `full`: no more is fetched for this run or held by this engine. */
  readonly outcome:
    | 'ok'
    | 'refused'
    | 'network'
    | 'status'
    | 'too_large'
    | 'encoded'
    | 'wrong_kind'
    | 'timeout'
    | 'full'
  /** HTTP; null: no answer began. */
  readonly status: number | null
  readonly bytes: number
  readonly durationMs: number
}

/** What a model port tells while it works. All calls are synchronous and cheap but `attemptStarting`. */
export interface StepTap {
  /** Visible text, in order, well-formed UTF-16, never empty. */
  text(text: string): void
  reasoning(text: string): void
  /** What was shown of this step is void. */
  reset(reason: ResetReason): void
  /** `position`: in the queue of a key, as it is now; 1 is next. */
  wait(reason: 'queue' | 'retry', ms: number, position?: number): void
  /** A commit point: the request leaves only after this has resolved. */
  attemptStarting(attempt: { readonly attempt: number; readonly target: number }): Promise<void>
  /** Every attempt that started ends here exactly once, whatever became of it; one that is drained after the answer. */
  attemptEnded(attempt: Attempt): void
  warn(warning: Warning): void
  partFetched(fetch: PartFetch): void
}

/** A call as the model wrote it. */
export interface ModelCall {
  readonly type: 'tool_call'
  readonly tool: string
  /** null where `fault` says why. */
  readonly args: JsonObject | null
  /** The arguments as text, as they came. */
  readonly argsText: string
  /** `cut`: the answer ended inside this call; it is never run and never stored. */
  readonly fault: null | 'cut' | 'not_json' | 'not_object' | 'too_large'
  /** The provider's own id and whatever else must go back with this call. */
  readonly provider_data: JsonObject | null
}

export type ModelPart = TextPart | ReasoningPart | ModelCall

export interface ModelMessage {
  readonly parts: readonly ModelPart[]
  readonly stop: StopReason
  /** Index of the model that answered. */
  readonly target: number
  /** Of the whole message (an item id, a phase, a state id); goes back to the same provider family. */
  readonly provider_data: JsonObject | null
}

export interface ProviderFailure {
  readonly code: RunErrorCode
  /** For the journal: provider, status, the provider's own words cut short, no secret. */
  readonly detail: string
}

export type StepAnswer =
  /** A whole answer: its protocol's end mark was seen. */
  | { readonly kind: 'answer'; readonly message: ModelMessage }
  /** All attempts and fallbacks are used up. `shown`: the text of this step that was streamed and not reset. */
  | { readonly kind: 'failed'; readonly failure: ProviderFailure; readonly shown: string; readonly target: number }
  /**
   * The signal aborted. `shown` as above. `drained`: the attempt that was under way is read on, unshown; resolves once it has
   * ended and been told of. Absent: nothing is under way.
   */
  | {
      readonly kind: 'interrupted'
      readonly shown: string
      readonly target: number
      readonly drained?: Promise<void>
    }
  /** `giveUpAt` passed with nothing shown. */
  | { readonly kind: 'out_of_time' }

/** `drain`: an attempt under way when the run is cancelled is read on until this aborts. null or absent: it is cut. */
export type ModelPort = (ask: Ask, tap: StepTap, signal: AbortSignal, drain?: AbortSignal | null) => Promise<StepAnswer>

// ---------------------------------------------------------------------------------------------------------- tools

/** One call that passed every check and may be sent. */
export interface CallOrder {
  readonly runId: RunId
  readonly callId: CallId
  readonly tool: Tool
  readonly args: JsonObject
  readonly argsHash: string
  readonly callKey: string
  readonly operationKey: string
  readonly originRequestId: string
  readonly meta: JsonObject
  /** As in the request. */
  readonly trace?: TraceContext | undefined
  /** Absolute time in ms: the call is over by then. */
  readonly deadlineAt: number
  readonly maxResultBytes: number
}

interface CallFigures {
  readonly attempts: number
  readonly durationMs: number
  /** Size of the whole result as JSON, before any cut. */
  readonly resultBytes: number
}

export type CallOutcome = CallFigures &
  (
    | {
        readonly kind: 'ok'
        readonly result: Json
        readonly note: string | null
        readonly truncated: boolean
        readonly empty: boolean
      }
    /**
     * Something answered, or nothing was ever sent: the side effect did not happen as far as can be known. `error` is
     * for the model.
     */
    | { readonly kind: 'error'; readonly error: string; readonly truncated: boolean }
    | { readonly kind: 'deferred'; readonly operationId: string }
    /** A write tool answered a 2xx that is neither `deferred` nor `error`: a breach of contract. */
    | { readonly kind: 'not_deferred' }
    /** Sent, and no answer was had: the side effect may have happened. */
    | { readonly kind: 'unknown'; readonly reason: 'cancelled' | 'timeout' | 'reset' }
    /** The signal aborted before anything was sent. */
    | { readonly kind: 'not_sent' }
  )

export interface ToolPort {
  /** What is wrong with the arguments, each fault one sentence with its path; empty: nothing. Bounded in time. */
  readonly checkArgs: (tool: Tool, args: JsonObject) => readonly string[]
  /** `attemptStarting` is a commit point: attempt k is sent only after it has resolved. */
  call(order: CallOrder, attemptStarting: (attempt: number) => Promise<void>, signal: AbortSignal): Promise<CallOutcome>
}

// ---------------------------------------------------------------------------------------------------------- the rest

/** Where a run is recorded; the moments at which it is are fixed (SPEC §8.8). */
export type CommitPoint = 'attempt' | 'answer' | 'tool_attempt' | 'tool_result' | 'step'

/**
 * One line of the journal: an event of SPEC §12.3 and its facts. Never content, never a secret. `run_id` is null where the event
 * is the engine's and no run's.
 */
export type JournalEntry = { readonly event: string; readonly run_id: string | null } & {
  readonly [fact: string]: Json
}

/** `content`: words of users, models and tools that belong to the entry. It is asked for only where LOG_CONTENT is on. */
export type WriteJournal = (entry: JournalEntry, content?: () => unknown) => void

export interface EnginePorts {
  model(ask: Ask, tap: StepTap, signal: AbortSignal): Promise<StepAnswer>
  readonly tools: ToolPort
  /** Milliseconds since the epoch. */
  now(): number
  newCallId(): CallId
  commit(point: CommitPoint): Promise<void>
  emit(event: StreamEvent): void
  /** Tells how the run ends before its result is there: an attempt is still drained for its usage. Called at most once. */
  announce(done: DoneEvent): Promise<void>
  readonly journal: WriteJournal
  /** Signs a pending call (SPEC §5.5). */
  ticket(call: Omit<PendingCall, 'ticket' | 'operation_id'> & { readonly run_id: RunId }): string
  /** What is wrong with a value of the final answer, each fault one sentence; empty: nothing. Bounded in time. */
  readonly checkOutput: (schema: JsonObject, value: Json) => readonly string[]
  /** A fixed sentence for the end user, in ENGINE_LOCALE. */
  readonly say: (key: SentenceKey) => string
}

/** How many requests may be under way for one provider key, and who goes next. */
export interface KeyGate {
  /**
   * Waits for a place. Resolves to null when the signal aborts first. `onQueued` is called once if there is a wait,
   * with the place in the order in which those who wait now are served: 1 is next. `key` is the provider's name, `:`,
   * and a hash, never the key itself; `session` makes the queue fair between conversations. `most`: the provider takes
   * no more at once for one key; absent: not known.
   */
  acquire(
    key: string,
    session: string,
    signal: AbortSignal,
    onQueued: (position: number) => void,
    most?: number,
  ): Promise<KeySlot | null>
}

export interface KeySlot {
  /** Idempotent. `limited`: 429 or overload, halves the window; `pauseMs`: nobody starts on this key before. */
  release(outcome: { readonly kind: 'ok' | 'limited' | 'other'; readonly pauseMs?: number }): void
}
