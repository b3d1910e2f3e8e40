/**
 * Tokens of one process, in memory only, each for as long as it is good. Whoever needs one while it is being fetched waits for
 * the same fetch; it goes on as long as one of them still waits, and a failed one is forgotten. Never rejects.
 *
 * It knows tokens by names that its caller makes; a name must be no secret.
 */
import type { AccessToken, TokenAnswer } from './access-token.ts'

/** A token is replaced so long before it expires: the request that carries it has to arrive. */
export const EARLY_MS = 60_000

export type Obtain = (signal: AbortSignal) => Promise<TokenAnswer>

interface Flight {
  readonly answer: Promise<TokenAnswer>
  readonly stop: AbortController
  waiting: number
}

export class TokenCache {
  readonly #now: () => number
  readonly #most: number
  /** Oldest first. */
  readonly #tokens = new Map<string, AccessToken>()
  readonly #flights = new Map<string, Flight>()

  /** @param most tokens kept; the oldest goes first */
  constructor({ now, most = 1_000 }: { readonly now: () => number; readonly most?: number }) {
    this.#now = now
    this.#most = most
  }

  /** A token that is good for a while, from memory or fetched; null where the signal aborts first. */
  async get(name: string, obtain: Obtain, signal: AbortSignal): Promise<TokenAnswer | null> {
    if (signal.aborted) return null
    const token = this.#tokens.get(name)
    if (token !== undefined && this.#now() < token.expiresAt - EARLY_MS) return { ok: true, token }
    const flight = this.#flights.get(name) ?? this.#depart(name, obtain)
    flight.waiting += 1
    const answer = await beforeAbort(flight.answer, signal)
    flight.waiting -= 1
    if (answer === null && flight.waiting === 0) {
      flight.stop.abort()
      this.#land(name, flight)
    }
    return answer
  }

  /** Forgets a token that was refused; a newer one under the same name stays. */
  drop(name: string, value: string): void {
    if (this.#tokens.get(name)?.value === value) this.#tokens.delete(name)
  }

  #depart(name: string, obtain: Obtain): Flight {
    const stop = new AbortController()
    const answer = obtain(stop.signal).then((answer) => {
      this.#land(name, flight)
      if (answer.ok) this.#keep(name, answer.token)
      return answer
    })
    const flight: Flight = { answer, stop, waiting: 0 }
    this.#flights.set(name, flight)
    return flight
  }

  #land(name: string, flight: Flight): void {
    if (this.#flights.get(name) === flight) this.#flights.delete(name)
  }

  #keep(name: string, token: AccessToken): void {
    this.#tokens.delete(name)
    this.#tokens.set(name, token)
    for (const oldest of this.#tokens.keys()) {
      if (this.#tokens.size <= this.#most) break
      this.#tokens.delete(oldest)
    }
  }
}

function beforeAbort<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise((resolve) => {
    const onAbort = () => resolve(null)
    signal.addEventListener('abort', onAbort, { once: true })
    void answer.then((value) => {
      signal.removeEventListener('abort', onAbort)
      resolve(value)
    })
  })
}
