/** Which run holds a session. Only the run that holds one gives it back. */
import type { RunId } from '../contract/ids.ts'

export class SessionLocks {
  readonly #holders = new Map<string, RunId>()

  /** `sessionKey` null: a run without a session, which holds and meets no lock. */
  holderOf(sessionKey: string | null): RunId | undefined {
    return sessionKey === null ? undefined : this.#holders.get(sessionKey)
  }

  take(sessionKey: string | null, runId: RunId): void {
    if (sessionKey !== null) this.#holders.set(sessionKey, runId)
  }

  free(sessionKey: string | null, runId: RunId): void {
    if (sessionKey !== null && this.#holders.get(sessionKey) === runId) this.#holders.delete(sessionKey)
  }
}
