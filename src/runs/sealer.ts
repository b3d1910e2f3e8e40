/**
 * What is written to STATE_DIR is sealed: AES-256-GCM under a key of its own for each file, derived by HKDF from a secret of
 * the settings and the salt at the file's head. What is sealed names its place (file name and frame number), so that no
 * frame passes as another. Pure but for chance.
 *
 * Secrets are rotated by keeping the old one in the list: the first seals, each opens. Never here: files, or what is in them.
 */
import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  randomFillSync,
} from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const INFO = 'theloop state file v1'

export const SALT_BYTES = 32

/** Text is sealed as its UTF-8 bytes. */
export type Content = string | Uint8Array

/** Nonce, ciphertext and tag of one frame, under the key of one file. `place` is bound to it and not written. */
export interface FrameCipher {
  seal(plain: Content, place: string): readonly Buffer[]
  /** null: another key, another place, or not what was written. */
  open(sealed: Uint8Array, place: string): Buffer | null
}

export interface Sealer {
  /** For a new file: the salt for its head, and its cipher under the first secret. */
  fresh(): { readonly salt: Buffer; readonly cipher: FrameCipher }
  /** For a file that is there: one cipher a secret, in their order. */
  candidates(salt: Uint8Array): readonly FrameCipher[]
}

/** `secrets`: STATE_KEY's list, then every ENGINE_TOKEN. */
export function createSealer(secrets: readonly [string, ...string[]]): Sealer {
  return {
    fresh() {
      const salt = randomBytes(SALT_BYTES)
      return { salt, cipher: cipherOf(secrets[0], salt) }
    },
    candidates: (salt) => secrets.map((secret) => cipherOf(secret, salt)),
  }
}

function cipherOf(secret: string, salt: Uint8Array): FrameCipher {
  // As an object: from bytes it would be made anew for every frame, which takes longer than to seal one.
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, salt, INFO, 32)))
  return {
    seal(plain, place) {
      // By chance, not by count: a frame whose tail was torn off is written anew with other content.
      const nonce = freshNonce()
      const cipher = createCipheriv(ALGORITHM, key, nonce)
      cipher.setAAD(Buffer.from(place))
      return [nonce, updated(cipher, plain), cipher.final(), cipher.getAuthTag()]
    },
    open(sealed, place) {
      if (sealed.length < NONCE_BYTES + TAG_BYTES) return null
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAAD(Buffer.from(place))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch {
        return null
      }
    },
  }
}

function updated(cipher: CipherGCM, plain: Content): Buffer {
  return typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain)
}

/** Chance for many nonces at once: asking for it costs more than the bytes. Each is given out once. */
const chance = Buffer.alloc(NONCE_BYTES * 128)
let used = chance.length

function freshNonce(): Buffer {
  if (used === chance.length) {
    randomFillSync(chance)
    used = 0
  }
  used += NONCE_BYTES
  return Buffer.from(chance.subarray(used - NONCE_BYTES, used))
}
