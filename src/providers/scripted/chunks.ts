/**
 * The bytes of a scripted answer: server-sent events of the chat completions format, as an OpenAI-compatible server writes
 * them. Pure; when each is sent is `play.ts`'s business.
 */
import type { Json, JsonObject } from '../../contract/json.ts'
import type { UsageMove } from './script.ts'

/** Characters of a piece where the script does not say. */
const PIECE = 12

const encoder = new TextEncoder()

export interface ChunkHead {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly model: string
}

/** A text in pieces of `size` characters; a surrogate pair is never torn. */
export function piecesOf(text: string, size: number = PIECE): string[] {
  const pieces: string[] = []
  let start = 0
  while (start < text.length) {
    let end = start
    for (let count = 0; count < size && end < text.length; count += 1)
      end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
    pieces.push(text.slice(start, end))
    start = end
  }
  return pieces
}

/** One chunk with a piece of the message; `finish` only on the one that says why it ended. */
export function deltaChunk(head: ChunkHead, delta: JsonObject, finish: string | null = null): Uint8Array {
  return event(head, { choices: [{ index: 0, delta, finish_reason: finish }] })
}

/** The chunk with the counts, in the provider's terms: its input holds the cached tokens. */
export function usageChunk(head: ChunkHead, usage: NonNullable<UsageMove['usage']>): Uint8Array {
  const cached = usage.cache_read_tokens ?? 0
  const written = usage.cache_write_tokens ?? 0
  const prompt = (usage.input_tokens ?? 0) + cached + written
  const completion = usage.output_tokens ?? 0
  return event(head, {
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
      completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens ?? 0 },
    },
  })
}

export function endMark(): Uint8Array {
  return encoder.encode('data: [DONE]\n\n')
}

export function errorBody(status: number, body: Json | undefined): Uint8Array {
  const standard = { error: { message: `the script answers ${status}`, type: 'scripted', param: null, code: null } }
  return encoder.encode(JSON.stringify(body === undefined ? standard : body))
}

function event({ id, created, model }: ChunkHead, rest: JsonObject): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify({ id, object: 'chat.completion.chunk', created, model, ...rest })}\n\n`)
}
