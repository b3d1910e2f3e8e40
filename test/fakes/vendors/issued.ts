/**
 * What one vendor has handed out and may see again: call ids, signatures, encrypted reasoning, and the reasoning that belongs
 * to an answer. In memory of one fake, never forgotten.
 */
import { createHash } from 'node:crypto'

/** Everything before a place in a conversation, as one hash: `chained` of what stands there, piece by piece. */
export type Chain = string

export const CHAIN_START: Chain = ''

export function chained(before: Chain, piece: unknown): Chain {
  return createHash('sha256')
    .update(before)
    .update(JSON.stringify(piece) ?? 'nothing')
    .digest('base64url')
}

/** One thought that was signed or encrypted. */
export interface Thought {
  readonly model: string
  /** What it was signed over, as it was shown. */
  readonly words: string
  /** Where it stood. */
  readonly before: Chain
}

/** What an answer must be accompanied by when it comes back. */
export interface IssuedAnswer {
  readonly model: string
  /** In the vendor's words and order; empty where it did not think. */
  readonly reasoning: readonly unknown[]
}

export class Issued {
  readonly thoughts = new Map<string, Thought>()
  readonly #byCall = new Map<string, IssuedAnswer>()
  readonly #byText = new Map<string, IssuedAnswer[]>()
  #count = 0

  /** The next number of this vendor, for ids. */
  next(): number {
    this.#count += 1
    return this.#count
  }

  /** Signs a thought; nobody else can make such a text. */
  sign(thought: Thought): string {
    const signature = Buffer.from(chained(`signature ${this.next()}`, thought)).toString('base64')
    this.thoughts.set(signature, thought)
    return signature
  }

  remember(answer: IssuedAnswer, callIds: readonly string[], text: string): void {
    for (const id of callIds) this.#byCall.set(id, answer)
    if (callIds.length > 0 || text === '') return
    const same = this.#byText.get(text)
    if (same === undefined) this.#byText.set(text, [answer])
    else same.push(answer)
  }

  /** The answers of a model that a message of the history may be: known by its calls, else by its text. */
  answersOf(model: string, callIds: readonly string[], text: string): IssuedAnswer[] {
    const byCall = callIds.map((id) => this.#byCall.get(id)).filter((answer) => answer !== undefined)
    const answers = callIds.length === 0 ? (this.#byText.get(text) ?? []) : byCall.slice(0, 1)
    return answers.filter((answer) => answer.model === model)
  }

  isOwnCall(id: string): boolean {
    return this.#byCall.has(id)
  }
}
