/**
 * Reads what an earlier life of the engine left in STATE_DIR, file by file, and clears away what is of no more use. What no
 * key opens stays where it is: with the right secret the next start reads it.
 */
import { promises as fs } from 'node:fs'
import { join } from 'node:path'
import { isRunId, type RunId } from '../contract/ids.ts'
import type { Sealer } from './sealer.ts'
import type { ShownText } from './shown-text.ts'
import { codeOf } from './state-disk.ts'
import type { LeftFile } from './spool.ts'
import { HEAD_BYTES, headOf, scanFrames, type Scan } from './spool-frames.ts'
import {
  decode,
  linesOf,
  resultOf,
  type Accepted,
  type Ended,
  type KnownKey,
  type Progress,
  type SpoolEntry,
  type Stored,
  type Tried,
} from './spool-record.ts'

export type LeftRun =
  /** It was going on. */
  | {
      readonly kind: 'cut'
      readonly runId: RunId
      /** Of its file. */
      readonly name: string
      readonly accepted: Accepted
      readonly progresses: readonly Progress[]
      /** Of the step that was cut: what was shown since the last message was kept. */
      readonly shown: readonly ShownText[]
    }
  | {
      readonly kind: 'ended'
      readonly runId: RunId
      readonly ended: Ended
      readonly json: string
      readonly tried: readonly Tried[]
      /** The first word of it. */
      readonly stored: Stored | null
      /** Its callback was to be sent again, and nothing came of it yet. */
      readonly again: boolean
      readonly file: LeftFile
    }
  | UnreadableFile

/** No key opens it, it cannot be read (`code`), or it is not what this version writes. */
export interface UnreadableFile {
  readonly kind: 'unreadable'
  /** null: that is not known either. */
  readonly runId: RunId | null
  readonly name: string
  readonly code: string | null
}

export interface LoadOptions {
  readonly directory: string
  readonly sealer: Sealer
  /** A file that cannot be read is kept for so long, ms. */
  readonly unreadableTtlMs: number
}

/** Names of files of one run, by their titles. */
interface FilesOfRun {
  run?: string
  ended?: string
}

/** Each run that was left behind, oldest first. */
export async function* loadRuns(options: LoadOptions): AsyncGenerator<LeftRun> {
  const files = new Map<RunId, FilesOfRun>()
  for (const name of (await fs.readdir(options.directory)).toSorted()) {
    if (!name.endsWith('.run')) continue
    const title = await titleOf(name, options)
    if (title === null) await remove(options, name)
    else if (!title.ok) yield await unreadableFile(name, title.code, options)
    else {
      const ofRun = files.get(title.runId) ?? {}
      files.set(title.runId, ofRun)
      // Somebody has copied it.
      if (ofRun[title.kind] !== undefined) yield await unreadableFile(name, 'EEXIST', options, title.runId)
      else ofRun[title.kind] = name
    }
  }
  for (const runId of [...files.keys()].toSorted()) {
    const { run, ended } = files.get(runId) ?? {}
    const newer = ended === undefined ? null : await leftRun(runId, ended, options)
    // Before anybody hears of the run: its end may be written anew.
    if (ended !== undefined && newer === null) await remove(options, ended)
    const left = newer ?? (run === undefined ? null : await leftRun(runId, run, options))
    if (left !== null) yield left
    // What was never promised; and what was about to go when the engine was killed.
    if (run !== undefined && (left === null || newer?.kind === 'ended')) await remove(options, run)
  }
}

type Title =
  | { readonly ok: true; readonly runId: RunId; readonly kind: keyof FilesOfRun }
  | { readonly ok: false; readonly code: string | null }

/** null: it has none yet, so nothing in it was ever promised. */
async function titleOf(name: string, { directory }: LoadOptions): Promise<Title | null> {
  const path = join(directory, name)
  try {
    if (!(await isFile(path))) return { ok: false, code: null }
    const head = headOf(await beginningOf(path))
    if (head.kind === 'short') return null
    const [, runId = '', kind] = head.kind === 'head' ? (/^(\w+)\.(run|ended)$/.exec(head.title) ?? []) : []
    return isRunId(runId) ? { ok: true, runId, kind: kind as keyof FilesOfRun } : { ok: false, code: null }
  } catch (error) {
    return { ok: false, code: codeOf(error) }
  }
}

/** A pipe or a device of such a name is none of ours, and reading it need not end. */
async function isFile(path: string): Promise<boolean> {
  return (await fs.lstat(path)).isFile()
}

async function beginningOf(path: string): Promise<Buffer> {
  await using file = await fs.open(path)
  const { bytesRead, buffer } = await file.read(Buffer.alloc(HEAD_BYTES))
  return buffer.subarray(0, bytesRead)
}

/** null: it was never promised to anybody, or the result in the place of another file is not whole yet. */
async function leftRun(runId: RunId, name: string, options: LoadOptions): Promise<LeftRun | null> {
  const scan = await read(name, options)
  if (scan.kind === 'unreadable') return unreadableFile(name, scan.code, options, runId)
  if (scan.kind === 'empty') return null
  const lines = linesOf(scan.frames)
  const at = lines.findIndex((line) => resultOf(line) !== null)
  const left = at < 0 ? cutRun(runId, name, lines) : endedRun(runId, lines.slice(at - 1), { name, ...scan })
  return left ?? unreadableFile(name, null, options, runId)
}

/** null: not what this version writes. */
function endedRun(runId: RunId, [first = '', result, ...rest]: readonly string[], file: LeftFile): LeftRun | null {
  const ended = decode(first)
  const json = resultOf(result)
  if (ended?.kind !== 'ended' || json === null) return null
  const notes = entriesOf(rest)
  const tried = notes.filter((entry) => entry.kind === 'tried')
  const stored = notes.find((entry) => entry.kind === 'stored') ?? null
  return { kind: 'ended', runId, ended, json, tried, stored, again: isAgain(notes), file }
}

function isAgain(notes: readonly SpoolEntry[]): boolean {
  const last = notes.findLastIndex(({ kind }) => kind === 'again')
  const since = last < 0 ? [] : notes.slice(last + 1)
  return (
    last >= 0 && !since.some((note) => note.kind === 'stored' || (note.kind === 'tried' && note.state !== 'pending'))
  )
}

/** null: not what this version writes. */
function cutRun(runId: RunId, name: string, lines: readonly string[]): LeftRun | null {
  const [accepted, ...rest] = entriesOf(lines)
  if (accepted?.kind !== 'accepted') return null
  const progresses = rest.filter((entry) => entry.kind === 'progress')
  const kept = rest.findLastIndex((entry) => entry.kind === 'progress' && entry.messages !== undefined)
  const shown = rest.slice(kept + 1).filter((entry) => entry.kind === 'shown')
  return { kind: 'cut', runId, name, accepted, progresses, shown }
}

function entriesOf(lines: readonly string[]): SpoolEntry[] {
  return lines.map(decode).filter((entry) => entry !== null)
}

/** Keys that are still good, and the files that were read for them; what could not be read stays. */
export async function loadKeys(
  options: LoadOptions,
  now: number,
): Promise<{
  readonly keys: readonly KnownKey[]
  readonly names: readonly string[]
  readonly unreadable: readonly UnreadableFile[]
}> {
  const keys: KnownKey[] = []
  const names: string[] = []
  const unreadable: UnreadableFile[] = []
  for (const name of (await fs.readdir(options.directory)).filter((one) => /^keys-\d+$/.test(one))) {
    const scan = await read(name, options)
    if (scan.kind === 'unreadable') {
      unreadable.push(await unreadableFile(name, scan.code, options))
      continue
    }
    names.push(name)
    for (const entry of scan.kind === 'read' ? entriesOf(linesOf(scan.frames)) : []) {
      if (entry.kind === 'keys') keys.push(...entry.keys.filter(({ expiresAt }) => expiresAt > now))
    }
  }
  return { keys, names, unreadable }
}

async function read(
  name: string,
  { directory, sealer }: LoadOptions,
): Promise<Exclude<Scan, { kind: 'unreadable' }> | { readonly kind: 'unreadable'; readonly code: string | null }> {
  const path = join(directory, name)
  try {
    if (!(await isFile(path))) return { kind: 'unreadable', code: null }
    const scan = scanFrames(await fs.readFile(path), sealer)
    return scan.kind === 'unreadable' ? { kind: 'unreadable', code: null } : scan
  } catch (error) {
    return { kind: 'unreadable', code: codeOf(error) }
  }
}

/** Kept for a while; then it goes. */
async function unreadableFile(
  name: string,
  code: string | null,
  options: LoadOptions,
  runId: RunId | null = null,
): Promise<UnreadableFile> {
  try {
    const { mtimeMs } = await fs.lstat(join(options.directory, name))
    if (Date.now() - mtimeMs > options.unreadableTtlMs) await remove(options, name)
  } catch {
    // It is told as unreadable all the same.
  }
  return { kind: 'unreadable', runId, name, code }
}

async function remove({ directory }: LoadOptions, name: string): Promise<void> {
  await fs.rm(join(directory, name), { force: true }).catch(() => {})
}
