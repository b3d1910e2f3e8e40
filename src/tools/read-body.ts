/**
 * Reads the body of an answer into text, up to a number of bytes and not one more, counted after decompression.
 *
 * `accept-encoding: identity` was sent; a server that compresses all the same is read if it used one encoding that Node
 * knows. Never throws.
 */
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { BodyBroken } from '../egress/body.ts'
import { contentEncodings } from '../egress/content-encodings.ts'
import type { EgressResponse, Fault } from '../egress/egress.ts'

/** What was read, or why it cannot be. */
export type BodyText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'too_large'; readonly maxBytes: number }
  /** An unknown or repeated encoding, or bytes that are not in the encoding they claim. */
  | { readonly kind: 'encoded' }
  | { readonly kind: 'not_utf8' }

export type ReadBody = BodyText | { readonly kind: 'broken'; readonly fault: Fault }

type Inflate = (packed: Uint8Array, options: { maxOutputLength: number }) => Promise<Uint8Array>

const ENCODINGS: ReadonlyMap<string, Inflate> = new Map<string, Inflate>([
  ['gzip', promisify(zlib.gunzip)],
  ['x-gzip', promisify(zlib.gunzip)],
  ['deflate', promisify(zlib.inflate)],
  ['br', promisify(zlib.brotliDecompress)],
])

/** Destroys the response unless it was read to its end. */
export async function readBody(response: EgressResponse, maxBytes: number): Promise<ReadBody> {
  const [encoding, ...more] = contentEncodings(response.headers)
  const inflate = encoding === undefined ? undefined : ENCODINGS.get(encoding)
  if (more.length > 0 || (encoding !== undefined && inflate === undefined)) {
    response.destroy()
    return { kind: 'encoded' }
  }
  const read = await readBytes(response, maxBytes)
  if (!(read instanceof Uint8Array)) return read
  if (inflate === undefined || read.length === 0) return decoded(read)
  try {
    return decoded(await inflate(read, { maxOutputLength: maxBytes }))
  } catch (error) {
    return tooLarge(error) ? { kind: 'too_large', maxBytes } : { kind: 'encoded' }
  }
}

async function readBytes(response: EgressResponse, maxBytes: number): Promise<Uint8Array | ReadBody> {
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of response.body) {
      size += chunk.length
      // Leaving the loop destroys the socket; what came too much is dropped with the rest.
      if (size > maxBytes) return { kind: 'too_large', maxBytes }
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof BodyBroken) return { kind: 'broken', fault: error.fault }
    return { kind: 'broken', fault: { kind: 'protocol', message: 'the body could not be read' } }
  }
  return Buffer.concat(chunks)
}

function tooLarge(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
}

/** Strict: a broken character is a fault, not a mark in the model's text. A byte order mark is dropped. */
function decoded(bytes: Uint8Array): BodyText {
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { kind: 'not_utf8' }
  }
}
