/**
 * What becomes of the order, the borders, the names and the ids of a conversation on the way to a model. Pure, linear; told
 * from the conversation as the dialect wrote it (`marked-conversation.ts`).
 */
import { isJsonObject } from '../contract/json.ts'
import { callsOf, type StoredMessage, type ToolCallPart } from '../contract/message.ts'
import type { Change } from '../contract/validation.ts'
import { ownCall } from '../providers/own-material.ts'
import type { Profile } from '../providers/profile.ts'
import { text } from '../providers/wire-value.ts'
import type { Found, Written } from './marked-conversation.ts'

/** A change and where its message stands, to tell them in the order of the history. */
export interface PlacedChange {
  readonly index: number
  readonly place: number
  readonly change: Change
}

export function conversationChanges(
  messages: readonly StoredMessage[],
  { elements, found }: Written,
  profile: Profile,
): PlacedChange[] {
  const owners = ownersOf(messages)
  const byElement = Map.groupBy(found, ({ element }) => element)
  return [
    ...found.flatMap((one) => callChanges(one, messages, profile)),
    ...reordered(found, messages, owners),
    ...split(found, messages, elements),
    ...[...byElement.values()].flatMap((together) => merged(together, owners)),
    ...added(elements, byElement, messages.length),
  ]
}

/** The message a turn begins with: for a result that of its call, for every other message its own. */
function ownersOf(messages: readonly StoredMessage[]): readonly number[] {
  let answer = 0
  return messages.map(({ role }, index) => {
    if (role === 'assistant') answer = index
    return role === 'tool' ? answer : index
  })
}

function changed(index: number, place: number, kind: Change['kind'], rest: string, message: string): PlacedChange {
  return { index, place, change: { kind, path: `messages[${index}]${rest}`, message } }
}

function callChanges({ id, index, name, place }: Found, messages: readonly StoredMessage[], profile: Profile) {
  const call = place === null ? null : callAt(messages[index], place)
  if (call === null || place === null) return []
  const path = `.content[${place}]`
  const changes: PlacedChange[] = []
  if (id === null) {
    const why = `call ${JSON.stringify(call.call_id)} is sent without an id: its result stands directly behind it`
    changes.push(changed(index, place, 'call_id_dropped', `${path}.call_id`, why))
  } else if (id !== call.call_id && id !== text(ownCall(call, profile)?.['id'])) {
    const what = `call ${JSON.stringify(call.call_id)} and its result are sent under the id ${JSON.stringify(id)}`
    changes.push(changed(index, place, 'call_id_rewritten', `${path}.call_id`, what))
  }
  if (name !== null && name !== call.tool) {
    const what = `the name ${JSON.stringify(call.tool)} is sent as ${JSON.stringify(name)}`
    changes.push(changed(index, place, 'name_rewritten', `${path}.tool`, what))
  }
  return changes
}

function callAt(message: StoredMessage | undefined, place: number): ToolCallPart | null {
  const part = message?.role === 'assistant' ? message.content[place] : undefined
  return part?.type === 'tool_call' ? part : null
}

/** Results that stand elsewhere among the results of their answer than they are stored. */
function reordered(found: readonly Found[], messages: readonly StoredMessage[], owners: readonly number[]) {
  const results = found.filter(({ index }) => messages[index]?.role === 'tool')
  return [...Map.groupBy(results, ({ index }) => owners[index] ?? 0)].flatMap(([owner, sent]) => {
    const stored = sent.map(({ index }) => index).toSorted((left, right) => left - right)
    return sent.flatMap(({ index }, at) => {
      if (index === stored[at]) return []
      const what = `is sent as result ${at + 1} of ${sent.length}: results follow the order of the calls of messages[${owner}]`
      return [changed(index, 0, 'results_reordered', '', what)]
    })
  })
}

/** Calls of one answer that do not stand in one message. Where a request is a list of items, none of them is a message. */
function split(found: readonly Found[], messages: readonly StoredMessage[], elements: Written['elements']) {
  const calls = found.filter(({ element, place }) => {
    const message = elements[element]
    return place !== null && isJsonObject(message) && typeof message['role'] === 'string'
  })
  return [...Map.groupBy(calls, ({ index }) => index)].flatMap(([index, those]) => {
    if (new Set(those.map(({ element }) => element)).size < 2) return []
    const message = messages[index]
    const count = message?.role === 'assistant' ? callsOf(message).length : those.length
    const what = `its ${count} calls are sent in messages of their own, each with its result behind it`
    return [changed(index, 0, 'calls_split', '', what)]
  })
}

/** The results of one answer in one message are no merging: that is how they are written. */
function merged(together: readonly Found[], owners: readonly number[]): PlacedChange[] {
  return together.flatMap(({ index }, at) => {
    const before = at === 0 ? undefined : together[at - 1]?.index
    if (before === undefined || owners[before] === owners[index]) return []
    return [changed(index, 0, 'messages_merged', '', `is sent in one message with messages[${before}]`)]
  })
}

/** Messages of the request that hold nothing of the history. */
function added(elements: Written['elements'], byElement: ReadonlyMap<number, readonly Found[]>, length: number) {
  const changes: PlacedChange[] = []
  let next: number | null = null
  for (let at = elements.length - 1; at >= 0; at -= 1) {
    const held = byElement.get(at)?.[0]
    if (held !== undefined) {
      next = held.index
      continue
    }
    const element = elements[at]
    const role = isJsonObject(element) ? text(element['role']) : ''
    const where = next === null ? 'behind' : 'before'
    const what = `a message of the ${role === '' ? 'engine' : role}, written by the engine, is sent ${where} it`
    changes.push(changed(next ?? length - 1, -1, 'message_added', '', what))
  }
  return changes
}
