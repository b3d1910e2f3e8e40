/**
 * Every change that a request makes to what the harness sent, in one list: first what concerns the models and the tools, then
 * the conversation in its own order. Pure, linear.
 *
 * Told from the request itself and from what its dialect says of smaller ones; no rule of a dialect stands here. The stamps of
 * SPEC §4.5, the notes of §8.7, the form of §13 and the marks for a provider's cache are not changes.
 */
import { canonical } from '../contract/canonical.ts'
import { isJsonObject, type Json, type JsonObject } from '../contract/json.ts'
import type { StoredMessage } from '../contract/message.ts'
import type { Warning } from '../contract/result.ts'
import type { Change } from '../contract/validation.ts'
import { wellFormedJson } from '../providers/json-body.ts'
import { isFetched, sentPart } from '../providers/sent-part.ts'
import { extraFields } from '../providers/wire-params.ts'
import { conversationChanges, type PlacedChange } from './conversation-changes.ts'
import { droppedPartsOf, type DroppedParts } from './dropped-parts.ts'
import { filledReasoningOf } from './filled-reasoning.ts'
import type { FirstRequest } from './first-request.ts'
import { writtenConversation } from './marked-conversation.ts'
import { probeOf } from './probe.ts'

/**
 * @param body of the request, read
 * @param path of the target: `llm`, `llm.fallbacks[0]`
 */
export function changesOf(first: FirstRequest, body: JsonObject, path: string) {
  const replaced = replacedFields(first)
  const { warnings } = first.request
  return [
    ...warnings.flatMap(changeOfParam),
    ...replaced.map((field): Change => {
      const message = `replaces what the engine would send as ${JSON.stringify(field)}`
      return { kind: 'field_replaced', path: `${path}.params.extra.${field}`, message }
    }),
    ...toolChanges(first, body),
    ...messageChanges(first, warnings),
  ]
}

const PART = /^messages\[(\d+)\]\.content\[(\d+)\]$/

function changeOfParam({ code, message, path }: Warning): Change[] {
  return code === 'param_dropped' ? [{ kind: code, path: path ?? '', message }] : []
}

/** Fields of the engine's that the caller's own are laid over. */
function replacedFields({ call, dialect }: FirstRequest): string[] {
  const extra = Object.keys(extraFields(call.target.params))
  if (extra.length === 0) return []
  const target = { ...call.target, params: { ...call.target.params, extra: {} } }
  const plain: unknown = JSON.parse(dialect.request({ ...call, target, ask: { ...call.ask, messages: [] } }).body)
  return extra.filter((field) => typeof plain === 'object' && plain !== null && Object.hasOwn(plain, field))
}

function toolChanges({ call }: FirstRequest, body: JsonObject): Change[] {
  const { tools } = call.ask
  const sent = [body['tools'], body['functions']].find((list) => Array.isArray(list)) as readonly Json[] | undefined
  if (tools.length > 0 && sent === undefined) {
    const message = `${call.target.model} is sent no tools in a step that may not use them`
    return [{ kind: 'tools_left_out', path: 'tools', message }]
  }
  return tools.flatMap((tool, index): Change[] => {
    const { name, schema } = toolAt(sent?.[index])
    const path = `tools[${index}]`
    const changes: Change[] = illFormedText(tool.description, `${path}.description`)
    if (typeof name === 'string' && name !== tool.name) {
      const message = `the name ${JSON.stringify(tool.name)} is sent as ${JSON.stringify(name)}`
      changes.push({ kind: 'name_rewritten', path: `${path}.name`, message })
    }
    if (schema !== undefined && canonical(schema) !== canonical(tool.input_schema)) {
      const message = 'is shown to the model in a plainer form; arguments are checked against it as it was sent'
      changes.push({ kind: 'schema_rewritten', path: `${path}.input_schema`, message })
    }
    return changes
  })
}

function illFormedText(text: string, path: string): Change[] {
  return text.isWellFormed() ? [] : [{ kind: 'characters_replaced', path, message: REPLACED }]
}

/** A tool's name and schema wherever a format puts them. */
function toolAt(sent: Json | undefined): { readonly name: Json | undefined; readonly schema: Json | undefined } {
  const tool = isJsonObject(sent) ? sent : {}
  const inner = isJsonObject(tool['function']) ? tool['function'] : tool
  return { name: inner['name'], schema: inner['parameters'] ?? inner['input_schema'] }
}

function messageChanges(first: FirstRequest, warnings: readonly Warning[]): Change[] {
  const { ask, profile } = first.call
  const probe = probeOf(first)
  const droppedOf = droppedPartsOf(probe)
  const fillOf = filledReasoningOf(first)
  const placed: PlacedChange[] = conversationChanges(ask.messages, writtenConversation(ask.messages, probe), profile)
  for (const { code, message, path } of warnings) {
    const [, index, place] = PART.exec(path ?? '') ?? []
    if (code !== 'part_replaced' || path === null) continue
    placed.push({ index: Number(index), place: Number(place), change: { kind: code, path, message } })
  }
  for (const fetched of fetchedParts(first)) placed.push(fetched)
  for (const [index, message] of ask.messages.entries()) {
    const dropped = droppedOf(message)
    // One by one: a message may have more parts than a call takes arguments.
    for (const one of contentChanges(index, message, dropped)) placed.push(one)
    const fill = fillOf(message)
    if (fill === null) continue
    const what = `is sent with ${fill === '' ? 'an empty text' : JSON.stringify(fill)} in the place of reasoning, which this model wants`
    placed.push({ index, place: -1, change: { kind: 'reasoning_added', path: `messages[${index}]`, message: what } })
  }
  placed.sort((one, other) => one.index - other.index || one.place - other.place)
  return [...illFormedText(ask.system, 'system'), ...placed.map(({ change }) => change)]
}

/** Parts whose address the engine reads in the model's place. */
function fetchedParts({ call }: FirstRequest): PlacedChange[] {
  return call.ask.messages.flatMap((message, index) => {
    if (message.role !== 'user') return []
    return message.content.flatMap((part, place): PlacedChange[] => {
      if (part.type === 'text' || !isFetched(part, call) || sentPart(part, call) === null) return []
      const what = `is fetched from ${URL.parse(part.url ?? '')?.hostname ?? 'its address'} and sent as data, or replaced where that fails`
      const path = `messages[${index}].content[${place}]`
      return [{ index, place, change: { kind: 'part_fetched', path, message: what } }]
    })
  })
}

function contentChanges(index: number, message: StoredMessage, dropped: DroppedParts): PlacedChange[] {
  const at = (place: number, kind: Change['kind'], what: string): PlacedChange => {
    const path = `messages[${index}].content[${place}]`
    return { index, place, change: { kind, path, message: what } }
  }
  const path = `messages[${index}]`
  const whole: PlacedChange[] = dropped.whole
    ? [{ index, place: -1, change: { kind: 'message_dropped', path, message: 'nothing of it can be sent' } }]
    : []
  return [
    ...whole,
    ...dropped.reasoning.map((place) => at(place, 'reasoning_dropped', 'is not sent to this model')),
    ...dropped.texts.map((place) => at(place, 'text_dropped', 'is blank and is left out')),
    ...illFormed(message, dropped).map((place) =>
      place === null
        ? { index, place: 0, change: { kind: 'characters_replaced' as const, path, message: REPLACED } }
        : at(place, 'characters_replaced', REPLACED),
    ),
  ]
}

const REPLACED = 'holds half a surrogate pair, which is sent as U+FFFD'

/** Parts with half a surrogate pair in what a model is shown of them; null: the result of a tool message. */
function illFormed(message: StoredMessage, dropped: DroppedParts): (number | null)[] {
  if (message.role === 'tool') {
    const { error, note, result } = message
    return isIllFormed(message.is_error === true ? [error ?? '', note ?? ''] : [result ?? null, note ?? ''])
      ? [null]
      : []
  }
  const gone = new Set(dropped.reasoning)
  return message.content.flatMap((part, place) => {
    const shown =
      part.type === 'text' || part.type === 'reasoning' ? part.text : part.type === 'tool_call' ? part.args : ''
    return !gone.has(place) && isIllFormed(shown) ? [place] : []
  })
}

function isIllFormed(value: Json): boolean {
  if (typeof value === 'string') return !value.isWellFormed()
  const json = JSON.stringify(value)
  return wellFormedJson(json) !== json
}
