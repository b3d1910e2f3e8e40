/**
 * The same recorded answer as other servers, gateways and later versions of an API would send it: another framing of the same
 * events, and other JSON that says the same. Each is a function from the bytes of a recording to other bytes; null where it
 * does not apply.
 */
import type { EventSourceMessage } from 'eventsource-parser'
import { isObject, type WireObject } from '../../src/providers/wire-value.ts'
import { wireOf } from './reading.ts'
import type { Recording } from './recordings.ts'

type Event = Pick<EventSourceMessage, 'event' | 'data'>
type Vary = (bytes: Buffer, recording: Recording) => Buffer | null

/** Writes events with one data line each, unless `lines` says otherwise. */
function written(events: readonly Event[], lines: (data: string) => readonly string[] = (data) => [data]): Buffer {
  const texts = events.map(({ data, event }) => {
    const name = event === undefined ? '' : `event: ${event}\n`
    return `${name}${lines(data)
      .map((line) => `data: ${line}\n`)
      .join('')}\n`
  })
  return Buffer.from(texts.join(''))
}

function framed(change: (text: string) => string): Vary {
  return (bytes, { kind }) => (kind === 'stream' ? Buffer.from(change(bytes.toString('utf8'))) : null)
}

function events(change: (all: readonly Event[], recording: Recording) => readonly Event[] | null): Vary {
  return (bytes, recording) => {
    if (recording.kind !== 'stream') return null
    const changed = change(wireOf(bytes).events, recording)
    return changed === null ? null : written(changed)
  }
}

/** Changes the JSON of every event, or of the document. */
function json(change: (value: WireObject) => unknown): Vary {
  const changed = (text: string) => {
    const value: unknown = text.trimStart().startsWith('{') ? JSON.parse(text) : null
    return isObject(value) ? JSON.stringify(change(value)) : text
  }
  return (bytes, { kind }) =>
    kind === 'stream'
      ? written(wireOf(bytes).events.map(({ data, event }) => ({ event, data: changed(data) })))
      : Buffer.from(changed(bytes.toString('utf8')))
}

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, reversed(member)]),
  )
}

/** What some server sends as null where another leaves it out. */
const OFTEN_NULL = [
  'error',
  'usage',
  'delta',
  'message',
  'content',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'tool_calls',
  'function_call',
  'functions_state_id',
  'finish_reason',
  'stop_reason',
  'x_groq',
  'base_resp',
  'detail',
  'incomplete_details',
]

/** Not below these: what stands there goes back as it came, or is the model's own. */
const KEPT = new Set([
  'usage',
  'arguments',
  'input',
  'item',
  'output',
  'reasoning_details',
  'error',
  'x_groq',
  'response',
])

function everyObject(value: unknown, change: (object: WireObject) => WireObject): unknown {
  if (Array.isArray(value)) return value.map((item) => everyObject(item, change))
  if (!isObject(value)) return value
  const members = Object.entries(value).map(([name, member]) => [
    name,
    KEPT.has(name) ? member : everyObject(member, change),
  ])
  return change(Object.fromEntries(members) as WireObject)
}

function withNulls(object: WireObject): WireObject {
  return { ...Object.fromEntries(OFTEN_NULL.map((name) => [name, null])), ...object }
}

function withUnknown(object: WireObject): WireObject {
  return { ...object, x_unheard_of: { type: 'text', text: 'nobody asked', delta: 'x' }, x_list: [1, null, {}] }
}

/** Counts as strings of digits, wherever usage stands. */
function countsAsStrings(value: unknown, inside = false): unknown {
  if (Array.isArray(value)) return value.map((item) => countsAsStrings(item, inside))
  if (typeof value === 'number') return inside && Number.isInteger(value) ? String(value) : value
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, countsAsStrings(member, inside || name === 'usage')]),
  )
}

const UNHEARD: Readonly<Record<Recording['api'], readonly Event[]>> = {
  'anthropic-messages': [
    { event: 'ping', data: '{"type":"ping"}' },
    { event: 'unheard_of', data: '{"type":"unheard_of","index":0,"delta":{"text":"x"}}' },
    { event: undefined, data: '{"type":"content_block_delta","index":0,"delta":{"type":"unheard_of","words":"x"}}' },
  ],
  'openai-chat': [
    { event: undefined, data: '{"choices":[]}' },
    { event: undefined, data: '{}' },
    { event: undefined, data: '{"choices":[{"index":0,"delta":{}}],"prompt_filter_results":[]}' },
    { event: undefined, data: '{"choices":[{"index":1,"delta":{"content":"another choice"}}]}' },
  ],
  'openai-responses': [
    { event: 'keepalive', data: '{"type":"keepalive","sequence_number":0}' },
    { event: 'response.unheard_of.delta', data: '{"type":"response.unheard_of.delta","delta":"x","output_index":99}' },
  ],
  'gigachat-v1': [{ event: undefined, data: '{}' }],
  'gigachat-v2': [{ event: 'response.tool.in_progress', data: '{"tool":"web_search"}' }],
}

/** Changes choice 0 of every chunk of a chat stream. */
function choice(change: (choice: { readonly [name: string]: unknown }, chunk: WireObject) => WireObject): Vary {
  const vary = json((chunk) => {
    const choices = chunk['choices']
    if (!Array.isArray(choices)) return chunk
    return { ...chunk, choices: choices.map((of: unknown) => (isObject(of) ? change(of, chunk) : of)) }
  })
  return (bytes, recording) =>
    recording.api === 'openai-chat' && recording.kind === 'stream' ? vary(bytes, recording) : null
}

function delta(change: (delta: WireObject) => WireObject): Vary {
  return choice((of) => (isObject(of['delta']) ? { ...of, delta: change(of['delta']) } : of))
}

/** Changes each fragment of a call. */
function fragment(change: (fragment: WireObject) => WireObject): Vary {
  return delta((of) => {
    const calls = of['tool_calls']
    return Array.isArray(calls)
      ? { ...of, tool_calls: calls.map((call: unknown) => (isObject(call) ? change(call) : call)) }
      : of
  })
}

function without(object: WireObject, name: string): WireObject {
  const { [name]: _, ...rest } = object
  return rest
}

function renamed(object: WireObject, from: string, to: string): WireObject {
  const { [from]: value, ...rest } = object
  return value === undefined || value === null ? object : { ...rest, [to]: value }
}

function isDone({ data }: Event): boolean {
  return data.trim() === '[DONE]'
}

export const VARIANTS: Readonly<Record<string, Vary>> = {
  'line ends of CRLF': framed((text) => text.replaceAll('\n', '\r\n')),
  'line ends of CR': framed((text) => text.replaceAll('\n', '\r')),
  'a byte order mark': (bytes) => Buffer.concat([Buffer.from('\u{FEFF}'), bytes]),
  'blank lines before it': (bytes) => Buffer.concat([Buffer.from('\n\n \r\n'.replace(' ', '')), bytes]),
  'no space after the colon': framed((text) => text.replaceAll(/^(data|event): /gm, '$1:')),
  'comments, ids and retry times between': framed((text) =>
    text.replaceAll(/^(?=data:)/gm, ': keep-alive\nid: 7\nretry: 1000\n:\n'),
  ),
  'no blank line at its end': framed((text) => text.trimEnd()),
  'data on several lines': (bytes, { kind }) =>
    kind === 'stream'
      ? written(wireOf(bytes).events, (data) =>
          data.startsWith('{') ? JSON.stringify(JSON.parse(data), null, 1).split('\n') : [data],
        )
      : Buffer.from(JSON.stringify(JSON.parse(bytes.toString('utf8')), null, 2)),
  // v2 of GigaChat has nothing but the name, and says the finish reason in its last event.
  'no names of events': events((all) => all.map(({ data }) => ({ event: undefined, data }))),
  'an end mark of another API': events((all) => [...all, { event: undefined, data: '[DONE]' }]),
  'no end mark after the finish reason': events((all, { api, expected }) =>
    api.startsWith('openai-chat') && typeof expected['stop_reason'] !== 'string'
      ? null
      : all.filter((of) => !isDone(of)),
  ),
  'unknown events between': events((all, { api }) => all.flatMap((event) => [...UNHEARD[api], event])),
  'members in another order': json(reversed),
  'null for what is absent': json((value) => everyObject(value, withNulls)),
  'unknown members': json((value) => everyObject(value, withUnknown)),
  'counts as strings': json((value) => countsAsStrings(value)),
  'choices without an index': choice((of) => (of['index'] === 0 ? without(of, 'index') : of)),
  'an index of choices in words': choice((of) =>
    typeof of['index'] === 'number' ? { ...of, index: String(of['index']) } : of,
  ),
  'an index of calls in words': fragment((call) =>
    typeof call['index'] === 'number' ? { ...call, index: String(call['index']) } : call,
  ),
  'calls without an index': fragment((call) => without(call, 'index')),
  'calls without a type': fragment((call) => without(call, 'type')),
  'empty ids and names where there are none': fragment((call) => ({
    ...call,
    id: call['id'] ?? '',
    function: { name: '', ...(isObject(call['function']) ? call['function'] : {}) },
  })),
  'content as a list of parts': delta((of) =>
    typeof of['content'] === 'string' ? { ...of, content: [{ type: 'text', text: of['content'] }] } : of,
  ),
  'reasoning under its other name': delta((of) =>
    isObject(of['reasoning_details'])
      ? of
      : renamed(renamed(of, 'reasoning', 'reasoning_text'), 'reasoning_content', 'reasoning'),
  ),
  'usage inside the choice too': choice((of, { usage }) => (isObject(usage) ? { ...of, usage } : of)),
}
