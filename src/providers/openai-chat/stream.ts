/**
 * Reads an answer of a chat completions server: an event stream, or one JSON document. It never throws; what cannot be read is a
 * fault in the reading.
 *
 * A stream is a whole answer at a finish reason or at `[DONE]`; neither is an interruption. An error anywhere, also after a
 * finish reason, is a failed attempt. No field of a chunk is relied upon.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import type { ModelPart } from '../../engine/ports.ts'
import { AnswerProgress } from '../answer-progress.ts'
import { AnswerText } from '../answer-text.ts'
import { firstChoice, nextChunk } from '../chat-chunk.ts'
import type { DialectCall, Reader, Reading, Sink } from '../dialect.ts'
import { providerErrorIn } from '../provider-error.ts'
import { errorEventFault, malformed, streamFault } from '../provider-fault.ts'
import { TextGather } from '../text-gather.ts'
import { ThinkTags } from '../think-tags.ts'
import { isObject, list, text, type WireObject } from '../wire-value.ts'
import { ReasoningGather } from './reasoning-gather.ts'
import { chatStop, finishFault, finishWord, isLength } from './stop-reason.ts'
import { ToolCalls } from './tool-calls.ts'
import { chatUsage, isEmptyUsage, laterUsage, usageIn } from './usage.ts'

export class ChatReader implements Reader {
  readonly #progress = new AnswerProgress()
  readonly #family: string
  readonly #text: AnswerText
  readonly #refusal = new TextGather()
  readonly #reasoning: ReasoningGather
  readonly #calls: ToolCalls
  #id: string | null = null
  /** The id of the chunk that told the finish reason; '' where it has none. */
  #finishedUnder = ''
  #usage: JsonObject | null = null

  constructor(sink: Sink, { ask, profile }: DialectCall) {
    this.#family = profile.family
    this.#reasoning = new ReasoningGather(sink, profile.chat.repeatsDetails)
    const tags = profile.chat.thinkTags ? new ThinkTags() : null
    this.#text = new AnswerText(sink, tags, (piece) => this.#reasoning.push(piece, 'tags'))
    this.#calls = new ToolCalls(new Set(ask.tools.map((tool) => tool.name)))
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
  }

  document(body: Json): void {
    const progress = this.#progress
    if (progress.state === 'closed') return
    const choice = isObject(body) ? firstChoice(body) : null
    this.#chunk(body, null)
    if (progress.fault !== null) return
    if (choice === null) return progress.fail(malformed('a JSON body that is neither a completion nor an error'))
    progress.done()
  }

  /** @param data its text, where numbers may be read from it once more; null where they are exact already */
  #chunk(chunk: unknown, data: string | null): void {
    const error = isObject(chunk) ? errorIn(chunk) : providerErrorIn(chunk)
    if (error !== null) this.#progress.fail(streamFault(error))
    // What came with an error is kept: usage often does.
    if (isObject(chunk)) this.#content(chunk, data)
  }

  #content(chunk: WireObject, data: string | null): void {
    const id = text(chunk['id'])
    this.#id ??= id || null
    const choice = firstChoice(chunk)
    const usage = usageIn(chunk, choice)
    const told = usage !== null && (this.#usage === null || !isEmptyUsage(usage))
    if (told) this.#usage = laterUsage(this.#usage, usage)
    if (choice !== null && !this.#isAnother(id)) this.#choice(choice, id, data)
    if (told) this.#progress.usageTold()
  }

  /** Behind its finish reason a chunk under another id belongs to another answer: two are never glued together. */
  #isAnother(id: string): boolean {
    return this.#progress.state === 'finished' && id !== '' && this.#finishedUnder !== '' && id !== this.#finishedUnder
  }

  #choice(choice: WireObject, id: string, data: string | null): void {
    const delta = isObject(choice['delta']) ? choice['delta'] : this.#wholeMessage(choice)
    if (delta !== null) this.#delta(delta, data)
    const word = finishWord(choice['finish_reason'])
    if (word === null) return
    this.#finishedUnder = id
    const fault = finishFault(word)
    if (fault === null) this.#progress.finished(word)
    else this.#progress.fail({ ...malformed(`finish_reason ${word}`), class: fault })
  }

  /** A whole message where a delta belongs: a server's only chunk, or its last one, which repeats what has come, and may add. */
  #wholeMessage({ message }: WireObject): WireObject | null {
    if (!isObject(message) || !this.#progress.started) return isObject(message) ? message : null
    const { content, function_call, refusal, tool_calls, ...reasoning } = message
    return {
      ...(this.#reasoning.part(this.#family) === null ? reasoning : {}),
      ...(this.#text.part() === null && this.#refusal.length === 0 ? { content, refusal } : {}),
      ...(this.#calls.size === 0 ? { function_call, tool_calls } : {}),
    }
  }

  #delta(delta: WireObject, data: string | null): void {
    this.#progress.count(this.#reasoning.fromFields(delta))
    const { content } = delta
    if (typeof content === 'string') this.#progress.count(this.#text.say(content))
    else if (Array.isArray(content)) this.#parts(content)
    else if (isObject(content)) this.#parts([content])
    this.#refuse(delta)
    const { tool_calls: told } = delta
    const calls = isObject(told) ? [told] : list(told)
    if (calls.length > 0) this.#fragments(calls, data)
    else if (isObject(delta['function_call']))
      this.#fragments([{ index: LEGACY, function: delta['function_call'] }], null)
  }

  #refuse({ refusal }: WireObject): void {
    this.#progress.count(this.#refusal.push(text(refusal)).length)
  }

  /** Content as a list: texts, and thinking that is a list of texts itself. */
  #parts(parts: readonly unknown[]): void {
    for (const part of parts) {
      if (typeof part === 'string') this.#progress.count(this.#text.say(part))
      if (!isObject(part)) continue
      if (part['type'] === 'thinking') this.#progress.count(this.#reasoning.push(thinkingText(part), 'content'))
      else this.#progress.count(this.#text.say(textOf(part)))
      this.#refuse(part)
    }
  }

  #fragments(entries: readonly unknown[], data: string | null): void {
    const exact = data !== null && entries.some(hasObjectArguments) ? losslessCalls(data, entries) : entries
    for (const entry of exact) if (isObject(entry)) this.#progress.count(this.#calls.fragment(entry))
    if (this.#calls.size > 0) this.#progress.started = true
  }

  end(): Reading {
    const progress = this.#progress
    progress.over(this.#text.end())
    const { complete, finish } = progress
    const calls = this.#calls.end({ complete, byLength: isLength(finish) }, this.#family)
    const parts = [this.#reasoning.part(this.#family), this.#text.part(), ...calls].filter((part) => part !== null)
    const refusal = this.#refusal.length === 0 ? null : this.#refusal.text()
    if (complete) this.#judgeWhole(parts, refusal)
    return {
      complete: progress.complete,
      parts,
      stop: chatStop(
        finish,
        calls.some((call) => call.fault !== 'cut'),
        refusal !== null,
      ),
      rawStop: finish,
      usage: progress.asFarAsTold(chatUsage(this.#usage, parts.length > 0 || refusal !== null)),
      rawUsage: this.#usage,
      refusal,
      fault: progress.fault,
      responseId: this.#id,
      provider_data: null,
    }
  }

  /** What only the whole answer shows: an end without any beginning, and a window that was full before the first word. */
  #judgeWhole(parts: readonly ModelPart[], refusal: string | null): void {
    const { finish } = this.#progress
    if (finish === null && parts.length === 0 && refusal === null) {
      this.#progress.fail(malformed('an end mark without an answer'))
    } else if (finish === 'model_context_window_exceeded' && !parts.some((part) => part.type === 'text')) {
      this.#progress.fail({ ...malformed('model_context_window_exceeded before any text'), class: 'context_overflow' })
    }
  }
}

/** The one call of the API before tool calls. */
const LEGACY = -1

function errorIn(chunk: WireObject): ReturnType<typeof providerErrorIn> {
  const { x_groq: groq } = chunk
  return providerErrorIn(chunk) ?? (isObject(groq) ? providerErrorIn(groq) : null)
}

/** Of the assistants' API a text is an object that holds it. */
function textOf({ text: told }: WireObject): string {
  return isObject(told) ? text(told['value']) : text(told)
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

/** The fragments of a chunk, read again so that numbers keep their digits; as they are where they nest too deep for that. */
function losslessCalls(data: string, entries: readonly unknown[]): readonly unknown[] {
  const parsed = parseJson(data)
  if (!parsed.ok) return entries
  const choice = isObject(parsed.value) ? firstChoice(parsed.value) : null
  const delta = choice === null ? null : (choice['delta'] ?? choice['message'])
  const told = isObject(delta) ? delta['tool_calls'] : []
  return isObject(told) ? [told] : list(told)
}
