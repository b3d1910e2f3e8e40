/**
 * The queue before a provider key: lets requests through as its window allows, in an order that is fair between
 * conversations. The numbers are decided in `key-window.ts`; here is who waits and who goes.
 *
 * Order: each session has its own line, first in first out; the sessions take turns. A waiter whose signal aborts leaves its
 * line at once. A place is given back once, however often `release` is called. Memory: a key with nothing under way is a
 * window in a bounded list, the least recently used of which is forgotten. All in memory and of this process only.
 */
import { LONGEST_TIMER_MS } from '../contract/longest-timer.ts'
import type { KeyGate, KeySlot } from '../engine/ports.ts'
import { mayStart, next, openWindow, type KeyWindow } from './key-window.ts'

export interface KeyGateOptions {
  /** Requests at once for a key that nothing is known of. Default 8. */
  readonly startLimit?: number
  /** Default 64. */
  readonly mostLimit?: number
  /** Keys remembered while nothing is under way for them. Default 1,000. */
  readonly idleKeys?: number
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number
}

export interface KeyGateGauge {
  /** Keys with something under way or waiting. */
  readonly keys: number
  readonly active: number
  readonly waiting: number
  /** Keys remembered beside. */
  readonly idle: number
}

/** The keys of one provider: how much is under way, and how much may be. Never a key, nor its hash. */
export interface KeyReading {
  readonly provider: string
  /** Remembered, whether in use or not. */
  readonly keys: number
  readonly paused: number
  readonly active: number
  readonly waiting: number
  readonly smallestWindow: number
  readonly largestWindow: number
}

interface Waiter {
  readonly grant: () => void
}

interface Line {
  window: KeyWindow
  active: number
  waiting: number
  /** Sessions in the order of their turns; a session without waiters has no entry. */
  readonly sessions: Map<string, Set<Waiter>>
  /** Runs only while somebody waits for the end of a pause. */
  timer: ReturnType<typeof setTimeout> | null
}

/** Where somebody of this session who comes now is served, were nobody else to come or to leave; 1 is next. */
function placeOf(sessions: ReadonlyMap<string, ReadonlySet<Waiter>>, session: string): number {
  const own = sessions.get(session)?.size ?? 0
  let before = 0
  // Sessions whose turn comes first have one more than this one's waiters; without any it is behind the last turn.
  let turns = own + 1
  for (const [other, waiters] of sessions) {
    if (other === session) turns = own
    before += Math.min(waiters.size, turns)
  }
  return before + 1
}

type SlotOutcome = Parameters<KeySlot['release']>[0]

export interface ReadableKeyGate extends KeyGate {
  gauge(): KeyGateGauge
  /** One a provider. */
  readings(): readonly KeyReading[]
}

/** The gate of one process. `gauge` and `readings` are what metrics and tests read. */
export function createKeyGate(options: KeyGateOptions = {}): ReadableKeyGate {
  return new MemoryKeyGate(options)
}

class MemoryKeyGate implements ReadableKeyGate {
  readonly #startLimit: number
  readonly #mostLimit: number
  readonly #idleKeys: number
  readonly #now: () => number
  readonly #lines = new Map<string, Line>()
  /** Oldest first. */
  readonly #idle = new Map<string, KeyWindow>()

  constructor(options: KeyGateOptions) {
    this.#startLimit = options.startLimit ?? 8
    this.#mostLimit = options.mostLimit ?? 64
    this.#idleKeys = options.idleKeys ?? 1_000
    this.#now = options.now ?? Date.now
  }

  acquire(
    key: string,
    session: string,
    signal: AbortSignal,
    onQueued: (position: number) => void,
    most = this.#mostLimit,
  ): Promise<KeySlot | null> {
    if (signal.aborted) return Promise.resolve(null)
    const line = this.#lineOf(key, most)
    if (line.waiting === 0 && mayStart(line.window, line.active, this.#now())) {
      return Promise.resolve(this.#take(key, line))
    }
    onQueued(placeOf(line.sessions, session))
    return new Promise((resolve) => {
      const leave = () => {
        this.#remove(key, line, session, waiter)
        resolve(null)
      }
      const waiter: Waiter = {
        grant: () => {
          signal.removeEventListener('abort', leave)
          resolve(this.#take(key, line))
        },
      }
      signal.addEventListener('abort', leave, { once: true })
      const waiters = line.sessions.get(session)
      if (waiters === undefined) line.sessions.set(session, new Set([waiter]))
      else waiters.add(waiter)
      line.waiting += 1
      this.#advance(key, line)
    })
  }

  gauge(): KeyGateGauge {
    let active = 0
    let waiting = 0
    for (const line of this.#lines.values()) {
      active += line.active
      waiting += line.waiting
    }
    return { keys: this.#lines.size, active, waiting, idle: this.#idle.size }
  }

  readings(): readonly KeyReading[] {
    const now = this.#now()
    const found = new Map<string, KeyReading>()
    const read = (key: string, { limit, pausedUntil }: KeyWindow, active: number, waiting: number) => {
      const provider = key.slice(0, key.indexOf(':'))
      const known = found.get(provider)
      found.set(provider, {
        provider,
        keys: (known?.keys ?? 0) + 1,
        paused: (known?.paused ?? 0) + (now < pausedUntil ? 1 : 0),
        active: (known?.active ?? 0) + active,
        waiting: (known?.waiting ?? 0) + waiting,
        smallestWindow: Math.min(known?.smallestWindow ?? limit, limit),
        largestWindow: Math.max(known?.largestWindow ?? limit, limit),
      })
    }
    for (const [key, { window, active, waiting }] of this.#lines) read(key, window, active, waiting)
    for (const [key, window] of this.#idle) read(key, window, 0, 0)
    return [...found.values()]
  }

  #lineOf(key: string, most: number): Line {
    const known = this.#lines.get(key)
    if (known !== undefined) return known
    const window = this.#idle.get(key) ?? openWindow(this.#startLimit, most)
    this.#idle.delete(key)
    const line: Line = { window, active: 0, waiting: 0, sessions: new Map(), timer: null }
    this.#lines.set(key, line)
    return line
  }

  #take(key: string, line: Line): KeySlot {
    line.active += 1
    const { round } = line.window
    let released = false
    return {
      release: (outcome) => {
        if (released) return
        released = true
        line.active -= 1
        line.window = this.#judged(line.window, outcome, round)
        this.#advance(key, line)
      },
    }
  }

  #judged(window: KeyWindow, outcome: SlotOutcome, round: number): KeyWindow {
    if (outcome.kind !== 'limited') return next(window, { kind: outcome.kind })
    return next(window, { kind: 'limited', round, now: this.#now(), pauseMs: outcome.pauseMs ?? 0 })
  }

  #remove(key: string, line: Line, session: string, waiter: Waiter): void {
    const waiters = line.sessions.get(session)
    if (waiters?.delete(waiter) !== true) return
    line.waiting -= 1
    if (waiters.size === 0) line.sessions.delete(session)
    this.#advance(key, line)
  }

  /** Lets through whoever may go, sees to the end of a pause, and forgets a line that nobody is in. */
  #advance(key: string, line: Line): void {
    const now = this.#now()
    while (line.waiting > 0 && mayStart(line.window, line.active, now)) this.#nextWaiter(line)?.grant()
    this.#watchPause(key, line, now)
    if (line.active > 0 || line.waiting > 0) return
    this.#lines.delete(key)
    this.#idle.set(key, line.window)
    for (const oldest of this.#idle.keys()) {
      if (this.#idle.size <= this.#idleKeys) break
      this.#idle.delete(oldest)
    }
  }

  /** The first waiter of the session whose turn it is; that session then goes to the end. */
  #nextWaiter(line: Line): Waiter | undefined {
    const [turn] = line.sessions
    if (turn === undefined) return undefined
    const [session, waiters] = turn
    const [waiter] = waiters
    line.sessions.delete(session)
    if (waiter === undefined) return undefined
    waiters.delete(waiter)
    line.waiting -= 1
    if (waiters.size > 0) line.sessions.set(session, waiters)
    return waiter
  }

  #watchPause(key: string, line: Line, now: number): void {
    const leftMs = line.window.pausedUntil - now
    if (line.waiting === 0 || leftMs <= 0) {
      if (line.timer !== null) clearTimeout(line.timer)
      line.timer = null
      return
    }
    line.timer ??= setTimeout(
      () => {
        line.timer = null
        this.#advance(key, line)
      },
      Math.min(leftMs, LONGEST_TIMER_MS),
    )
  }
}
