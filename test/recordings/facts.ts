/**
 * The facts of the recordings against what a reading says. Every fact is flattened to a name (`reasoning.len`,
 * `tool_calls[].name`), and every name is in exactly one of two tables: `TOLD` says it of a reading, `NOT_TOLD` says why none
 * does. A name in neither fails, so that no fact is passed over in silence.
 */
import { createHash } from 'node:crypto'
import type { Json, JsonObject } from '../../src/contract/json.ts'
import type { ReasoningPart } from '../../src/contract/message.ts'
import type { ModelCall } from '../../src/engine/ports.ts'
import { isObject, text } from '../../src/providers/wire-value.ts'
import type { Read, Wire } from './reading.ts'
import type { Expected } from './recordings.ts'

/** A recording as it was read. */
export interface Told extends Read {
  readonly wire: Wire
}

export type Facts = Readonly<Record<string, unknown>>

/** Facts that hold several. An absent text is an empty one. */
const TEXTS = ['text', 'reasoning', 'refusal']
const NO_TEXT = { len: 0, len_utf16: 0, head60: '', sha256: createHash('sha256').digest('hex') }

/** The facts of a recording by flat names; those of the calls as one list for all of them. */
export function flattened(expected: Expected): Facts {
  const facts: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(expected)) {
    if (TEXTS.includes(name)) {
      for (const [fact, said] of Object.entries(isObject(value) ? value : NO_TEXT)) facts[`${name}.${fact}`] = said
    } else if (name === 'tool_calls') {
      const calls = value as readonly JsonObject[]
      facts['tool_calls'] = calls.length
      for (const fact of new Set(calls.flatMap((call) => Object.keys(call))))
        facts[`tool_calls[].${fact}`] = calls.map((call) => call[fact] ?? null)
    } else {
      facts[name] = value ?? null
    }
  }
  return facts
}

function codePoints(of: string): string[] {
  return Array.from(of)
}

function textFacts(name: string, of: (told: Told) => string): Record<string, (told: Told) => unknown> {
  return {
    [`${name}.len`]: (told) => codePoints(of(told)).length,
    [`${name}.len_utf16`]: (told) => of(told).length,
    [`${name}.head60`]: (told) => codePoints(of(told)).slice(0, 60).join(''),
    [`${name}.sha256`]: (told) => createHash('sha256').update(of(told), 'utf8').digest('hex'),
  }
}

function joined({ reading }: Told, type: 'text' | 'reasoning'): string {
  return reading.parts.map((part) => (part.type === type ? part.text : '')).join('')
}

function callsOf({ reading }: Told): ModelCall[] {
  return reading.parts.filter((part) => part.type === 'tool_call')
}

function ownData(told: Told): JsonObject[] {
  const reasoning = told.reading.parts.filter((part): part is ReasoningPart => part.type === 'reasoning')
  return reasoning.map((part) => part.provider_data ?? {})
}

/** Lengths of what must go back of the reasoning blocks of one kind. */
function lengths(told: Told, type: string, field: string): number[] {
  return ownData(told)
    .filter((data) => data['type'] === type)
    .map((data) => text(data[field]).length)
}

function items(told: Told): JsonObject[] {
  return ownData(told).flatMap((data) => (isObject(data['item']) ? [data['item']] : []))
}

function details(told: Told): readonly JsonObject[] {
  return ownData(told).flatMap((data) => (data['details'] ?? []) as readonly JsonObject[])
}

/** Where chat servers put reasoning, in the recordings' words. */
const FIELDS: Readonly<Record<string, string>> = { content: 'content[].thinking' }

const TOLD: Readonly<Record<string, (told: Told, expected: unknown) => unknown>> = {
  ...textFacts('text', (told) => joined(told, 'text')),
  ...textFacts('reasoning', (told) => joined(told, 'reasoning')),
  ...textFacts('refusal', ({ reading }) => reading.refusal ?? ''),
  // Of two fields that say the same, the first one stands.
  'reasoning.fields': (told, fields) => {
    const field = text(ownData(told)[0]?.['field'])
    const said = FIELDS[field] ?? field
    return (fields as readonly string[])[0] === said ? fields : [said]
  },
  'reasoning.thinking_blocks': (told) => lengths(told, 'thinking', 'signature').length,
  'reasoning.signature_lengths': (told) => lengths(told, 'thinking', 'signature'),
  'reasoning.redacted_blocks': (told) => lengths(told, 'redacted_thinking', 'data').length,
  'reasoning.redacted_data_lengths': (told) => lengths(told, 'redacted_thinking', 'data'),
  'reasoning.encrypted_items': (told) =>
    items(told).filter(({ encrypted_content: encrypted }) => typeof encrypted === 'string').length,
  'reasoning.summary_len': (told) => partLength(items(told), 'summary'),
  'reasoning.raw_reasoning_text_len': (told) => partLength(items(told), 'content'),
  reasoning_details_types: (told) => [...new Set(details(told).map(({ type }) => type))],
  reasoning_details_signatures: (told) => details(told).filter(({ signature }) => typeof signature === 'string').length,
  tool_calls: (told) => callsOf(told).length,
  'tool_calls[].id': (told) => callsOf(told).map((call) => call.provider_data?.['id'] ?? null),
  'tool_calls[].call_id': (told) => callsOf(told).map((call) => call.provider_data?.['id'] ?? null),
  'tool_calls[].name': (told) => callsOf(told).map((call) => call.tool),
  'tool_calls[].arguments': (told) => callsOf(told).map((call) => call.args),
  'tool_calls[].arguments_raw': (told, raw) =>
    callsOf(told).map((call, at) => ((raw as readonly Json[])[at] === null ? null : call.argsText)),
  'tool_calls[].arguments_valid_json': (told) => callsOf(told).map((call) => call.fault === null),
  phases: ({ reading }) => reading.provider_data?.['phases'] ?? [],
  tool_state_id: ({ reading }) => reading.provider_data?.['functions_state_id'],
  stop_reason: ({ reading }, word) => reading.rawStop ?? (word === '' ? '' : null),
  usage: ({ reading }) => reading.rawUsage,
  complete: ({ reading }) => reading.complete,
  response_id: ({ reading }, id) => reading.responseId ?? (id === '' ? '' : null),
  error: ({ reading: { fault } }, error) => {
    if (fault === null) return null
    const message = isObject(error) ? text(error['message']).slice(0, 100) : ''
    return isObject(error) && fault.detail.includes(message) ? error : fault.detail
  },
  event_count: ({ wire }) => wire.events.length,
  sse_comments: ({ wire }) => wire.comments,
  done_marker: ({ wire }) => wire.events.some(({ data }) => data === '[DONE]'),
  named_events: ({ wire }) => wire.events.filter(({ event }) => event !== undefined).length,
}

function partLength(list: readonly JsonObject[], member: 'summary' | 'content'): number {
  const texts = list.flatMap((item) => (item[member] ?? []) as readonly { readonly text?: string }[])
  return texts.reduce((sum, { text = '' }) => sum + codePoints(text).length, 0)
}

const WIRE = 'how the answer came, not what it is: a reading is the same however it is cut'
const SERVER = 'of what the provider itself runs or finds nothing becomes a part of the answer'
const ALONE = 'is there with the call and says nothing that is acted upon'

/** Facts that no reading tells, each with the reason. */
export const NOT_TOLD: Readonly<Record<string, string>> = {
  model: 'a message says which model was asked; usage and rules go by that one',
  argument_deltas: WIRE,
  'tool_calls[].argument_deltas': WIRE,
  'tool_calls[].arguments_deltas_empty': WIRE,
  'tool_calls[].delivered_in_message_start': WIRE,
  'tool_calls[].style': WIRE,
  event_types: WIRE,
  pings: WIRE,
  role_repeated_in_deltas: WIRE,
  usage_location: WIRE,
  usage_chunks: WIRE,
  finish_reason_seen: 'the first one is the stop reason, the others say nothing new',
  checks: 'compares one half of the stream with the other; the reading is compared with both',
  distinct_response_ids: 'a server that changes its id with every event; the last one stands',
  usage_message_start: 'one half of the usage, which is compared whole',
  usage_message_delta: 'one half of the usage, which is compared whole',
  text_blocks: 'lengths of the blocks whose text is compared joined',
  block_types: SERVER,
  item_types: SERVER,
  server_tool_calls: SERVER,
  citations: SERVER,
  annotations: SERVER,
  files: SERVER,
  context_management: SERVER,
  stop_details: 'a refusal is told by its stop reason; its category has no place in the contract',
  upstream_provider: "a gateway's word about another service",
  base_resp: 'zero: no error',
  'tool_calls[].caller': ALONE,
  'tool_calls[].item_id': 'belongs to a stored response; requests are stateless',
  'tool_calls[].namespace': ALONE,
  'reasoning.reasoning_items': 'an item without words and without encrypted content is none that could go back',
}

export interface Difference {
  readonly fact: string
  readonly expected: unknown
  readonly told: unknown
}

/** Every fact of a recording that the reading does not tell as expected; a fact in neither table is one too. */
export function differences(facts: Facts, told: Told, same: (left: unknown, right: unknown) => boolean): Difference[] {
  return Object.entries(facts).flatMap(([fact, expected]) => {
    if (Object.hasOwn(NOT_TOLD, fact)) return []
    const tell = TOLD[fact]
    const said = tell === undefined ? 'no table says whether a reading tells this' : tell(told, expected)
    return same(said, expected) ? [] : [{ fact, expected, told: said }]
  })
}
