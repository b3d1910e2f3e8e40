/**
 * A model provider on 127.0.0.1 that plays what a test says, one play a request, in the words of chat completions or of the
 * Messages API. A play may wait for a gate, break off, say nothing, or answer a status; it never fails a test by itself.
 *
 * A request beyond the last play is answered 400, so that a run which asks once too often fails and shows it.
 */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import { recordingServer, type Received, type RecordingServer } from '../conformance/recording-server.ts'

export type Dialect = 'openai-chat' | 'anthropic'

export interface PlayedUsage {
  readonly input: number
  readonly output: number
}

/** One answer of a model, written piece by piece. Whatever is written first sends the head of the stream. */
export interface ModelAnswer {
  /** Sends the head and nothing else. */
  begin(): void
  text(words: string): void
  reasoning(words: string): void
  /** `args` is an object, or the very text of the arguments. It is sent in two pieces. `id` is the provider's own. */
  call(name: string, args: JsonObject | string, id?: string): void
  /** Finish reason, usage and end mark. Default: what the pieces so far say, and 10 tokens in, 5 out. */
  finish(options?: { readonly reason?: string; readonly usage?: PlayedUsage | null }): void
  /** Bytes as they are. */
  raw(text: string): void
  /** Breaks the connection behind what was written. */
  cut(): void
  /** An HTTP answer instead of a stream. */
  status(code: number, headers?: Readonly<Record<string, string>>, body?: string): void
}

export type Play = (answer: ModelAnswer, request: Received) => void | Promise<void>

export interface ProviderServer extends RecordingServer {
  readonly dialect: Dialect
  /** `llm` of a run that goes to this server. */
  llm(parts?: JsonObject): JsonObject
}

/** Says these words and ends. */
export function says(...words: readonly string[]): Play {
  return (answer) => {
    for (const word of words) answer.text(word)
    answer.finish()
  }
}

/** Says the first half, and the other when that has come. */
export function inHalves(first: string, opened: Promise<unknown>, other: string): Play {
  return async (answer) => {
    answer.text(first)
    await opened
    answer.text(other)
    answer.finish()
  }
}

/** Plays nothing before that has come. */
export function behind(opened: Promise<unknown>, play: Play): Play {
  return async (answer, request) => {
    await opened
    return play(answer, request)
  }
}

/** Asks for tools, and says nothing beside. */
export function asksFor(...calls: readonly (readonly [name: string, args: JsonObject | string])[]): Play {
  return (answer) => {
    for (const [name, args] of calls) answer.call(name, args)
    answer.finish()
  }
}

/** An HTTP error. */
export function refuses(code: number, headers: Readonly<Record<string, string>> = {}): Play {
  return (answer) => answer.status(code, headers)
}

/** Takes the request and never says a word. */
export const silent: Play = () => {}

export async function startProvider(
  t: TestContext,
  plays: readonly Play[],
  dialect: Dialect = 'openai-chat',
): Promise<ProviderServer> {
  const server = await recordingServer(t, `the ${dialect} provider`, async (request, response) => {
    const answer = dialect === 'anthropic' ? new MessagesAnswer(response) : new ChatAnswer(response)
    const play = plays[request.number - 1] ?? refuses(400)
    await play(answer, request)
  })
  const target =
    dialect === 'anthropic'
      ? { provider: 'anthropic', model: 'claude-sonnet-4-5', base_url: server.url }
      : { provider: 'openai-compatible', model: 'fake-model', base_url: `${server.url}/v1` }
  return { ...server, dialect, llm: (parts = {}) => ({ ...target, api_key: 'sk-SECRET-provider-key', ...parts }) }
}

const STREAM = { 'content-type': 'text/event-stream', 'x-request-id': 'req_fake_1' }

abstract class StreamedAnswer implements ModelAnswer {
  readonly #response: ServerResponse
  protected calls = 0

  constructor(response: ServerResponse) {
    this.#response = response
  }

  begin(): void {
    if (this.#response.headersSent) return
    this.#response.writeHead(200, STREAM)
    this.#response.flushHeaders()
    this.opening()
  }

  raw(text: string): void {
    this.begin()
    this.#response.write(text)
  }

  cut(): void {
    // Destroyed at once, the socket would take what was written with it.
    this.#response.socket?.end()
  }

  status(code: number, headers: Readonly<Record<string, string>> = {}, body?: string): void {
    this.#response.writeHead(code, { 'content-type': 'application/json', ...headers })
    this.#response.end(body ?? JSON.stringify({ error: { type: 'fake_error', message: `the fake says ${code}` } }))
  }

  protected end(): void {
    this.begin()
    this.#response.end()
  }

  protected abstract opening(): void
  abstract text(words: string): void
  abstract reasoning(words: string): void
  abstract call(name: string, args: JsonObject | string, id?: string): void
  abstract finish(options?: { readonly reason?: string; readonly usage?: PlayedUsage | null }): void
}

const DEFAULT_USAGE: PlayedUsage = { input: 10, output: 5 }

function pieces(args: JsonObject | string): [string, string] {
  const text = typeof args === 'string' ? args : JSON.stringify(args)
  const half = Math.floor(text.length / 2)
  return [text.slice(0, half), text.slice(half)]
}

/** Chat completions. */
class ChatAnswer extends StreamedAnswer {
  protected opening(): void {}

  #chunk(delta: object, finish: string | null = null, more: object = {}): void {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { id: 'chatcmpl-fake', object: 'chat.completion.chunk', created: 1, model: 'fake-model', choices }
    this.raw(`data: ${JSON.stringify({ ...chunk, ...more })}\n\n`)
  }

  text(words: string): void {
    this.#chunk({ content: words })
  }

  reasoning(words: string): void {
    this.#chunk({ reasoning_content: words })
  }

  call(name: string, args: JsonObject | string, id = `tool-${this.calls}-own`): void {
    const index = this.calls
    this.calls += 1
    const [head, tail] = pieces(args)
    this.#chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: head } }] })
    this.#chunk({ tool_calls: [{ index, function: { arguments: tail } }] })
  }

  finish({ reason, usage = DEFAULT_USAGE }: Parameters<ModelAnswer['finish']>[0] = {}): void {
    this.#chunk({}, reason ?? (this.calls > 0 ? 'tool_calls' : 'stop'))
    if (usage !== null) {
      const { input, output } = usage
      const told = { prompt_tokens: input, completion_tokens: output, total_tokens: input + output }
      this.raw(`data: ${JSON.stringify({ id: 'chatcmpl-fake', choices: [], usage: told })}\n\n`)
    }
    this.raw('data: [DONE]\n\n')
    this.end()
  }
}

/** The Messages API. */
class MessagesAnswer extends StreamedAnswer {
  #index = -1
  #open: 'text' | 'thinking' | null = null

  protected opening(): void {
    const message = { id: 'msg_fake', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', content: [] }
    const usage = { input_tokens: 10, output_tokens: 1 }
    this.#event('message_start', { message: { ...message, stop_reason: null, stop_sequence: null, usage } })
  }

  #event(type: string, data: object): void {
    this.raw(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
  }

  #start(block: object): void {
    this.#stop()
    this.#index += 1
    this.#event('content_block_start', { index: this.#index, content_block: block })
  }

  #delta(delta: object): void {
    this.#event('content_block_delta', { index: this.#index, delta })
  }

  /** A thinking block is signed where it ends. */
  #stop(): void {
    if (this.#open === null) return
    if (this.#open === 'thinking') this.#delta({ type: 'signature_delta', signature: 'c2lnbmVk' })
    this.#event('content_block_stop', { index: this.#index })
    this.#open = null
  }

  text(words: string): void {
    if (this.#open !== 'text') this.#start({ type: 'text', text: '' })
    this.#open = 'text'
    this.#delta({ type: 'text_delta', text: words })
  }

  reasoning(words: string): void {
    if (this.#open !== 'thinking') this.#start({ type: 'thinking', thinking: '', signature: '' })
    this.#open = 'thinking'
    this.#delta({ type: 'thinking_delta', thinking: words })
  }

  call(name: string, args: JsonObject | string, id = `toolu_own_${this.calls}`): void {
    this.calls += 1
    this.#start({ type: 'tool_use', id, name, input: {} })
    for (const partial_json of pieces(args)) this.#delta({ type: 'input_json_delta', partial_json })
    this.#event('content_block_stop', { index: this.#index })
  }

  finish({ reason, usage = DEFAULT_USAGE }: Parameters<ModelAnswer['finish']>[0] = {}): void {
    this.begin()
    this.#stop()
    const stop_reason = reason ?? (this.calls > 0 ? 'tool_use' : 'end_turn')
    const told = usage === null ? {} : { usage: { input_tokens: usage.input, output_tokens: usage.output } }
    this.#event('message_delta', { delta: { stop_reason, stop_sequence: null }, ...told })
    this.#event('message_stop', {})
    this.end()
  }
}
