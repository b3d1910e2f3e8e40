/**
 * Token counts where nobody told any. A rule of thumb, good to a factor of two, and always marked `estimated` in the usage.
 * Pure. SPEC §6.3.
 */
import type { ModelPart } from '../engine/ports.ts'
import type { Media } from '../usage/media.ts'

/** Bytes of UTF-8 that one token stands for. */
const BYTES_PER_TOKEN = 4

/** Tokens that a text of so many UTF-8 bytes may have had. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN)
}

/** The same for the body of a request, JSON punctuation included; of what stands in it beside words, what that is reckoned at. */
export function estimateInput(body: string, media: Media): number {
  return estimateTokens(Math.max(0, Buffer.byteLength(body) - media.bytes)) + media.tokens
}

/**
 * The same for an answer as far as it came: text, reasoning and arguments. `outputLength` is the reader's own count in
 * UTF-16 units, which also holds what stands in no part.
 */
export function estimateOutput(parts: readonly ModelPart[], outputLength: number): number {
  let bytes = 0
  for (const part of parts) bytes += Buffer.byteLength(part.type === 'tool_call' ? part.argsText : part.text)
  return estimateTokens(Math.max(bytes, outputLength))
}
