/**
 * A recorded answer as the vendor's own SDK reads it: the helper that an application would use, over a `fetch` that plays the
 * recording. Nothing is sent anywhere.
 */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { isObject, list, text } from '../../src/providers/wire-value.ts'
import { bytesOf, type Api, type Recording } from './recordings.ts'

/** What both readings of an answer are compared by. */
export interface Gist {
  readonly text: string
  /** Arguments as a value; null where they are not one. */
  readonly calls: readonly { readonly id: string; readonly name: string; readonly args: unknown }[]
  readonly usage: unknown
}

const NOWHERE = { apiKey: 'sk-test', baseURL: 'http://127.0.0.1:1', maxRetries: 0, logLevel: 'off' } as const
const HI = [{ role: 'user' as const, content: 'hi' }]

function played(recording: Recording): typeof fetch {
  const type = recording.kind === 'stream' ? 'text/event-stream' : 'application/json'
  return async () =>
    new Response(new Uint8Array(bytesOf(recording)), { status: 200, headers: { 'content-type': type } })
}

/** One way for each protocol that a vendor has an SDK for. It rejects where the SDK will not read the answer. */
const WAYS: Readonly<Partial<Record<Api, (recording: Recording) => Promise<Gist>>>> = {
  'anthropic-messages': async (recording) => {
    const client = new Anthropic({ ...NOWHERE, fetch: played(recording) })
    const ask = { model: 'some-model', max_tokens: 1024, messages: HI }
    const message = await (recording.kind === 'stream'
      ? client.messages.stream(ask).finalMessage()
      : client.messages.create(ask))
    return {
      text: message.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ id: block.id, name: block.name, args: block.input }] : [],
      ),
      usage: message.usage,
    }
  },
  'openai-chat': async (recording) => {
    const { completions } = new OpenAI({ ...NOWHERE, fetch: played(recording) }).chat
    const ask = { model: 'some-model', messages: HI }
    const { choices, usage } = await (recording.kind === 'stream'
      ? completions.stream({ ...ask, stream_options: { include_usage: true } }).finalChatCompletion()
      : completions.create(ask))
    const message = choices[0]?.message
    return {
      text: textOf(message?.content),
      calls: list(message?.tool_calls).flatMap((call) =>
        isObject(call) && isObject(call['function']) ? [callOf(call['id'], call['function'])] : [],
      ),
      usage: usage ?? null,
    }
  },
  'openai-responses': async (recording) => {
    const { responses } = new OpenAI({ ...NOWHERE, fetch: played(recording) })
    const ask = { model: 'some-model', input: 'hi' }
    const { output, usage } = await (recording.kind === 'stream'
      ? responses.stream(ask).finalResponse()
      : responses.create(ask))
    return {
      text: output.map((item) => (item.type === 'message' ? textOf(item.content) : '')).join(''),
      calls: output.flatMap((item) => (item.type === 'function_call' ? [callOf(item.call_id, item)] : [])),
      usage: usage ?? null,
    }
  },
}

function callOf(id: unknown, { name, arguments: args }: { readonly name?: unknown; readonly arguments?: unknown }) {
  return { id: text(id), name: text(name), args: parsed(text(args)) }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json === '' ? '{}' : json) as unknown
  } catch {
    return null
  }
}

/** A vendor's content may be a list of parts. */
function textOf(content: unknown): string {
  return typeof content === 'string'
    ? content
    : list(content)
        .map((part) => (isObject(part) ? text(part['text']) : ''))
        .join('')
}

/** null: no vendor has an SDK for this protocol. */
export function sdkReading(recording: Recording): Promise<Gist> | null {
  return WAYS[recording.api]?.(recording) ?? null
}
