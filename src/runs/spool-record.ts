/**
 * What the file of a run says, line by line, and how a run's record is told in it: what is kept of the request once, then only
 * what is new at each commit. Pure.
 *
 * While it goes on a run is `accepted`, `progress` and `shown`; its end is `ended`, its result, and then `tried`, `stored` and
 * `again`. Frames are sealed, so what is read back is what an engine wrote; another form needs another mark at the head of the
 * file.
 */
import { parseJson, MAX_JSON_DEPTH, type Json } from '../contract/json.ts'
import type { RunId } from '../contract/ids.ts'
import type { Status, Warning } from '../contract/result.ts'
import type { Callback } from '../contract/run-request.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import { openRecord, type Batch, type BatchCall, type RunRecord } from '../engine/record.ts'
import type { DeliveryState } from '../contract/delivery.ts'
import { requestOf, type KeptRequest } from './kept-request.ts'
import type { DeliveryAttempt } from './ports.ts'
import type { ShownText } from './shown-text.ts'

/** An idempotency key and the run it began. Times in ms. */
export interface KnownKey {
  /** `keyOf` of `run-entry.ts`. */
  readonly key: string
  readonly runId: RunId
  readonly fingerprint: string
  readonly expiresAt: number
}

export interface Accepted {
  readonly kind: 'accepted'
  /** ms. */
  readonly at: number
  readonly key: KnownKey
  readonly request: KeptRequest
  readonly warnings: readonly Warning[]
}

/** What a commit adds. What is absent has not changed. */
export interface Progress {
  readonly kind: 'progress'
  readonly steps: number
  readonly attempting: RunRecord['attempting']
  readonly messages?: readonly RunRecord['messages'][number][] | undefined
  readonly toolCalls?: readonly RunRecord['toolCalls'][number][] | undefined
  readonly pending?: readonly RunRecord['pending'][number][] | undefined
  readonly attempts?: readonly RunRecord['attempts'][number][] | undefined
  readonly warnings?: readonly RunRecord['warnings'][number][] | undefined
  readonly batch?: Batch | null | undefined
  readonly announced?: true | undefined
  /** Calls of the open batch that have moved on. */
  readonly calls?: readonly (Pick<BatchCall, 'attempts' | 'outcome'> & { readonly index: number })[] | undefined
}

/** Text that was shown of the step that is under way. */
export interface Shown extends ShownText {
  readonly kind: 'shown'
}

/** A run that has ended, save for its result: that is the line behind this one, as its own text. */
export interface Ended {
  readonly kind: 'ended'
  /** ms. */
  readonly at: number
  readonly key: KnownKey
  readonly sessionKey: string | null
  readonly startedAt: string
  readonly deadlineAt: string
  readonly warnings: readonly Warning[]
  readonly callback: Callback | null
  readonly status: Status
  readonly done: StreamEvent
}

export interface Tried {
  readonly kind: 'tried'
  readonly attempt: DeliveryAttempt
  readonly state: DeliveryState
}

export interface Stored {
  readonly kind: 'stored'
  readonly by: 'delivered' | 'acked'
  /** ms. */
  readonly at: number
}

/** Its callback is to be sent again, whatever was noted before. */
export interface Again {
  readonly kind: 'again'
}

export interface Keys {
  readonly kind: 'keys'
  readonly keys: readonly KnownKey[]
}

export type SpoolEntry = Accepted | Progress | Shown | Ended | Tried | Stored | Again | Keys

export function encode(entry: SpoolEntry): string {
  return JSON.stringify(entry)
}

/** Entries that are written at once are the lines of one frame. JSON has no line's end in it. */
export function frameOf(entries: readonly string[]): string {
  return entries.join('\n')
}

export function linesOf(frames: readonly Buffer[]): string[] {
  return frames.flatMap((frame) => frame.toString().split('\n'))
}

/** null: not what an engine of this version writes. */
export function decode(line: string): SpoolEntry | null {
  // A request may nest as deep as is allowed, and stands inside an entry.
  const parsed = parseJson(line, 2 * MAX_JSON_DEPTH)
  return parsed.ok && hasKind(parsed.value) ? (parsed.value as unknown as SpoolEntry) : null
}

function hasKind(value: Json): boolean {
  return typeof value === 'object' && value !== null && 'kind' in value
}

/** A result is kept as the text it has: every delivery carries the same bytes. */
const RESULT_MARK = 'R'

export function resultLine(json: string): string {
  return `${RESULT_MARK}${json}`
}

/** null: the line says something else. */
export function resultOf(line: string | undefined): string | null {
  return line?.startsWith(RESULT_MARK) === true ? line.slice(RESULT_MARK.length) : null
}

/** How much of a record has been told so far: of its lists how many items, of the open batch how far each call had come. */
export interface Told {
  messages: number
  toolCalls: number
  pending: number
  attempts: number
  warnings: number
  steps: number
  attempting: RunRecord['attempting']
  announced: boolean
  batch: Batch | null
  calls: Pick<BatchCall, 'attempts' | 'outcome'>[]
}

/** Nothing but what `accepted` says. */
export function toldAtFirst(accepted: Accepted): Told {
  return {
    messages: 0,
    toolCalls: 0,
    pending: 0,
    attempts: 0,
    warnings: accepted.warnings.length,
    steps: 0,
    attempting: null,
    announced: false,
    batch: null,
    calls: [],
  }
}

/** What is new since the last time; moves `told` on. null: nothing is. */
export function progressOf(record: RunRecord, told: Told): Progress | null {
  const { steps, attempting, announced, batch } = record
  const progress: Progress = {
    kind: 'progress',
    steps,
    attempting,
    messages: newOf(record.messages, told.messages),
    toolCalls: newOf(record.toolCalls, told.toolCalls),
    pending: newOf(record.pending, told.pending),
    attempts: newOf(record.attempts, told.attempts),
    warnings: newOf(record.warnings, told.warnings),
    batch: batch === told.batch ? undefined : batch,
    announced: announced && !told.announced ? true : undefined,
    calls: batch === null || batch !== told.batch ? undefined : movedOn(batch, told),
  }
  const isSame = steps === told.steps && attempting === told.attempting && !isAny(progress)
  told.messages = record.messages.length
  told.toolCalls = record.toolCalls.length
  told.pending = record.pending.length
  told.attempts = record.attempts.length
  told.warnings = record.warnings.length
  told.steps = steps
  told.attempting = attempting
  told.announced = announced
  told.batch = batch
  told.calls = batch?.calls.map(({ attempts, outcome }) => ({ attempts, outcome })) ?? []
  return isSame ? null : progress
}

function isAny({ messages, toolCalls, pending, attempts, warnings, batch, announced, calls }: Progress): boolean {
  return [messages, toolCalls, pending, attempts, warnings, batch, announced, calls].some((one) => one !== undefined)
}

function newOf<T>(list: readonly T[], told: number): readonly T[] | undefined {
  return list.length > told ? list.slice(told) : undefined
}

function movedOn(batch: Batch, told: Told): Progress['calls'] {
  const calls = batch.calls.flatMap(({ attempts, outcome }, index) => {
    const before = told.calls[index]
    return before?.attempts === attempts && before.outcome === outcome ? [] : [{ index, attempts, outcome }]
  })
  return calls.length > 0 ? calls : undefined
}

/** The record as it stood at the last commit that was written. */
export function recordOf(runId: RunId, accepted: Accepted, progresses: readonly Progress[]): RunRecord {
  const record = openRecord(runId, requestOf(accepted.request), accepted.warnings, accepted.at)
  for (const progress of progresses) {
    record.steps = progress.steps
    record.attempting = progress.attempting
    record.announced ||= progress.announced === true
    record.messages.push(...(progress.messages ?? []))
    record.toolCalls.push(...(progress.toolCalls ?? []))
    record.pending.push(...(progress.pending ?? []))
    record.attempts.push(...(progress.attempts ?? []))
    record.warnings.push(...(progress.warnings ?? []))
    if (progress.batch !== undefined) record.batch = progress.batch
    for (const { index, attempts, outcome } of progress.calls ?? []) {
      const call = record.batch?.calls[index]
      if (call === undefined) continue
      call.attempts = attempts
      call.outcome = outcome
    }
  }
  return record
}
