/**
 * Puts the calls of a chat answer together from their fragments. Servers differ in every field: the index may be missing,
 * always 0, or lead to another call; the id may come once, on every fragment, as '' or anew each time; the name may be
 * repeated or split; the arguments may come at once, twice or as an object.
 *
 * The rules: id and name are set once; index and id are two names of one call; only an id or a name opens a call; nothing is
 * judged before the end. Time and memory are linear in the fragments and bounded in calls and arguments.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { ModelCall } from '../../engine/ports.ts'
import { argumentsText, MAX_ARGUMENTS_LENGTH, MAX_CALLS, readArguments } from '../arguments.ts'
import { JsonScan } from '../json-scan.ts'
import { isObject, place, text, type WireObject } from '../wire-value.ts'

interface OpenCall {
  readonly index: number | null
  id: string
  name: string
  readonly pieces: string[]
  length: number
  /** What must go back with the call beside its id, such as a signature. */
  extra: JsonObject | null
  /** How far the pieces were scanned for the end of a whole value; done only when somebody asks. */
  scan: JsonScan | null
  scanned: number
}

export interface CallsEnding {
  readonly complete: boolean
  readonly byLength: boolean
}

export class ToolCalls {
  readonly #declared: ReadonlySet<string>
  readonly #calls: OpenCall[] = []
  readonly #byIndex = new Map<number, OpenCall>()
  readonly #byId = new Map<string, OpenCall>()
  #last: OpenCall | null = null

  /** @param declared names of the run's tools, which tell a whole name from a piece of one */
  constructor(declared: ReadonlySet<string>) {
    this.#declared = declared
  }

  get size(): number {
    return this.#calls.length
  }

  /** Takes one entry of `delta.tool_calls`; gives how many UTF-16 units of arguments it held. */
  fragment(entry: WireObject): number {
    const index = place(entry['index'])
    const wire = isObject(entry['function']) ? entry['function'] : entry
    const id = text(entry['id'])
    const name = text(wire['name'])
    const args = argumentsText(wire['arguments'])
    if (id === '' && name === '' && args === '' && index === null) return 0
    const call = this.#callFor(index, id, name, args)
    this.#last = call
    if (call === null) return args.length
    if (isObject(entry['extra_content'])) call.extra = entry['extra_content'] as JsonObject
    if (call.id === '' && id !== '') this.#identify(call, id)
    this.#rename(call, name)
    call.length += args.length
    if (args !== '' && call.length <= MAX_ARGUMENTS_LENGTH) call.pieces.push(args)
    return args.length
  }

  /** null: over the cap. */
  #callFor(index: number | null, id: string, name: string, args: string): OpenCall | null {
    const known = index === null ? undefined : this.#byIndex.get(index)
    if (known !== undefined) return this.#opensAnother(known, id, name, args) ? this.#open(index, id) : known
    const same = id === '' ? undefined : this.#byId.get(id)
    // A new index with a name is a new call, even under an id that was there before.
    if (same !== undefined && (index === null || name === '')) {
      return this.#opensAnother(same, id, name, args) ? this.#open(index, id) : this.#alias(same, index)
    }
    if (name !== '') return this.#open(index, id)
    if (index !== null && id !== '') return this.#open(index, id)
    return this.#last ?? this.#open(index, id)
  }

  /** Whether a fragment that leads to a call begins a new one instead. */
  #opensAnother(call: OpenCall, id: string, name: string, args: string): boolean {
    if (id !== '' && call.id !== '' && id !== call.id) {
      return (name !== '' && !this.#goesOn(call, name, args)) || this.#isWhole(call)
    }
    if (name === '') return false
    if (name !== call.name && this.#declared.has(name) && this.#declared.has(call.name)) return true
    return args.trimStart().startsWith('{') && this.#isWhole(call)
  }

  /** Under a new id the same name again, and arguments that no call begins with: they go on where the call stopped. */
  #goesOn(call: OpenCall, name: string, args: string): boolean {
    return name === call.name && call.length > 0 && args !== '' && !/^\s*["{]/.test(args)
  }

  /** Linear over the life of a call, however often it is asked. */
  #isWhole(call: OpenCall): boolean {
    call.scan ??= new JsonScan()
    for (; call.scanned < call.pieces.length; call.scanned += 1) call.scan.feed(call.pieces[call.scanned] ?? '')
    return call.scan.end !== null
  }

  #open(index: number | null, id: string): OpenCall | null {
    if (this.#calls.length >= MAX_CALLS) return null
    const call: OpenCall = { index, id: '', name: '', pieces: [], length: 0, extra: null, scan: null, scanned: 0 }
    this.#calls.push(call)
    this.#alias(call, index)
    if (id !== '') this.#identify(call, id)
    return call
  }

  #alias(call: OpenCall, index: number | null): OpenCall {
    if (index !== null) this.#byIndex.set(index, call)
    return call
  }

  #identify(call: OpenCall, id: string): void {
    call.id = id
    this.#byId.set(id, call)
  }

  /** A repeated name says nothing new; another piece is taken only before the arguments, and onto what is no tool's name. */
  #rename(call: OpenCall, name: string): void {
    if (name === '' || name === call.name) return
    if (call.name === '') call.name = name
    else if (call.length === 0 && !this.#declared.has(call.name)) call.name += name
  }

  /**
   * The calls that came, in the order in which they were opened. Without a name there is a call only where there are an id and
   * arguments: one of a tool that does not exist.
   */
  end({ complete, byLength }: CallsEnding, family: string): ModelCall[] {
    const last = this.#calls.at(-1)
    const seen = new Set<string>()
    const calls: ModelCall[] = []
    for (const call of this.#calls) {
      if (call.name === '' && (call.id === '' || call.pieces.every((piece) => piece.trim() === ''))) continue
      const open = !complete || (byLength && call === last)
      const read = readCall(call, open ? 'open' : byLength ? 'may' : 'whole', family)
      // A finished call that is sent once more at its own index is not a second one.
      const key = call.id === '' ? null : JSON.stringify([call.index, call.id, call.name, read.argsText])
      if (key !== null && seen.has(key)) continue
      if (key !== null) seen.add(key)
      calls.push(read)
    }
    return calls
  }
}

function readCall(call: OpenCall, ending: 'whole' | 'may' | 'open', family: string): ModelCall {
  const provider_data: JsonObject = {
    family,
    ...(call.id === '' ? {} : { id: call.id }),
    ...(call.extra === null ? {} : { extra_content: call.extra }),
  }
  const base = { type: 'tool_call', tool: call.name, provider_data } as const
  if (call.length > MAX_ARGUMENTS_LENGTH) return { ...base, args: null, argsText: '', fault: 'too_large' }
  const argsText = call.pieces.join('')
  return { ...base, argsText, ...readArguments(argsText, ending) }
}
