/**
 * What one run's event log holds, and where a cursor into it stands. Pure data: no timers, no readers.
 *
 * The text of one step is one entry that grows, in pieces until something else follows it, so that neither adding to it
 * nor reading its end costs more than the text in question. An event id is `<entry>-<units taken>` and stays good for the
 * life of the log, whatever was merged or dropped in between.
 */
import type { StreamEvent } from '../contract/stream-event.ts'
import type { EventId, LoggedEvent } from './ports.ts'

/** Longest text of one delivered event, UTF-16 units: what a blocked reader can hold beyond its socket's own buffer. */
export const MAX_EVENT_CHARS = 16_384

/** An event that never changes. It counts as one unit long. */
interface SingleEntry {
  readonly kind: 'single'
  readonly event: StreamEvent
  readonly length: 1
}

/** Consecutive deltas, or consecutive reasoning, of one step. */
interface TextEntry {
  readonly kind: 'text'
  readonly name: 'delta' | 'reasoning'
  readonly step: number
  /** Length of the step's text before this entry; 0 for reasoning. */
  readonly base: number
  length: number
  /** Pieces while it grows: appending to a string would copy it at every reading. The first `blocks` of them are large. */
  chunks: string[]
  blocks: number
  /** Length of the pieces behind the blocks. */
  loose: number
  /** The whole, once nothing can be added. */
  text: string | null
  /** Its text is gone; readers pass over it. */
  dropped: boolean
}

type Entry = SingleEntry | TextEntry

/** Entry and units of an id. */
const PLACE = /^(0|[1-9]\d{0,14})-(0|[1-9]\d{0,14})$/

/** How far a reader has come: everything before `entry`, and `taken` units of it. */
export interface Cursor {
  entry: number
  taken: number
}

export interface LogEntries {
  append(event: StreamEvent): void
  /** `done` was appended. */
  ended(): boolean
  /** The next event for this cursor, which moves behind it; none beyond `end`. null: the cursor has everything there is. */
  take(cursor: Cursor, end?: Cursor): LoggedEvent | null
  /** Where a reader stands that has this id. null: the log never gave it. */
  cursorAt(id: EventId): Cursor | null
  /** True when the cursor has everything, and nothing can follow. */
  isAtEnd(cursor: Cursor): boolean
  /** Where a reader stands that has everything there is. */
  end(): Cursor
  /** What opens a replay from the start: the visible text of the current step so far, under the id that stands before everything. */
  resync(): LoggedEvent
}

/** `maxTextChars` as `MAX_TEXT_CHARS` of `event-log.ts`; `idPrefix` stands before every id. */
export function createLogEntries(maxTextChars: number, idPrefix = ''): LogEntries {
  const entries: Entry[] = []
  const droppable: TextEntry[] = []
  let heldChars = 0

  function append(event: StreamEvent): void {
    const last = entries.at(-1)
    if (last?.kind !== 'text' || !grow(last, event)) {
      if (last?.kind === 'text') close(last)
      // Text that a reset voids is kept for readers on their way through it, but is among the first to go.
      if (event.event === 'reset') droppable.push(...visibleText(entries, event.data.step))
      entries.push(entryOf(event))
    }
    heldChars += textLength(event)
    while (heldChars > maxTextChars && droppable.length > 0) drop(droppable.shift())
  }

  function close(entry: TextEntry): void {
    entry.text = entry.chunks.join('')
    entry.chunks = []
    if (entry.name === 'reasoning') droppable.push(entry)
  }

  function drop(entry: TextEntry | undefined): void {
    if (entry === undefined) return
    heldChars -= entry.length
    entry.text = ''
    entry.dropped = true
  }

  function take(cursor: Cursor, end?: Cursor): LoggedEvent | null {
    const last = end?.entry ?? entries.length - 1
    for (let entry = entries[cursor.entry]; entry !== undefined; entry = entries[cursor.entry]) {
      const length = cursor.entry === end?.entry ? end.taken : entry.length
      if (cursor.taken < length && !(entry.kind === 'text' && entry.dropped)) {
        const event = entry.kind === 'single' ? entry.event : pieceOf(entry, cursor.taken, length)
        cursor.taken += entry.kind === 'single' ? 1 : textLength(event)
        return { id: `${idPrefix}${cursor.entry}-${cursor.taken}`, event }
      }
      if (cursor.entry === last) return null
      cursor.entry += 1
      cursor.taken = 0
    }
    return null
  }

  function cursorAt(id: EventId): Cursor | null {
    const match = id.startsWith(idPrefix) ? PLACE.exec(id.slice(idPrefix.length)) : null
    if (match === null) return null
    const cursor = { entry: Number(match[1]), taken: Number(match[2]) }
    // The id of a resync: nothing of the log itself was had yet.
    if (cursor.entry === 0 && cursor.taken === 0) return cursor
    const entry = entries[cursor.entry]
    return entry === undefined || cursor.taken === 0 || cursor.taken > entry.length ? null : cursor
  }

  function ended(): boolean {
    const last = entries.at(-1)
    return last?.kind === 'single' && last.event.event === 'done'
  }

  return {
    append,
    ended,
    take,
    cursorAt,
    isAtEnd: (cursor) => ended() && cursor.entry === entries.length - 1 && cursor.taken === 1,
    end: () => ({ entry: Math.max(0, entries.length - 1), taken: entries.at(-1)?.length ?? 0 }),
    resync: () => {
      const step = currentStep(entries)
      const text = visibleText(entries, step).map((entry) => entry.text ?? entry.chunks.join(''))
      return { id: `${idPrefix}0-0`, event: { event: 'resync', data: { step, text: text.join('') } } }
    },
  }
}

function entryOf(event: StreamEvent): Entry {
  if (event.event !== 'delta' && event.event !== 'reasoning') return { kind: 'single', event, length: 1 }
  return {
    kind: 'text',
    name: event.event,
    step: event.data.step,
    base: event.event === 'delta' ? event.data.offset : 0,
    length: event.data.text.length,
    chunks: [event.data.text],
    blocks: 0,
    loose: event.data.text.length,
    text: null,
    dropped: false,
  }
}

/** Adds the event's text to an entry where it goes on from there. */
function grow(entry: TextEntry, event: StreamEvent): boolean {
  if (event.event !== 'delta' && event.event !== 'reasoning') return false
  if (entry.name !== event.event || entry.step !== event.data.step) return false
  if (event.event === 'delta' && event.data.offset !== entry.base + entry.length) return false
  entry.chunks.push(event.data.text)
  entry.length += event.data.text.length
  entry.loose += event.data.text.length
  // Thousands of small strings would cost more than their text, and a late reader's search among them more than its reading.
  if (entry.loose >= MAX_EVENT_CHARS) {
    entry.chunks.push(entry.chunks.splice(entry.blocks).join(''))
    entry.blocks += 1
    entry.loose = 0
  }
  return true
}

function textLength(event: StreamEvent): number {
  return event.event === 'delta' || event.event === 'reasoning' ? event.data.text.length : 0
}

/** The entry's text from `from` up to `end`, or as much of it as one event takes. */
function pieceOf(entry: TextEntry, from: number, end: number): StreamEvent {
  const text = textFrom(entry, from).slice(0, end - from)
  if (entry.name === 'reasoning') return { event: 'reasoning', data: { step: entry.step, text } }
  return { event: 'delta', data: { step: entry.step, offset: entry.base + from, text } }
}

/** The entry's text from `from` on, at most `MAX_EVENT_CHARS` of it, never cut inside a surrogate pair. */
function textFrom(entry: TextEntry, from: number): string {
  const { chunks, text } = entry
  if (text !== null) return piece(text, from)
  // Readers are mostly near the end, so the chunk is looked for from there.
  let index = chunks.length
  let start = entry.length
  while (start > from) start -= chunks[--index]?.length ?? 0
  let end = index
  for (let wanted = from - start + MAX_EVENT_CHARS; end < chunks.length && wanted >= 0; end += 1) {
    wanted -= chunks[end]?.length ?? 0
  }
  return piece(chunks.slice(index, end).join(''), from - start)
}

function piece(text: string, from: number): string {
  const end = from + MAX_EVENT_CHARS
  const unit = text.charCodeAt(end)
  const insidePair = unit >= 0xdc00 && unit <= 0xdfff
  return text.slice(from, insidePair ? end - 1 : end)
}

/** 0: no step has begun. */
function currentStep(entries: readonly Entry[]): number {
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const entry = entries[index]
    if (entry?.kind === 'text') return entry.step
    if (entry?.event.event === 'step' || entry?.event.event === 'reset') return entry.event.data.step
  }
  return 0
}

/** The deltas of a step that no reset has voided, oldest first. */
function visibleText(entries: readonly Entry[], step: number): TextEntry[] {
  const found: TextEntry[] = []
  for (let index = entries.length - 1; index >= 0; index -= 1) {
    const entry = entries[index]
    if (entry?.kind === 'text') {
      if (entry.step !== step) break
      if (entry.name === 'delta') found.push(entry)
    } else if (entry?.event.event === 'step' || entry?.event.event === 'reset') break
  }
  return found.toReversed()
}
