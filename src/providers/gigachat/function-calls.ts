/**
 * The calls of one answer, put together from what the deltas hold. GigaChat sends one call an answer, whole, its arguments as an
 * object; a text in pieces, a whole call that is sent again and more calls are read all the same. v2 may number its calls: an
 * id only tells one call from another here, and never goes back. Linear and bounded.
 */
import { argumentsText, MAX_ARGUMENTS_LENGTH, MAX_CALLS, readArguments } from '../arguments.ts'
import type { ModelCall } from '../../engine/ports.ts'
import { text, type WireObject } from '../wire-value.ts'
import { toolNamed } from './function-name.ts'

interface OpenCall {
  readonly id: string
  name: string
  /** Arguments that came as an object, as JSON; null where they came as text or not yet. */
  object: string | null
  readonly pieces: string[]
  length: number
}

export interface CallsEnding {
  readonly complete: boolean
  readonly byLength: boolean
}

export class FunctionCalls {
  readonly #calls: OpenCall[] = []

  get size(): number {
    return this.#calls.length
  }

  /** Takes one `function_call`; gives how many UTF-16 units of arguments it held. */
  fragment(wire: WireObject): number {
    const name = text(wire['name'])
    const value = wire['arguments']
    const isWhole = typeof value === 'object' && value !== null
    const args = argumentsText(value)
    if (name === '' && args === '') return 0
    const id = text(wire['id'])
    const last = this.#calls.at(-1) ?? null
    if (isWhole && this.#calls.some((call) => isOf(call, id, name) && call.object === args)) return 0
    const continues = last !== null && isOf(last, id, name) && !(isWhole && last.length > 0)
    const call = continues ? last : this.#open(id, name, last)
    if (call === null) return args.length
    call.name ||= name
    if (isWhole) call.object = args
    call.length += args.length
    if (args !== '' && call.length <= MAX_ARGUMENTS_LENGTH) call.pieces.push(args)
    return args.length
  }

  /** null: over the cap. */
  #open(id: string, name: string, before: OpenCall | null): OpenCall | null {
    if (this.#calls.length >= MAX_CALLS) return null
    const call: OpenCall = { id, name: name || (before?.name ?? ''), object: null, pieces: [], length: 0 }
    this.#calls.push(call)
    return call
  }

  /** The calls that came, under the names of their tools. What has no name is none. */
  end({ complete, byLength }: CallsEnding): ModelCall[] {
    const last = this.#calls.at(-1)
    return this.#calls.flatMap((call) => {
      if (call.name === '') return []
      const open = !complete || (byLength && call === last)
      return [readCall(call, open ? 'open' : byLength ? 'may' : 'whole')]
    })
  }
}

/** A name that comes again, late or not at all says nothing of another call. */
function isOf(call: OpenCall, id: string, name: string): boolean {
  if (id !== '' && call.id !== '') return id === call.id
  return name === '' || call.name === '' || name === call.name
}

/** Nothing has to go back with a call. */
function readCall(call: OpenCall, ending: 'whole' | 'may' | 'open'): ModelCall {
  const base = { type: 'tool_call', tool: toolNamed(call.name), provider_data: null } as const
  if (call.length > MAX_ARGUMENTS_LENGTH) return { ...base, args: null, argsText: '', fault: 'too_large' }
  const argsText = call.pieces.join('')
  return { ...base, argsText, ...readArguments(argsText, ending) }
}
