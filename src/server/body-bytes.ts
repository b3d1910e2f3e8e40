/**
 * Reads the body of a request into one piece of memory that can be given back at once.
 *
 * A body may be tens of megabytes, and an engine that only waits allocates too little for the collector to come by: what bodies
 * left behind, whole or broken off, would count as taken for as long as that lasts, and keep the door shut (SPEC §12.2). Kept
 * as the pieces in which it came, it would moreover stay with the process after that.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'

/** What a body's memory begins with, unless it is said to be smaller. It doubles as more comes: announcing costs nothing. */
const FIRST_BYTES = 262_144

export class BodyBytes {
  #memory: ArrayBuffer
  #size = 0
  readonly #most: number

  /** At most `most` bytes are added. */
  constructor(most: number) {
    this.#most = most
    this.#memory = new ArrayBuffer(Math.min(most, FIRST_BYTES))
  }

  get size(): number {
    return this.#size
  }

  /** Takes the chunk over: its own memory is given back as well. */
  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.length
    if (size > this.#memory.byteLength) {
      this.#memory = this.#memory.transfer(Math.min(this.#most, Math.max(size, 2 * this.#memory.byteLength)))
    }
    new Uint8Array(this.#memory).set(chunk, this.#size)
    this.#size = size
    giveBack(chunk)
  }

  /** Good until `release`. */
  bytes(): Uint8Array {
    return new Uint8Array(this.#memory, 0, this.#size)
  }

  /** Gives the memory back, now. Idempotent. */
  release(): void {
    this.#size = 0
    if (this.#memory.byteLength > 0) this.#memory = this.#memory.transfer(0)
  }
}

/** Node makes each piece of a body for itself. Where it is a part of something larger, others may hold the rest. */
function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0)
}

/**
 * A caller that asks first whether to send its body (`Expect: 100-continue`) is told to, once it is to be read. One that is
 * told something else keeps it, and its connection is closed: nobody could say what comes next on it.
 */
export function tellToSend(request: IncomingMessage, response: ServerResponse, limit: number): void {
  if (request.headers.expect === undefined || request.httpVersion !== '1.1') return
  if (saidLength(request, limit) > limit) return
  response.writeContinue()
  // From here on a body like any other.
  delete request.headers.expect
}

function saidLength({ headers }: IncomingMessage, unsaid: number): number {
  return Number(headers['content-length'] ?? unsaid)
}

/**
 * Rejects with what `answerThrown` knows: a body beyond `limit` is left where it is, so that the rest can be read away; one
 * that breaks off, or is not as long as was said, is no request.
 */
export function readBodyBytes(request: IncomingMessage, limit: number): Promise<BodyBytes> {
  const said = saidLength(request, limit)
  if (said > limit) return Promise.reject(tooLarge())
  const body = new BodyBytes(Math.min(said, limit))
  return new Promise((resolve, reject) => {
    const settle = (fault: Error | null) => {
      request.off('data', onData)
      request.off('end', onEnd)
      request.off('error', onBroken)
      request.off('close', onBroken)
      if (fault === null) return resolve(body)
      body.release()
      reject(fault)
    }
    const onData = (chunk: Uint8Array) => {
      if (body.size + chunk.length > limit) settle(tooLarge())
      else body.add(chunk)
    }
    const onEnd = () => settle(null)
    const onBroken = () => settle(Object.assign(new Error('the body broke off'), { statusCode: 400 }))
    request.on('data', onData)
    request.on('end', onEnd)
    request.on('error', onBroken)
    request.on('close', onBroken)
    if (request.destroyed) onBroken()
  })
}

/** What was read of this request, if it had a body. */
export function bodyOf({ body }: Pick<FastifyRequest, 'body'>): BodyBytes | undefined {
  return body instanceof BodyBytes ? body : undefined
}

function tooLarge(): Error {
  return Object.assign(new Error('the body is too large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 })
}
