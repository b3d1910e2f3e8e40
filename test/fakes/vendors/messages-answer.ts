/** An answer in the stream format of the Messages API. What differs between its vendors is `MessagesStream`. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../src/contract/json.ts'
import { chained, type Chain, type Issued } from './issued.ts'
import type { MessagesFacts } from './messages-rules.ts'
import { TURN_USAGE, type TurnUsage } from './turn.ts'
import { argumentsText, pieces, StreamedAnswer, usageObject, type FinishFacts, type StopKind } from './vendor-answer.ts'

export interface MessagesStream {
  /** Its own form of a call's id. */
  readonly callId: (tool: string, number: number) => string
  /** A thinking block ends with a signature. */
  readonly signs: boolean
  /** It thinks between two calls of one answer, and redacts some of that. */
  readonly interleaves: boolean
  readonly pings: boolean
  /** Counts cache writes. */
  readonly countsWrites: boolean
  /** Tells how much of the output was thinking. */
  readonly countsThinking: boolean
}

const STOPS: Readonly<Record<StopKind, string>> = { end: 'end_turn', calls: 'tool_use', length: 'max_tokens' }

type Open = { readonly type: 'text' | 'thinking'; words: string }

export class MessagesAnswer extends StreamedAnswer {
  readonly #facts: MessagesFacts
  readonly #stream: MessagesStream
  readonly #issued: Issued
  readonly #id: string
  readonly #callIds: string[] = []
  readonly #thoughts: object[] = []
  /** How many of them stand behind everything else: those cannot come back. */
  #trailing = 0
  #chain: Chain
  #index = -1
  #open: Open | null = null
  #said = ''
  /** The last block is a call that broke off in its arguments. */
  #unfinished = false

  constructor(response: ServerResponse, facts: MessagesFacts, stream: MessagesStream, issued: Issued) {
    super(response)
    this.#facts = facts
    this.#stream = stream
    this.#issued = issued
    this.#chain = facts.chain
    this.#id = `msg_${issued.next()}`
  }

  protected opening(): void {
    const { model } = this.#facts
    const head = { id: this.#id, type: 'message', role: 'assistant', model, content: [] }
    // The input side is known from the first byte; the output is a placeholder.
    const usage = this.#usage({ ...TURN_USAGE, output: 1, reasoning: 0 })
    this.#event('message_start', { message: { ...head, stop_reason: null, stop_sequence: null, usage } })
    if (this.#stream.pings) this.heartbeat()
  }

  override heartbeat(): void {
    if (this.#stream.pings) this.#event('ping', {})
    else super.heartbeat()
  }

  #event(type: string, data: object): void {
    this.raw(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  }

  #start(block: object): void {
    this.begin()
    this.#close()
    this.#index += 1
    this.#event('content_block_start', { index: this.#index, content_block: block })
  }

  #delta(delta: object): void {
    this.#event('content_block_delta', { index: this.#index, delta })
  }

  #stop(block: object, isThought = false): void {
    this.#event('content_block_stop', { index: this.#index })
    this.#chain = chained(this.#chain, ['assistant', block])
    this.#trailing = isThought ? this.#trailing + 1 : 0
    if (isThought) this.#thoughts.push(block)
  }

  /** Ends the block of words that is open. A thought is signed over the very words that were shown. */
  #close(): void {
    const open = this.#open
    this.#open = null
    if (open === null) return
    const words = open.words.toWellFormed()
    if (open.type === 'text') return this.#stop({ type: 'text', text: words })
    const signature = this.#stream.signs ? this.#sign(words) : ''
    for (const piece of pieces(signature)) this.#delta({ type: 'signature_delta', signature: piece })
    this.#stop({ type: 'thinking', thinking: words, signature }, true)
  }

  #sign(words: string): string {
    return this.#issued.sign({ model: this.#facts.model, words, before: this.#chain })
  }

  #redacted(): void {
    const block = { type: 'redacted_thinking', data: this.#sign('') }
    this.#start(block)
    this.#stop(block, true)
  }

  thinking(words: string): void {
    if (!this.#facts.thinks) return
    this.begin()
    if (this.#open?.type !== 'thinking') {
      this.#start({ type: 'thinking', thinking: '', signature: '' })
      this.#open = { type: 'thinking', words: '' }
    }
    if (!this.#facts.shown || this.#open === null) return
    this.#open.words += words
    this.#delta({ type: 'thinking_delta', thinking: words })
  }

  text(words: string): void {
    this.begin()
    if (this.#open?.type !== 'text') {
      this.#start({ type: 'text', text: '' })
      this.#open = { type: 'text', words: '' }
    }
    if (this.#open !== null) this.#open.words += words
    this.#said += words
    this.#delta({ type: 'text_delta', text: words })
  }

  call(tool: string, args: JsonObject | string, id?: string | null): string {
    if (this.calls === 1 && this.#stream.interleaves && this.#thoughts.length > 0) {
      this.#redacted()
      this.thinking('And one more.')
    }
    const own = id ?? this.#stream.callId(tool, this.#issued.next())
    this.#startCall(tool, id === null ? '' : own)
    const written = argumentsText(args)
    for (const piece of pieces(written)) this.#delta({ type: 'input_json_delta', partial_json: piece })
    const input: unknown = written === '' ? {} : typeof args === 'string' ? args : JSON.parse(written)
    this.#stop({ type: 'tool_use', id: own, name: tool, input })
    this.#callIds.push(own)
    return own
  }

  #startCall(tool: string, id: string): void {
    this.calls += 1
    this.#start({ type: 'tool_use', id, name: tool, input: {} })
    this.#delta({ type: 'input_json_delta', partial_json: '' })
  }

  openCall(tool: string, args: string): void {
    this.#startCall(tool, this.#stream.callId(tool, this.#issued.next()))
    this.#delta({ type: 'input_json_delta', partial_json: args })
    this.#unfinished = true
  }

  protected closing(stop: StopKind, usage: FinishFacts['usage'] | null, end: boolean): void {
    this.#close()
    if (this.#unfinished) this.#event('content_block_stop', { index: this.#index })
    const { model } = this.#facts
    const reasoning = this.#thoughts.slice(0, this.#thoughts.length - this.#trailing)
    this.#issued.remember({ model, reasoning }, this.#callIds, this.#said.toWellFormed())
    const told = usage == null ? {} : { usage: usageObject(usage, (figures) => this.#usage(figures)) }
    this.#event('message_delta', { delta: { stop_reason: STOPS[stop], stop_sequence: null }, ...told })
    if (end) this.#event('message_stop', {})
  }

  /** `input_tokens` is what neither came from the cache nor went into it. */
  #usage({ input, cacheRead, cacheWrite, output, reasoning }: TurnUsage): object {
    return {
      input_tokens: input,
      cache_creation_input_tokens: this.#stream.countsWrites ? cacheWrite : 0,
      cache_read_input_tokens: cacheRead,
      output_tokens: output,
      ...(this.#stream.countsThinking ? { output_tokens_details: { thinking_tokens: reasoning } } : {}),
    }
  }
}
