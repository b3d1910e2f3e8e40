/**
 * One file of STATE_DIR: sealed frames are added in the order in which they were given, each when the one before is written.
 *
 * It never rejects: what went wrong is the system's code for it. After a write that failed nothing more is added, because
 * what would stand behind a torn frame could not be read.
 */
import { promises as fs } from 'node:fs'
import type { FrameMaker } from './spool-frames.ts'

/** Such as `ENOSPC`; null: it is written. */
export type WriteFault = string | null

export interface SpoolFileOptions {
  readonly path: string
  readonly maker: FrameMaker
  /** The file is there already, good up to here; what is behind it goes with the first write. Absent: it is made. */
  readonly goodBytes?: number
  /** Told how many bytes came to be. */
  readonly onGrown: (bytes: number) => void
  /** Told of every write and what came of it. Absent: nobody. */
  readonly onWrite?: OnWrite | undefined
  /** Waits its turn with what keeps a thread busy until the disk has answered. */
  readonly inTurn: InTurn
}

/** One write to STATE_DIR: its size, how long it took with its wait for the disk, and its fault. */
export type OnWrite = (write: { readonly bytes: number; readonly ms: number; readonly fault: WriteFault }) => void

export type InTurn = (sync: () => Promise<void>) => Promise<void>

/**
 * A wait for the disk holds one of the four threads that name lookups and all other files need too. At most two are under
 * way, so that a slow disk holds up nobody who does not wait for it.
 */
export function createTurns(most = 2): InTurn {
  const waiting: (() => void)[] = []
  let busy = 0
  return async (sync) => {
    if (busy === most) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy += 1
    try {
      await sync()
    } finally {
      // The place goes on to the next.
      const next = waiting.shift()
      if (next === undefined) busy -= 1
      else next()
    }
  }
}

export class SpoolFile {
  readonly #options: SpoolFileOptions
  #handle: fs.FileHandle | null = null
  #begun = false
  /** The outcome of everything given so far. */
  #tail: Promise<WriteFault> = Promise.resolve(null)

  constructor(options: SpoolFileOptions) {
    this.#options = options
  }

  /** `synced`: it resolves once this, and all before it, would outlast a loss of power. */
  append(contents: readonly Uint8Array[], synced: boolean): Promise<WriteFault> {
    this.#tail = this.#tail.then(async (fault) => fault ?? (await this.#write(contents, synced)))
    return this.#tail
  }

  /** What has become of everything given so far. */
  settled(): Promise<WriteFault> {
    return this.#tail
  }

  /** Gives the file's handle back once all is written; a later `append` opens it anew. */
  async rest(): Promise<void> {
    const resting = this.#tail.then(async (fault) => {
      const handle = this.#handle
      this.#handle = null
      await handle?.close().catch(() => {})
      return fault
    })
    this.#tail = resting
    await resting
  }

  async #write(contents: readonly Uint8Array[], synced: boolean): Promise<WriteFault> {
    const from = performance.now()
    const tell = (bytes: number, fault: WriteFault) => {
      this.#options.onWrite?.({ bytes, ms: performance.now() - from, fault })
      return fault
    }
    try {
      const { maker, goodBytes, inTurn, onGrown } = this.#options
      const isNew = !this.#begun && goodBytes === undefined
      const handle = (this.#handle ??= await this.#open())
      const frames = contents.map((content) => maker.frame(content))
      // One write: each is a journey to another thread.
      const bytes = Buffer.concat(isNew ? [maker.head, ...frames] : frames)
      await writeWhole(handle, bytes)
      onGrown(bytes.length)
      if (synced) await inTurn(() => handle.datasync())
      return tell(bytes.length, null)
    } catch (error) {
      return tell(0, codeOf(error))
    }
  }

  async #open(): Promise<fs.FileHandle> {
    const { path, goodBytes } = this.#options
    const handle = await fs.open(path, this.#begun || goodBytes !== undefined ? 'a' : 'ax', 0o600)
    if (this.#begun) return handle
    this.#begun = true
    if (goodBytes !== undefined) await handle.truncate(goodBytes)
    return handle
  }
}

async function writeWhole(handle: fs.FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await handle.write(bytes, written, bytes.length - written)).bytesWritten
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN'
}
