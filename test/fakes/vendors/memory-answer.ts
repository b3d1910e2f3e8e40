/**
 * An HTTP answer that never leaves this process: what a fake vendor writes to it as to a socket is what the engine reads as from
 * the egress gate. It is open until it was read to its end, broke, or was destroyed.
 */
import type { ServerResponse } from 'node:http'
import { BodyBroken } from '../../../src/egress/body.ts'
import type { EgressAnswer, Fault } from '../../../src/egress/egress.ts'

export class MemoryAnswer {
  headersSent = false
  /** A `ServerResponse` says so of a connection that is gone. */
  destroyed = false
  writableEnded = false
  readonly socket = { end: () => this.#break() }
  readonly #onClosed: () => void
  readonly #pieces: Uint8Array[] = []
  readonly #pauseMs: (piece: number) => number
  #head: { readonly status: number; readonly headers: Readonly<Record<string, string>> } | null = null
  #broken = false
  #closed = false
  #wake: () => void = () => {}

  /** `pauseMs`: what passes before the n-th piece is there. `onClosed` is called once. */
  constructor(pauseMs: (piece: number) => number, onClosed: () => void) {
    this.#pauseMs = pauseMs
    this.#onClosed = onClosed
  }

  /** Pieces written so far. */
  get length(): number {
    return this.#pieces.length
  }

  /** As the fakes' answers take it: they use no more of a response than this class has. */
  get response(): ServerResponse {
    return this as unknown as ServerResponse
  }

  writeHead(status: number, headers: Readonly<Record<string, string>> = {}): this {
    this.headersSent = true
    this.#head = { status, headers }
    this.#wake()
    return this
  }

  flushHeaders(): void {}

  write(piece: string | Uint8Array): boolean {
    if (!this.destroyed && !this.writableEnded && !this.#broken) this.#pieces.push(Buffer.from(piece as string))
    this.#wake()
    return true
  }

  end(piece?: string): this {
    if (piece !== undefined) this.write(piece)
    this.writableEnded = true
    this.#wake()
    return this
  }

  #break(): void {
    this.#broken = true
    this.#wake()
  }

  /** Gone: nothing is read any more. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.destroyed = true
    this.#onClosed()
    this.#wake()
  }

  /** What the gate answers once there are headers; never, for a vendor that says nothing, until the signal aborts. */
  async answered(signal: AbortSignal): Promise<EgressAnswer> {
    signal.addEventListener('abort', () => this.close(), { once: true })
    if (signal.aborted) this.close()
    while (this.#head === null && !this.#closed && !this.#broken) await this.#moved()
    if (this.#head === null) {
      this.close()
      return { kind: 'fault', fault: signal.aborted ? ABORTED : RESET }
    }
    const { headers, status } = this.#head
    return { kind: 'response', response: { status, headers, body: this.#body(signal), destroy: () => this.close() } }
  }

  /** An answer that has been written already. */
  whole(): EgressAnswer {
    const { headers, status } = this.#head ?? { headers: {}, status: 500 }
    const body = this.#body(new AbortController().signal)
    return { kind: 'response', response: { status, headers, body, destroy: () => this.close() } }
  }

  async *#body(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    try {
      for (let piece = 0; ; piece += 1) {
        await this.#pause(this.#pauseMs(piece))
        while (!this.#closed && this.#pieces.length <= piece && !this.writableEnded && !this.#broken)
          await this.#moved()
        if (this.#closed) throw new BodyBroken(ABORTED)
        const bytes = this.#pieces[piece]
        if (bytes !== undefined) yield bytes
        else if (this.#broken) throw new BodyBroken(signal.aborted ? ABORTED : RESET)
        else return
      }
    } finally {
      this.close()
    }
  }

  #moved(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve))
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#closed) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        if (!this.#closed) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

const ABORTED: Fault = { kind: 'aborted', message: 'the call was aborted' }
const RESET: Fault = { kind: 'reset', message: 'the connection broke' }
