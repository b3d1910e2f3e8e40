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
  readonly messages?: RunRecord['messages']
  readonly toolCalls?: RunRecord['toolCalls']
  readonly pending?: RunRecord['pending']
  readonly attempts?: RunRecord['attempts']
  readonly warnings?: RunRecord['warnings']
  readonly batch?: Batch | null
  readonly announced?: true
  /** Calls of the open batch that have moved on. */
  readonly calls?: readonly (Pick<BatchCall, 'attempts' | 'outcome'> & { readonly index: number })[]
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

const LISTS = ['messages', 'toolCalls', 'pending', 'attempts', 'warnings'] as const

/** How much of a record has been told so far. */
export interface Told {
  readonly counts: Record<(typeof LISTS)[number], number>
  steps: number
  attempting: RunRecord['attempting']
  announced: boolean
  batch: Batch | null
  calls: Pick<BatchCall, 'attempts' | 'outcome'>[]
}

/** Nothing but what `accepted` says. */
export function toldAtFirst(accepted: Accepted): Told {
  const counts = { messages: 0, toolCalls: 0, pending: 0, attempts: 0, warnings: accepted.warnings.length }
  return { counts, steps: 0, attempting: null, announced: false, batch: null, calls: [] }
}

/** What is new since the last time; moves `told` on. null: nothing is. */
export function progressOf(record: RunRecord, told: Told): Progress | null {
  const changes: Record<string, unknown> = {}
  for (const list of LISTS) {
    if (record[list].length > told.counts[list]) changes[list] = record[list].slice(told.counts[list])
    told.counts[list] = record[list].length
  }
  if (record.announced && !told.announced) changes['announced'] = true
  told.announced = record.announced
  if (record.batch !== told.batch) changes['batch'] = record.batch
  else {
    const calls = record.batch === null ? [] : movedOn(record.batch, told)
    if (calls.length > 0) changes['calls'] = calls
  }
  const same = record.steps === told.steps && record.attempting === told.attempting
  told.steps = record.steps
  told.attempting = record.attempting
  told.batch = record.batch
  told.calls = record.batch?.calls.map(({ attempts, outcome }) => ({ attempts, outcome })) ?? []
  if (same && Object.keys(changes).length === 0) return null
  return { kind: 'progress', steps: record.steps, attempting: record.attempting, ...changes }
}

function movedOn(batch: Batch, told: Told): NonNullable<Progress['calls']> {
  return batch.calls.flatMap(({ attempts, outcome }, index) => {
    const before = told.calls[index]
    return before?.attempts === attempts && before.outcome === outcome ? [] : [{ index, attempts, outcome }]
  })
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
