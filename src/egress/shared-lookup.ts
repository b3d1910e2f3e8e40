/**
 * One resolver for all connections, that dead names cannot occupy. `getaddrinfo` runs in libuv's pool, which gives names half
 * of its threads, and a name whose server is silent holds one for as long as the system's resolver likes. So a name is asked
 * for once at a time, whoever waits for it; a name that answered the last time is asked for at once; those that never have
 * share a few threads; and those that were silent share one, until they answer. An answer is kept for nobody who comes after
 * it.
 *
 * It judges nothing: what an answer may lead to, `connector.ts` decides for each connection. Not c-ares, which needs
 * no thread, because it knows neither /etc/hosts nor the search domains of a cluster.
 */
import type { LookupAddress } from 'node:dns'
import type { Lookup } from './connector.ts'

type Options = Parameters<Lookup>[1]
type Callback = Parameters<Lookup>[2]

/** Somebody who waits for a name, and since when. */
interface Waiter {
  readonly callback: Callback
  readonly since: number
}

interface Question {
  readonly hostname: string
  readonly options: Options
  readonly waiters: Waiter[]
}

export interface SharedLookupOptions {
  readonly lookup: Lookup
  /** After so long nobody waits any more, ms: what connections are given. */
  readonly patienceMs: number
  /** ms, of a clock that is never set. */
  readonly now: () => number
}

/** A failure that took so long was a silence: a resolver that answers says "no such name" in less. */
const SILENT_AFTER_MS = 2_000
/** Names that are remembered, of either kind, the oldest forgotten first. */
const MAX_NAMES = 1_000
/** Of the eight threads that `main.ts` sees to, three are left to names that answer. */
const STRANGERS_AT_ONCE = 4
const SILENT_AT_ONCE = 1

export function createSharedLookup({ lookup, patienceMs, now }: SharedLookupOptions): Lookup {
  /** Those under way and those in line, by name. */
  const open = new Map<string, Question>()
  const answered = new Set<string>()
  const silent = new Set<string>()
  const lines = { strangers: openLine(STRANGERS_AT_ONCE), silent: openLine(SILENT_AT_ONCE) }

  function ask(question: Question, then: () => void): void {
    const { hostname, options, waiters } = question
    const askedAt = now()
    lookup(hostname, options, (error, addresses) => {
      open.delete(hostname)
      silent.delete(hostname)
      answered.delete(hostname)
      if (error === null) remember(hostname, answered)
      else if (now() - askedAt >= SILENT_AFTER_MS) remember(hostname, silent)
      // Before the answers: who asks again from inside of one finds everything in order.
      then()
      for (const { callback } of waiters) callback(error, addresses)
    })
  }

  function advance(line: Line): void {
    while (line.underWay < line.atOnce) {
      const question = line.waiting.shift()
      if (question === undefined) return
      // From inside a callback too: whoever asks there stands behind.
      line.underWay += 1
      if (isAwaited(question)) {
        ask(question, () => {
          line.underWay -= 1
          advance(line)
        })
        continue
      }
      open.delete(question.hostname)
      for (const { callback } of question.waiters) callback(timedOut(), NO_ADDRESSES)
      line.underWay -= 1
    }
  }

  function isAwaited({ waiters }: Question): boolean {
    // They came in their order, so the last one knows.
    return now() - (waiters.at(-1)?.since ?? 0) < patienceMs
  }

  return (hostname, options, callback) => {
    const waiter = { callback, since: now() }
    const known = open.get(hostname)
    if (known !== undefined) return void known.waiters.push(waiter)
    const question = { hostname, options, waiters: [waiter] }
    open.set(hostname, question)
    if (answered.has(hostname)) return ask(question, () => {})
    const line = silent.has(hostname) ? lines.silent : lines.strangers
    line.waiting.push(question)
    advance(line)
  }
}

/** Names that are asked for in their order, so many at once. */
interface Line {
  readonly atOnce: number
  readonly waiting: Question[]
  underWay: number
}

function openLine(atOnce: number): Line {
  return { atOnce, waiting: [], underWay: 0 }
}

function remember(hostname: string, names: Set<string>): void {
  const [oldest] = names.size >= MAX_NAMES ? names : []
  if (oldest !== undefined) names.delete(oldest)
  names.add(hostname)
}

const NO_ADDRESSES: LookupAddress[] = []

function timedOut(): Error {
  return Object.assign(new Error('ETIMEDOUT'), { code: 'ETIMEDOUT' })
}
