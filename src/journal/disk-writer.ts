/**
 * Writes the journal's lines to the files under LOG_DIR, in batches, beside the loop: `write` only takes a line, and what the
 * disk does delays nobody. It never throws and never rejects. SPEC §12.3.
 *
 * Where the disk is full or the folder has gone, that is told once; lines wait in a bounded queue while it is tried again every
 * few seconds, and what does not fit in the queue is counted. The system's own cache is not forced to the disk: a crash of the
 * machine may cost the last seconds, and tear the last line.
 */
import { promises as fs } from 'node:fs'
import { dayAt, dayOf, type LogFile, logName, logNameOf, logPath, partOf, toDelete } from './log-files.ts'
import { type JournalItem, msOfId } from './journal-item.ts'

export interface DiskLimits {
  /** LOG_DIR: there is such a folder when the writer is made. */
  readonly folder: string
  readonly retentionDays: number
  /** LOG_DIR_MAX_BYTES. */
  readonly maxBytes: number
  /** How a file is opened to be written. Default: Node's own. */
  readonly open?: typeof fs.open
}

export interface DiskWriterOptions extends DiskLimits {
  readonly now: () => number
  /** Writing has failed, and is tried again from now on. `code` is the system's, such as ENOSPC. */
  readonly onBroken: (code: string) => void
  /** It works again; `lost`: lines that were not kept. */
  readonly onBack: (lost: number) => void
  /** A line is not kept: too many wait for the disk. */
  readonly onLost: () => void
  /** Default: `QUEUE_CHARS`. */
  readonly queueChars?: number
  /** Default: `RETRY_MS`. */
  readonly retryMs?: number
}

export interface DiskWriter {
  write(item: JournalItem): void
  /** Resolves once everything that was written before has been handed to the system, or has failed. */
  flush(): Promise<void>
}

/** How long a line waits for others. */
const BATCH_MS = 200
const RETRY_MS = 5000
const BATCH_BYTES = 1_048_576
/** A file is followed by the next one at this size, or at an eighth of LOG_DIR_MAX_BYTES. */
const PART_BYTES = 67_108_864
/** UTF-16 units of lines that wait for a disk. */
const QUEUE_CHARS = 8_388_608

interface Waiting {
  readonly day: string
  readonly line: string
}

export function createDiskWriter(options: DiskWriterOptions): DiskWriter {
  const { queueChars = QUEUE_CHARS, retryMs = RETRY_MS, onBroken, onBack, onLost } = options
  const partBytes = Math.min(PART_BYTES, Math.floor(options.maxBytes / 8))
  const append = createAppender(options, partBytes)
  let queue: Waiting[] = []
  let chars = 0
  let lost = 0
  let broken = false
  let timer: NodeJS.Timeout | null = null
  let draining: Promise<void> | null = null

  function write({ id, line }: JournalItem): void {
    if (chars + line.length > queueChars) {
      lost += 1
      onLost()
      return
    }
    queue.push({ day: dayAt(msOfId(id)), line })
    chars += line.length
    schedule()
  }

  function schedule(): void {
    if (timer !== null || draining !== null || queue.length === 0) return
    timer = setTimeout(() => void flush(), broken ? retryMs : BATCH_MS)
    timer.unref()
  }

  function flush(): Promise<void> {
    if (timer !== null) clearTimeout(timer)
    timer = null
    if (queue.length === 0) return Promise.resolve()
    draining ??= drain()
    return draining
  }

  async function drain(): Promise<void> {
    while (queue.length > 0 && (await writeBatch()));
    // In the same turn as the last look at the queue: what comes after it begins anew.
    draining = null
    schedule()
  }

  /** False: it failed, and is tried again later. */
  async function writeBatch(): Promise<boolean> {
    const count = batchLength(queue, Math.min(BATCH_BYTES, partBytes))
    const batch = queue.slice(0, count).map(({ line }) => `${line}\n`)
    const fault = await append(queue[0]?.day ?? '', batch.join(''), broken)
    if (fault !== null) {
      if (!broken) onBroken(fault)
      broken = true
      return false
    }
    queue = queue.slice(count)
    chars -= batch.reduce((sum, line) => sum + line.length - 1, 0)
    if (broken) onBack(lost)
    broken = false
    lost = 0
    return true
  }

  return { write, flush }
}

/** How many lines from the front go to disk at once: of one day, and not more than a bound, which one line may pass. */
function batchLength(queue: readonly Waiting[], mostBytes: number): number {
  let bytes = 0
  let count = 0
  for (const { day, line } of queue) {
    bytes += Buffer.byteLength(line) + 1
    if (day !== queue[0]?.day || (bytes > mostBytes && count > 0)) break
    count += 1
  }
  return count
}

/** null: written. Else the code of what went wrong, and nothing of it was written. */
type Append = (day: string, text: string, makeFolder: boolean) => Promise<string | null>

function createAppender(options: DiskWriterOptions, partBytes: number): Append {
  const { folder, maxBytes, retentionDays, now, open = fs.open } = options
  let name = ''
  /** Of that file. */
  let size = 0

  /** The file that is written to from now on, with room for so many bytes; those that must go for it are gone. */
  async function roll(day: string, adding: number): Promise<void> {
    const files = await listFiles(folder)
    const last = files.findLast((file) => dayOf(file.name) === day) ?? { name: logName(day, 0), bytes: 0 }
    const isFull = last.bytes > 0 && last.bytes + adding > partBytes
    name = isFull ? logName(day, partOf(last.name) + 1) : last.name
    size = isFull ? 0 : last.bytes
    const rules = { nowMs: now(), retentionDays, maxBytes: maxBytes - partBytes, current: name }
    // One that cannot be removed is tried again with the next: it must not keep new entries from the disk.
    for (const old of toDelete(files, rules)) await fs.rm(logPath(folder, old), { force: true }).catch(() => {})
  }

  return async (day, text, makeFolder) => {
    const adding = Buffer.byteLength(text)
    try {
      if (makeFolder) await fs.mkdir(folder, { recursive: true })
      if (dayOf(name) !== day || size + adding > partBytes) await roll(day, adding)
      size = await appendTo(await open(logPath(folder, name), 'a+'), text)
      return null
    } catch (error) {
      name = ''
      return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    }
  }
}

/** The size of the file afterwards; it is closed. Where it fails, what was there before is there and nothing else. */
async function appendTo(file: fs.FileHandle, text: string): Promise<number> {
  try {
    const { size } = await file.stat()
    const whole = (await endsTorn(file, size)) ? `\n${text}` : text
    try {
      await file.appendFile(whole)
    } catch (error) {
      await file.truncate(size).catch(() => {})
      throw error
    }
    return size + Buffer.byteLength(whole)
  } finally {
    await file.close()
  }
}

/** True where the last line has no end: an earlier process was killed while it wrote. */
async function endsTorn(file: fs.FileHandle, size: number): Promise<boolean> {
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer[0] !== 0x0a
}

/** Ours, in order of time. Rejects where the folder cannot be read. */
export async function listFiles(folder: string): Promise<LogFile[]> {
  const names = (await fs.readdir(folder)).map(logNameOf).filter((name) => name !== null)
  const files = await Promise.all(
    names.map(async (name) => {
      const found = await fs.stat(logPath(folder, name)).catch(() => null)
      return found?.isFile() === true ? [{ name, bytes: found.size }] : []
    }),
  )
  return files.flat().toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
