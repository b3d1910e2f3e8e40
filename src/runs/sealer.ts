/**
 * What is written to STATE_DIR is sealed: AES-256-GCM under a key derived by HKDF from a secret of the settings and the salt
 * at the file's head. A key serves many files, because to derive one costs more than to seal several frames; what is sealed
 * names its place (the file's mark, its title, and the frame's number), so that no frame passes as another. Pure but for
 * chance.
 *
 * Secrets are rotated by keeping the old one in the list: the first seals, each opens. Never here: files, or what is in them.
 */
import {
  type CipherGCM,
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const INFO = 'theloop state file v2'
const NUMBER_BYTES = 4
const COUNT_BYTES = 4

/** What the key is derived with, then the mark that no two files share: drawn with the key, and a count of its files. */
const KEY_SALT_BYTES = 16
const MARK_BYTES = 16
export const SALT_BYTES = KEY_SALT_BYTES + MARK_BYTES

/** What a frame is longer than its text. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/** Files that are made under one key. */
const MOST_FILES = 1024

/**
 * Of a key that seals new files, so many ciphers are made in one go: each is good for one frame, and one that is made among
 * other work, when nothing of it is in the processor's caches, takes five times as long.
 */
const MADE_AHEAD = 32

/** Of one file. A frame is nonce, ciphertext and tag; its text is sealed as UTF-8, its number is bound to it and not written. */
export interface FrameCipher {
  /** In three pieces. */
  seal(plain: string, number: number): readonly [Buffer, Buffer, Buffer]
  /** null: another key, another place, or not what was written. */
  open(sealed: Uint8Array, number: number): Buffer | null
}

export interface Sealer {
  /** For a new file of this title: the salt for its head, good until the next, and its cipher under the first secret. */
  fresh(title: string): { readonly salt: Buffer; readonly cipher: FrameCipher }
  /** For a file that is there: one cipher a secret, in their order. */
  candidates(salt: Uint8Array, title: string): readonly FrameCipher[]
}

/** A cipher that has sealed nothing yet, and its nonce. */
interface Unused {
  readonly nonce: Buffer
  readonly cipher: CipherGCM
}

interface SealingKey {
  /** For the next file. */
  readonly salt: Buffer
  readonly key: KeyObject
  readonly unused: () => Unused
}

/** `secrets`: STATE_KEY's list, then every ENGINE_TOKEN. */
export function createSealer(secrets: readonly [string, ...string[]]): Sealer {
  let current: SealingKey | null = null
  let files = 0

  function currentKey(): SealingKey {
    if (current === null || files === MOST_FILES) {
      const salt = randomBytes(SALT_BYTES)
      const key = keyOf(secrets[0], salt.subarray(0, KEY_SALT_BYTES))
      current = { salt, key, unused: ciphersOf(key, MADE_AHEAD) }
      files = 0
    }
    files += 1
    current.salt.writeUInt32BE(files, SALT_BYTES - COUNT_BYTES)
    return current
  }

  return {
    fresh(title) {
      const { salt, key, unused } = currentKey()
      return { salt, cipher: cipherOf(key, unused, salt.subarray(KEY_SALT_BYTES), title) }
    },
    candidates(salt, title) {
      const mark = salt.subarray(KEY_SALT_BYTES)
      return secrets.map((secret) => {
        const key = keyOf(secret, salt.subarray(0, KEY_SALT_BYTES))
        return cipherOf(key, ciphersOf(key, 1), mark, title)
      })
    },
  }
}

function keyOf(secret: string, keySalt: Uint8Array): KeyObject {
  // As an object: from bytes it would be made anew for every frame, which takes longer than to seal one.
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, keySalt, INFO, 32)))
}

/**
 * The ciphers of a key, whose nonces are counted from a number drawn here. Whoever takes up a file writes other content in the
 * place of a frame that was torn, and must not do so under the same nonce.
 */
function ciphersOf(key: KeyObject, ahead: number): () => Unused {
  const made: Unused[] = []
  const first = randomBytes(NONCE_BYTES - COUNT_BYTES)
  let count = 0

  function make(): Unused {
    const nonce = Buffer.allocUnsafe(NONCE_BYTES)
    first.copy(nonce)
    nonce.writeUInt32BE(count, NONCE_BYTES - COUNT_BYTES)
    count += 1
    return { nonce, cipher: createCipheriv(ALGORITHM, key, nonce) }
  }

  return () => {
    const next = made.pop()
    if (next !== undefined) return next
    while (made.length < ahead - 1) made.push(make())
    return make()
  }
}

function cipherOf(key: KeyObject, unused: () => Unused, mark: Uint8Array, title: string): FrameCipher {
  const bound = Buffer.concat([mark, Buffer.from(title), Buffer.alloc(NUMBER_BYTES)])
  const place = (number: number) => {
    bound.writeUInt32BE(number, bound.length - NUMBER_BYTES)
    return bound
  }
  return {
    seal(plain, number) {
      const { nonce, cipher } = unused()
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
