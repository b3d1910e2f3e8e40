/**
 * The bytes of a file in STATE_DIR: a head, then frames that are only ever added. Pure.
 *
 *     "theloop5" | salt (32) | title (40) | length (4, big endian) | nonce + ciphertext + tag | length | …
 *
 * The title tells whose file it is, in clear and with spaces behind it: somebody who has not got the secret can still be told.
 * Every frame is bound to it.
 *
 * A process can die, and power can go, inside any byte. What cannot be read from some byte on is a torn tail: it was never
 * promised to anybody, and is passed over. Only a file whose very first frame is whole and opens with no key is told apart:
 * its secret is missing, or it is damaged, and somebody may still want it.
 */
import { SALT_BYTES, SEAL_BYTES, type FrameCipher, type Sealer } from './sealer.ts'

const MAGIC = Buffer.from('theloop5')
const LENGTH_BYTES = 4
const TITLE_AT = MAGIC.length + SALT_BYTES
const TITLE_BYTES = 40
export const HEAD_BYTES = TITLE_AT + TITLE_BYTES

/** Makes the frames of one file, in order. */
export interface FrameMaker {
  /** What stands before the first frame. */
  readonly head: Buffer
  /** The next frame, in pieces that are good until the one after it. */
  frame(content: string): readonly Buffer[]
}

/** `title`: at most 40 characters of ASCII. */
export function newFrames(sealer: Sealer, title: string): FrameMaker {
  const { salt, cipher } = sealer.fresh(title)
  const head = Buffer.concat([MAGIC, salt, Buffer.from(title.padEnd(TITLE_BYTES))])
  return { head, ...maker(cipher, 0) }
}

function maker(cipher: FrameCipher, written: number): Pick<FrameMaker, 'frame'> {
  let number = written
  const length = Buffer.alloc(LENGTH_BYTES)
  return {
    frame(content) {
      const [nonce, sealed, tag] = cipher.seal(content, number)
      number += 1
      length.writeUInt32BE(sealed.length + SEAL_BYTES)
      return [length, nonce, sealed, tag]
    },
  }
}

export type Head =
  | { readonly kind: 'head'; readonly title: string }
  /** The file ends inside it. */
  | { readonly kind: 'short' }
  /** None that this version writes. */
  | { readonly kind: 'foreign' }

export function headOf(bytes: Buffer): Head {
  if (!MAGIC.subarray(0, bytes.length).equals(bytes.subarray(0, MAGIC.length))) return { kind: 'foreign' }
  if (bytes.length < HEAD_BYTES) return { kind: 'short' }
  return { kind: 'head', title: bytes.toString('latin1', TITLE_AT, HEAD_BYTES).trimEnd() }
}

export type Scan =
  | {
      readonly kind: 'read'
      readonly frames: readonly Buffer[]
      /** Bytes up to the end of the last whole frame: the file is cut here before anything is added. */
      readonly length: number
      /** Goes on behind the last whole frame. */
      readonly maker: FrameMaker
    }
  /** It ends before its first frame does: nothing in it was ever promised. */
  | { readonly kind: 'empty' }
  /** No key opens it. */
  | { readonly kind: 'unreadable' }

/** Reads as far as the bytes are good. Never throws. */
export function scanFrames(bytes: Buffer, sealer: Sealer): Scan {
  const head = headOf(bytes)
  if (head.kind === 'foreign') return { kind: 'unreadable' }
  const first = head.kind === 'short' ? null : sealedAt(bytes, HEAD_BYTES)
  if (head.kind === 'short' || first === null) return { kind: 'empty' }
  const ciphers = sealer.candidates(bytes.subarray(MAGIC.length, TITLE_AT), head.title)
  const cipher = ciphers.find((candidate) => candidate.open(first, 0) !== null)
  if (cipher === undefined) return { kind: 'unreadable' }

  const frames: Buffer[] = []
  let length = HEAD_BYTES
  for (;;) {
    const sealed = sealedAt(bytes, length)
    const content = sealed === null ? null : cipher.open(sealed, frames.length)
    if (sealed === null || content === null) break
    frames.push(content)
    length += LENGTH_BYTES + sealed.length
  }
  return {
    kind: 'read',
    frames,
    length,
    maker: { head: bytes.subarray(0, HEAD_BYTES), ...maker(cipher, frames.length) },
  }
}

/** The sealed frame that begins here; null where the file ends before it does. */
function sealedAt(bytes: Buffer, offset: number): Buffer | null {
  if (offset + LENGTH_BYTES > bytes.length) return null
  const begin = offset + LENGTH_BYTES
  const end = begin + bytes.readUInt32BE(offset)
  return end > bytes.length ? null : bytes.subarray(begin, end)
}
