/**
 * A journal entry as it is kept: stamped with an id and a time, and written out once as the JSON line that the ring, the files
 * and `GET /logs` all hand on. Pure. SPEC §12.3.
 *
 * Ids are compared as texts and ascend strictly, also over restarts: a cursor is good whatever comes after it. They stand at
 * the very beginning of a line, so that a reader of a file learns them without parsing it.
 */
import type { Json } from '../contract/json.ts'
import { instantText } from '../contract/instant.ts'
import type { JournalEntry } from '../engine/ports.ts'

export interface JournalItem {
  /** 9 characters of the time in ms, `-`, 4 characters that count within it; both in base 36. */
  readonly id: string
  readonly event: string
  /** null: an event of the engine, not of a run. */
  readonly runId: string | null
  readonly sessionId: string | null
  /** The entry as JSON, without a line break. */
  readonly line: string
}

const ID_LENGTH = 14
const ID = /^[0-9a-z]{9}-[0-9a-z]{4}$/

export function isItemId(text: string): boolean {
  return ID.test(text)
}

/** The smallest id of this time, ms since the epoch. */
export function firstIdAt(ms: number): string {
  return `${Math.max(0, Math.floor(ms)).toString(36).padStart(9, '0')}-0000`
}

/** The time in an id, ms since the epoch. */
export function msOfId(id: string): number {
  return Number.parseInt(id.slice(0, 9), 36)
}

const OPENING = '{"id":"'

/** The id of a line as `itemOf` writes it; null: it is no such line, or is torn. */
export function idOfLine(line: string): string | null {
  const id = line.slice(OPENING.length, OPENING.length + ID_LENGTH)
  return line.startsWith(OPENING) && line.endsWith('}') && isItemId(id) ? id : null
}

/** A clock that was wrong by more than this is not followed. */
const FUTURE_MS = 60_000

/** So many ids one millisecond has. */
const MOST_IN_MS = 36 ** 4

/**
 * Gives out ids. `last`: the highest one that was given out before, by an earlier process too. Where the clock goes back, time
 * stands still here until it has caught up, and goes on by a millisecond where one has no ids left.
 */
export function createIds(last: string | null, now: () => number): () => string {
  const trusted = last !== null && msOfId(last) <= now() + FUTURE_MS
  let ms = trusted ? msOfId(last) : 0
  let count = trusted ? Number.parseInt(last.slice(10), 36) : 0
  return () => {
    const time = now()
    count = time > ms ? 0 : count + 1
    ms = Math.max(ms, time)
    if (count === MOST_IN_MS) {
      ms += 1
      count = 0
    }
    return `${firstIdAt(ms).slice(0, 10)}${count.toString(36).padStart(4, '0')}`
  }
}

/** `at` is the time of the id: a fact of that name does not stand against it. */
export function itemOf(id: string, entry: JournalEntry, sessionId: string | null): JournalItem {
  const { event, run_id, session_id: _session, at: _at, id: _id, ...facts } = entry
  const record = { id, at: instantText(msOfId(id)), event, run_id, session_id: sessionId, ...facts }
  return { id, event, runId: run_id, sessionId, line: JSON.stringify(record) }
}

/** Reads a line back; null: it is torn, or none of ours. */
export function itemFromLine(line: string): JournalItem | null {
  const id = idOfLine(line)
  if (id === null) return null
  try {
    const { event, run_id, session_id } = JSON.parse(line) as { readonly [fact: string]: Json }
    if (typeof event !== 'string') return null
    return { id, event, runId: textOrNull(run_id), sessionId: textOrNull(session_id), line }
  } catch {
    return null
  }
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
