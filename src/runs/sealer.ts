/**
 * What is written to STATE_DIR is sealed: AES-256-GCM under a key derived by HKDF from a secret of the settings and the salt
 * at the file's head. A key serves many files, because to derive one costs more than to seal several frames; what is sealed
 * names its place (the file's mark, its name, and the frame's number), so that no frame passes as another. Pure but for
 * chance.
 *
 * Secrets are rotated by keeping the old one in the list: the first seals, each opens. Never here: files, or what is in them.
 */
import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const INFO = 'theloop state file v2'
const NUMBER_BYTES = 4
const COUNT_BYTES = 4

/** What the key is derived with, then the mark that no two files share. */
const KEY_SALT_BYTES = 16
const MARK_BYTES = 16
export const SALT_BYTES = KEY_SALT_BYTES + MARK_BYTES

/** What a frame is longer than its text. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/** Files under one key: whose nonces differ by chance in eight bytes, and within a file by count in the other four. */
const MOST_FILES = 1024

/** Of one file. A frame is nonce, ciphertext and tag; its text is sealed as UTF-8, its number is bound to it and not written. */
export interface FrameCipher {
  /** In three pieces, of which the first is good until the next frame. */
  seal(plain: string, number: number): readonly [Buffer, Buffer, Buffer]
  /** null: another key, another place, or not what was written. */
  open(sealed: Uint8Array, number: number): Buffer | null
}

export interface Sealer {
  /** For a new file of this name: the salt for its head, and its cipher under the first secret. */
  fresh(name: string): { readonly salt: Buffer; readonly cipher: FrameCipher }
  /** For a file that is there: one cipher a secret, in their order. */
  candidates(salt: Uint8Array, name: string): readonly FrameCipher[]
}

/** `secrets`: STATE_KEY's list, then every ENGINE_TOKEN. */
export function createSealer(secrets: readonly [string, ...string[]]): Sealer {
  let current: { readonly keySalt: Buffer; readonly key: KeyObject } | null = null
  let files = 0

  function currentKey(): { readonly keySalt: Buffer; readonly key: KeyObject } {
    if (current === null || files === MOST_FILES) {
      const keySalt = randomBytes(KEY_SALT_BYTES)
      current = { keySalt, key: keyOf(secrets[0], keySalt) }
      files = 0
    }
    files += 1
    return current
  }

  return {
    fresh(name) {
      const { keySalt, key } = currentKey()
      const chance = randomBytes(MARK_BYTES + NONCE_BYTES)
      const mark = chance.subarray(0, MARK_BYTES)
      const cipher = cipherOf(key, mark, name, chance.subarray(MARK_BYTES))
      return { salt: Buffer.concat([keySalt, mark]), cipher }
    },
    candidates(salt, name) {
      const mark = salt.subarray(KEY_SALT_BYTES)
      return secrets.map((secret) => {
        const key = keyOf(secret, salt.subarray(0, KEY_SALT_BYTES))
        return cipherOf(key, mark, name, randomBytes(NONCE_BYTES))
      })
    },
  }
}

function keyOf(secret: string, keySalt: Uint8Array): KeyObject {
  // As an object: from bytes it would be made anew for every frame, which takes longer than to seal one.
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, keySalt, INFO, 32)))
}

/**
 * `nonce`: where the count begins, drawn for each cipher. Whoever takes up a file writes other content in the place of a frame
 * that was torn, and must not do so under the same nonce.
 */
function cipherOf(key: KeyObject, mark: Uint8Array, name: string, nonce: Buffer): FrameCipher {
  const bound = Buffer.concat([mark, Buffer.from(name), Buffer.alloc(NUMBER_BYTES)])
  const place = (number: number) => {
    bound.writeUInt32BE(number, bound.length - NUMBER_BYTES)
    return bound
  }
  let count = 0
  return {
    seal(plain, number) {
      nonce.writeUInt32BE(count, NONCE_BYTES - COUNT_BYTES)
      count += 1
      const cipher = createCipheriv(ALGORITHM, key, nonce)
      cipher.setAAD(place(number))
      const sealed = cipher.update(plain, 'utf8')
      // Of this mode it only makes the tag: no bytes are held back.
      cipher.final()
      return [nonce, sealed, cipher.getAuthTag()]
    },
    open(sealed, number) {
      if (sealed.length < SEAL_BYTES) return null
      const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, NONCE_BYTES))
      decipher.setAAD(place(number))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
      } catch {
        return null
      }
    },
  }
}
