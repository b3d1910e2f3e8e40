/**
 * Which parts of stored messages a request leaves out. A part is dropped where the request without it would be the same, byte
 * for byte; so it is asked of the dialect itself, over conversations of one message. Pure, linear in the length of the history.
 */
import type { AssistantMessage, AssistantPart, StoredMessage, ToolCallPart, UserMessage } from '../contract/message.ts'
import { ANCHOR, type Probe } from './probe.ts'

/** Reasoning parts of one message that are looked at together: what a probe writes stays small. */
const GROUP = 8

export interface DroppedParts {
  /** Indexes in the content, ascending. */
  readonly reasoning: readonly number[]
  readonly texts: readonly number[]
  /** Nothing of the message is sent. */
  readonly whole: boolean
}

/** What a request leaves out of each message that is asked for. One for a whole request: it remembers what it has asked. */
export function droppedPartsOf(probe: Probe): (message: StoredMessage) => DroppedParts {
  const blanks = new Map<string, boolean>()

  function same(one: StoredMessage, other: StoredMessage): boolean {
    return probe([ANCHOR, one, ANCHOR]) === probe([ANCHOR, other, ANCHOR])
  }

  /** What becomes of a blank text can depend on whether words stand beside it, which a dialect may join it to. */
  function dropsBlank({ role, content }: UserMessage | AssistantMessage, text: string): boolean {
    const beside = content.some((part) => part.type === 'text' && !isBlank(part.text)) ? 'words' : 'calls'
    const name = `${role} ${beside} ${text}`
    const known = blanks.get(name)
    if (known !== undefined) return known
    const blank = { type: 'text', text } as const
    const word = { type: 'text', text: 'x' } as const
    const made = (...more: readonly (typeof blank)[]): StoredMessage => {
      if (role === 'user') return { ...ANCHOR, content: [word, ...more] }
      return { role, content: [beside === 'words' ? word : CALL, ...more] }
    }
    const drops = same(made(blank), made())
    blanks.set(name, drops)
    return drops
  }

  function droppedOf(message: AssistantMessage, rest: Rest, group: readonly number[]): readonly number[] {
    const shape = shapeOf(message, rest, group)
    const without = (left: ReadonlySet<number>): StoredMessage => ({
      ...message,
      content: shape.filter(({ index }) => !left.has(index)).map(({ part }) => part),
    })
    const whole = without(new Set())
    const find = (some: readonly number[]): readonly number[] => {
      if (some.length === 0) return []
      if (same(whole, without(new Set(some)))) return some
      if (some.length === 1) return []
      const half = some.length >> 1
      return [...find(some.slice(0, half)), ...find(some.slice(half))]
    }
    return find(group)
  }

  return (message) => {
    if (message.role === 'tool') return NOTHING
    const blank = message.content.flatMap((part, index) => (part.type === 'text' && isBlank(part.text) ? [index] : []))
    const texts = blank.filter((index) => dropsBlank(message, textAt(message, index)))
    if (message.role === 'user') return { reasoning: [], texts, whole: false }
    const thoughts = message.content.flatMap((part, index) => (part.type === 'reasoning' ? [index] : []))
    const groups = Array.from({ length: Math.ceil(thoughts.length / GROUP) }, (_none, at) =>
      thoughts.slice(at * GROUP, (at + 1) * GROUP),
    )
    const rest = restOf(message)
    const reasoning = groups.flatMap((group) => droppedOf(message, rest, group))
    const silent = reasoning.length + blank.length === message.content.length
    const whole = silent && probe([ANCHOR, message, ANCHOR]) === probe([ANCHOR, ANCHOR])
    return { reasoning, texts: whole ? blank : texts, whole }
  }
}

const CALL: AssistantPart = { type: 'tool_call', call_id: 'call', tool: 'x', args: {} }
const NOTHING: DroppedParts = { reasoning: [], texts: [], whole: false }

function isBlank(text: string): boolean {
  return text.trim() === ''
}

function textAt({ content }: UserMessage | AssistantMessage, index: number): string {
  const part = content[index]
  return part?.type === 'text' ? part.text : ''
}

/** Where the parts that say or do something stand: the first and the last of each type, and of each family's calls one; ascending. */
type Rest = readonly number[]

function restOf({ content }: AssistantMessage): Rest {
  const says = (part: AssistantPart) => part.type === 'text' && !isBlank(part.text)
  const calls = (part: AssistantPart) => part.type === 'tool_call'
  const places = [
    content.findIndex(says),
    content.findIndex(calls),
    content.findLastIndex(says),
    content.findLastIndex(calls),
    ...new Map(content.flatMap((part, index) => (part.type === 'tool_call' ? [[familyOf(part), index]] : []))).values(),
  ]
  return [...new Set(places)].filter((index) => index !== -1).toSorted((left, right) => left - right)
}

/** Whose call it is: a dialect may write an answer of its own family in another way. */
function familyOf({ provider_data }: ToolCallPart): string | null {
  const family = provider_data?.['family']
  return typeof family === 'string' ? family : null
}

function isAlike(before: AssistantPart | undefined, part: AssistantPart): boolean {
  if (before?.type === 'tool_call' && part.type === 'tool_call') return familyOf(before) === familyOf(part)
  return before?.type === part.type
}

/**
 * The message with no reasoning but a group's, and everything else as short as its form allows: reasoning is judged by itself
 * and by what kind of parts stand before and behind it, never by what they say.
 */
function shapeOf({ content }: AssistantMessage, rest: Rest, group: readonly number[]) {
  const [from = 0, to = from] = [group[0], group.at(-1)]
  const within = Array.from({ length: to - from + 1 }, (_none, at) => from + at)
  const indexes = [...rest.filter((index) => index < from), ...within, ...rest.filter((index) => index > to)]
  const shape: { readonly part: AssistantPart; readonly index: number }[] = []
  for (const index of indexes) {
    const part = content[index]
    if (part === undefined) continue
    if (part.type === 'reasoning') shape.push({ part, index })
    else if (isAlike(shape.at(-1)?.part, part)) continue
    else if (part.type === 'tool_call') {
      const family = familyOf(part)
      shape.push({ part: { ...part, args: {}, provider_data: family === null ? null : { family } }, index })
    } else if (!isBlank(part.text)) shape.push({ part: { type: 'text', text: 'x' }, index })
  }
  return shape
}
