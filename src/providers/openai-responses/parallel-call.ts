/**
 * The wrapper call: some models write several calls as one call of a tool that nobody declared,
 * `parallel({"tool_uses":[{"recipient_name":"functions.f","parameters":{…}}]})`. Its inner calls are run as calls of their
 * own; what goes back is the one call that the model wrote, with one output for all of them. Pure, both ways.
 */
import type { JsonObject } from '../../contract/json.ts'
import type { ToolCallPart } from '../../contract/message.ts'
import type { ModelCall } from '../../engine/ports.ts'
import { MAX_CALLS } from '../arguments.ts'
import { jsonBody } from '../json-body.ts'
import { ownCall } from '../own-material.ts'
import type { Profile } from '../profile.ts'
import type { CallResult } from '../turns.ts'
import { isObject, list, text } from '../wire-value.ts'

const NAMES: ReadonlySet<string> = new Set(['parallel', 'multi_tool_use.parallel'])
const RECIPIENT_PREFIX = 'functions.'

/**
 * The calls inside a wrapper, or the call itself. A wrapper of which one inner call cannot be read stays whole: it is then a
 * call of an unknown tool, and the model is told so.
 * @param declared names of the run's tools; a tool may bear the wrapper's name itself
 */
export function unwrapped(call: ModelCall, declared: ReadonlySet<string>): readonly ModelCall[] {
  if (call.args === null || declared.has(call.tool) || !NAMES.has(call.tool)) return [call]
  const uses = list(call.args['tool_uses'])
  const inner = uses.flatMap((use) => innerCall(use))
  if (inner.length === 0 || inner.length < uses.length || inner.length > MAX_CALLS) return [call]
  const { arguments: kept, ...own } = call.provider_data ?? {}
  const wrapper = { name: call.tool, arguments: text(kept) || jsonBody(call.args), calls: inner.length }
  return inner.map(({ tool, args }, at) => ({
    type: 'tool_call',
    tool,
    args,
    argsText: JSON.stringify(args),
    fault: null,
    provider_data: at === 0 ? { ...own, wrapper } : { family: own['family'] ?? null, wrapped: true },
  }))
}

function innerCall(use: unknown): { readonly tool: string; readonly args: JsonObject }[] {
  const name = isObject(use) ? text(use['recipient_name']) : ''
  const tool = name.startsWith(RECIPIENT_PREFIX) ? name.slice(RECIPIENT_PREFIX.length) : name
  const args = isObject(use) ? use['parameters'] : undefined
  return tool !== '' && isObject(args) ? [{ tool, args: args as JsonObject }] : []
}

/** One call as the provider knows it, and the results of what the engine ran for it. */
export interface CallGroup {
  /** The one that the provider's id belongs to. */
  readonly first: ToolCallPart
  /** What the model wrote; null: the call itself. */
  readonly wrapper: { readonly name: string; readonly arguments: string } | null
  readonly results: readonly CallResult[]
}

/** Puts the inner calls of a wrapper together again where all of them are still there, in their order. */
export function callGroups(results: readonly CallResult[], profile: Profile): CallGroup[] {
  const groups: CallGroup[] = []
  let at = 0
  for (let result = results[at]; result !== undefined; result = results[at]) {
    const wrapper = ownCall(result.call, profile)?.['wrapper']
    const size = isObject(wrapper) ? sizeOf(wrapper['calls']) : 0
    const inside = results.slice(at, at + size)
    const whole = size > 0 && inside.length === size && inside.slice(1).every(({ call }) => isWrapped(call, profile))
    groups.push({
      first: result.call,
      wrapper:
        whole && isObject(wrapper) ? { name: text(wrapper['name']), arguments: text(wrapper['arguments']) } : null,
      results: whole ? inside : [result],
    })
    at += whole ? size : 1
  }
  return groups
}

/** 0: no size that a wrapper can have. */
function sizeOf(calls: unknown): number {
  return Number.isSafeInteger(calls) && (calls as number) > 0 && (calls as number) <= MAX_CALLS ? (calls as number) : 0
}

function isWrapped(call: ToolCallPart, profile: Profile): boolean {
  return ownCall(call, profile)?.['wrapped'] === true
}

/** What the model reads of a group: the result, or a list of all results. */
export function outputOf({ results, wrapper }: CallGroup): string {
  const texts = results.map((result) => result.text)
  return wrapper === null ? texts.join('') : `[${texts.join(',')}]`
}
