/**
 * What a fake vendor finds wrong with a request. `refuse` is for what the vendor answers with an error: the first one stands,
 * and its sentence is the vendor's own wherever that is known. `note` is for what it accepts in silence although it should
 * not have been sent: a worse answer, a lost cache, reasoning that is dropped. Both fail a test.
 */
export interface Refusal {
  readonly status: number
  readonly message: string
  /** The field it is about; '' where the vendor says none. */
  readonly param: string
  /** The vendor's code; '' where it has none for this. */
  readonly code: string
}

export type RefusalFacts = Partial<Omit<Refusal, 'message'>>

export class Judge {
  refusal: Refusal | null = null
  readonly notes: string[] = []
  /** Own reasoning that the vendor cannot use any more, because what stands before it has changed. */
  dropped = 0
  readonly #status: number

  /** @param status of a refusal that says none */
  constructor(status = 400) {
    this.#status = status
  }

  refuse(message: string, facts: RefusalFacts = {}): void {
    this.refusal ??= { status: this.#status, param: '', code: '', ...facts, message }
  }

  note(sentence: string): void {
    this.notes.push(sentence)
  }
}
