/**
 * One resolver for all connections, that a dead name cannot occupy. `getaddrinfo` runs in libuv's pool, which gives names two
 * threads of its four, and a name whose server is silent holds one for as long as the system's resolver likes. So a name is
 * asked for once at a time, whoever waits for it; and names that were silent before are asked for one after another, in one
 * thread, until they answer. An answer is kept for nobody who comes after it.
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
/** Names that were silent, the oldest forgotten first. */
const MAX_SILENT = 1_000

export function createSharedLookup({ lookup, patienceMs, now }: SharedLookupOptions): Lookup {
  /** Those under way and those in line, by name. */
  const open = new Map<string, Question>()
  const silent = new Set<string>()
  const line: Question[] = []
  let lineBusy = false

  function ask(question: Question, then: () => void): void {
    const { hostname, options, waiters } = question
    const askedAt = now()
    lookup(hostname, options, (error, addresses) => {
      open.delete(hostname)
      silent.delete(hostname)
      if (error !== null && now() - askedAt >= SILENT_AFTER_MS) remember(hostname)
      // Before the answers: who asks again from inside of one finds everything in order.
      then()
      for (const { callback } of waiters) callback(error, addresses)
    })
  }

  function remember(hostname: string): void {
    const [oldest] = silent.size >= MAX_SILENT ? silent : []
    if (oldest !== undefined) silent.delete(oldest)
    silent.add(hostname)
  }

  function next(): void {
    // From inside a callback too: whoever asks there stands behind.
    lineBusy = true
    for (let question = line.shift(); question !== undefined; question = line.shift()) {
      if (isAwaited(question)) return ask(question, next)
      open.delete(question.hostname)
      for (const { callback } of question.waiters) callback(timedOut(), NO_ADDRESSES)
    }
    lineBusy = false
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
    if (!silent.has(hostname)) return ask(question, () => {})
    line.push(question)
    if (!lineBusy) next()
  }
}

const NO_ADDRESSES: LookupAddress[] = []

function timedOut(): Error {
  return Object.assign(new Error('ETIMEDOUT'), { code: 'ETIMEDOUT' })
}
