/**
 * One file of STATE_DIR: sealed frames are added in the order in which they were given, each when the one before is written.
 *
 * It never rejects: what went wrong is the system's code for it. After a write that failed nothing more is added, because
 * what would stand behind a torn frame could not be read.
 */
import type { FrameMaker } from './spool-frames.ts'
import { frameOf } from './spool-record.ts'
import { codeOf, type StateDisk } from './state-disk.ts'

/** Such as `ENOSPC`; null: it is written. */
export type WriteFault = string | null

/** One of the files. */
export interface SpoolPlace {
  readonly path: string
  readonly maker: FrameMaker
  /** The file is there already, good up to here; what is behind it goes with the first write. Absent: it is made. */
  readonly goodBytes?: number
  /** It has been made already: it is empty, open under this handle, and its name is on the disk. Absent: it has not. */
  readonly handle?: number
}

/** What all files have in common. */
export interface SpoolFileOptions {
  readonly disk: StateDisk
  /** Told how many bytes came to be, and below zero how many went. */
  readonly onGrown: (bytes: number) => void
  /** Told of every write and what came of it. Absent: nobody. */
  readonly onWrite?: OnWrite | undefined
  /** Waits its turn with what keeps a thread busy until the disk has answered. */
  readonly inTurn: InTurn
  /** Resolves once the names of all files that are there would outlast a loss of power. Called until that of this one does. */
  readonly syncName: () => Promise<WriteFault>
}

/** One write to STATE_DIR: its size, how long it took where it waited for the disk (else null), and its fault. */
export type OnWrite = (write: {
  readonly bytes: number
  readonly waitedMs: number | null
  readonly fault: WriteFault
}) => void

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

/** Beyond it a write is left to another thread. */
const LARGE_BYTES = 131_072

/** What is written at once is gathered here: a buffer of its own for each request would make the collector work for it. */
const gathered = Buffer.allocUnsafeSlow(LARGE_BYTES)

/** In one piece, good until the next call where it is smaller than `LARGE_BYTES`, and for good where it is not. */
function joined(parts: readonly Buffer[]): Buffer {
  if (parts.reduce((sum, { length }) => sum + length, 0) >= LARGE_BYTES) return Buffer.concat(parts)
  let length = 0
  for (const part of parts) length += part.copy(gathered, length)
  return gathered.subarray(0, length)
}

/**
 * `soon`: with the next that is to be written, at the latest at the end of this turn of the event loop. `now`: before whoever
 * waits for it goes on. `synced`: it would outlast a loss of power, and all before it.
 */
export type When = 'soon' | 'now' | 'synced'

interface Given {
  readonly content: string
  readonly synced: boolean
  readonly told: (fault: WriteFault) => void
}

function contentOf(given: readonly Given[]): string {
  const [first] = given
  return given.length === 1 && first !== undefined ? first.content : frameOf(given.map(({ content }) => content))
}

export class SpoolFile {
  readonly #place: SpoolPlace
  readonly #options: SpoolFileOptions
  #file: number | null
  #begun = false
  #fault: WriteFault = null
  /** Bytes that are there. */
  #written: number
  /** What was given while another write was on its way. */
  #given: Given[] = []
  /** At the end of this turn what was given `soon` is written. */
  #later: NodeJS.Immediate | null = null
  /** What was given `now` is about to be. */
  #isDue = false
  /** Resolves when everything given so far is done with; null: nothing is under way. */
  #working: Promise<void> | null = null
  /** All that was given is written, and the disk is being waited for. */
  #syncing = false
  /** That it exists would outlast a loss of power. */
  #isNamed: boolean

  constructor(place: SpoolPlace, options: SpoolFileOptions) {
    this.#place = place
    this.#options = options
    this.#written = place.goodBytes ?? 0
    this.#file = place.handle ?? null
    this.#isNamed = place.handle !== undefined
  }

  /** Resolves to what came of it, and of all before it. */
  append(content: string, when: When): Promise<WriteFault> {
    return new Promise((told) => {
      this.#given.push({ content, synced: when === 'synced', told })
      if (when === 'soon') this.#later ??= setImmediate(() => this.#flush())
      else this.#flushNow()
    })
  }

  /** What has become of everything given so far. */
  async settled(): Promise<WriteFault> {
    this.#flush()
    while (this.#working !== null) await this.#working
    return this.#fault
  }

  /** Gives the file's handle back once all is written; a later `append` opens it anew. */
  async rest(): Promise<void> {
    await this.settled()
    const file = this.#file
    this.#file = null
    try {
      if (file !== null) this.#options.disk.close(file)
    } catch {
      // What was promised of it has been synced before.
    }
  }

  /** Nothing may be given any more. */
  async remove(): Promise<void> {
    await this.rest()
    this.#grown(-this.#written)
    await this.#options.disk.unlink(this.#place.path).catch(() => {})
  }

  /** What is given in one go is written at once. */
  #flushNow(): void {
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => this.#flush())
  }

  /** On this thread where it can be, else by `#work`. */
  #flush(): void {
    this.#isDue = false
    if (this.#later !== null) clearImmediate(this.#later)
    this.#later = null
    const given = this.#given
    if (given.length === 0) return
    const isFree = (this.#working === null || this.#syncing) && !given.some(({ synced }) => synced)
    if (isFree && this.#file !== null && this.#fault === null) {
      const content = contentOf(given)
      if (content.length < LARGE_BYTES) {
        this.#given = []
        const fault = this.#writeNow(this.#file, content)
        for (const { told } of given) told(fault)
        return
      }
    }
    // Not at once: it must not be over before it is known to be under way.
    this.#working ??= Promise.resolve().then(() => this.#work())
  }

  async #work(): Promise<void> {
    while (this.#given.length > 0) {
      const from = performance.now()
      const fault = this.#fault ?? (await this.#open())
      this.#fault ??= fault
      // What has come meanwhile goes with it.
      const given = this.#given
      this.#given = []
      const before = this.#written
      if (this.#fault === null) this.#fault = await this.#write(contentOf(given))
      // Whoever waits for the system alone does not wait for the disk.
      for (const { synced, told } of given) if (!synced) told(this.#fault)
      const waiting = given.filter(({ synced }) => synced)
      const bytes = this.#written - before
      const unsynced = waiting.length > 0 ? await this.#synced() : null
      const waitedMs = waiting.length > 0 ? performance.now() - from : null
      this.#options.onWrite?.({ bytes, waitedMs, fault: unsynced ?? this.#fault })
      for (const { told } of waiting) told(unsynced ?? this.#fault)
    }
    this.#working = null
  }

  async #write(content: string): Promise<WriteFault> {
    const file = this.#file
    if (file === null) return this.#fault
    try {
      const bytes = this.#bytesOf(content)
      if (bytes.length < LARGE_BYTES) this.#options.disk.write(file, bytes)
      else await this.#options.disk.writeLarge(file, bytes)
      this.#grown(bytes.length)
      return null
    } catch (error) {
      return codeOf(error)
    }
  }

  #writeNow(file: number, content: string): WriteFault {
    const before = this.#written
    try {
      const bytes = this.#bytesOf(content)
      this.#options.disk.write(file, bytes)
      this.#grown(bytes.length)
    } catch (error) {
      this.#fault = codeOf(error)
    }
    this.#options.onWrite?.({ bytes: this.#written - before, waitedMs: null, fault: this.#fault })
    return this.#fault
  }

  #grown(bytes: number): void {
    this.#written += bytes
    this.#options.onGrown(bytes)
  }

  #bytesOf(content: string): Buffer {
    const { maker, goodBytes } = this.#place
    // One frame for what is written at once: to seal is most of what a small one costs.
    const frame = maker.frame(content)
    const isFirst = !this.#begun && goodBytes === undefined
    this.#begun = true
    return joined(isFirst ? [maker.head, ...frame] : frame)
  }

  /** Content and name at once: each is a wait for the disk, and they are not longer together than one alone. */
  async #synced(): Promise<WriteFault> {
    const file = this.#file
    if (file === null || this.#fault !== null) return this.#fault
    this.#syncing = true
    const [broken, unnamed] = await Promise.all([this.#sync(file), this.#isNamed ? null : this.#options.syncName()])
    this.#syncing = false
    this.#isNamed ||= unnamed === null
    // A name can be tried again; whether what was not synced is there nobody can tell.
    this.#fault ??= broken
    return this.#fault ?? unnamed
  }

  async #sync(file: number): Promise<WriteFault> {
    try {
      await this.#options.inTurn(() => this.#options.disk.sync(file))
      return null
    } catch (error) {
      return codeOf(error)
    }
  }

  async #open(): Promise<WriteFault> {
    if (this.#file !== null) return null
    const { path, goodBytes } = this.#place
    const { disk } = this.#options
    try {
      const file = await disk.open(path, !this.#begun && goodBytes === undefined)
      this.#file = file
      if (!this.#begun && goodBytes !== undefined) await disk.truncate(file, goodBytes)
      return null
    } catch (error) {
      return codeOf(error)
    }
  }
}
