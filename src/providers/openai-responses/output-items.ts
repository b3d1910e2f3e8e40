/**
 * The output items of a response while they arrive: one small gatherer for each kind. Items of tools that the provider runs
 * itself, and kinds nobody knows, are kept as `OtherItem`, of which nothing becomes a part of the answer.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { ModelCall, ModelPart } from '../../engine/ports.ts'
import { argumentsText, MAX_ARGUMENTS_LENGTH, readArguments } from '../arguments.ts'
import type { Sink } from '../dialect.ts'
import { isObject, list, text, type WireObject } from '../wire-value.ts'
import { keptArguments } from './call-arguments.ts'
import { PartedText } from './parted-text.ts'
import { goesBack } from './reasoning-item.ts'

/** Where a piece belongs inside its item. */
export type Place = 'text' | 'refusal' | 'summary' | 'content' | 'arguments'

export interface Piece {
  readonly place: Place
  /** Which part of the item it is of; undefined where the server does not say. */
  readonly part: unknown
  readonly value: string
  /** `value` is the whole part, not its next piece. */
  readonly whole: boolean
}

/** How the answer ended, as far as an item may have been cut by it. */
export interface Ending {
  readonly complete: boolean
  /** The answer ended because it grew too long. */
  readonly byLength: boolean
}

/** Every method gives how many UTF-16 units of output were new. `at`: its place among the items of the response. */
export type OutputItem = MessageItem | ReasoningItem | CallItem | OtherItem

/** An item of a type, empty yet. */
export function openItem(type: string, sink: Sink): OutputItem {
  switch (type) {
    case 'message':
      return new MessageItem(sink)
    case 'reasoning':
      return new ReasoningItem(sink)
    case 'function_call':
      return new CallItem()
    default:
      return new OtherItem(type)
  }
}

export class MessageItem {
  readonly type = 'message'
  at = 0
  done = false
  /** `commentary` or `final_answer`; '' where the model has none. Must go back with the text. */
  phase = ''
  readonly #text: PartedText
  readonly #refusal: PartedText

  constructor(sink: Sink) {
    this.#text = new PartedText('', (shown) => sink.text(shown))
    this.#refusal = new PartedText('', () => undefined)
  }

  begin(item: WireObject): void {
    this.phase = text(item['phase']) || this.phase
  }

  piece({ place, part, value, whole }: Piece): number {
    const into = place === 'text' ? this.#text : this.#refusal
    return whole ? into.part(part, value) : into.piece(part, value)
  }

  finish(item: WireObject): number {
    this.done = true
    this.begin(item)
    const content = list(item['content'])
    return this.#text.all(textsOf(content, 'text')) + this.#refusal.all(textsOf(content, 'refusal'))
  }

  /** Nothing of it was shown. */
  get silent(): boolean {
    return this.#text.length === 0
  }

  get refusal(): string {
    return this.#refusal.text()
  }

  part(): ModelPart | null {
    return this.#text.length === 0 ? null : { type: 'text', text: this.#text.text() }
  }
}

/** The strings that the parts of a list hold in one field. */
function textsOf(parts: readonly unknown[], field: string): string[] {
  return parts.map((part) => (isObject(part) ? text(part[field]) : ''))
}

/** A blank line between two parts of a summary: each is a paragraph with a heading of its own. */
const PARAGRAPHS = '\n\n'

export class ReasoningItem {
  readonly type = 'reasoning'
  at = 0
  done = false
  id = ''
  /** A server that sends a summary and the reasoning itself says the same twice: the first that comes is the text. */
  #place: Place | null = null
  readonly #text: PartedText
  /** As it came, whole; goes back so. */
  #item: JsonObject | null = null

  constructor(sink: Sink) {
    this.#text = new PartedText(PARAGRAPHS, (shown) => sink.reasoning(shown))
  }

  begin(item: WireObject): void {
    this.id = text(item['id']) || this.id
  }

  piece({ place, part, value, whole }: Piece): number {
    if (value === '') return 0
    this.#place ??= place
    if (place !== this.#place) return 0
    return whole ? this.#text.part(part, value) : this.#text.piece(part, value)
  }

  finish(item: WireObject): number {
    this.done = true
    this.begin(item)
    this.#item = item as JsonObject
    const summary = textsOf(list(item['summary']), 'text')
    const content = textsOf(list(item['content']), 'text')
    this.#place ??= summary.some((words) => words !== '') ? 'summary' : 'content'
    return this.#text.all(this.#place === 'summary' ? summary : content)
  }

  /** Nothing of it was shown. */
  get silent(): boolean {
    return this.#text.length === 0
  }

  /** The same item as the end of the response tells it: some servers send the encrypted content only there. */
  backfill(item: WireObject): void {
    const encrypted = text(item['encrypted_content'])
    if (encrypted === '' || this.#item === null || text(this.#item['encrypted_content']) !== '') return
    this.#item = { ...this.#item, encrypted_content: encrypted }
  }

  /** Also with an empty text where the item must go back. */
  part(family: string): ModelPart | null {
    const item = this.#item !== null && goesBack(this.#item) ? this.#item : null
    if (item === null && this.#text.length === 0) return null
    const provider_data: JsonObject = { family, ...(item === null ? {} : { item }) }
    return { type: 'reasoning', text: this.#text.text(), provider_data }
  }
}

export class CallItem {
  readonly type = 'function_call'
  at = 0
  done = false
  /** The `call_id`, which pairs a call with its output; the item's own id is of no use here. */
  id = ''
  #name = ''
  /** The provider's word that the call was cut. */
  #incomplete = false
  #pieces: string[] = []
  #length = 0

  begin(item: WireObject): void {
    this.id = text(item['call_id']) || this.id
    this.#name = text(item['name']) || this.#name
  }

  piece({ value, whole }: Piece): number {
    return whole ? this.#replace(value) : this.#append(value)
  }

  finish(item: WireObject): number {
    this.done = true
    this.begin(item)
    this.#incomplete = item['status'] === 'incomplete'
    return this.#replace(argumentsText(item['arguments']))
  }

  #append(piece: string): number {
    this.#length += piece.length
    if (piece !== '' && this.#length <= MAX_ARGUMENTS_LENGTH) this.#pieces.push(piece)
    return piece.length
  }

  /** Nobody has seen the arguments yet: the whole text simply stands. An empty one is no word against what has come. */
  #replace(whole: string): number {
    if (whole === '') return 0
    const before = this.#length
    this.#pieces = []
    this.#length = 0
    this.#append(whole)
    return Math.max(0, whole.length - before)
  }

  get isNameless(): boolean {
    return this.#name === ''
  }

  /** null: no call. Without a name there is one only where there are an id and arguments: of a tool that does not exist. */
  part({ complete, byLength }: Ending, family: string): ModelCall | null {
    if (this.#name === '' && (this.id === '' || this.#length === 0)) return null
    const own = { family, ...(this.id === '' ? {} : { id: this.id }) }
    const call = { type: 'tool_call', tool: this.#name, provider_data: own } as const
    if (this.#length > MAX_ARGUMENTS_LENGTH) return { ...call, args: null, argsText: '', fault: 'too_large' }
    const argsText = this.#pieces.join('')
    if (this.#incomplete) return { ...call, argsText, args: null, fault: 'cut' }
    const read = readArguments(argsText, !this.done ? 'open' : complete && !byLength ? 'whole' : 'may')
    return { ...call, argsText, ...read, provider_data: { ...own, ...keptArguments(argsText, read.args) } }
  }
}

export class OtherItem {
  readonly type: string
  at = 0
  readonly id = ''
  done = false

  constructor(type: string) {
    this.type = type
  }

  begin(): void {}

  piece(): number {
    return 0
  }

  finish(): number {
    this.done = true
    return 0
  }
}
