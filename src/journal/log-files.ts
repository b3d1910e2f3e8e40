/**
 * The files under LOG_DIR: how they are named, and which of them must go. Pure.
 *
 * One file a day (UTC), in parts, so that a folder can be kept within its bound on a busy day too. Names in order of the
 * alphabet are in order of time. Files with other names are nobody's business here.
 */

export interface LogFile {
  /** `<day>-<part>`. */
  readonly name: string
  readonly bytes: number
}

const FILE = /^journal-(\d{4}-\d\d-\d\d-\d{4,6})\.jsonl$/

/** `<day>-<part>` of a file name; null: not one of ours. */
export function logNameOf(fileName: string): string | null {
  return FILE.exec(fileName)?.[1] ?? null
}

export function logPath(folder: string, name: string): string {
  return `${folder}/journal-${name}.jsonl`
}

/** `day` as `2026-11-30`. */
export function logName(day: string, part: number): string {
  return `${day}-${String(part).padStart(4, '0')}`
}

export function dayOf(name: string): string {
  return name.slice(0, 10)
}

export function partOf(name: string): number {
  return Number(name.slice(11))
}

export function dayAt(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10)
}

const DAY_MS = 86_400_000

export interface KeepRules {
  readonly nowMs: number
  /** LOG_RETENTION_DAYS: today and so many days before it, less one. */
  readonly retentionDays: number
  /** What the files beside the current one may take together. */
  readonly maxBytes: number
  /** The one that is written to: it stays. */
  readonly current: string
}

/** The names that must go: too old, or the oldest of too much. */
export function toDelete(files: readonly LogFile[], rules: KeepRules): string[] {
  const oldest = dayAt(rules.nowMs - (rules.retentionDays - 1) * DAY_MS)
  const newestFirst = files.filter(({ name }) => name !== rules.current).toSorted((a, b) => (a.name < b.name ? 1 : -1))
  const gone: string[] = []
  let bytes = 0
  for (const file of newestFirst) {
    bytes += file.bytes
    if (dayOf(file.name) < oldest || bytes > rules.maxBytes) gone.push(file.name)
  }
  return gone
}
