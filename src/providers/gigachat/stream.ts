/**
 * Reads an answer of GigaChat: an event stream, or one JSON document, in the form of v1, which this dialect asks for, or of v2,
 * which the vendor's newer hosts speak beside it. It never throws; what cannot be read is a fault in the reading.
 *
 * A stream is a whole answer at a finish reason, at `[DONE]` or at `response.message.done`; none of them is an interruption. An
 * error anywhere is a failed attempt. No field of a chunk is relied upon.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import { AnswerProgress } from '../answer-progress.ts'
import { AnswerText } from '../answer-text.ts'
import { firstChoice, nextChunk } from '../chat-chunk.ts'
import type { DialectCall, Reader, Reading, Sink } from '../dialect.ts'
import { providerErrorIn } from '../provider-error.ts'
import { errorEventFault, malformed, streamFault } from '../provider-fault.ts'
import { TextGather } from '../text-gather.ts'
import { ThinkTags } from '../think-tags.ts'
import { isObject, list, text, type WireObject } from '../wire-value.ts'
import { FunctionCalls } from './function-calls.ts'
import { finishWord, gigachatStop, isFailure } from './stop-reason.ts'
import { gigachatUsage, isEmptyUsage, laterUsage } from './usage.ts'

/** Of v2, whose events are told apart by their names alone. */
const MESSAGE_DONE = 'response.message.done'

export class GigachatReader implements Reader {
  readonly #progress = new AnswerProgress()
  readonly #sink: Sink
  readonly #family: string
  readonly #text: AnswerText
  readonly #reasoning = new TextGather()
  readonly #calls = new FunctionCalls()
  #state = ''
  /** The last one that was told, and what it comes to with those before. */
  #usage: JsonObject | null = null
  #counted: JsonObject | null = null

  constructor(sink: Sink, { profile }: DialectCall) {
    this.#sink = sink
    this.#family = profile.family
    // Some models write their reasoning into the content.
    this.#text = new AnswerText(sink, new ThinkTags(), (piece) => this.#think(piece))
  }

  get progress(): Reader['progress'] {
    return this.#progress.state
  }

  get started(): boolean {
    return this.#progress.started
  }

  get outputLength(): number {
    return this.#progress.outputLength
  }

  event(name: string | undefined, data: string): void {
    const progress = this.#progress
    const chunk = nextChunk(progress, data)
    if (chunk === undefined) return
    this.#chunk(chunk, data)
    if (name === 'error') progress.fail(errorEventFault(chunk))
    else if (name === MESSAGE_DONE) progress.done()
  }

  document(body: Json): void {
    const progress = this.#progress
    if (progress.state === 'closed') return
    this.#chunk(body, null)
    if (progress.fault !== null) return
    if (!isObject(body) || (firstChoice(body) === null && !Array.isArray(body['messages'])))
      return progress.fail(malformed('a JSON body that is neither a completion nor an error'))
    progress.done()
  }

  /** @param data its text, where numbers may be read from it once more; null where they are exact already */
  #chunk(chunk: unknown, data: string | null): void {
    const error = providerErrorIn(chunk)
    if (error !== null) this.#progress.fail(streamFault(error))
    // What came with an error is kept: usage may be there.
    if (isObject(chunk)) this.#content(chunk, data)
  }

  #content(chunk: WireObject, data: string | null): void {
    const { usage } = chunk
    const told = isObject(usage) && (this.#usage === null || !isEmptyUsage(usage as JsonObject))
    if (told) {
      this.#usage = usage as JsonObject
      this.#counted = laterUsage(this.#counted, this.#usage)
    }
    const choice = firstChoice(chunk)
    if (choice === null) this.#messages(chunk, data)
    else this.#choice(choice, data)
    this.#finish(finishWord((choice ?? chunk)['finish_reason']))
    if (told) this.#progress.usageTold()
  }

  #finish(word: string | null): void {
    if (word === null) return
    if (isFailure(word))
      this.#progress.fail(malformed(`finish_reason ${word}: the model wrote arguments that are none`))
    else this.#progress.finished(word)
  }

  /** v1. */
  #choice(choice: WireObject, data: string | null): void {
    const delta = deltaOf(choice)
    if (delta === null) return
    // A whole message after its pieces repeats what has come.
    const repeats = !isObject(choice['delta']) && this.started
    if (!repeats || this.#reasoning.length === 0) this.#progress.count(this.#think(text(delta['reasoning_content'])))
    if (!NOT_AN_ANSWER.has(delta['role']) && !(repeats && this.#text.part() !== null))
      for (const part of partsOf(delta['content'])) this.#say(text(part['text']))
    this.#state ||= text(delta['functions_state_id'])
    const { function_call: wire } = delta
    if (isObject(wire) && !(repeats && this.#calls.size > 0))
      this.#call(data === null ? wire : losslessCall(wire, data))
  }

  /** v2: reasoning is a message of its own, and the last event may hold the whole messages again. */
  #messages(chunk: WireObject, data: string | null): void {
    const messages = list(chunk['messages'])
    const repeats = this.#progress.started && 'finish_reason' in chunk
    for (const message of messages.some(hasCall) ? losslessMessages(messages, data) : messages) {
      if (!isObject(message)) continue
      this.#state ||= text(message['tool_state_id']) || text(message['functions_state_id'])
      for (const part of partsOf(message['content'])) {
        const words = repeats ? '' : text(part['text'])
        if (message['role'] === 'reasoning') this.#progress.count(this.#think(words))
        else if (!NOT_AN_ANSWER.has(message['role'])) this.#say(words)
        if (isObject(part['function_call'])) this.#call(part['function_call'])
      }
    }
  }

  #call(wire: WireObject): void {
    this.#progress.count(this.#calls.fragment(wire))
    if (this.#calls.size > 0) this.#progress.started = true
  }

  #say(piece: string): void {
    this.#progress.count(this.#text.say(piece))
  }

  #think(piece: string): number {
    const shown = this.#reasoning.push(piece)
    if (shown !== '') this.#sink.reasoning(shown)
    return shown.length
  }

  end(): Reading {
    const progress = this.#progress
    progress.over(this.#text.end())
    const { complete, finish } = progress
    const calls = this.#calls.end({ complete, byLength: finish === 'length' })
    const reasoning =
      this.#reasoning.length === 0 ? null : ({ type: 'reasoning', text: this.#reasoning.text() } as const)
    const parts = [reasoning, this.#text.part(), ...calls].filter((part) => part !== null)
    if (complete && finish === null && parts.length === 0) progress.fail(malformed('an end mark without an answer'))
    const counted = this.#counted === null || (parts.length > 0 && isEmptyUsage(this.#counted)) ? null : this.#counted
    return {
      complete: progress.complete,
      parts,
      stop: gigachatStop(
        finish,
        calls.some((call) => call.fault !== 'cut'),
      ),
      rawStop: finish,
      usage: progress.asFarAsTold(gigachatUsage(counted)),
      rawUsage: this.#usage,
      refusal: null,
      fault: progress.fault,
      // An answer has no id of its own; the exchange has one in its headers.
      responseId: null,
      provider_data: this.#state === '' ? null : { family: this.#family, functions_state_id: this.#state },
    }
  }
}

/** How long a built-in function still takes, and what one has found: told while the answer is not there yet. */
const NOT_AN_ANSWER: ReadonlySet<unknown> = new Set(['function_in_progress', 'search_result'])

/** `message` is what a document holds instead. */
function deltaOf(choice: WireObject): WireObject | null {
  const delta = choice['delta'] ?? choice['message']
  return isObject(delta) ? delta : null
}

/** The content of a message of v2: a list of parts, or a text alone. */
function partsOf(content: unknown): WireObject[] {
  return typeof content === 'string' ? [{ text: content }] : list(content).filter(isObject)
}

function hasCall(message: unknown): boolean {
  return isObject(message) && partsOf(message['content']).some((part) => isObject(part['function_call']))
}

/** The call of a chunk, read again so that numbers keep their digits. */
function losslessCall(wire: WireObject, data: string): WireObject {
  if (typeof wire['arguments'] !== 'object') return wire
  const parsed = parseJson(data)
  const choice = parsed.ok && isObject(parsed.value) ? firstChoice(parsed.value) : null
  const exact = choice === null ? undefined : deltaOf(choice)?.['function_call']
  return isObject(exact) ? exact : wire
}

/** @param data null: they are exact already */
function losslessMessages(messages: readonly unknown[], data: string | null): readonly unknown[] {
  const parsed = data === null ? null : parseJson(data)
  return parsed?.ok === true && isObject(parsed.value) ? list(parsed.value['messages']) : messages
}
