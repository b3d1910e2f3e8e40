/**
 * One answer of a fake vendor, written piece by piece in its own stream format. What is written first sends the head. The four
 * formats are one class each; what differs between vendors of one format is data.
 */
import type { ServerResponse } from 'node:http'
import timers from 'node:timers/promises'
import type { JsonObject } from '../../../src/contract/json.ts'
import { TURN_USAGE, type Turn, type TurnUsage } from './turn.ts'

export type StopKind = 'end' | 'calls' | 'length'

export interface FinishFacts {
  /** Default: what the pieces so far say. */
  readonly stop?: StopKind
  /** Default `TURN_USAGE`; null: none is told. An object of the vendor's own goes out as it is. */
  readonly usage?: TurnUsage | null | { readonly raw: unknown }
  /** False: the end mark never comes. `held`: it comes, and the connection stays open. Default true. */
  readonly end?: boolean | 'held'
}

export interface VendorAnswer {
  /** Sends the head and whatever opens a stream. */
  begin(): void
  thinking(words: string): void
  text(words: string): void
  /**
   * A whole call. `args` is an object, or the very text of the arguments. `id` is the vendor's own; null: none is sent.
   * @returns the id
   */
  call(tool: string, args: JsonObject | string, id?: string | null): string
  /** A call that stops in the middle of its arguments. */
  openCall(tool: string, args: string): void
  finish(facts?: FinishFacts): void
  /** One event with this data. */
  event(data: string): void
  /** What this vendor sends so that a connection does not look dead. */
  heartbeat(): void
  /** Bytes as they are. */
  raw(bytes: string): void
  /** Sends what `write` writes in pieces of so many bytes, each when there is room for it; stops where nobody reads any more. */
  sliced(size: number, write: () => void): Promise<void>
  /** Breaks the connection behind what was written. */
  cut(): void
  /** An HTTP answer instead of a stream. A string is sent as it is. */
  status(code: number, body: unknown, headers?: Readonly<Record<string, string>>): void
  readonly gone: boolean
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }

export abstract class StreamedAnswer implements VendorAnswer {
  readonly #response: ServerResponse
  protected calls = 0
  /** What is written while it is to go out in slices. */
  #held: string[] | null = null

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get gone(): boolean {
    return this.#response.destroyed || this.#response.writableEnded
  }

  begin(): void {
    if (this.#response.headersSent) return
    this.#response.writeHead(200, STREAM)
    this.#response.flushHeaders()
    this.opening()
  }

  raw(bytes: string): void {
    this.begin()
    if (this.#held !== null) this.#held.push(bytes)
    else if (!this.gone) this.#response.write(bytes)
  }

  async sliced(size: number, write: () => void): Promise<void> {
    this.begin()
    this.#held = []
    write()
    const bytes = Buffer.from(this.#held.join(''))
    this.#held = null
    for (let at = 0; at < bytes.length && !this.gone; at += size) {
      if (!this.#response.write(bytes.subarray(at, at + size))) await this.#room()
      // So that the other side, in this same process, reads each of them by itself.
      await timers.setImmediate()
    }
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#response.off('drain', done).off('close', done)
        resolve()
      }
      this.#response.on('drain', done).on('close', done)
    })
  }

  event(data: string): void {
    this.raw(`data: ${data}\n\n`)
  }

  heartbeat(): void {
    this.raw(': keep-alive\n\n')
  }

  cut(): void {
    // Destroyed at once, the socket would take what was written with it.
    this.#response.socket?.end()
  }

  status(code: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(code, { 'content-type': 'application/json', ...headers })
    this.#response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }

  finish({ end = true, stop, usage = TURN_USAGE }: FinishFacts = {}): void {
    this.begin()
    this.closing(stop ?? (this.calls > 0 ? 'calls' : 'end'), usage, end !== false)
    if (end === true && !this.gone) this.#response.end()
  }

  protected abstract opening(): void
  protected abstract closing(stop: StopKind, usage: NonNullable<FinishFacts['usage']> | null, end: boolean): void
  abstract thinking(words: string): void
  abstract text(words: string): void
  abstract call(tool: string, args: JsonObject | string, id?: string | null): string
  abstract openCall(tool: string, args: string): void
}

/** Writes a turn. Texts come in pieces, cut anywhere. */
export function play(turn: Turn, answer: VendorAnswer): void {
  answer.begin()
  for (const words of pieces(turn.thinking ?? '')) answer.thinking(words)
  for (const words of pieces(turn.text ?? '')) answer.text(words)
  for (const { tool, args } of turn.calls ?? []) answer.call(tool, args)
  if (turn.hang !== true) answer.finish()
}

/** Two pieces, also of a pair that a careless server tears. */
export function pieces(text: string): string[] {
  const half = Math.ceil(text.length / 2)
  return [text.slice(0, half), text.slice(half)].filter((piece) => piece !== '')
}

export function argumentsText(args: JsonObject | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args)
}

/** What a vendor's own usage object is, or what makes one of the figures. */
export function usageObject(
  usage: NonNullable<FinishFacts['usage']>,
  written: (figures: TurnUsage) => unknown,
): unknown {
  return 'raw' in usage ? usage.raw : written(usage)
}
