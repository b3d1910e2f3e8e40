/** What every step of the story is given. Made once, in `harness.ts`; the steps are functions and keep nothing of their own. */
import type { Conversation } from './conversation.ts'
import type { Shop } from './data/shop.ts'
import type { Words } from './data/words.ts'
import type { EngineAddress } from './engine-client.ts'
import type { Operations } from './operations.ts'
import type { Database } from './plumbing/database.ts'
import type { Turns } from './plumbing/turns.ts'

export interface Context {
  readonly database: Database
  readonly conversation: Conversation
  readonly operations: Operations
  readonly shop: Shop
  readonly engine: EngineAddress
  /** This harness, as the engine reaches it. */
  readonly harnessUrl: string
  /** What the engine must show to the tools. */
  readonly toolSecret: string
  readonly words: Words
  readonly turns: Turns
  /** Waits; rejects when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>
  /** The harness closes. */
  readonly closing: AbortSignal
  /** To be called after whatever makes a session look different: pages fetch it, and the run that is due is started. */
  readonly changed: (session: string) => void
  /** Told of a defect: the work is left, and the safety net finds what it left. */
  readonly report: (error: unknown) => void
}
