/** What may be asked of the journal, and what it answers. Pure. SPEC §12.4. */
import { firstIdAt, isItemId, type JournalItem } from './journal-item.ts'

export interface LogQuery {
  readonly runId: string | null
  readonly sessionId: string | null
  readonly event: string | null
  /** Both inclusive, ms since the epoch. */
  readonly sinceMs: number | null
  readonly untilMs: number | null
  /** At most so many entries. */
  readonly limit: number
  /** Behind what a reader has had; null: from the oldest there is. */
  readonly after: LogPosition | null
}

/** Where a reader stands. The id alone decides; the file is where to begin looking. */
export interface LogPosition {
  readonly id: string
  /** `<day>-<part>` of a file and the byte behind the entry in it; null where the entry was read from memory. */
  readonly place: { readonly file: string; readonly offset: number } | null
}

export interface LogPage {
  /** Entries as JSON, oldest first. */
  readonly lines: readonly string[]
  /** Goes on behind this page, now or once there is more. null: the journal is empty. */
  readonly cursor: string | null
  /** The page ended before the journal did. */
  readonly more: boolean
  /** Where the entries come from; of an empty page: where they were looked for. */
  readonly source: 'memory' | 'disk' | 'mixed'
}

export type ReadLogs = (query: LogQuery) => Promise<LogPage>

export function cursorOf({ id, place }: LogPosition): string {
  return place === null ? id : `${id}~${place.file}~${place.offset}`
}

/** null: it was never given out. */
export function positionOf(cursor: string): LogPosition | null {
  const [, id = '', file, offset] = /^([^~]+)(?:~(\d{4}-\d\d-\d\d-\d{4,6})~(\d{1,15}))?$/.exec(cursor) ?? []
  if (!isItemId(id)) return null
  return { id, place: file === undefined ? null : { file, offset: Number(offset) } }
}

/** A query as a reader of many entries needs it: bounds as ids, what must stand in a line as text. */
export interface LogFilter {
  /** Behind `after` and not before `since`. */
  isTooOld(id: string): boolean
  /** Behind `until`: so is everything after it. */
  isTooNew(id: string): boolean
  matches(item: JournalItem): boolean
  /** False: the line is not wanted, whatever else stands in it. True decides nothing. */
  mayMatch(line: string): boolean
}

export function filterOf({ runId, sessionId, event, sinceMs, untilMs, after }: LogQuery): LogFilter {
  const first = sinceMs === null ? '' : firstIdAt(sinceMs)
  const end = untilMs === null ? null : firstIdAt(untilMs + 1)
  const needles = [runId, sessionId, event].filter((word) => word !== null).map((word) => JSON.stringify(word))
  return {
    isTooOld: (id) => id < first || (after !== null && id <= after.id),
    isTooNew: (id) => end !== null && id >= end,
    matches: (item) =>
      (runId === null || item.runId === runId) &&
      (sessionId === null || item.sessionId === sessionId) &&
      (event === null || item.event === event),
    mayMatch: (line) => needles.every((needle) => line.includes(needle)),
  }
}
