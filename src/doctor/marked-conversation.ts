/**
 * Where in a request each message, call and result ends up, and under which name and id: the conversation is written once with
 * a mark in the place of every content, and the marks are looked for in what the dialect wrote. Pure, linear.
 */
import { isJsonObject, parseJson, type Json, type JsonObject } from '../contract/json.ts'
import { textOf, type AssistantMessage, type StoredMessage } from '../contract/message.ts'
import type { Probe } from './probe.ts'

/** One mark as it was found, in the order of the request. */
export interface Found {
  /** Of the message in the history. */
  readonly index: number
  /** Of the call in the content; null for a text or a result. */
  readonly place: number | null
  /** Of the message in the request. */
  readonly element: number
  /** The nearest name and id around the mark: of a call, its tool and its id. null: there is none. */
  readonly name: string | null
  readonly id: string | null
}

export interface Written {
  readonly found: readonly Found[]
  /** The messages of the request. */
  readonly elements: readonly Json[]
}

/** The field of a request's body that holds the conversation. */
function conversationField(body: JsonObject): 'messages' | 'input' {
  return Array.isArray(body['input']) ? 'input' : 'messages'
}

export function writtenConversation(messages: readonly StoredMessage[], probe: Probe): Written {
  const body = parseJson(probe(messages.flatMap((message, index) => marked(message, index))))
  const list = body.ok && isJsonObject(body.value) ? body.value[conversationField(body.value)] : null
  const elements: readonly Json[] = Array.isArray(list) ? list : []
  const found: Found[] = []
  for (const [element, value] of elements.entries()) look(value, { element, name: null, id: null }, found)
  return { found, elements }
}

function mark(index: number, place: number | 'text'): string {
  return `mark:${index}:${place}:`
}
const MARK = /mark:(\d+):(\d+|text):/g

/** A message whose every content is a mark. What is blank and calls nothing is no message on any wire. */
function marked(message: StoredMessage, index: number): StoredMessage[] {
  const text = { type: 'text', text: mark(index, 'text') } as const
  switch (message.role) {
    case 'user':
      return [{ ...message, content: [text] }]
    case 'tool':
      return [{ role: 'tool', call_id: message.call_id, tool: message.tool, result: text.text }]
    case 'assistant': {
      const calls = message.content.flatMap((part, place) =>
        part.type === 'tool_call' ? [{ ...part, args: { mark: mark(index, place) } }] : [],
      )
      const content: AssistantMessage['content'] = textOf(message).trim() === '' ? calls : [text, ...calls]
      return [{ ...message, content }]
    }
  }
}

type Around = Pick<Found, 'element' | 'name' | 'id'>

const IDS = ['id', 'call_id', 'tool_call_id', 'tool_use_id'] as const

function look(value: Json, around: Around, found: Found[]): void {
  if (typeof value === 'string') {
    for (const [, index, place] of value.matchAll(MARK)) {
      found.push({ ...around, index: Number(index), place: place === 'text' ? null : Number(place) })
    }
  } else if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) look(item, around, found)
  } else if (isJsonObject(value)) {
    const name = value['name']
    const id = IDS.map((field) => value[field]).find((one) => typeof one === 'string')
    const here: Around = {
      ...around,
      ...(typeof name === 'string' ? { name } : {}),
      ...(typeof id === 'string' ? { id } : {}),
    }
    for (const item of Object.values(value)) look(item, here, found)
  }
}
