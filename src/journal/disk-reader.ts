/**
 * Reads the journal's files back, oldest first, in pieces: no file is held whole, and how much one question may read is
 * bounded. Lines that are torn, or none of ours, are passed over. It never throws and never rejects.
 */
import { closeSync, createReadStream, openSync, readdirSync, readSync, fstatSync } from 'node:fs'
import { listFiles } from './disk-writer.ts'
import { dayAt, dayOf, logNameOf, logPath } from './log-files.ts'
import { idOfLine, itemFromLine, msOfId } from './journal-item.ts'
import type { LogFilter, LogPosition, LogQuery } from './log-query.ts'

/** One question reads at most so much; its cursor goes on behind it. */
const MAX_SCAN_BYTES = 67_108_864
const CHUNK_BYTES = 262_144
/** Longer than any line that is written. */
const MAX_LINE_BYTES = 1_048_576

export interface DiskPage {
  readonly lines: readonly string[]
  /** The last entry that was looked at; null: none was. */
  readonly last: LogPosition | null
  /** Everything on disk that the question is about was looked at. */
  readonly done: boolean
}

export interface DiskQuestion {
  readonly folder: string
  readonly query: LogQuery
  readonly filter: LogFilter
  /** Entries with this id and later ones are had from memory; null: none are. */
  readonly before: string | null
  /** Default: `MAX_SCAN_BYTES`. */
  readonly maxScanBytes?: number
}

export async function readDisk(question: DiskQuestion): Promise<DiskPage> {
  const { folder, query, filter, before, maxScanBytes = MAX_SCAN_BYTES } = question
  // Who follows the journal asks again and again for what memory has: no file is read for that.
  if (before !== null && filter.isTooOld(before)) return { lines: [], last: null, done: true }
  const lines: string[] = []
  let last: LogPosition | null = null
  let scanned = 0
  const { after } = query
  for (const name of await filesFor(folder, query)) {
    const from = after?.place?.file === name ? after.place.offset : 0
    for await (const chunk of linesOf(logPath(folder, name), from)) {
      for (const { line, end } of chunk.lines) {
        const verdict = judge(line, question)
        if (verdict === 'end') return { lines, last, done: true }
        const id = idOfLine(line)
        if (verdict === 'skip' || id === null) continue
        // Not before what the reader has had: what lies between would be told again.
        last = { id: after !== null && id < after.id ? after.id : id, place: { file: name, offset: end } }
        if (verdict === 'match') lines.push(line)
        if (lines.length === query.limit) return { lines, last, done: false }
      }
      scanned += chunk.bytes
      if (scanned >= maxScanBytes && last !== null) return { lines, last, done: false }
    }
  }
  return { lines, last, done: true }
}

/** `pass`: it was looked at and is not wanted. `skip`: it is no entry. */
function judge(line: string, { filter, before }: DiskQuestion): 'match' | 'pass' | 'skip' | 'end' {
  const id = idOfLine(line)
  if (id === null) return 'skip'
  if (filter.isTooOld(id)) return 'pass'
  if (filter.isTooNew(id) || (before !== null && id >= before)) return 'end'
  if (!filter.mayMatch(line)) return 'pass'
  const item = itemFromLine(line)
  return item !== null && filter.matches(item) ? 'match' : 'pass'
}

/** The files that can hold what is asked for. A folder that cannot be read holds nothing. */
async function filesFor(folder: string, { sinceMs, after }: LogQuery): Promise<string[]> {
  const firstMs = Math.max(0, sinceMs ?? 0, after === null ? 0 : msOfId(after.id))
  const day = dayAt(firstMs)
  const files = await listFiles(folder).catch(() => [])
  return files.map(({ name }) => name).filter((name) => dayOf(name) >= day && name >= (after?.place?.file ?? ''))
}

interface Chunk {
  readonly bytes: number
  /** `end`: the byte behind the line and its break. */
  readonly lines: readonly { readonly line: string; readonly end: number }[]
}

/** The whole lines of a file from a byte on. A file that is gone, or breaks off, ends there. */
async function* linesOf(path: string, from: number): AsyncGenerator<Chunk> {
  let rest: Buffer = Buffer.alloc(0)
  let start = from
  try {
    const stream = createReadStream(path, { start: from, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>
    for await (const bytes of stream) {
      const whole = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
      const lines: { line: string; end: number }[] = []
      let at = 0
      for (let found = whole.indexOf(0x0a); found !== -1; found = whole.indexOf(0x0a, at)) {
        lines.push({ line: whole.toString('utf8', at, found), end: start + found + 1 })
        at = found + 1
      }
      // What has no end after so much is no line of ours.
      if (whole.length - at > MAX_LINE_BYTES) at = whole.length
      rest = whole.subarray(at)
      start += at
      yield { bytes: bytes.length, lines }
    }
  } catch {
    // Retention has taken it, or the disk is in trouble: what was read stands.
  }
}

const TAIL_BYTES = 65_536

/**
 * The id of the last entry on disk; null: there is none, or it cannot be read. Synchronous, for the start: the first new id must
 * follow it.
 */
export function lastIdIn(folder: string): string | null {
  try {
    const names = readdirSync(folder)
      .map(logNameOf)
      .filter((name) => name !== null)
    for (const name of names.toSorted().reverse()) {
      // Behind the last break stands nothing, or a line that was torn.
      const lines = tailOf(logPath(folder, name)).split('\n').slice(0, -1)
      const last = lines.map(idOfLine).findLast((id) => id !== null)
      if (last !== undefined) return last
    }
    return null
  } catch {
    return null
  }
}

function tailOf(path: string): string {
  const file = openSync(path, 'r')
  try {
    const { size } = fstatSync(file)
    const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    return bytes.toString('utf8')
  } finally {
    closeSync(file)
  }
}
