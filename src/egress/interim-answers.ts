/**
 * Takes interim answers (100 Continue, 103 Early Hints) out of what a connection brings, before undici reads it. Whoever sends
 * requests must be able to pass over them, asked for or not (RFC 9110 §15.2); undici breaks the connection off at a 100, and
 * the call would count as unanswered though its answer is right behind.
 *
 * undici writes a request whole and reads by `read()`, one exchange at a time: what comes first after a write is the head of an
 * answer, and only there is anything looked at or held back. 101 is no interim answer, and undici's to refuse.
 */
import type { Socket } from 'node:net'

const INTERIM = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
/** As many bytes as `INTERIM` looks at. */
const TOLD_APART = 13
/** What a head may hold; more is undici's to refuse. */
const MOST_HEAD_BYTES = 16_384
const NOTHING: Buffer = Buffer.alloc(0)

/** The same socket. To be called before undici has it. */
export function passOverInterim(socket: Socket): Socket {
  const read: (size?: number) => Buffer | null = socket.read.bind(socket)
  let atHead = false
  let held = NOTHING
  socket.write = new Proxy(socket.write.bind(socket), {
    apply(write, _self, given) {
      atHead = true
      return Reflect.apply(write, undefined, given)
    },
  })
  socket.read = (size) => {
    const chunk = read(size)
    if (!atHead || chunk === null) return chunk
    held = behindInterim(held.length === 0 ? chunk : Buffer.concat([held, chunk]))
    if (mayBeInterim(held)) return null
    const head = held
    held = NOTHING
    atHead = false
    return head
  }
  return socket
}

/** Without the interim answers that it begins with and that are whole. */
function behindInterim(bytes: Buffer): Buffer {
  for (;;) {
    const end = INTERIM.test(bytes.toString('latin1', 0, TOLD_APART)) ? bytes.indexOf('\r\n\r\n') : -1
    if (end === -1) return bytes
    bytes = bytes.subarray(end + 4)
  }
}

/** More must come before that is known, or before it is whole. */
function mayBeInterim(bytes: Buffer): boolean {
  if (bytes.length < TOLD_APART) return 'HTTP/1.1 1'.startsWith(bytes.toString('latin1', 0, 10))
  return bytes.length <= MOST_HEAD_BYTES && INTERIM.test(bytes.toString('latin1', 0, TOLD_APART))
}
