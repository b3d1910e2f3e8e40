/**
 * What an answer means for the run: a pure reading of what arrived (SPEC §8.4). The provider's finish word is never asked
 * whether there are calls; the calls that came are.
 */
import type { StopReason } from '../contract/message.ts'
import { isBlank } from './blank.ts'
import type { ModelCall, ModelMessage, ModelPart } from './ports.ts'

export type Verdict =
  /** The model answered in words: the run ends. */
  | {
      readonly kind: 'answered'
      readonly parts: readonly ModelPart[]
      readonly stop: StopReason
      readonly text: string
    }
  /** It refused, without a word of its own. */
  | { readonly kind: 'refused' }
  /** Whole calls came: they are run. */
  | {
      readonly kind: 'calls'
      readonly parts: readonly ModelPart[]
      readonly calls: readonly ModelCall[]
      readonly text: string
    }
  /** The provider paused a long turn: the same turn goes on. */
  | { readonly kind: 'paused'; readonly parts: readonly ModelPart[] }
  /** A call cut by the length limit, and no whole one. */
  | { readonly kind: 'cut_call'; readonly parts: readonly ModelPart[]; readonly text: string }
  /** Neither text nor a call; `leaked`: what stands for a text is a call that is none. */
  | { readonly kind: 'empty'; readonly stop: StopReason; readonly leaked: boolean }

/** `mayCall` is false on a step without tools: calls are dropped unexecuted then, the text is kept. */
export function judge(message: ModelMessage, mayCall: boolean): Verdict {
  const calls: ModelCall[] = []
  let cut = false
  for (const part of message.parts) {
    if (part.type !== 'tool_call') continue
    if (part.fault === 'cut') cut = true
    else if (mayCall) calls.push(part)
  }
  const parts = message.parts.filter((part) => part.type !== 'tool_call' || (mayCall && part.fault !== 'cut'))
  const text = textOf(parts)
  if (calls.length > 0) return { kind: 'calls', parts, calls, text }
  // A pause without a word leaves nothing to go on from: the same request would only be paused again.
  if (message.stop === 'paused' && mayCall && !isBlank(text)) return { kind: 'paused', parts }
  if (cut && mayCall && message.stop === 'length') return { kind: 'cut_call', parts, text }
  const leaked = isLeakedMarkup(text)
  if (!isBlank(text) && !leaked) {
    return { kind: 'answered', parts, stop: withoutCalls(message.stop), text }
  }
  return message.stop === 'refusal' ? { kind: 'refused' } : { kind: 'empty', stop: withoutCalls(message.stop), leaked }
}

/** An answer without a call that is run did not end for calls, whatever the provider's word for it. */
function withoutCalls(stop: StopReason): StopReason {
  return stop === 'tool_calls' ? 'end_turn' : stop
}

function textOf(parts: readonly ModelPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

/** How models without a working tool parser write a call as text. It is never executed and is no answer either. */
const LEAKS = [
  '<|tool_call',
  '<tool_call>',
  '<tool_calls>',
  '<minimax:tool_call',
  '<function_calls>',
  '<function=',
  '<invoke name=',
  '[TOOL_CALLS]',
  '<|python_tag|>',
  '<｜tool▁call',
  '<｜DSML｜',
  '<|channel|>commentary to=',
]

function isLeakedMarkup(text: string): boolean {
  const start = text.trimStart()
  return LEAKS.some((leak) => start.startsWith(leak))
}
