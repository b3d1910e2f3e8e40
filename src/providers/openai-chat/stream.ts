/**
 * Reads an answer of a chat completions server: an event stream, or one JSON document. It never throws; what cannot be read is a
 * fault in the reading.
 *
 * A stream is a whole answer at a finish reason or at `[DONE]`; neither is an interruption. An error anywhere, also after a
 * finish reason, is a failed attempt. No field of a chunk is relied upon.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import type { ModelPart } from '../../engine/ports.ts'
import type { DialectCall, ProviderFault, Reader, Reading, Sink } from '../dialect.ts'
import { providerErrorIn } from '../provider-error.ts'
import { malformed, streamFault } from '../provider-fault.ts'
import { TextGather } from '../text-gather.ts'
import { isObject, list, parseEvent, text, type WireObject } from '../wire-value.ts'
import { ReasoningGather } from './reasoning-gather.ts'
import { chatStop, finishFault, finishWord, isLength } from './stop-reason.ts'
import { ThinkTags } from './think-tags.ts'
import { ToolCalls } from './tool-calls.ts'
import { chatUsage, isEmptyUsage, usageIn } from './usage.ts'

const DONE = '[DONE]'
/** The mark and some white space round it: longer data is not worth a look. */
const LONGEST_MARK = 16

export class ChatReader implements Reader {
  progress: Reader['progress'] = 'open'
  started = false
  outputLength = 0

  readonly #sink: Sink
  readonly #family: string
  readonly #text = new TextGather()
  readonly #refusal = new TextGather()
  readonly #reasoning: ReasoningGather
  readonly #calls: ToolCalls
  readonly #tags: ThinkTags | null
  #id: string | null = null
  #finish: string | null = null
  #complete = false
  #usage: JsonObject | null = null
  #fault: ProviderFault | null = null

  constructor(sink: Sink, { ask, profile }: DialectCall) {
    this.#sink = sink
    this.#family = profile.family
    this.#reasoning = new ReasoningGather(sink)
    this.#calls = new ToolCalls(new Set(ask.tools.map((tool) => tool.name)))
    this.#tags = profile.chat.thinkTags === 'off' ? null : new ThinkTags(profile.chat.thinkTags)
  }

  event(name: string | undefined, data: string): void {
    if (this.progress === 'closed' || data === '') return
    if (data.length <= LONGEST_MARK && data.trim() === DONE) return this.#done()
    const chunk = parseEvent(data)
    if (chunk === undefined) return this.#fail(malformed('one event of the stream is not JSON'))
    this.#chunk(chunk, data)
    if (name === 'error') this.#fail(this.#fault ?? malformed('an error event that says nothing'))
  }

  document(body: Json): void {
    if (this.progress === 'closed') return
    const choice = isObject(body) ? firstChoice(body) : null
    this.#chunk(body, null)
    if (this.#fault !== null) return
    if (choice === null) return this.#fail(malformed('a JSON body that is neither a completion nor an error'))
    this.#done()
  }

  /** @param data its text, where numbers may be read from it once more; null where they are exact already */
  #chunk(chunk: unknown, data: string | null): void {
    const error = isObject(chunk) ? errorIn(chunk) : providerErrorIn(chunk)
    if (error !== null) this.#fault = streamFault(error)
    // What came with an error is kept: usage often does.
    if (isObject(chunk)) this.#content(chunk, data)
    if (this.#fault !== null) this.progress = 'closed'
  }

  #content(chunk: WireObject, data: string | null): void {
    this.#id ??= text(chunk['id']) || null
    const choice = firstChoice(chunk)
    const usage = usageIn(chunk, choice)
    if (usage !== null && (this.#usage === null || !isEmptyUsage(usage))) this.#usage = usage
    if (choice === null) return
    const delta = isObject(choice['delta']) ? choice['delta'] : this.#wholeMessage(choice)
    if (delta !== null) this.#delta(delta, data)
    const word = finishWord(choice['finish_reason'])
    if (word !== null) this.#finished(word)
  }

  /** A whole message where a delta belongs: a server's only chunk, or its last one, which repeats what has come. */
  #wholeMessage(choice: WireObject): WireObject | null {
    return isObject(choice['message']) && !this.started ? choice['message'] : null
  }

  #delta(delta: WireObject, data: string | null): void {
    this.#count(this.#reasoning.fromFields(delta))
    const { content } = delta
    if (typeof content === 'string') this.#say(content)
    else if (Array.isArray(content)) this.#parts(content)
    const refusal = this.#refusal.push(text(delta['refusal']))
    this.#count(refusal.length)
    const calls = list(delta['tool_calls'])
    if (calls.length > 0) this.#fragments(calls, data)
    else if (isObject(delta['function_call']))
      this.#fragments([{ index: LEGACY, function: delta['function_call'] }], null)
  }

  #say(piece: string): void {
    if (piece === '') return
    if (this.#tags === null) return this.#show(piece)
    const { reasoning, text: rest } = this.#tags.push(piece)
    this.#count(this.#reasoning.push(reasoning, 'tags'))
    this.#show(rest)
  }

  #show(piece: string): void {
    const shown = this.#text.push(piece)
    if (shown === '') return
    this.#sink.text(shown)
    this.#count(shown.length)
  }

  /** Content as a list: texts, and thinking that is a list of texts itself. */
  #parts(parts: readonly unknown[]): void {
    for (const part of parts) {
      if (!isObject(part)) continue
      if (part['type'] === 'thinking') this.#count(this.#reasoning.push(thinkingText(part), 'content'))
      else this.#say(text(part['text']))
    }
  }

  #fragments(entries: readonly unknown[], data: string | null): void {
    const exact = data !== null && entries.some(hasObjectArguments) ? losslessCalls(data) : entries
    for (const entry of exact) if (isObject(entry)) this.#count(this.#calls.fragment(entry))
    if (this.#calls.size > 0) this.started = true
  }

  #count(units: number): void {
    if (units === 0) return
    this.outputLength += units
    this.started = true
  }

  /** The first reason stands: some servers send a plainer one with the usage. */
  #finished(word: string): void {
    const fault = finishFault(word)
    if (fault !== null) return this.#fail({ ...malformed(`finish_reason ${word}`), class: fault })
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
    const held = this.#tags?.end()
    if (held !== undefined) {
      this.#count(this.#reasoning.push(held.reasoning, 'tags'))
      this.#show(held.text)
    }
    const complete = this.#complete && this.#fault === null
    const calls = this.#calls.end({ complete, byLength: isLength(this.#finish) }, this.#family)
    const reasoning = this.#reasoning.part(this.#family)
    const said: ModelPart[] = this.#text.length === 0 ? [] : [{ type: 'text', text: this.#text.text() }]
    const parts: ModelPart[] = [...(reasoning === null ? [] : [reasoning]), ...said, ...calls]
    const refusal = this.#refusal.length === 0 ? null : this.#refusal.text()
    const fault = this.#fault ?? this.#lateFault(complete, parts, refusal)
    return {
      complete: complete && fault === null,
      parts,
      stop: chatStop(
        this.#finish,
        calls.some((call) => call.fault !== 'cut'),
        refusal !== null,
      ),
      rawStop: this.#finish,
      usage: chatUsage(this.#usage, parts.length > 0 || refusal !== null),
      rawUsage: this.#usage,
      refusal,
      fault,
      responseId: this.#id,
      provider_data: null,
    }
  }

  /** What only the whole answer shows: an end without any beginning, and a window that was full before the first word. */
  #lateFault(complete: boolean, parts: readonly ModelPart[], refusal: string | null): ProviderFault | null {
    if (!complete) return null
    if (this.#finish === null && parts.length === 0 && refusal === null)
      return malformed('an end mark without an answer')
    const full = this.#finish === 'model_context_window_exceeded' && this.#text.length === 0
    return full ? { ...malformed('model_context_window_exceeded before any text'), class: 'context_overflow' } : null
  }
}

/** The one call of the API before tool calls. */
const LEGACY = -1

/** Choice 0; others exist only where a caller's extra fields asked for them. */
function firstChoice(chunk: WireObject): WireObject | null {
  for (const choice of list(chunk['choices'])) {
    if (isObject(choice) && (choice['index'] ?? 0) === 0) return choice
  }
  return null
}

function errorIn(chunk: WireObject): ReturnType<typeof providerErrorIn> {
  const { x_groq: groq } = chunk
  return providerErrorIn(chunk) ?? (isObject(groq) ? providerErrorIn(groq) : null)
}

function thinkingText(part: WireObject): string {
  if (typeof part['thinking'] === 'string') return part['thinking']
  return list(part['thinking'])
    .map((piece) => (isObject(piece) ? text(piece['text']) : ''))
    .join('')
}

function hasObjectArguments(entry: unknown): boolean {
  const args = isObject(entry) && isObject(entry['function']) ? entry['function']['arguments'] : null
  return typeof args === 'object' && args !== null
}

/** The fragments of a chunk, read again so that numbers keep their digits. */
function losslessCalls(data: string): readonly unknown[] {
  const parsed = parseJson(data)
  const choice = parsed.ok && isObject(parsed.value) ? firstChoice(parsed.value) : null
  const delta = choice === null ? null : (choice['delta'] ?? choice['message'])
  return isObject(delta) ? list(delta['tool_calls']) : []
}
