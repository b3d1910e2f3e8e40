/**
 * Which entries somebody must hear of, and how often. Pure: no timer, no clock. SPEC §12.5.
 *
 * The first error of a kind is told at once; more of the same kind within a window are counted and told in one notice when it
 * ends. What is over the bound of a minute waits for the next window too: nothing is lost but detail.
 */
import type { JournalEntry } from '../engine/ports.ts'

export const WINDOW_MS = 60_000
/** Notices in one minute. */
const MAX_PER_MINUTE = 20

/** Several errors of one kind. */
export interface Notice {
  readonly event: string
  /** The run's error code, where that is what makes the kind; else null. */
  readonly code: string | null
  readonly count: number
  /** ms since the epoch. */
  readonly firstAt: number
  readonly lastAt: number
  /** The last of them, as the journal keeps it: a JSON object. */
  readonly entry: string
}

const ALWAYS = new Set([
  'bug',
  'crashed',
  'undelivered',
  'dropped_undelivered',
  'write_not_deferred',
  'log_dir_failed',
  'state_lost',
  'state_unreadable',
])
/** Codes of `failed` that an operator can mend. */
const MENDABLE = new Set(['provider_auth', 'provider_quota'])

/** What makes two errors one kind; null: nobody need hear of it. */
export function kindOf({ event, code }: JournalEntry): Pick<Notice, 'event' | 'code'> | null {
  if (ALWAYS.has(event)) return { event, code: null }
  return event === 'failed' && typeof code === 'string' && MENDABLE.has(code) ? { event, code } : null
}

/** One moment by two clocks. */
interface Moment {
  /** ms since the epoch: what a notice says. */
  readonly at: number
  /** ms, of a clock that is never set: windows go by it, so that who sets the machine's clock silences nothing. */
  readonly elapsed: number
}

/** `elapsed`: as in `Moment`. */
export interface ErrorDigest {
  /** The notice to send now, if any. */
  add(kind: Pick<Notice, 'event' | 'code'>, entry: string, now: Moment): Notice | null
  /** The notices whose window is over. */
  due(elapsed: number): readonly Notice[]
  /** All that is counted and not told, for the end. */
  rest(): readonly Notice[]
  /** When `due` is to be asked again; null: nothing is counted. */
  nextAt(): number | null
}

interface Group {
  readonly kind: Pick<Notice, 'event' | 'code'>
  endsAt: number
  /** Not told yet; null: nothing. */
  waiting: Notice | null
}

export function createErrorDigest(maxPerMinute: number = MAX_PER_MINUTE): ErrorDigest {
  /** Kinds are a closed set of words, so there are few. */
  const groups = new Map<string, Group>()
  let minute = -Infinity
  let told = 0

  function mayTell(elapsed: number): boolean {
    if (elapsed - minute >= WINDOW_MS) {
      minute = elapsed
      told = 0
    }
    if (told >= maxPerMinute) return false
    told += 1
    return true
  }

  function add(kind: Pick<Notice, 'event' | 'code'>, entry: string, { at, elapsed }: Moment): Notice | null {
    const key = `${kind.event} ${kind.code}`
    const group = groups.get(key) ?? { kind, endsAt: -Infinity, waiting: null }
    groups.set(key, group)
    const { count = 0, firstAt = at } = group.waiting ?? {}
    const notice = { ...kind, count: count + 1, firstAt, lastAt: at, entry }
    const isOpen = elapsed < group.endsAt
    if (!isOpen) group.endsAt = elapsed + WINDOW_MS
    const tell = !isOpen && mayTell(elapsed)
    group.waiting = tell ? null : notice
    return tell ? notice : null
  }

  function due(elapsed: number): readonly Notice[] {
    const found: Notice[] = []
    for (const [key, group] of groups) {
      if (elapsed < group.endsAt) continue
      if (group.waiting === null) {
        groups.delete(key)
        continue
      }
      group.endsAt = elapsed + WINDOW_MS
      if (!mayTell(elapsed)) continue
      found.push(group.waiting)
      group.waiting = null
    }
    return found
  }

  return {
    add,
    due,
    rest: () => [...groups.values()].map(({ waiting }) => waiting).filter((notice) => notice !== null),
    nextAt: () => (groups.size === 0 ? null : Math.min(...[...groups.values()].map(({ endsAt }) => endsAt))),
  }
}
