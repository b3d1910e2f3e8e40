/**
 * Reads an answer of the Messages API: an event stream, or one JSON document. It never throws; what cannot be read is a fault
 * in the reading. `message_stop` after a stop reason is the only end mark: nothing else makes a stream a whole answer.
 *
 * Dispatch is on the `type` inside an event, not on its `event:` name, which some servers leave out. Unknown events, blocks
 * and deltas are passed over: the API adds some without a new version.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import type { Tool } from '../../contract/run-request.ts'
import type { ModelPart } from '../../engine/ports.ts'
import { MAX_CALLS } from '../arguments.ts'
import type { DialectCall, ProviderFault, Reader, Reading, Sink } from '../dialect.ts'
import { isEndMark } from '../end-mark.ts'
import type { Profile } from '../profile.ts'
import { providerErrorIn } from '../provider-error.ts'
import { errorEventFault, malformed, streamFault } from '../provider-fault.ts'
import { isObject, list, parseEvent, place, text, type WireObject } from '../wire-value.ts'
import { IGNORED, openBlock, type Block, type Piece } from './blocks.ts'
import { renamed, toolNames, turnedRound } from './property-names.ts'
import { anthropicStop } from './stop-reason.ts'
import { anthropicUsage, overlaid, tellsOutput } from './usage.ts'
import { unwrappedArguments } from './wrapped-arguments.ts'

export class AnthropicReader implements Reader {
  progress: Reader['progress'] = 'open'
  started = false
  outputLength = 0

  readonly #sink: Sink
  readonly #family: string
  readonly #tools: readonly Tool[]
  readonly #rules: Profile['anthropic']
  /** In the order in which they were opened. */
  readonly #blocks: Block[] = []
  /** The place among them of the block that an index means now. */
  readonly #places = new Map<unknown, number>()
  /** The call that was opened last: where arguments belong that lead to no call. */
  #lastCall: Block | null = null
  /** The places of the last text and the last thinking that were shown. */
  readonly #shown = { text: -1, thinking: -1 }
  #calls = 0
  #id: string | null = null
  #stop: string | null = null
  #usage: JsonObject | null = null
  /** An output count has come that is not the placeholder of `message_start`. */
  #outputTold = false
  #complete = false
  #fault: ProviderFault | null = null

  constructor(sink: Sink, { ask, profile }: DialectCall) {
    this.#sink = sink
    this.#tools = ask.tools
    this.#rules = profile.anthropic
    this.#family = profile.family
  }

  event(name: string | undefined, data: string): void {
    if (this.progress === 'closed' || data === '') return
    const event = parseEvent(data)
    // Compatible servers send the end mark of another API; it says nothing of whether the message is whole.
    if (event === undefined && isEndMark(data)) return
    if (event === undefined) this.#fail(malformed('one event of the stream is not JSON'))
    else if (isObject(event)) this.#event(event, name, data)
  }

  document(body: Json): void {
    if (this.progress === 'closed') return
    const error = providerErrorIn(body)
    if (error !== null) return this.#fail(streamFault(error))
    if (!isObject(body) || !Array.isArray(body['content'])) {
      return this.#fail(malformed('a JSON body that is neither a message nor an error'))
    }
    this.#message(body)
    this.#close()
  }

  #event(event: WireObject, name: string | undefined, data: string): void {
    // Some servers tell the type by the name alone.
    switch (event['type'] ?? name) {
      case 'content_block_delta':
        return this.#delta(event, data)
      case 'content_block_start':
        return this.#start(event['index'], event['content_block'], data)
      case 'content_block_stop':
        return this.#at(event['index'])?.stop()
      case 'message_start':
        return this.#messageStart(event, data)
      case 'message_delta':
        return this.#messageDelta(event)
      case 'message_stop':
        return this.#close()
      default: {
        // Compatible servers also write errors in the shape of other APIs, without a type.
        const error = providerErrorIn(event)
        if (error !== null) this.#fail(streamFault(error))
        else if (name === 'error') this.#fail(errorEventFault(event))
      }
    }
  }

  #messageStart(event: WireObject, data: string): void {
    const message = event['message']
    if (!isObject(message)) return
    const id = text(message['id'])
    if (this.#id !== null) {
      if (id !== this.#id) this.#fail(malformed('a second message begins inside the first'))
      return
    }
    // A message that is whole already (programmatic tool calling) holds arguments, whose digits are kept.
    this.#message(list(message['content']).length === 0 ? message : lossless(data, 'message', message))
  }

  /** The head of a message and whatever stands in it already. */
  #message(message: WireObject): void {
    this.#id = text(message['id'])
    const usage = message['usage']
    if (isObject(usage)) this.#usage = usage as JsonObject
    this.#stop = text(message['stop_reason']) || null
    this.#outputTold = this.#stop !== null
    for (const [index, block] of list(message['content']).entries()) {
      if (!isObject(block)) continue
      this.#open(index, block)
      this.#at(index)?.stop()
    }
  }

  #start(index: unknown, block: unknown, data: string): void {
    if (!isObject(block)) return
    const { input } = block
    const whole = isObject(input) && Object.keys(input).length > 0
    this.#open(index, whole ? lossless(data, 'content_block', block) : block)
  }

  #open(index: unknown, wire: WireObject): void {
    const isCall = wire['type'] === 'tool_use'
    if (isCall) this.#calls += 1
    const block = isCall && this.#calls > MAX_CALLS ? IGNORED : openBlock(wire, this.#sink)
    if (isCall) this.#lastCall = block
    this.#add(index, block)
    if (wire['type'] !== 'text' && wire['type'] !== 'thinking') this.started = true
    // A block may be opened with content in it.
    this.#take(index, wire)
  }

  #add(index: unknown, block: Block): void {
    this.#places.set(placeOf(index), this.#blocks.length)
    this.#blocks.push(block)
  }

  #placeAt(index: unknown): number {
    return this.#places.get(placeOf(index)) ?? -1
  }

  #at(index: unknown): Block | undefined {
    return this.#blocks[this.#placeAt(index)]
  }

  /**
   * A piece whose index leads to no block, or to one of another kind, is not lost. Words have a block of their own then, and
   * arguments belong to the last call, which would be run without them. A call without its start has no name, and is none.
   */
  #delta({ delta, index }: WireObject, data: string): void {
    if (!isObject(delta)) return
    const piece = pieceOf(delta)
    const { holds } = this.#at(index) ?? STRAY
    if (piece === null || holds === null || holds === piece) return this.#take(index, exactDelta(delta, data))
    if (piece === 'arguments') return this.#count(this.#lastCall?.delta(exactDelta(delta, data)) ?? 0)
    this.#add(index, openBlock({ type: piece }, this.#sink))
    this.#take(index, delta)
  }

  /** The words of an answer stand in the order in which they were shown: a block that goes on behind a later one is a new one. */
  #take(index: unknown, delta: WireObject): void {
    const { holds } = this.#at(index) ?? IGNORED
    const words = holds === 'arguments' ? null : holds
    if (words !== null && this.#placeAt(index) < this.#shown[words]) {
      this.#add(index, openBlock({ type: words }, this.#sink))
    }
    const units = this.#at(index)?.delta(delta) ?? 0
    if (words !== null && units > 0) this.#shown[words] = this.#placeAt(index)
    this.#count(units)
  }

  #count(units: number): void {
    if (units === 0) return
    this.outputLength += units
    this.started = true
  }

  #messageDelta({ delta, usage }: WireObject): void {
    if (isObject(delta)) this.#stop = text(delta['stop_reason']) || this.#stop
    if (!isObject(usage)) return
    this.#outputTold ||= tellsOutput(this.#usage, usage as JsonObject)
    this.#usage = overlaid(this.#usage, usage as JsonObject)
  }

  /** An end that was never given a reason is an interruption. */
  #close(): void {
    this.#complete = this.#stop !== null
    this.progress = 'closed'
  }

  #fail(fault: ProviderFault): void {
    this.#fault = fault
    this.progress = 'closed'
  }

  end(): Reading {
    this.progress = 'closed'
    const parts = this.#parts()
    const hasText = parts.some((part) => part.type === 'text')
    if (this.#complete && this.#stop === 'model_context_window_exceeded' && !hasText) this.#fault = WINDOW_FULL
    const hasCalls = parts.some((part) => part.type === 'tool_call' && part.fault !== 'cut')
    return {
      complete: this.#complete && this.#fault === null,
      parts,
      stop: anthropicStop(this.#stop, hasCalls),
      rawStop: this.#stop,
      // A running total of an answer that was cut is not its end.
      usage: anthropicUsage(this.#usage, this.#outputTold && this.#stop !== null, parts.length > 0),
      rawUsage: this.#usage,
      refusal: null,
      fault: this.#fault,
      responseId: this.#id === '' ? null : this.#id,
      provider_data: null,
    }
  }

  #parts(): ModelPart[] {
    const ending = { complete: this.#complete, byLength: this.#stop !== null && BY_LENGTH.has(this.#stop) }
    const last = this.#blocks.at(-1)
    const parts: ModelPart[] = []
    for (const block of this.#blocks) {
      const part = block.part({ ...ending, last: block === last }, this.#family)
      if (part !== null) parts.push(this.#declared(part))
    }
    return parts
  }

  /** A call with its arguments as its tool knows them. */
  #declared(part: ModelPart): ModelPart {
    const tool = part.type === 'tool_call' ? this.#tools.find(({ name }) => name === part.tool) : undefined
    if (part.type !== 'tool_call' || part.args === null || tool === undefined) return part
    const names = toolNames([tool], this.#rules.propertyNames).get(tool.name)
    const args = this.#rules.wrapsArguments ? unwrappedArguments(part.args, tool.input_schema) : part.args
    return { ...part, args: renamed(args, turnedRound(names)) }
  }
}

/** An index as one number, whether it comes as a number or as digits. */
function placeOf(index: unknown): unknown {
  return place(index) ?? index
}

/** Where an index leads that was never opened: to nothing that any piece belongs to. */
const STRAY = { holds: undefined }

/** null: a signature, a citation, or what nobody knows. */
function pieceOf(delta: WireObject): Piece | null {
  if (delta['type'] === 'text_delta') return 'text'
  if (delta['type'] === 'thinking_delta') return 'thinking'
  return 'partial_json' in delta ? 'arguments' : null
}

/** Arguments that come as a value instead of its text keep their digits. */
function exactDelta(delta: WireObject, data: string): WireObject {
  return isObject(delta['partial_json']) ? lossless(data, 'delta', delta) : delta
}

const BY_LENGTH: ReadonlySet<string> = new Set(['max_tokens', 'model_context_window_exceeded'])

const WINDOW_FULL: ProviderFault = {
  class: 'context_overflow',
  detail: 'model_context_window_exceeded: the window was full before any text came',
  status: null,
  retryAfterMs: null,
  repair: null,
}

/** The same member of an event, read again so that numbers keep their digits. */
function lossless(data: string, member: string, lossy: WireObject): WireObject {
  const parsed = parseJson(data)
  const value = parsed.ok && isObject(parsed.value) ? parsed.value[member] : undefined
  return isObject(value) ? value : lossy
}
