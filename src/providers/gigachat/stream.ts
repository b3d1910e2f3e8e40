/**
 * Reads an answer of GigaChat's v1 API: an event stream, or one JSON document. It never throws; what cannot be read is a fault
 * in the reading.
 *
 * A stream is a whole answer at a finish reason or at `[DONE]`; neither is an interruption. An error anywhere is a failed
 * attempt. No field of a chunk is relied upon.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import type { ModelPart } from '../../engine/ports.ts'
import type { DialectCall, ProviderFault, Reader, Reading, Sink } from '../dialect.ts'
import { ThinkTags } from '../openai-chat/think-tags.ts'
import { malformed, streamFault } from '../provider-fault.ts'
import { TextGather } from '../text-gather.ts'
import { isObject, list, parseEvent, text, type WireObject } from '../wire-value.ts'
import { errorIn } from './errors.ts'
import { FunctionCalls } from './function-calls.ts'
import { finishWord, gigachatStop, isFailure } from './stop-reason.ts'
import { gigachatUsage, isEmptyUsage } from './usage.ts'

const DONE = '[DONE]'
/** The mark and some white space round it: longer data is not worth a look. */
const LONGEST_MARK = 16

export class GigachatReader implements Reader {
  progress: Reader['progress'] = 'open'
  started = false
  outputLength = 0

  readonly #sink: Sink
  readonly #family: string
  readonly #text = new TextGather()
  readonly #reasoning = new TextGather()
  readonly #calls = new FunctionCalls()
  /** Some models write their reasoning into the content. */
  readonly #tags = new ThinkTags('tagged')
  #state = ''
  #finish: string | null = null
  #complete = false
  #usage: JsonObject | null = null
  #fault: ProviderFault | null = null

  constructor(sink: Sink, { profile }: DialectCall) {
    this.#sink = sink
    this.#family = profile.family
  }

  event(name: string | undefined, data: string): void {
    if (this.progress === 'closed' || data === '') return
    if (data.length <= LONGEST_MARK && data.trim() === DONE) return this.#done()
    const chunk = parseEvent(data)
    if (chunk === undefined) return this.#fail(malformed('one event of the stream is not JSON'))
    this.#chunk(chunk, data)
    if (name === 'error') this.#fail(malformed('an error event that says nothing'))
  }

  document(body: Json): void {
    if (this.progress === 'closed') return
    this.#chunk(body, null)
    if (this.#fault !== null) return
    if (!isObject(body) || firstChoice(body) === null)
      return this.#fail(malformed('a JSON body that is neither a completion nor an error'))
    this.#done()
  }

  /** @param data its text, where numbers may be read from it once more; null where they are exact already */
  #chunk(chunk: unknown, data: string | null): void {
    const error = errorIn(chunk)
    // What came with an error is kept: usage may be there.
    if (isObject(chunk)) this.#content(chunk, data)
    if (error !== null) this.#fail(streamFault(error))
  }

  #content(chunk: WireObject, data: string | null): void {
    const { usage } = chunk
    if (isObject(usage) && (this.#usage === null || !isEmptyUsage(usage as JsonObject)))
      this.#usage = usage as JsonObject
    const choice = firstChoice(chunk)
    if (choice === null) return
    const delta = deltaOf(choice)
    // A whole message after its pieces says nothing new.
    if (delta !== null && (isObject(choice['delta']) || !this.started)) this.#delta(delta, data)
    const word = finishWord(choice['finish_reason'])
    if (word !== null) this.#finished(word)
  }

  #delta(delta: WireObject, data: string | null): void {
    this.#think(text(delta['reasoning_content']))
    if (!NOT_AN_ANSWER.has(delta['role'])) this.#say(text(delta['content']))
    this.#state ||= text(delta['functions_state_id'])
    const { function_call: wire } = delta
    if (!isObject(wire)) return
    this.#count(this.#calls.fragment(data === null ? wire : losslessCall(wire, data)))
    if (this.#calls.size > 0) this.started = true
  }

  #say(piece: string): void {
    if (piece === '') return
    const { reasoning, text: rest } = this.#tags.push(piece)
    this.#think(reasoning)
    this.#show(rest)
  }

  #show(piece: string): void {
    const shown = this.#text.push(piece)
    if (shown === '') return
    this.#sink.text(shown)
    this.#count(shown.length)
  }

  #think(piece: string): void {
    const shown = this.#reasoning.push(piece)
    if (shown === '') return
    this.#sink.reasoning(shown)
    this.#count(shown.length)
  }

  #count(units: number): void {
    if (units === 0) return
    this.outputLength += units
    this.started = true
  }

  #finished(word: string): void {
    if (isFailure(word)) return this.#fail(malformed(`finish_reason ${word}: the model wrote arguments that are none`))
    this.#finish ??= word
    this.#complete = true
    this.progress = 'finished'
  }

  #done(): void {
    this.#complete = true
    this.progress = 'closed'
  }

  /** An earlier fault stands. */
  #fail(fault: ProviderFault): void {
    this.#fault ??= fault
    this.progress = 'closed'
  }

  end(): Reading {
    this.progress = 'closed'
    const held = this.#tags.end()
    this.#think(held.reasoning)
    this.#show(held.text)
    const complete = this.#complete && this.#fault === null
    const calls = this.#calls.end({ complete, byLength: this.#finish === 'length' })
    const parts: ModelPart[] = [
      ...(this.#reasoning.length === 0 ? [] : [{ type: 'reasoning', text: this.#reasoning.text() } as const]),
      ...(this.#text.length === 0 ? [] : [{ type: 'text', text: this.#text.text() } as const]),
      ...calls,
    ]
    const fault = this.#fault ?? (complete && this.#finish === null && parts.length === 0 ? NOTHING : null)
    const counted = this.#usage === null || (parts.length > 0 && isEmptyUsage(this.#usage)) ? null : this.#usage
    return {
      complete: complete && fault === null,
      parts,
      stop: gigachatStop(
        this.#finish,
        calls.some((call) => call.fault !== 'cut'),
      ),
      rawStop: this.#finish,
      usage: gigachatUsage(counted),
      rawUsage: this.#usage,
      refusal: null,
      fault,
      // An answer has no id of its own; the exchange has one in its headers.
      responseId: null,
      provider_data: this.#state === '' ? null : { family: this.#family, functions_state_id: this.#state },
    }
  }
}

const NOTHING = malformed('an end mark without an answer')

/** How long a built-in function still takes, and what one has found: told while the answer is not there yet. */
const NOT_AN_ANSWER: ReadonlySet<unknown> = new Set(['function_in_progress', 'search_result'])

/** Choice 0; others exist only where a caller's extra fields asked for them. */
function firstChoice(chunk: WireObject): WireObject | null {
  for (const choice of list(chunk['choices'])) {
    if (isObject(choice) && (choice['index'] ?? 0) === 0) return choice
  }
  return null
}

/** `message` is what a document holds instead. */
function deltaOf(choice: WireObject): WireObject | null {
  const delta = choice['delta'] ?? choice['message']
  return isObject(delta) ? delta : null
}

/** The call of a chunk, read again so that numbers keep their digits. */
function losslessCall(wire: WireObject, data: string): WireObject {
  if (typeof wire['arguments'] !== 'object') return wire
  const parsed = parseJson(data)
  const choice = parsed.ok && isObject(parsed.value) ? firstChoice(parsed.value) : null
  const exact = choice === null ? undefined : deltaOf(choice)?.['function_call']
  return isObject(exact) ? exact : wire
}
