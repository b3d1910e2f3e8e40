/**
 * Files of STATE_DIR that are there before a run needs one: empty, open, and their names on the disk. To make one takes two
 * waits for the disk, on top of the one for what is written; a handful made at once share those, and no run waits for them.
 *
 * They are a convenience: where none can be made, a run makes its own file, and hears what is wrong.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { WriteFault } from './spool-file.ts'
import type { StateDisk } from './state-disk.ts'

/** So many are there at most, and more are made when half of them are gone. Each takes a handle. */
const MOST_SPARES = 16

export interface SpareFile {
  readonly path: string
  readonly handle: number
}

export interface SpareFiles {
  /** One that is there still; null: none is. */
  take(): SpareFile | null
  /** Resolves when those that were left are gone. */
  close(): Promise<void>
}

export interface SpareFilesOptions {
  /** Of a file that is not there yet; another at every call. */
  readonly newPath: () => string
  readonly disk: StateDisk
  /** Resolves once the names of all files that are there would outlast a loss of power. */
  readonly syncNames: () => Promise<WriteFault>
}

/** A file's name says nothing: whose it is stands at its head. No two are the same, whatever an earlier life has left. */
export function createPaths(directory: string): () => string {
  const life = randomBytes(8).toString('hex')
  let count = 0
  return () => join(directory, `${life}-${(count += 1)}.run`)
}

export function createSpareFiles({ newPath, disk, syncNames }: SpareFilesOptions): SpareFiles {
  let ready: SpareFile[] = []
  let making: Promise<void> | null = null
  let isClosed = false

  async function make(): Promise<void> {
    const opening = Array.from({ length: MOST_SPARES - ready.length }, async () => {
      const path = newPath()
      return { path, handle: await disk.open(path, true) }
    })
    const made = (await Promise.allSettled(opening)).flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
    const fault = made.length === 0 || isClosed ? null : await syncNames()
    if (fault === null && !isClosed) ready.push(...made)
    else await discard(made)
    making = null
  }

  async function discard(spares: readonly SpareFile[]): Promise<void> {
    for (const { path, handle } of spares) {
      try {
        disk.close(handle)
      } catch {
        // Nothing was written to it.
      }
      await disk.unlink(path).catch(() => {})
    }
  }

  return {
    take() {
      let spare = ready.pop() ?? null
      // Somebody may have removed the folder, or put another in its place: what is written to this one would be lost.
      if (spare !== null && !disk.isThere(spare.path)) {
        void discard([spare, ...ready])
        ready = []
        spare = null
      }
      if (ready.length <= MOST_SPARES / 2 && !isClosed) making ??= make()
      return spare
    },
    async close() {
      isClosed = true
      await making
      await discard(ready)
      ready = []
    },
  }
}
