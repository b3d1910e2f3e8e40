/**
 * The events of one run, kept in memory for whoever reads its stream.
 *
 * A reader is only a cursor into the log (`log-entries.ts`), so a slow or absent reader costs nothing and delays nobody.
 * What was appended while a reader was away or asleep it takes in one piece: that is how deltas merge.
 *
 * Not here: which events a run may show (the engine decides), and how they travel (`server/`).
 */
import type { StreamEvent } from '../contract/stream-event.ts'
import { createLogEntries, type Cursor } from './log-entries.ts'
import type { EventId, EventReading, LoggedEvent } from './ports.ts'

/** Readers are woken at most this often, so that the deltas between two wakings travel as one. The first goes at once. */
export const MERGE_WINDOW_MS = 20

/**
 * Text kept per run, UTF-16 units. Beyond it the oldest text goes that nobody needs to rebuild the answer: what a `reset`
 * has voided, and reasoning that is over. Visible text never goes: it is bounded by the run's limits, and the result
 * holds it as well.
 */
const MAX_TEXT_CHARS = 4 * 1024 * 1024

export interface RunEventLog {
  /** Synchronous and cheap; takes the event as it is. After `done` nothing is taken any more. */
  append(event: StreamEvent): void
  /** `after`: the last id the reader has; undefined: none. Never throws. The reading ends after `done`, or when `signal` aborts. */
  read(after: EventId | undefined, signal: AbortSignal): EventReading
  /** For whoever looks now and then: begins at the log's beginning. */
  tail(): EventTail
}

/** Moves with every call behind what was appended so far. */
export interface EventTail {
  /** What was appended since the last call, deltas merged. */
  take(): StreamEvent[]
  skip(): void
}

export interface RunEventLogOptions {
  /** Default: `MAX_TEXT_CHARS`. */
  readonly maxTextChars?: number
  /** Stands before every id, so that ids of two logs of one run differ. Default: none. */
  readonly idPrefix?: string
}

export function createRunEventLog(options: RunEventLogOptions = {}): RunEventLog {
  const entries = createLogEntries(options.maxTextChars ?? MAX_TEXT_CHARS, options.idPrefix)
  const asleep = new Set<() => void>()
  /** Runs after a waking; until it has ended nobody is woken again. */
  let mergeWindow: NodeJS.Timeout | null = null
  let appendedInWindow = false

  function append(event: StreamEvent): void {
    if (entries.ended()) return
    entries.append(event)
    if (mergeWindow === null) wake()
    else appendedInWindow = true
  }

  function wake(): void {
    if (asleep.size === 0) return
    const sleepers = [...asleep]
    appendedInWindow = false
    mergeWindow = setTimeout(() => {
      mergeWindow = null
      if (appendedInWindow) wake()
    }, MERGE_WINDOW_MS)
    for (const rouse of sleepers) rouse()
  }

  /** Resolves when this reader is woken, or its signal aborts. */
  function sleep(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const rouse = () => {
        signal.removeEventListener('abort', rouse)
        asleep.delete(rouse)
        if (signal.aborted && asleep.size === 0) closeWindow()
        resolve()
      }
      signal.addEventListener('abort', rouse)
      asleep.add(rouse)
    })
  }

  function closeWindow(): void {
    if (mergeWindow !== null) clearTimeout(mergeWindow)
    mergeWindow = null
  }

  async function* follow(cursor: Cursor, first: LoggedEvent | null, signal: AbortSignal): AsyncGenerator<LoggedEvent> {
    if (first !== null && !signal.aborted) yield first
    while (!signal.aborted) {
      const next = entries.take(cursor)
      if (next !== null) yield next
      else if (entries.ended()) return
      else await sleep(signal)
    }
  }

  /** Everything before a cursor that does not move. */
  async function* past(end: Cursor): AsyncGenerator<StreamEvent> {
    const cursor = { entry: 0, taken: 0 }
    for (let next = entries.take(cursor, end); next !== null; next = entries.take(cursor, end)) yield next.event
  }

  function read(after: EventId | undefined, signal: AbortSignal): EventReading {
    const start = { entry: 0, taken: 0 }
    const cursor = after === undefined ? start : entries.cursorAt(after)
    if (cursor === null)
      return { atEnd: false, had: past({ ...start }), events: follow(start, entries.resync(), signal) }
    return { atEnd: entries.isAtEnd(cursor), had: past({ ...cursor }), events: follow(cursor, null, signal) }
  }

  function tail(): EventTail {
    let cursor = { entry: 0, taken: 0 }
    return {
      take() {
        const events: StreamEvent[] = []
        for (let next = entries.take(cursor); next !== null; next = entries.take(cursor)) events.push(next.event)
        return events
      },
      skip: () => void (cursor = entries.end()),
    }
  }

  return { append, read, tail }
}
