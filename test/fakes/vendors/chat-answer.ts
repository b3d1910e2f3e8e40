/** An answer in the stream format of chat completions. What differs between its vendors is `ChatStream`. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../src/contract/json.ts'
import type { ChatFacts } from './chat-rules.ts'
import type { Issued } from './issued.ts'
import type { TurnUsage } from './turn.ts'
import { argumentsText, pieces, StreamedAnswer, usageObject, type FinishFacts, type StopKind } from './vendor-answer.ts'

export interface ChatStream {
  /** Its own form of a call's id; `index` counts from 0 within an answer. */
  readonly callId: (number: number, index: number) => string
  /** All calls come whole in one delta, unless the request wants them in pieces. */
  readonly wholeCalls: boolean
  readonly usageAt: 'finish' | 'own_chunk' | 'choice'
  /** Where the cached part of the prompt is told. */
  readonly cached: (cacheRead: number, rest: number) => object
  /** The field that is not being written is null. */
  readonly nulls: boolean
  /** The queue is told in comments. */
  readonly keepsAlive: boolean
  /** Tells how much of the output was thinking. */
  readonly countsThinking: boolean
}

const STOPS: Readonly<Record<StopKind, string>> = { end: 'stop', calls: 'tool_calls', length: 'length' }

export class ChatAnswer extends StreamedAnswer {
  readonly #facts: ChatFacts
  readonly #stream: ChatStream
  readonly #issued: Issued
  readonly #head: object
  readonly #callIds: string[] = []
  /** Whole calls that wait for the others of their delta. */
  readonly #held: object[] = []
  #thought = ''
  #said = ''

  constructor(response: ServerResponse, facts: ChatFacts, stream: ChatStream, issued: Issued) {
    super(response)
    this.#facts = facts
    this.#stream = stream
    this.#issued = issued
    const id = `chatcmpl-${issued.next()}`
    this.#head = { id, object: 'chat.completion.chunk', created: 1_796_000_000, model: facts.model }
  }

  protected opening(): void {
    if (this.#stream.keepsAlive) this.heartbeat()
    this.#delta(
      this.#stream.nulls ? { role: 'assistant', content: null, reasoning_content: '' } : { role: 'assistant' },
    )
  }

  #delta(delta: object, finish: string | null = null, inChoice: object = {}, beside: object = {}): void {
    const choices = [{ index: 0, delta, finish_reason: finish, ...inChoice }]
    this.event(JSON.stringify({ ...this.#head, choices, ...beside }))
  }

  thinking(words: string): void {
    if (!this.#facts.thinks) return
    this.begin()
    this.#thought += words
    this.#delta({ ...(this.#stream.nulls ? { content: null } : {}), reasoning_content: words })
  }

  text(words: string): void {
    this.begin()
    this.#said += words
    this.#delta({ content: words, ...(this.#stream.nulls ? { reasoning_content: null } : {}) })
  }

  call(tool: string, args: JsonObject | string, id?: string | null): string {
    this.begin()
    const index = this.calls
    this.calls += 1
    const own = id ?? this.#stream.callId(this.#issued.next(), index)
    this.#callIds.push(own)
    const named = { index, ...(id === null ? {} : { id: own }), type: 'function' }
    if (this.#stream.wholeCalls && !this.#facts.streamsCalls) {
      this.#held.push({ ...named, function: { name: tool, arguments: argumentsText(args) } })
      return own
    }
    this.#delta({ tool_calls: [{ ...named, function: { name: tool, arguments: '' } }] })
    for (const piece of pieces(argumentsText(args)))
      this.#delta({ tool_calls: [{ index, function: { arguments: piece } }] })
    return own
  }

  openCall(tool: string, args: string): void {
    this.begin()
    const index = this.calls
    this.calls += 1
    const id = this.#stream.callId(this.#issued.next(), index)
    this.#delta({ tool_calls: [{ index, id, type: 'function', function: { name: tool, arguments: args } }] })
  }

  protected closing(stop: StopKind, usage: FinishFacts['usage'] | null, end: boolean): void {
    const { model } = this.#facts
    const { usageAt } = this.#stream
    const reasoning = this.#thought === '' ? [] : [this.#thought.toWellFormed()]
    this.#issued.remember({ model, reasoning }, this.#callIds, this.#said.toWellFormed())
    if (this.#held.length > 0) this.#delta({ role: 'assistant', content: '', tool_calls: this.#held })
    const told = usage == null ? {} : { usage: usageObject(usage, (figures) => this.#usage(figures)) }
    const last = this.#stream.nulls ? { content: '', reasoning_content: null } : {}
    this.#delta(last, STOPS[stop], usageAt === 'choice' ? told : {}, usageAt === 'finish' ? told : {})
    if (usageAt === 'own_chunk' && usage != null) {
      this.event(JSON.stringify({ ...this.#head, choices: [], ...told }))
    }
    if (end) this.event('[DONE]')
  }

  /** The prompt holds what came from the cache; the completion holds the thinking. */
  #usage({ input, cacheRead, output, reasoning }: TurnUsage): object {
    const prompt = input + cacheRead
    return {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      ...this.#stream.cached(cacheRead, input),
      ...(this.#stream.countsThinking ? { completion_tokens_details: { reasoning_tokens: reasoning } } : {}),
    }
  }
}
