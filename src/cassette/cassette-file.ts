/**
 * One cassette on its way to disk. It is written beside the run, never waited for, bounded in size and in what may wait for
 * the disk, and never throws: what goes wrong is told once, and then nothing more is written.
 *
 * Until it is whole it bears a temporary name; only its owner may read it.
 */
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/** Of one cassette. */
export const MAX_CASSETTE_BYTES = 64 * 1024 * 1024
/** What waits for a slow disk, of all cassettes together. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024

/** Shared by the cassettes of one process. */
interface Backlog {
  /** Taken and not written yet. */
  bytes: number
}

export interface CassetteFileOptions {
  readonly folder: string
  readonly runId: string
  readonly maxBytes: number
  readonly backlog: Backlog
  /** Told at most once; the code of the error, such as ENOSPC. */
  readonly onFault: (code: string) => void
}

export class CassetteFile {
  readonly #options: CassetteFileOptions
  readonly #path: string
  #waiting: string[] = []
  #waitingBytes = 0
  #bytes = 0
  /** Nothing more is taken: it is cut, or writing has failed. */
  #stopped = false
  #broken = false
  #writing: Promise<void>
  #handle: FileHandle | null = null

  constructor(options: CassetteFileOptions) {
    this.#options = options
    this.#path = join(options.folder, `${options.runId}.cassette.jsonl`)
    this.#writing = this.#attempt(async () => {
      // A process that was killed may have left one of this run, which goes on here.
      await rm(`${this.#path}.part`, { force: true })
      this.#handle = await open(`${this.#path}.part`, 'wx', 0o600)
    })
  }

  /** False: nothing more is taken. */
  get takes(): boolean {
    return !this.#stopped
  }

  /** Takes one line; a line that is too much cuts the cassette. */
  append(line: string): void {
    if (this.#stopped) return
    const bytes = Buffer.byteLength(line) + 1
    const slow = this.#options.backlog.bytes + bytes > MAX_WAITING_BYTES
    if (this.#bytes + bytes > this.#options.maxBytes)
      this.#cut(`the run is larger than ${this.#options.maxBytes} bytes`)
    else if (slow) this.#cut('the disk was slower than the run')
    else this.#take(line, bytes)
  }

  /** Resolves when the file has its name, or writing has failed. */
  async close(): Promise<void> {
    this.#stopped = true
    await this.#writing
    await this.#attempt(async () => {
      await this.#handle?.close()
      await rename(`${this.#path}.part`, this.#path)
    })
  }

  #cut(why: string): void {
    this.#stopped = true
    const line = JSON.stringify({ kind: 'cut', why })
    this.#take(line, line.length + 1)
  }

  #take(line: string, bytes: number): void {
    this.#bytes += bytes
    this.#waitingBytes += bytes
    this.#options.backlog.bytes += bytes
    this.#waiting.push(line)
    if (this.#waiting.length === 1) this.#writing = this.#writing.then(() => this.#write())
  }

  /** Everything that has come together meanwhile, in one piece. */
  async #write(): Promise<void> {
    const text = `${this.#waiting.join('\n')}\n`
    const bytes = this.#waitingBytes
    this.#waiting = []
    this.#waitingBytes = 0
    await this.#attempt(async () => {
      await this.#handle?.appendFile(text)
    })
    this.#options.backlog.bytes -= bytes
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    if (this.#broken) return
    try {
      await work()
    } catch (error) {
      this.#broken = true
      this.#stopped = true
      this.#options.onFault(error instanceof Error && 'code' in error ? String(error.code) : 'unknown')
      await this.#handle?.close().catch(() => {})
      if (this.#handle !== null) await rm(`${this.#path}.part`, { force: true }).catch(() => {})
    }
  }
}
