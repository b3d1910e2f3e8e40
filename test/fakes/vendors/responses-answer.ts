/** An answer in the stream format of the Responses API. */
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../src/contract/json.ts'
import { chained, type Chain, type Issued } from './issued.ts'
import { comparable, type ResponsesFacts } from './responses-rules.ts'
import type { TurnUsage } from './turn.ts'
import { argumentsText, pieces, StreamedAnswer, usageObject, type FinishFacts, type StopKind } from './vendor-answer.ts'

type Open =
  | { readonly type: 'reasoning'; readonly id: string; words: string }
  | { readonly type: 'message'; readonly id: string; words: string }

export class ResponsesAnswer extends StreamedAnswer {
  readonly #facts: ResponsesFacts
  readonly #issued: Issued
  readonly #id: string
  readonly #callIds: string[] = []
  /** Encrypted contents in order, then the phase of the text. */
  readonly #thoughts: string[] = []
  #chain: Chain
  #sequence = 0
  #index = -1
  #open: Open | null = null
  /** A text that is over, and waits for what follows to tell its phase. */
  #waiting: { readonly id: string; readonly index: number; readonly words: string } | null = null
  #said = ''
  #phase: string | null = null

  constructor(response: ServerResponse, facts: ResponsesFacts, issued: Issued) {
    super(response)
    this.#facts = facts
    this.#issued = issued
    this.#chain = facts.chain
    this.#id = `resp_${issued.next()}`
  }

  #event(type: string, data: object): void {
    this.raw(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.#sequence, ...data })}\n\n`)
    this.#sequence += 1
  }

  #response(status: string, more: object = {}): object {
    const { model } = this.#facts
    const base = { id: this.#id, object: 'response', status, model, error: null, incomplete_details: null, output: [] }
    return { ...base, usage: null, ...more }
  }

  protected opening(): void {
    this.#event('response.created', { response: this.#response('in_progress') })
    this.#event('response.in_progress', { response: this.#response('in_progress') })
  }

  #add(type: string, prefix: string, item: object): string {
    this.begin()
    this.#close()
    this.#index += 1
    const id = `${prefix}_${this.#issued.next()}`
    this.#event('response.output_item.added', { output_index: this.#index, item: { id, type, ...item } })
    return id
  }

  #done(item: { readonly [field: string]: unknown }, index = this.#index): void {
    this.#event('response.output_item.done', { output_index: index, item })
    this.#chain = chained(this.#chain, comparable(item))
  }

  /** Ends the item of words that is open. */
  #close(): void {
    const open = this.#open
    this.#open = null
    if (open === null) return
    const words = open.words.toWellFormed()
    if (open.type === 'reasoning') return this.#closeReasoning(open.id, words)
    this.#waiting = { id: open.id, index: this.#index, words }
  }

  #closeReasoning(id: string, words: string): void {
    const place = { item_id: id, output_index: this.#index, summary_index: 0 }
    this.#event('response.reasoning_summary_text.done', { ...place, text: words })
    const { model } = this.#facts
    const encrypted = this.#issued.sign({ model, words, before: this.#chain })
    this.#thoughts.push(encrypted)
    const summary = [{ type: 'summary_text', text: words }]
    this.#done({ id, type: 'reasoning', summary, encrypted_content: encrypted })
  }

  /** A text is `commentary` where calls follow, else the answer itself. */
  #settle(phase: 'commentary' | 'final_answer'): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (waiting === null) return
    this.#phase = phase
    const { id, index, words } = waiting
    this.#event('response.output_text.done', { item_id: id, output_index: index, content_index: 0, text: words })
    const content = [{ type: 'output_text', text: words, annotations: [] }]
    this.#done({ id, type: 'message', role: 'assistant', status: 'completed', phase, content }, index)
  }

  thinking(words: string): void {
    if (!this.#facts.thinks) return
    if (this.#open?.type !== 'reasoning') {
      this.#close()
      this.#settle('commentary')
      const id = this.#add('reasoning', 'rs', { summary: [] })
      this.#open = { type: 'reasoning', id, words: '' }
      const place = { item_id: id, output_index: this.#index, summary_index: 0 }
      this.#event('response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } })
    }
    this.#open.words += words
    const place = { item_id: this.#open.id, output_index: this.#index, summary_index: 0 }
    this.#event('response.reasoning_summary_text.delta', { ...place, delta: words })
  }

  text(words: string): void {
    if (this.#open?.type !== 'message') {
      const id = this.#add('message', 'msg', { role: 'assistant', status: 'in_progress', content: [] })
      this.#open = { type: 'message', id, words: '' }
      const part = { type: 'output_text', text: '', annotations: [] }
      const place = { item_id: id, output_index: this.#index, content_index: 0 }
      this.#event('response.content_part.added', { ...place, part })
    }
    this.#open.words += words
    this.#said += words
    const place = { item_id: this.#open.id, output_index: this.#index, content_index: 0 }
    this.#event('response.output_text.delta', { ...place, delta: words })
  }

  #addCall(tool: string, callId: string | null): string {
    this.begin()
    this.#close()
    this.#settle('commentary')
    this.calls += 1
    const named = { ...(callId === null ? {} : { call_id: callId }), name: tool, arguments: '' }
    return this.#add('function_call', 'fc', { status: 'in_progress', ...named })
  }

  #nextCallId(): string {
    return `call_${this.#issued.next()}`
  }

  call(tool: string, args: JsonObject | string, id?: string | null): string {
    const callId = id ?? this.#nextCallId()
    const itemId = this.#addCall(tool, id === null ? null : callId)
    const written = argumentsText(args)
    const place = { item_id: itemId, output_index: this.#index }
    for (const delta of pieces(written)) this.#event('response.function_call_arguments.delta', { ...place, delta })
    this.#event('response.function_call_arguments.done', { ...place, arguments: written })
    const named = { ...(id === null ? {} : { call_id: callId }), name: tool, arguments: written }
    this.#done({ id: itemId, type: 'function_call', status: 'completed', ...named })
    this.#callIds.push(callId)
    return callId
  }

  openCall(tool: string, args: string): void {
    const itemId = this.#addCall(tool, this.#nextCallId())
    this.#event('response.function_call_arguments.delta', { item_id: itemId, output_index: this.#index, delta: args })
  }

  protected closing(stop: StopKind, usage: FinishFacts['usage'] | null, end: boolean): void {
    this.#close()
    this.#settle(this.calls > 0 ? 'commentary' : 'final_answer')
    const { model } = this.#facts
    const said = this.#said.toWellFormed()
    this.#issued.remember({ model, reasoning: this.#thoughts }, this.#callIds, '')
    this.#issued.remember({ model, reasoning: [...this.#thoughts, this.#phase] }, [], said)
    if (!end) return
    const told = usage == null ? null : usageObject(usage, usageOf)
    const word = stop === 'length' ? 'incomplete' : 'completed'
    const why = stop === 'length' ? { incomplete_details: { reason: 'max_output_tokens' } } : {}
    this.#event(`response.${word}`, { response: this.#response(word, { ...why, usage: told }) })
  }
}

/** The input holds what came from the cache and what went into it; the output holds the reasoning. */
function usageOf({ input, cacheRead, cacheWrite, output, reasoning }: TurnUsage): object {
  const all = input + cacheRead + cacheWrite
  return {
    input_tokens: all,
    input_tokens_details: { cached_tokens: cacheRead, cache_write_tokens: cacheWrite },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: all + output,
  }
}
