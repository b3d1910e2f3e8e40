/**
 * A response body as an async iterable. Leaving the loop early destroys the connection; reading to the end gives it back
 * to the pool. It buffers nothing beyond undici's own window and inflates nothing.
 */
import type { Readable } from 'node:stream'
import type { Fault } from './egress.ts'

/** What iterating a body throws when the connection breaks, is aborted or is destroyed. The message names the host only. */
export class BodyBroken extends Error {
  override readonly name = 'BodyBroken'
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/** `faultOf` names the error that undici destroyed the body with. */
export function iterateBody(body: Readable, faultOf: (error: unknown) => Fault): AsyncIterable<Uint8Array> {
  return {
    async *[Symbol.asyncIterator]() {
      try {
        for await (const chunk of body) yield chunk as Uint8Array // undici's bodies hold bytes until someone sets an encoding
      } catch (error) {
        throw new BodyBroken(faultOf(error))
      }
    },
  }
}
