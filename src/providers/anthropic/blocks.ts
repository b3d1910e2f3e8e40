/**
 * The content blocks of an answer while they arrive: one small gatherer for each kind. What becomes of a block at the end is
 * its `part`; blocks of tools that the provider runs itself, and kinds nobody knows, give none.
 */
import type { ModelPart } from '../../engine/ports.ts'
import { argumentsText, MAX_ARGUMENTS_LENGTH, readArguments } from '../arguments.ts'
import type { Sink } from '../dialect.ts'
import { TextGather } from '../text-gather.ts'
import { isObject, text, type WireObject } from '../wire-value.ts'

/** How the answer ended, as far as a block may have been cut by it. */
interface Ending {
  readonly complete: boolean
  /** The answer ended because it grew too long. */
  readonly byLength: boolean
  /** This is the last block: the only one that a length can have cut. */
  readonly last: boolean
}

/** Words that a user may see, thoughts, and arguments of a call. */
export type Piece = 'text' | 'thinking' | 'arguments'

export interface Block {
  /** What its deltas bring; null: nothing that is read. */
  readonly holds: Piece | null
  /** Takes a delta; gives how many UTF-16 units of output it held. */
  delta(delta: WireObject): number
  stop(): void
  part(ending: Ending, family: string): ModelPart | null
}

/** A block as `content_block_start` opened it, or as it stands whole in a message. */
export function openBlock(block: WireObject, sink: Sink): Block {
  switch (block['type']) {
    case 'text':
      return new TextBlock(sink)
    case 'thinking':
      return new ThinkingBlock(sink)
    case 'redacted_thinking':
      return new RedactedBlock(text(block['data']))
    case 'tool_use':
      return new ToolUseBlock(text(block['id']), text(block['name']), block['input'])
    default:
      return IGNORED
  }
}

/** A block of no use here. */
export const IGNORED: Block = { holds: null, delta: () => 0, stop: () => undefined, part: () => null }

class TextBlock implements Block {
  readonly holds = 'text'
  readonly #gather = new TextGather()
  readonly #sink: Sink

  constructor(sink: Sink) {
    this.#sink = sink
  }

  delta(delta: WireObject): number {
    const shown = this.#gather.push(text(delta['text']))
    if (shown !== '') this.#sink.text(shown)
    return shown.length
  }

  stop(): void {}

  part(): ModelPart | null {
    return this.#gather.length === 0 ? null : { type: 'text', text: this.#gather.text() }
  }
}

class ThinkingBlock implements Block {
  readonly holds = 'thinking'
  readonly #gather = new TextGather()
  readonly #signature: string[] = []
  readonly #sink: Sink

  constructor(sink: Sink) {
    this.#sink = sink
  }

  delta(delta: WireObject): number {
    const signature = text(delta['signature'])
    if (signature !== '') this.#signature.push(signature)
    const shown = this.#gather.push(text(delta['thinking']))
    if (shown !== '') this.#sink.reasoning(shown)
    return shown.length
  }

  stop(): void {}

  /** Also with an empty text: the signature alone must go back. */
  part(_ending: Ending, family: string): ModelPart | null {
    const signature = this.#signature.join('')
    if (signature === '' && this.#gather.length === 0) return null
    return { type: 'reasoning', text: this.#gather.text(), provider_data: { family, type: 'thinking', signature } }
  }
}

class RedactedBlock implements Block {
  readonly holds = null
  readonly #data: string

  constructor(data: string) {
    this.#data = data
  }

  delta(): number {
    return 0
  }

  stop(): void {}

  part(_ending: Ending, family: string): ModelPart {
    return { type: 'reasoning', text: '', provider_data: { family, type: 'redacted_thinking', data: this.#data } }
  }
}

class ToolUseBlock implements Block {
  readonly holds = 'arguments'
  readonly #id: string
  readonly #name: string
  /** Whole in the start of the block, as some servers send it; the usual `{}` there is a placeholder. */
  readonly #input: string
  readonly #pieces: string[] = []
  #length = 0
  #stopped = false

  constructor(id: string, name: string, input: unknown) {
    this.#id = id
    this.#name = name
    this.#input = inputText(input)
    this.#length = this.#input.length
  }

  delta(delta: WireObject): number {
    const piece = argumentsText(delta['partial_json'])
    if (piece === '') return 0
    this.#length = this.#pieces.length === 0 ? piece.length : this.#length + piece.length
    if (this.#length <= MAX_ARGUMENTS_LENGTH) this.#pieces.push(piece)
    return piece.length
  }

  stop(): void {
    this.#stopped = true
  }

  part({ complete, byLength, last }: Ending, family: string): ModelPart {
    const call = { type: 'tool_call', tool: this.#name, provider_data: { family, id: this.#id } } as const
    if (this.#length > MAX_ARGUMENTS_LENGTH) return { ...call, args: null, argsText: '', fault: 'too_large' }
    const argsText = this.#pieces.length === 0 ? this.#input : this.#pieces.join('')
    const open = byLength ? last : !complete && !this.#stopped
    return { ...call, argsText, ...readArguments(argsText, open ? 'open' : complete && !byLength ? 'whole' : 'may') }
  }
}

function inputText(input: unknown): string {
  return isObject(input) && Object.keys(input).length === 0 ? '' : argumentsText(input)
}
