/**
 * What the engine fetched for one run: each address once, whatever came of it, so that later requests begin with the bytes of
 * earlier ones. Bounded in number, bytes and time; the bounds are those of SPEC §10. Nothing of it is written anywhere.
 *
 * Addresses are kept or refused in the order in which they are wanted, however fast each answers: with the same answers the
 * same ones are kept.
 */
import type { Egress } from '../egress/egress.ts'
import { timeLimit } from '../egress/time-limit.ts'
import type { PartFetch } from '../engine/ports.ts'
import { type Fetch, fetchPart, notFetched } from './fetch-part.ts'
import type { PartBudget } from './part-budget.ts'
import type { FetchedPart, FetchedParts, WantedPart } from './sent-part.ts'

/** As many at once for one run. */
export const PARTS_AT_ONCE = 4
/** As many different ones for one run. */
export const MOST_PARTS = 50
/** Of all of them for one run, as they come; in base64 it is 32 MiB, the size of request that vendors end at. */
export const MAX_RUN_BYTES = 24 * 1024 * 1024
/** Of one. */
export const PART_MS = 10_000
/** Of all that one request waits for. */
export const ALL_PARTS_MS = 20_000

export interface Fetching {
  readonly send: Egress['request']
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** At most so long, however many. */
  readonly withinMs: number
  readonly tell: (fetch: PartFetch) => void
  readonly signal: AbortSignal
}

type Timed = { readonly fetch: Fetch; readonly durationMs: number }

export class RunParts implements FetchedParts {
  readonly #budget: PartBudget
  readonly #parts = new Map<string, FetchedPart>()
  #begun = 0
  /** Of what is kept, as it came; and of what is not kept yet. */
  #bytes = 0
  #waiting = 0
  /** Of the budget. */
  #taken = 0
  /** There was no room for one: from then on there is none. */
  #full: string | null = null

  constructor(budget: PartBudget) {
    this.#budget = budget
  }

  get(key: string): FetchedPart | undefined {
    return this.#parts.get(key)
  }

  /** Resolves when each of these is known, or the signal has aborted. Never rejects. */
  async load(wanted: readonly WantedPart[], fetching: Fetching): Promise<void> {
    const missing = wanted.filter(({ key }) => !this.#parts.has(key))
    if (missing.length === 0 || fetching.signal.aborted) return
    const limit = timeLimit(Math.min(fetching.withinMs, ALL_PARTS_MS), fetching.signal)
    const underWay = new Set<Promise<Timed>>()
    let kept = Promise.resolve()
    for (const part of missing) {
      while (underWay.size >= PARTS_AT_ONCE) await Promise.race(underWay)
      // What waits for a slower one before it is held too.
      if (this.#waiting >= MAX_RUN_BYTES) await kept
      const fetched = this.#fetchOne(part, fetching, limit.signal)
      underWay.add(fetched)
      void fetched.then(() => underWay.delete(fetched))
      kept = this.#keep(part, fetched, kept, fetching)
    }
    await kept
    limit.release()
  }

  /** The run has ended: what it held is free. */
  release(): void {
    this.#budget.give(this.#taken)
    this.#taken = 0
    this.#parts.clear()
  }

  async #fetchOne(part: WantedPart, { now, send }: Fetching, stop: AbortSignal): Promise<Timed> {
    const full = this.#begun < MOST_PARTS ? this.#full : `no more than ${MOST_PARTS} are fetched for one run`
    if (full !== null) return { fetch: notFetched(part, 'full', full), durationMs: 0 }
    if (stop.aborted) return { fetch: notFetched(part, 'timeout', 'there was no time to fetch it'), durationMs: 0 }
    this.#begun += 1
    const from = now()
    const limit = timeLimit(PART_MS, stop)
    const fetched = await fetchPart(send, part, this.#budget, limit.signal)
    limit.release()
    const durationMs = Math.max(0, now() - from)
    if (fetched.ok || !limit.signal.aborted) return { fetch: fetched, durationMs }
    const { host, status } = fetched.facts
    return { fetch: notFetched(part, 'timeout', `${host} did not send it in time`, { status }), durationMs }
  }

  async #keep(
    part: WantedPart,
    fetched: Promise<Timed>,
    before: Promise<void>,
    { signal, tell }: Fetching,
  ): Promise<void> {
    const { durationMs, fetch } = await fetched
    const size = fetch.ok ? fetch.bytes.length : 0
    this.#waiting += size
    await before
    this.#waiting -= size
    const kept = this.#fitting(part, fetch)
    if (kept.ok) this.#taken += kept.taken
    // A run that is being stopped asks nothing more: of what was cut for that, nothing is told.
    if (signal.aborted) return
    tell({ ...kept.facts, durationMs })
    const { ok } = kept
    this.#parts.set(part.key, ok ? { ok, data: kept.bytes.toString('base64') } : { ok, why: kept.why })
  }

  #fitting(part: WantedPart, fetch: Fetch): Fetch {
    if (!fetch.ok) return fetch
    if (this.#bytes + fetch.bytes.length > MAX_RUN_BYTES) {
      this.#full ??= `no more than ${MAX_RUN_BYTES} bytes are fetched for one run`
    }
    if (this.#full !== null) {
      this.#budget.give(fetch.taken)
      return notFetched(part, 'full', this.#full, fetch.facts)
    }
    this.#bytes += fetch.bytes.length
    return fetch
  }
}
