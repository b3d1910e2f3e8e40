/**
 * Readers of `?format=`: the official clients of those protocols, over real sockets. What they say against a stream (a chunk
 * that does not fit, an order that is not allowed, something stripped) is kept, so that a test can say that there was nothing.
 */
import http from 'node:http'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { HttpAgent, type Message } from '@ag-ui/client'
import { DefaultChatTransport, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { createParser } from 'eventsource-parser'
import { within } from './facts.ts'

export interface Frame {
  readonly id: string | null
  readonly data: string
}

export type Headers = Readonly<Record<string, string>>

/** GET as `fetch` would, on a connection of its own, whatever method is asked for. */
export async function getAsFetch(url: string, headers: Headers = {}, signal?: AbortSignal | null): Promise<Response> {
  const request = http.request(url, { headers, agent: false })
  request.on('error', () => {})
  signal?.addEventListener('abort', () => request.destroy())
  request.end()
  const [response] = (await within(once(request, 'response'), () => 'no answer')) as [http.IncomingMessage]
  const status = response.statusCode ?? 0
  const plain = Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)])
  if (status === 204) return new Response(null, { status, headers: plain })
  return new Response(Readable.toWeb(response) as ReadableStream<Uint8Array>, { status, headers: plain })
}

/** An answer that was got before and is told again. */
export function answerOf(frames: readonly Frame[]): Response {
  const text = frames.map(({ id, data }) => `${id === null ? '' : `id: ${id}\n`}data: ${data}\n\n`).join('')
  return new Response(text, { headers: { 'content-type': 'text/event-stream' } })
}

/** Every server-sent event of an answer, to its end. An id that an event does not bring is null. */
export async function framesOf(answer: Response): Promise<Frame[]> {
  const frames: Frame[] = []
  let last: string | undefined
  const parser = createParser({
    // The parser tells the last id again for an event that has none.
    onEvent: ({ id, data }) => {
      frames.push({ id: id === last ? null : (id ?? null), data })
      last = id
    },
  })
  parser.feed(await within(answer.text(), () => 'the stream goes on'))
  return frames
}

// ---------------------------------------------------------------------------------------------------------- AI SDK

export interface AiSdkReading {
  readonly message: UIMessage | null
  readonly errors: readonly string[]
  readonly chunks: readonly UIMessageChunk[]
}

/** Reads as `useChat` does: the transport's own parser and schema, then the SDK's own message. null: nothing to resume. */
export async function readAiSdk(answer: Response): Promise<AiSdkReading | null> {
  const transport = new DefaultChatTransport({ fetch: async () => answer })
  const stream = await transport.reconnectToStream({ chatId: 'chat' })
  if (stream === null) return null
  const chunks: UIMessageChunk[] = []
  const seen = stream.pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform(chunk, controller) {
        chunks.push(chunk)
        controller.enqueue(chunk)
      },
    }),
  )
  const errors: string[] = []
  let message: UIMessage | null = null
  const read = async () => {
    for await (const next of readUIMessageStream({
      stream: seen,
      onError: (error) => errors.push((error as Error).message),
    }))
      message = next
  }
  await within(read(), () => `the stream goes on; there were: ${JSON.stringify(chunks)}`)
  return { message, errors, chunks }
}

/** Text of the last step: what SPEC §9.1 says is the run's. */
export function lastStepText({ message }: AiSdkReading): string {
  const parts = message?.parts ?? []
  const step = parts.slice(parts.findLastIndex(({ type }) => type === 'step-start') + 1)
  return step.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

// ---------------------------------------------------------------------------------------------------------- AG-UI

/** The official agent, which posts, made to get. */
class ReadingAgent extends HttpAgent {
  protected override requestInit(): RequestInit {
    return { headers: this.headers, signal: this.abortController.signal }
  }
}

export interface AgUiReading {
  readonly messages: readonly Message[]
  readonly events: readonly { readonly type: string; readonly [field: string]: unknown }[]
  readonly result: unknown
  readonly error: { readonly message: string; readonly code?: string | undefined } | null
  /** What the client warned of or refused; empty: nothing. */
  readonly complaints: readonly string[]
}

/** Reads with the official client, its verifier on, beginning from `messages`. */
export async function readAgUi(answer: Response, messages: readonly Message[] = []): Promise<AgUiReading> {
  const complaints: string[] = []
  const events: { type: string; [field: string]: unknown }[] = []
  let runError: AgUiReading['error'] = null
  const agent = new ReadingAgent({
    url: 'http://127.0.0.1/',
    fetch: async () => answer,
    initialMessages: [...messages],
  })
  const restore = hearConsole(complaints)
  try {
    const run = agent.runAgent(
      {},
      {
        onEvent: ({ event }) => void events.push(event),
        onRunErrorEvent: ({ event }) => void (runError = { message: event.message, code: event.code }),
        onRunFailed: ({ error }) => void complaints.push(error.message),
      },
    )
    const { result } = await within(run, () => `the run goes on; there were: ${JSON.stringify(events)}`)
    return { messages: agent.messages, events, result, error: runError, complaints }
  } catch (error) {
    return {
      messages: agent.messages,
      events,
      result: null,
      error: runError,
      complaints: [...complaints, String(error)],
    }
  } finally {
    restore()
  }
}

function hearConsole(complaints: string[]): () => void {
  const { warn, error } = console
  const hear = (...words: unknown[]) => void complaints.push(words.map(String).join(' '))
  Object.assign(console, { warn: hear, error: hear })
  return () => void Object.assign(console, { warn, error })
}

/** Content of the last assistant message that has text and is not void: what SPEC §9.1 says is the run's. */
export function lastAnswer({ messages }: Pick<AgUiReading, 'messages'>): string {
  const said = messages.filter(({ role, content, metadata }) => {
    return role === 'assistant' && typeof content === 'string' && content !== '' && metadata?.['void'] === undefined
  })
  const content = said.at(-1)?.content
  return typeof content === 'string' ? content : ''
}
