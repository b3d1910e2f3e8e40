/** Entries, a clock and folders for tests of the journal. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { JournalEntry } from '../../src/engine/ports.ts'
import { createJournal, type Journal, type JournalOptions } from '../../src/journal/journal.ts'
import type { LogQuery } from '../../src/journal/log-query.ts'

export const NOON = Date.parse('2026-11-30T12:00:00.000Z')

/** A folder that is gone when the test ends. */
export function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'journal-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export interface Clock {
  ms: number
}

export interface Kept {
  readonly journal: Journal
  readonly logged: JournalEntry[]
}

export function journalWith(parts: Partial<JournalOptions> & { readonly clock?: Clock } = {}): Kept {
  const logged: JournalEntry[] = []
  const { clock = { ms: NOON }, ...options } = parts
  const journal = createJournal({
    clear: (entry) => entry,
    log: (entry) => void logged.push(entry),
    disk: null,
    now: () => clock.ms,
    ...options,
  })
  return { journal, logged }
}

export function query(parts: Partial<LogQuery> = {}): LogQuery {
  return { runId: null, sessionId: null, event: null, sinceMs: null, untilMs: null, limit: 1000, after: null, ...parts }
}

export interface Entry {
  readonly id: string
  readonly at: string
  readonly event: string
  readonly run_id: string | null
  readonly session_id: string | null
  readonly n?: number
}

export function entriesOf({ lines }: { readonly lines: readonly string[] }): Entry[] {
  return lines.map((line) => JSON.parse(line) as Entry)
}
