/**
 * Idempotency keys that were seen, and the run that each of them began (SPEC §3.7). Bounded by time and by number. Decides
 * nothing about a request; no clock of its own.
 */
import type { RunId } from '../contract/ids.ts'
import type { KnownKey } from './spool-record.ts'

const IDEMPOTENCY_TTL_MS = 24 * 3600 * 1000
/** About a hundred bytes each, beside the key's own. */
export const MAX_KEYS = 200_000

export class KnownKeys {
  /** In the order in which they expire. */
  readonly #keys = new Map<string, KnownKey>()

  /** In any order. */
  restore(keys: readonly KnownKey[]): void {
    for (const known of keys.toSorted((left, right) => left.expiresAt - right.expiresAt)) {
      this.#keys.set(known.key, known)
    }
  }

  /** undefined: never seen, or too long ago. */
  find(key: string, now: number): KnownKey | undefined {
    const known = this.#keys.get(key)
    return known !== undefined && known.expiresAt > now ? known : undefined
  }

  begin(key: string, runId: RunId, fingerprint: string, now: number): KnownKey {
    const began: KnownKey = { key, runId, fingerprint, expiresAt: now + IDEMPOTENCY_TTL_MS }
    // Behind all others, also where an expired one of the same name stands.
    this.#keys.delete(key)
    this.#keys.set(key, began)
    return began
  }

  /** As if it had never been; nothing, where another run has it by now. */
  forget(key: string, runId: RunId): void {
    if (this.#keys.get(key)?.runId === runId) this.#keys.delete(key)
  }

  /**
   * Lets go of the expired ones, and of the oldest beyond the bound: not of one whose run `isOpen`, for a repeat of its request
   * would be a second run beside it.
   */
  expire(now: number, isOpen: (runId: RunId) => boolean): void {
    for (const [key, { expiresAt, runId }] of this.#keys) {
      if (expiresAt > now && this.#keys.size <= MAX_KEYS) break
      if (expiresAt <= now || !isOpen(runId)) this.#keys.delete(key)
    }
  }
}
