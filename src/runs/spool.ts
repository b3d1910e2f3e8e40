/**
 * STATE_DIR: what outlasts the process, as files. A run has one, titled `<run_id>.run`, from its beginning until it is let go;
 * where its end cannot be added to that, another takes its place, titled `<run_id>.ended`. The name of either is `<chance>.run`,
 * because most are made before there is a run. Keys of runs that were let go stand in `keys-<ms>`, which is title and name.
 * Names and titles tell no more than run ids and times; all content is sealed.
 *
 * Nothing here rejects: a write that failed is the system's code for it. What a fault means for a run, `durable-runs.ts`
 * decides. Reading what was left behind: `spool-load.ts`.
 */
import { join } from 'node:path'
import type { RunId } from '../contract/ids.ts'
import type { Sealer } from './sealer.ts'
import {
  createTurns,
  type OnWrite,
  SpoolFile,
  type SpoolFileOptions,
  type When,
  type WriteFault,
} from './spool-file.ts'
import { createPaths, createSpareFiles, type SpareFiles } from './spare-files.ts'
import { codeOf, realDisk, type StateDisk } from './state-disk.ts'
import { newFrames, type FrameMaker } from './spool-frames.ts'
import { encode, frameOf, resultLine, type Accepted, type Ended, type KnownKey, type Progress } from './spool-record.ts'
import type { Stored, Tried } from './spool-record.ts'
import type { ShownText } from './shown-text.ts'

export interface SpoolOptions {
  /** It must be there. */
  readonly directory: string
  readonly sealer: Sealer
  /** Default: the real one. */
  readonly disk?: StateDisk
  /** STATE_MAX_BYTES: beyond it no run is taken; those that were taken go on being written. */
  readonly maxBytes: number
  /** Told of every write. Default: nobody. */
  readonly onWrite?: OnWrite
}

/** What `begin` answers beyond STATE_MAX_BYTES, beside the codes of the system. */
const STATE_FULL = 'STATE_FULL'

const runTitle = (runId: string) => `${runId}.run`
const endedTitle = (runId: string) => `${runId}.ended`
const keysTitle = (ms: number) => `keys-${ms}`

/** Keys are added to one file for so long; it goes when the last of them must have expired. */
const KEYS_FILE_MS = 3_600_000
const KEYS_KEPT_MS = 26 * 3_600_000

/** Handles of ended runs' files that are kept at hand. */
const MOST_OPEN = 64

/** Of an ended run, from an earlier life: `maker` goes on with it, behind the `length` bytes that are good. */
export interface LeftFile {
  readonly name: string
  readonly maker: FrameMaker
  readonly length: number
}

interface EndedFile {
  readonly file: SpoolFile
  stored: boolean
}

export class Spool {
  readonly #options: SpoolOptions
  readonly #live = new Map<RunId, SpoolFile>()
  readonly #ended = new Map<RunId, EndedFile>()
  readonly #keys: { readonly since: number; readonly file: SpoolFile }[] = []
  #bytes = 0
  readonly #disk: StateDisk
  readonly #common: SpoolFileOptions
  readonly #newPath: () => string
  readonly #spares: SpareFiles
  #directory: Promise<number> | null = null
  /** Files of ended runs that hold a handle, the one used longest ago first. */
  readonly #open = new Set<SpoolFile>()
  #syncing: Promise<WriteFault> | null = null
  #queued: Promise<WriteFault> | null = null
  #removing: Promise<unknown> = Promise.resolve()

  constructor(options: SpoolOptions) {
    this.#options = options
    this.#disk = options.disk ?? realDisk
    this.#common = {
      disk: this.#disk,
      onGrown: (bytes) => void (this.#bytes += bytes),
      onWrite: options.onWrite,
      inTurn: createTurns(),
      syncName: () => this.#syncDirectory(),
    }
    this.#newPath = createPaths(options.directory)
    this.#spares = createSpareFiles({
      newPath: this.#newPath,
      disk: this.#disk,
      syncNames: () => this.#syncDirectory(),
    })
  }

  /** The run is taken: resolves once that would outlast a loss of power. With a fault nothing of it is left. */
  async begin(runId: RunId, accepted: Accepted): Promise<WriteFault> {
    const content = encode(accepted)
    if (this.#bytes + content.length > this.#options.maxBytes) return STATE_FULL
    const file = this.#firstFile(runTitle(runId))
    this.#live.set(runId, file)
    const fault = await file.append(content, 'synced')
    if (fault === null) return null
    this.#live.delete(runId)
    await file.remove()
    return fault
  }

  /** Written to the system, not to the disk: it outlasts the process, and power as far as the system has got. */
  async progress(runId: RunId, progress: Progress, when: When): Promise<WriteFault> {
    return (await this.#live.get(runId)?.append(encode(progress), when)) ?? null
  }

  /** As `progress`. */
  async shown(runId: RunId, shown: ShownText): Promise<WriteFault> {
    return (await this.#live.get(runId)?.append(encode({ kind: 'shown', ...shown }), 'now')) ?? null
  }

  /**
   * The result behind what led to it, or in its place; resolves once it would outlast a loss of power. Where it cannot be
   * written, what led to it goes too: told after a restart, it would be another end of the same run.
   *
   * `leftName`: the file of an earlier life that led to it.
   */
  async end(runId: RunId, ended: Ended, json: string, leftName?: string): Promise<WriteFault> {
    const content = frameOf([encode(ended), resultLine(json)])
    const file = this.#live.get(runId)
    this.#live.delete(runId)
    if (file !== undefined && (await this.#endIn(file, runId, content)) === null) return null
    const fault = await this.#endAnew(runId, content)
    if (leftName !== undefined) await this.#unlink(leftName)
    await file?.remove()
    // There is more room now.
    return fault === null ? null : this.#endAnew(runId, content)
  }

  async #endIn(file: SpoolFile, runId: RunId, content: string): Promise<WriteFault> {
    const fault = await file.append(content, 'synced')
    if (fault !== null) return fault
    this.#ended.set(runId, { file, stored: false })
    // Most are delivered within moments, and that is noted.
    await this.#used(file)
    return null
  }

  async #endAnew(runId: RunId, content: string): Promise<WriteFault> {
    const file = this.#newFile(endedTitle(runId))
    const fault = await this.#endIn(file, runId, content)
    if (fault !== null) await file.remove()
    return fault
  }

  /** One that delivered it is written with the `stored` that follows. */
  async tried(runId: RunId, tried: Tried): Promise<WriteFault> {
    return this.#note(runId, encode(tried), tried.state === 'delivered' ? 'soon' : 'now')
  }

  /** The harness has the result. Only the first word of it is written. */
  async stored(runId: RunId, stored: Stored, when: When): Promise<WriteFault> {
    const ended = this.#ended.get(runId)
    if (ended === undefined || ended.stored) return (await ended?.file.settled()) ?? null
    ended.stored = true
    return this.#note(runId, encode(stored), when)
  }

  /** It is sent again: what comes of that is written anew. Outlasts the process, and power as far as the system has got. */
  async again(runId: RunId): Promise<WriteFault> {
    const ended = this.#ended.get(runId)
    if (ended !== undefined) ended.stored = false
    return this.#note(runId, encode({ kind: 'again' }), 'now')
  }

  async #note(runId: RunId, content: string, when: When): Promise<WriteFault> {
    const ended = this.#ended.get(runId)
    if (ended === undefined) return null
    const fault = await ended.file.append(content, when)
    // It may have been let go of meanwhile, and holds no handle then.
    if (this.#ended.get(runId) !== ended) return fault
    if (ended.stored) await this.#rest(ended.file)
    else await this.#used(ended.file)
    return fault
  }

  /** These runs are not kept any more; their keys still are. */
  remove(runIds: readonly RunId[], keys: readonly KnownKey[]): Promise<WriteFault> {
    const removed = this.#removing.then(async () => {
      const fault = keys.length === 0 ? null : await this.#keepKeys(keys)
      for (const runId of runIds) {
        const ended = this.#ended.get(runId)
        this.#ended.delete(runId)
        if (ended === undefined) continue
        this.#open.delete(ended.file)
        await ended.file.remove()
      }
      return fault
    })
    this.#removing = removed
    return removed
  }

  async #keepKeys(keys: readonly KnownKey[]): Promise<WriteFault> {
    const now = Date.now()
    const current = this.#keys.at(-1)
    let file = current !== undefined && now - current.since < KEYS_FILE_MS ? current.file : null
    if (file === null) {
      await current?.file.rest()
      file = this.#newFile(keysTitle(now), join(this.#options.directory, keysTitle(now)))
      this.#keys.push({ since: now, file })
      while ((this.#keys[0]?.since ?? now) < now - KEYS_KEPT_MS) await this.#keys.shift()?.file.remove()
    }
    return file.append(encode({ kind: 'keys', keys }), 'synced')
  }

  /** A file of an earlier life: of this size, and good up to `length`. */
  adopt(runId: RunId, { name, maker, length }: LeftFile, isStored: boolean): void {
    const path = join(this.#options.directory, name)
    this.#ended.set(runId, { file: new SpoolFile({ path, maker, goodBytes: length }, this.#common), stored: isStored })
    this.#bytes += length
  }

  /** Every key of an earlier life that is still good, in the place of the files that had them. */
  async replaceKeys(keys: readonly KnownKey[], names: readonly string[]): Promise<WriteFault> {
    const fault = keys.length === 0 ? null : await this.#keepKeys(keys)
    if (fault === null) for (const name of names) await this.#unlink(name)
    return fault
  }

  /** Resolves when all that was given is written and every file is closed. */
  async close(): Promise<void> {
    await this.#removing
    const files = [...this.#live.values(), ...[...this.#ended.values(), ...this.#keys].map(({ file }) => file)]
    for (const file of files) await file.rest()
    await this.#spares.close()
    const directory = this.#directory
    this.#directory = null
    if (directory !== null) await directory.then((opened) => this.#disk.close(opened)).catch(() => {})
  }

  /** Keeps its handle at hand, and gives back the one that was used longest ago where there are too many. */
  async #used(file: SpoolFile): Promise<void> {
    this.#open.delete(file)
    this.#open.add(file)
    const [oldest] = this.#open
    if (this.#open.size > MOST_OPEN && oldest !== undefined) await this.#rest(oldest)
  }

  async #rest(file: SpoolFile): Promise<void> {
    this.#open.delete(file)
    await file.rest()
  }

  /** Of a run that begins. */
  #firstFile(title: string): SpoolFile {
    const spare = this.#spares.take()
    if (spare === null) return this.#newFile(title)
    return new SpoolFile({ ...spare, maker: newFrames(this.#options.sealer, title) }, this.#common)
  }

  #newFile(title: string, path = this.#newPath()): SpoolFile {
    return new SpoolFile({ path, maker: newFrames(this.#options.sealer, title) }, this.#common)
  }

  /** A file of an earlier life, of which nothing was counted. */
  async #unlink(name: string): Promise<void> {
    await this.#disk.unlink(join(this.#options.directory, name)).catch(() => {})
  }

  /** That a file exists at all is written with its directory. Those that wait while one is under way share the next. */
  #syncDirectory(): Promise<WriteFault> {
    if (this.#queued !== null) return this.#queued
    const queued = (this.#syncing ?? Promise.resolve()).then(() => {
      this.#queued = null
      this.#syncing = this.#syncOnce()
      return this.#syncing
    })
    this.#queued = queued
    return queued
  }

  async #syncOnce(): Promise<WriteFault> {
    try {
      const directory = await (this.#directory ??= this.#disk.openDirectory(this.#options.directory))
      await this.#common.inTurn(() => this.#disk.syncDirectory(directory))
      return null
    } catch (error) {
      this.#directory = null
      return codeOf(error)
    }
  }
}
