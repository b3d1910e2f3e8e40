/**
 * The run's stream as AG-UI 1.0 events. Pure.
 *
 * AG-UI can take no text back. So each attempt of a step is a message of its own, and one that a reset voids is marked
 * (`metadata.void`) and told of (CUSTOM `reset`): the last assistant message with text and without that mark holds the
 * run's text. A client reads every answer with a fresh verifier and the messages it has, so a reader that resumes is first
 * told the run and what is open, under the ids it knows. The place stands on the last chunk of an event that changes a
 * message, for told twice it would be added twice. The end changes none and has no place: whoever comes back behind it is
 * told it again, for a client takes an answer without an end for a failure.
 */
import type { Json, JsonObject } from '../contract/json.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import { type Chunk, type EventTellers, type StreamTranslator, tellBy } from './stream-translator.ts'

type Data<N extends StreamEvent['event']> = Extract<StreamEvent, { event: N }>['data']
type Part = 'text' | 'reasoning'

const PROTOCOL = '1.0'

/** How often its reader was told everything again; nothing for never. */
const MARK = /^[1-9]\d{0,5}$/

export function createAgUiTranslator(): StreamTranslator {
  return new AgUiTranslator()
}

class AgUiTranslator implements StreamTranslator {
  #runId: string | null = null
  /** Tellings before this one that the reader may have messages of: its ids are others. */
  #tellings = 0
  #step = 0
  #stepOpen = false
  /** Attempts of this step that were given up. */
  #resets = 0
  #open: Part | null = null
  /** What this attempt has shown. */
  readonly #shown = new Set<Part>()
  /** A call of this step was shown. */
  #called = false
  /** Calls without a result: number within the run → id. As many as one step may have. */
  readonly #calls = new Map<number, string>()
  #chunks: Chunk[] = []

  readonly #tellers: EventTellers = {
    start: (data) => this.#start(data),
    step: ({ step }) => this.#beginStep(step),
    delta: ({ text }) => this.#add('text', text),
    reasoning: ({ text }) => this.#add('reasoning', text),
    reset: (data) => this.#reset(data),
    tool_call: (data) => this.#call(data),
    tool_result: (data) => this.#result(data),
    wait: (value) => this.#sayWhole({ type: 'CUSTOM', name: 'wait', value }),
    resync: () => void (this.#tellings += 1),
    done: (data) => this.#end(data),
  }

  tell(event: StreamEvent): readonly Chunk[] {
    this.#chunks = []
    tellBy(this.#tellers, event)
    return this.#chunks
  }

  resume(mark: string): readonly Chunk[] {
    this.#chunks = []
    if (MARK.test(mark)) this.#tellings = Number(mark)
    if (this.#runId === null) return []
    this.#say(this.#runStarted())
    if (this.#stepOpen) this.#say({ type: 'STEP_STARTED', stepName: this.#stepName() })
    if (this.#open !== null) this.#openPart(this.#open)
    return this.#chunks
  }

  #say(data: JsonObject): void {
    this.#chunks.push({ data, place: null })
  }

  /** The last chunk of its event that changes a message. */
  #sayWhole(data: JsonObject): void {
    const mark = this.#tellings === 0 ? '' : String(this.#tellings)
    this.#chunks.push({ data, place: { whole: true, mark } })
  }

  /** What every id of this telling begins with. */
  #base(): string {
    return this.#tellings === 0 ? (this.#runId ?? '') : `${this.#runId ?? ''}~${this.#tellings}`
  }

  #stepName(): string {
    return `step ${this.#step}`
  }

  #messageId(part: Part): string {
    const message = `${this.#base()}:${this.#step}.${this.#resets}`
    return part === 'text' ? message : `${message}:reasoning`
  }

  #runStarted(): JsonObject {
    const runId = this.#runId ?? ''
    return { type: 'RUN_STARTED', threadId: runId, runId, protocolVersion: PROTOCOL }
  }

  #start({ run_id }: Data<'start'>): void {
    this.#runId = run_id
    if (this.#tellings === 0) this.#sayWhole(this.#runStarted())
    else {
      this.#say(this.#runStarted())
      this.#sayWhole({ type: 'CUSTOM', name: 'resync', value: { run_id } })
    }
  }

  #beginStep(step: number): void {
    this.#endStep()
    this.#step = step
    this.#resets = 0
    this.#shown.clear()
    this.#called = false
    this.#stepOpen = true
    this.#sayWhole({ type: 'STEP_STARTED', stepName: this.#stepName() })
  }

  #endStep(): void {
    this.#closePart()
    if (this.#stepOpen) this.#say({ type: 'STEP_FINISHED', stepName: this.#stepName() })
    this.#stepOpen = false
  }

  #add(part: Part, delta: string): void {
    if (this.#open !== part) {
      this.#closePart()
      this.#openPart(part)
    }
    const type = part === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
    this.#sayWhole({ type, messageId: this.#messageId(part), delta })
  }

  #openPart(part: Part): void {
    const messageId = this.#messageId(part)
    this.#open = part
    this.#shown.add(part)
    if (part === 'text') this.#say({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' })
    else {
      this.#say({ type: 'REASONING_START', messageId })
      this.#say({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning' })
    }
  }

  #closePart(facts: JsonObject = {}): void {
    const part = this.#open
    if (part === null) return
    const messageId = this.#messageId(part)
    this.#open = null
    if (part === 'text') this.#say({ type: 'TEXT_MESSAGE_END', messageId, ...facts })
    else {
      this.#say({ type: 'REASONING_MESSAGE_END', messageId, ...facts })
      this.#say({ type: 'REASONING_END', messageId })
    }
  }

  #reset({ step, reason }: Data<'reset'>): void {
    const voided: string[] = []
    // Where calls were made, the text before them stands in the history, and only what follows is another message.
    if (!this.#called) {
      for (const part of this.#shown) {
        if (this.#open !== part) {
          this.#closePart()
          this.#openPart(part)
        }
        this.#closePart({ metadata: { void: reason } })
        voided.push(this.#messageId(part))
      }
    }
    this.#closePart()
    this.#shown.clear()
    this.#resets += 1
    this.#sayWhole({ type: 'CUSTOM', name: 'reset', value: { step, reason, void: voided } })
  }

  #call({ n, tool, label, call_id, args }: Data<'tool_call'>): void {
    this.#closePart()
    const toolCallId = this.#callId(n, call_id)
    this.#called = true
    this.#calls.set(n, toolCallId)
    this.#say({
      type: 'TOOL_CALL_START',
      toolCallId,
      toolCallName: tool ?? 'tool',
      parentMessageId: this.#messageId('text'),
      ...(label === null ? {} : { metadata: { label } }),
    })
    this.#sayWhole({ type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(args ?? {}) })
    this.#say({ type: 'TOOL_CALL_END', toolCallId })
  }

  #callId(n: number, id?: string): string {
    if (id === undefined) return `${this.#base()}:call.${n}`
    return this.#tellings === 0 ? id : `${id}~${this.#tellings}`
  }

  /** A call that was deferred has no result: the end names it. */
  #result({ n, ok, deferred, result }: Data<'tool_result'>): void {
    if (deferred === true) return
    const toolCallId = this.#calls.get(n) ?? this.#callId(n)
    this.#calls.delete(n)
    this.#sayWhole({
      type: 'TOOL_CALL_RESULT',
      messageId: `${toolCallId}:result`,
      toolCallId,
      role: 'tool',
      content: ok ? textOf(result) : 'The call failed.',
      metadata: { ok },
    })
  }

  #end(done: Data<'done'>): void {
    this.#endStep()
    const { status, error } = done
    if (error !== null) {
      this.#say({ type: 'RUN_ERROR', message: error.message, code: error.code })
      return
    }
    const runId = this.#runId ?? ''
    const finished = { type: 'RUN_FINISHED', threadId: runId, runId }
    if (status === 'cancelled') return this.#say({ ...finished, outcome: { type: 'cancelled' } })
    const pending = [...this.#calls.values()]
    const outcome = { type: 'success', ...(pending.length === 0 ? {} : { pendingToolCallIds: pending }) }
    this.#say({ ...finished, outcome, result: { run_id: runId, ...done } })
  }
}

/** A tool message is text. What is not shown is none. */
function textOf(result: Json | undefined): string {
  if (result === undefined) return ''
  return typeof result === 'string' ? result : JSON.stringify(result)
}
