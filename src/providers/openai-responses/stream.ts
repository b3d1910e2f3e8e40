/**
 * Reads an answer of the Responses API: an event stream, or one JSON document. It never throws; what cannot be read is a fault
 * in the reading. Only `response.completed` and `response.incomplete` make a stream a whole answer.
 *
 * Dispatch is on the `type` inside an event. The pieces of an item only show early what the whole item says later. Unknown
 * events and items are passed over.
 */
import { parseJson, type Json, type JsonObject } from '../../contract/json.ts'
import type { ModelPart } from '../../engine/ports.ts'
import { argumentsText, MAX_CALLS } from '../arguments.ts'
import type { DialectCall, ProviderFault, Reader, Reading, Sink } from '../dialect.ts'
import { isEndMark } from '../end-mark.ts'
import { providerErrorIn } from '../provider-error.ts'
import { errorEventFault, malformed } from '../provider-fault.ts'
import { isObject, list, parseEvent, text, type WireObject } from '../wire-value.ts'
import { responsesStreamFault } from './errors.ts'
import { ItemIndex } from './item-index.ts'
import { CallItem, MessageItem, openItem, OtherItem, ReasoningItem, type OutputItem } from './output-items.ts'
import { unwrapped } from './parallel-call.ts'
import { pieceRules, type PieceRule } from './piece-rules.ts'
import { responsesStop } from './stop-reason.ts'
import { responsesUsage } from './usage.ts'

/** The statuses a response can end with; the events that bring it bear the same names. */
const FINAL: ReadonlySet<string> = new Set(['completed', 'incomplete', 'failed', 'cancelled'])
const EVENTS = 'response.'
const SECOND_RESPONSE = malformed('a second response begins inside the first')

export class ResponsesReader implements Reader {
  progress: Reader['progress'] = 'open'
  started = false
  outputLength = 0

  readonly #sink: Sink
  readonly #family: string
  readonly #declared: ReadonlySet<string>
  /** In the order in which they were opened. */
  readonly #items: OutputItem[] = []
  readonly #index = new ItemIndex()
  /** The places of the last items that were shown. */
  readonly #spoke: { message: number | null; reasoning: number | null } = { message: null, reasoning: null }
  /** The call that was opened last: where arguments belong that lead to none. */
  #lastCall: CallItem | null = null
  #calls = 0
  #id: string | null = null
  /** How it ended: its status, or why it is incomplete. */
  #stop: string | null = null
  #usage: JsonObject | null = null
  #complete = false
  #fault: ProviderFault | null = null

  constructor(sink: Sink, { ask, profile }: DialectCall) {
    this.#sink = sink
    this.#family = profile.family
    this.#declared = new Set(ask.tools.map((tool) => tool.name))
  }

  event(name: string | undefined, data: string): void {
    if (this.progress === 'closed' || data === '') return
    // Of a gateway; it says nothing of whether the response is whole.
    if (isEndMark(data)) {
      this.progress = 'closed'
      return
    }
    const event = parseEvent(data)
    if (event === undefined) this.#fail(malformed('one event of the stream is not JSON'))
    else if (isObject(event)) this.#event(event, name, data)
  }

  document(body: Json): void {
    if (this.progress === 'closed') return
    if (isObject(body) && Array.isArray(body['output'])) return this.#ended(body, text(body['status']) || 'completed')
    const error = providerErrorIn(body)
    this.#fail(
      error === null ? malformed('a JSON body that is neither a response nor an error') : responsesStreamFault(error),
    )
  }

  #event(event: WireObject, name: string | undefined, data: string): void {
    // Some servers tell the type by the name alone.
    const type = text(event['type']) || (name ?? '')
    const rule = pieceRules.get(type)
    if (rule !== undefined) return this.#piece(event, rule)
    switch (type) {
      case 'response.output_item.added':
        return this.#added(event)
      case 'response.output_item.done':
        return this.#itemDone(event, data)
      case 'response.created':
        // A gateway that asked once more in the middle: two answers are never glued together.
        return this.#items.length > 0 ? this.#fail(SECOND_RESPONSE) : this.#head(event['response'])
      case 'response.queued':
      case 'response.in_progress':
        return this.#head(event['response'])
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return this.#terminal(event['response'], type.slice(EVENTS.length), data)
      default:
        // Other events of the API may tell of an error that is a tool's own.
        if (!type.startsWith(EVENTS) || type === `${EVENTS}error`) this.#errorIn(event, name)
    }
  }

  /** An error is an event of its own, flat, nested or inside a response; gateways also send it in the shape of other APIs. */
  #errorIn(event: WireObject, name: string | undefined): void {
    const inner = isObject(event['response']) ? providerErrorIn({ error: event['response']['error'] }) : null
    const error = inner ?? providerErrorIn(event)
    if (error !== null) this.#fail(responsesStreamFault(error))
    else if (name === 'error') this.#fail(errorEventFault(event))
  }

  #head(response: unknown): void {
    if (isObject(response)) this.#id = text(response['id']) || this.#id
  }

  #piece(event: WireObject, { item: type, place, part, field, whole }: PieceRule): void {
    const known = this.#index.find(event, (item) => item.type === type)
    const item = known ?? (type === 'function_call' ? this.#openCall(event) : null) ?? this.#open(type, event)
    if (item instanceof CallItem) item.begin(event)
    const value = place === 'arguments' ? argumentsText(event[field]) : text(event[field])
    this.#speak(item, () => item.piece({ place, part: event[part], value, whole }))
  }

  /**
   * The call that arguments belong to which lead to none and name none: the last one, while it is open. It would be run without
   * them.
   */
  #openCall(event: WireObject): CallItem | null {
    if (text(event['call_id']) !== '' || text(event['name']) !== '') return null
    const last = this.#lastCall
    return last === null || last.done || last.isNameless ? null : last
  }

  #added(event: WireObject): void {
    const { item: wire } = event
    if (!isObject(wire)) return
    // Some servers number every item 0: one that is done makes room for the next.
    const known = this.#index.find(event, (item) => !item.done && fits(item, wire))
    const item = known ?? this.#open(text(wire['type']), event)
    item.begin(wire)
  }

  #itemDone(event: WireObject, data: string): void {
    if (!isObject(event['item'])) return
    const wire = hasObjectArguments(event['item']) ? exact(event, data, 'item') : event['item']
    const item = this.#index.find(event, (known) => fits(known, wire)) ?? this.#open(text(wire['type']), event)
    this.#speak(item, () => item.finish(wire))
  }

  /** @param event what brought it; null: the end of the response */
  #open(type: string, event: WireObject | null): OutputItem {
    if (type === 'function_call') this.#calls += 1
    const isKept = type !== 'function_call' || this.#calls <= MAX_CALLS
    const item = isKept ? openItem(type, this.#sink) : new OtherItem(type)
    if (type === 'function_call') this.#lastCall = item instanceof CallItem ? item : null
    item.at = this.#items.push(item) - 1
    if (event !== null) this.#index.add(event, item)
    // A message is nothing before its first word; whatever else is opened, the model is at work.
    if (type !== 'message') this.started = true
    return item
  }

  /**
   * The words of an answer stand in the order in which they were shown. An item that first speaks after a later one stands
   * behind it; one that goes on after a later one cannot be put in order.
   * @param say gives how many UTF-16 units of output were new
   */
  #speak(item: OutputItem, say: () => number): void {
    const words = item instanceof MessageItem || item instanceof ReasoningItem ? item : null
    const before = words === null ? null : this.#spoke[words.type]
    const late = words !== null && before !== null && words.at < before
    if (late && words.silent) {
      this.#items[words.at] = new OtherItem(words.type)
      words.at = this.#items.push(words) - 1
    }
    const units = say()
    if (units === 0) return
    this.outputLength += units
    this.started = true
    if (words === null || words.silent) return
    if (before !== null && words.at < before) this.#fail(malformed('an item goes on after a later one has spoken'))
    else this.#spoke[words.type] = words.at
  }

  #terminal(response: unknown, status: string, data: string): void {
    const told = isObject(response) ? response : {}
    const needsDigits = list(told['output']).some(hasObjectArguments)
    const said = text(told['status'])
    this.#ended(needsDigits ? exact({ response: told }, data, 'response') : told, FINAL.has(said) ? said : status)
  }

  #ended(response: WireObject, status: string): void {
    this.#head(response)
    if (isObject(response['usage'])) this.#usage = response['usage'] as JsonObject
    this.#stop = status
    const error = providerErrorIn({ error: response['error'] })
    if (error !== null) return this.#fail(responsesStreamFault(error))
    if (status !== 'completed' && status !== 'incomplete') {
      return this.#fail({ ...malformed(`a response that ended as ${status.slice(0, 40)}`), class: 'server' })
    }
    this.#settle(list(response['output']))
    const details = response['incomplete_details']
    if (status !== 'completed') this.#stop = (isObject(details) && text(details['reason'])) || status
    this.#complete = true
    this.progress = 'closed'
  }

  /**
   * Takes from the end of a response what the events before it left out: whole items, their ends, and encrypted content. The
   * n-th item of a kind here is the n-th that came, unless an id says more.
   */
  #settle(output: readonly unknown[]): void {
    const ofType = new Map<string, OutputItem[]>()
    const byId = new Map<string, ReasoningItem>()
    for (const item of this.#items) {
      const same = ofType.get(item.type)
      if (same === undefined) ofType.set(item.type, [item])
      else same.push(item)
      if (item instanceof ReasoningItem && item.id !== '') byId.set(item.id, item)
    }
    const seen = new Map<string, number>()
    for (const wire of output) {
      if (!isObject(wire)) continue
      const type = text(wire['type'])
      const at = seen.get(type) ?? 0
      seen.set(type, at + 1)
      const item = ofType.get(type)?.[at] ?? this.#open(type, null)
      const named = byId.get(text(wire['id']))
      if (!item.done) this.#speak(item, () => item.finish(wire))
      else if (named !== undefined) named.backfill(wire)
      else if (item instanceof ReasoningItem) item.backfill(wire)
    }
  }

  #fail(fault: ProviderFault): void {
    this.#fault = fault
    this.progress = 'closed'
  }

  end(): Reading {
    this.progress = 'closed'
    const { parts, phases } = this.#parts()
    const refusal = this.#items.map((item) => (item instanceof MessageItem ? item.refusal : '')).join('')
    const hasCalls = parts.some((part) => part.type === 'tool_call' && part.fault !== 'cut')
    return {
      complete: this.#complete && this.#fault === null,
      parts,
      stop: responsesStop(this.#stop, hasCalls, refusal !== ''),
      rawStop: this.#stop,
      usage: responsesUsage(this.#usage, parts.length > 0 || refusal !== ''),
      rawUsage: this.#usage,
      refusal: refusal === '' ? null : refusal,
      fault: this.#fault,
      responseId: this.#id,
      provider_data: phases.some((phase) => phase !== '') ? { family: this.#family, phases } : null,
    }
  }

  /** `phases` has one entry for each text that is not blank, in order: the texts that a history keeps. */
  #parts(): { parts: ModelPart[]; phases: string[] } {
    const ending = { complete: this.#complete, byLength: this.#stop === 'max_output_tokens' }
    const parts: ModelPart[] = []
    const phases: string[] = []
    for (const item of this.#items) {
      if (item instanceof OtherItem) continue
      if (item instanceof CallItem) {
        const call = item.part(ending, this.#family)
        if (call !== null) parts.push(...unwrapped(call, this.#declared))
        continue
      }
      const part = item.part(this.#family)
      if (part === null) continue
      parts.push(part)
      if (item instanceof MessageItem && part.type === 'text' && part.text.trim() !== '') phases.push(item.phase)
    }
    return { parts, phases }
  }
}

/** Whether a whole item may be the one that is open under its index: two calls are told apart by their ids. */
function fits(item: OutputItem, wire: WireObject): boolean {
  if (item.type !== text(wire['type'])) return false
  const callId = text(wire['call_id'])
  return !(item instanceof CallItem) || item.id === '' || callId === '' || item.id === callId
}

function hasObjectArguments(item: unknown): boolean {
  return isObject(item) && isObject(item['arguments'])
}

/** A member of an event, read again so that numbers keep their digits. */
function exact(event: WireObject, data: string, member: 'item' | 'response'): WireObject {
  const parsed = parseJson(data)
  const value = parsed.ok && isObject(parsed.value) ? parsed.value[member] : event[member]
  return isObject(value) ? value : {}
}
