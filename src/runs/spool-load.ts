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
import { scanFrames, type FrameMaker, type Scan } from './spool-frames.ts'
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
      /** Goes on with the file, which is good up to `length`. */
      readonly maker: FrameMaker
      readonly length: number
    }
  /** No key opens this file, it cannot be read (`code`), or it is not what this version writes. */
  | { readonly kind: 'unreadable'; readonly name: string; readonly code: string | null }

export interface LoadOptions {
  readonly directory: string
  readonly sealer: Sealer
  /** A file that cannot be read is kept for so long, ms. */
  readonly unreadableTtlMs: number
}

/** Each run that was left behind, oldest first. */
export async function* loadRuns(options: LoadOptions): AsyncGenerator<LeftRun> {
  const names = new Set(await fs.readdir(options.directory))
  const runIds = [...names].map((name) => name.replace(/\.(?:live|ended)$/, '')).filter(isRunId)
  for (const runId of [...new Set(runIds)].toSorted()) {
    const ended = names.has(`${runId}.ended`) ? await endedRun(runId, options) : null
    if (ended !== null) {
      yield ended
      // It was about to go when the engine was killed.
      if (ended.kind === 'ended') await remove(options, `${runId}.live`)
      continue
    }
    if (names.has(`${runId}.ended`)) await remove(options, `${runId}.ended`)
    const cut = names.has(`${runId}.live`) ? await cutRun(runId, options) : null
    if (cut !== null) yield cut
    else if (names.has(`${runId}.live`)) await remove(options, `${runId}.live`)
  }
}

/** null: the result was not whole yet. */
async function endedRun(runId: RunId, options: LoadOptions): Promise<LeftRun | null> {
  const name = `${runId}.ended`
  const scan = await read(name, options)
  if (scan.kind === 'unreadable') return gone(name, scan.code, options)
  if (scan.kind === 'empty') return null
  const [first = '', result, ...rest] = linesOf(scan.frames)
  const ended = decode(first)
  const json = resultOf(result)
  if (ended?.kind !== 'ended' || json === null) return gone(name, null, options)
  const notes = entriesOf(rest)
  const tried = notes.filter((entry) => entry.kind === 'tried')
  const stored = notes.find((entry) => entry.kind === 'stored') ?? null
  const again = isAgain(notes)
  return { kind: 'ended', runId, ended, json, tried, stored, again, maker: scan.maker, length: scan.length }
}

function isAgain(notes: readonly SpoolEntry[]): boolean {
  const last = notes.findLastIndex(({ kind }) => kind === 'again')
  const since = last < 0 ? [] : notes.slice(last + 1)
  return (
    last >= 0 && !since.some((note) => note.kind === 'stored' || (note.kind === 'tried' && note.state !== 'pending'))
  )
}

/** null: it was never promised to anybody. */
async function cutRun(runId: RunId, options: LoadOptions): Promise<LeftRun | null> {
  const name = `${runId}.live`
  const scan = await read(name, options)
  if (scan.kind === 'unreadable') return gone(name, scan.code, options)
  if (scan.kind === 'empty') return null
  const [accepted, ...rest] = entriesOf(linesOf(scan.frames))
  if (accepted?.kind !== 'accepted') return gone(name, null, options)
  const progresses = rest.filter((entry) => entry.kind === 'progress')
  const kept = rest.findLastIndex((entry) => entry.kind === 'progress' && entry.messages !== undefined)
  const shown = rest.slice(kept + 1).filter((entry) => entry.kind === 'shown')
  return { kind: 'cut', runId, accepted, progresses, shown }
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
  readonly unreadable: readonly LeftRun[]
}> {
  const keys: KnownKey[] = []
  const names: string[] = []
  const unreadable: LeftRun[] = []
  for (const name of (await fs.readdir(options.directory)).filter((one) => /^keys-\d+$/.test(one))) {
    const scan = await read(name, options)
    if (scan.kind === 'unreadable') {
      unreadable.push(await gone(name, scan.code, options))
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
    // A pipe or a device of that name is none of ours, and reading it need not end.
    if (!(await fs.lstat(path)).isFile()) return { kind: 'unreadable', code: null }
    const scan = scanFrames(await fs.readFile(path), name, sealer)
    return scan.kind === 'unreadable' ? { kind: 'unreadable', code: null } : scan
  } catch (error) {
    return { kind: 'unreadable', code: codeOf(error) }
  }
}

async function gone(name: string, code: string | null, options: LoadOptions): Promise<LeftRun> {
  try {
    const { mtimeMs } = await fs.lstat(join(options.directory, name))
    if (Date.now() - mtimeMs > options.unreadableTtlMs) await remove(options, name)
  } catch {
    // It is told as unreadable all the same.
  }
  return { kind: 'unreadable', name, code }
}

async function remove({ directory }: LoadOptions, name: string): Promise<void> {
  await fs.rm(join(directory, name), { force: true }).catch(() => {})
}
