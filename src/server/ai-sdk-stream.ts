/**
 * The run's stream as a UI message stream of the AI SDK, version 7 (`x-vercel-ai-ui-message-stream: v1`). Pure.
 *
 * The whole run is one message whose id is the run's. Its last step's text is the run's text: what a reset voids is taken
 * back by `reset-step`. A reader that resumes gets exactly the chunks it lacks, as the SDK wants a continuation to be, so a
 * place between two chunks of one event, or inside a part, is named by a mark: which part and step its parser has open.
 */
import type { JsonObject } from '../contract/json.ts'
import type { StopReason } from '../contract/message.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import { aiSdkValue } from './ai-sdk-value.ts'
import { type Chunk, type EventTellers, type StreamTranslator, tellBy } from './stream-translator.ts'

export const AI_SDK_HEADERS = { 'x-vercel-ai-ui-message-stream': 'v1' } as const

type Data<N extends StreamEvent['event']> = Extract<StreamEvent, { event: N }>['data']
type Part = 'text' | 'reasoning'

/** Which step and part a reader has open, `-` for none; or how much of the run's end it has. */
const MARK = /^([s-])([tr-])$|^e([1-9])$/

const FINISH_REASONS: Readonly<Record<StopReason, string>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_calls: 'tool-calls',
  length: 'length',
  refusal: 'content-filter',
  // What there is may be incomplete.
  cancelled: 'interrupted',
  timeout: 'interrupted',
  paused: 'interrupted',
  error: 'error',
  other: 'other',
}

export function createAiSdkTranslator(): StreamTranslator {
  return new AiSdkTranslator()
}

class AiSdkTranslator implements StreamTranslator {
  #runId = ''
  #step = 0
  #stepOpen = false
  /** The part that text is being added to. */
  #open: Part | null = null
  /** A call of this step was shown. */
  #called = false
  /** Calls without a result: number within the run → id. As many as one step may have. */
  readonly #calls = new Map<number, string>()
  /** Chunks of the run's end that the reader has. */
  #endHad = 0
  /** Chunks of the event in hand, each with the mark behind it. */
  #chunks: Chunk[] = []

  readonly #tellers: EventTellers = {
    start: (data) => this.#start(data),
    step: ({ step }) => this.#beginStep(step),
    delta: ({ text }) => this.#add('text', text),
    reasoning: ({ text }) => this.#add('reasoning', text),
    reset: () => this.#reset(),
    tool_call: (data) => this.#call(data),
    tool_result: (data) => this.#result(data),
    wait: (data) => this.#say({ type: 'data-wait', data, transient: true }),
    resync: () => this.#forget(),
    done: (data) => this.#end(data),
  }

  tell(event: StreamEvent): readonly Chunk[] {
    this.#chunks = []
    tellBy(this.#tellers, event)
    const last = this.#chunks.pop()
    // What is open is named: the log may have let go of what opened it when its reader comes back.
    const mark = this.#open === null ? '' : this.#mark()
    if (last !== undefined) this.#chunks.push({ data: last.data, place: { whole: true, mark } })
    return this.#chunks
  }

  resume(mark: string): readonly Chunk[] {
    const [found, step, part, endHad] = MARK.exec(mark) ?? []
    if (found === undefined) return []
    this.#stepOpen = step === 's'
    this.#open = part === 't' ? 'text' : part === 'r' ? 'reasoning' : null
    this.#endHad = Number(endHad ?? 0)
    return []
  }

  #start({ run_id }: Data<'start'>): void {
    this.#runId = run_id
    this.#say({ type: 'start', messageId: run_id, messageMetadata: { run_id } })
  }

  /** Everything is told again from `start` on, at which the SDK forgets what it had. */
  #forget(): void {
    this.#stepOpen = false
    this.#open = null
    this.#endHad = 0
  }

  #mark(): string {
    const part = this.#open === null ? '-' : this.#open === 'text' ? 't' : 'r'
    return `${this.#stepOpen ? 's' : '-'}${part}`
  }

  #say(data: JsonObject | string): void {
    this.#sayAt(this.#mark(), data)
  }

  #sayAt(mark: string, data: JsonObject | string): void {
    this.#chunks.push({ data, place: { whole: false, mark } })
  }

  #partId(part: Part): string {
    return `${part}-${this.#step}`
  }

  #add(part: Part, delta: string): void {
    if (this.#open !== part) {
      this.#closePart()
      this.#open = part
      this.#say({ type: `${part}-start`, id: this.#partId(part) })
    }
    this.#say({ type: `${part}-delta`, id: this.#partId(part), delta })
  }

  #closePart(): void {
    if (this.#open === null) return
    const part = this.#open
    this.#open = null
    this.#say({ type: `${part}-end`, id: this.#partId(part) })
  }

  #beginStep(step: number): void {
    this.#endStep()
    this.#step = step
    this.#called = false
    this.#stepOpen = true
    this.#say({ type: 'start-step' })
  }

  #endStep(): void {
    this.#closePart()
    if (!this.#stepOpen) return
    this.#stepOpen = false
    this.#say({ type: 'finish-step' })
  }

  #reset(): void {
    // `reset-step` would take the calls back as well, and they have happened: what follows stands in a step of its own.
    if (this.#called) {
      this.#beginStep(this.#step)
      return
    }
    this.#open = null
    this.#say({ type: 'reset-step' })
  }

  /** `providerExecuted`: the page is not asked to run it. `dynamic`: the page need not know the tool. */
  #call({ n, tool, label, call_id, args }: Data<'tool_call'>): void {
    this.#closePart()
    const toolCallId = call_id ?? `${this.#runId}:${n}`
    this.#called = true
    this.#calls.set(n, toolCallId)
    this.#say({
      type: 'tool-input-available',
      toolCallId,
      toolName: tool ?? 'tool',
      input: aiSdkValue(args ?? {}),
      dynamic: true,
      providerExecuted: true,
      ...(label === null ? {} : { title: label }),
    })
  }

  /** A call that was deferred has no result: its part goes on waiting for one. */
  #result({ n, ok, deferred, result }: Data<'tool_result'>): void {
    if (deferred === true) return
    const toolCallId = this.#calls.get(n) ?? `${this.#runId}:${n}`
    this.#calls.delete(n)
    const facts = { toolCallId, dynamic: true, providerExecuted: true }
    if (ok) this.#say({ type: 'tool-output-available', ...facts, output: aiSdkValue(result ?? null) })
    else this.#say({ type: 'tool-output-error', ...facts, errorText: 'The call failed.' })
  }

  /** The facts go before `error`, behind which the SDK reads nothing more. */
  #end(done: Data<'done'>): void {
    const { status, stop_reason, error } = done
    this.#endStep()
    const end: (JsonObject | string)[] = [
      { type: 'message-metadata', messageMetadata: { run_id: this.#runId, ...done } },
      ...(error === null ? [] : [{ type: 'error', errorText: error.message }]),
      ...(status === 'cancelled' ? [{ type: 'abort', reason: status }] : []),
      { type: 'finish', finishReason: stop_reason === null ? 'other' : FINISH_REASONS[stop_reason] },
      '[DONE]',
    ]
    for (let had = this.#endHad; had < end.length; had += 1) this.#sayAt(`e${had + 1}`, end[had] ?? '')
  }
}
