/**
 * The journal: where every entry enters, and where `GET /logs` asks. SPEC §12.3, §12.4.
 *
 * `write` is the single point of entry: an entry is cleared of secrets first, and only then logged, kept and told on. It is
 * synchronous, cheap and never throws; the disk has its own pace.
 */
import type { JournalEntry, WriteJournal } from '../engine/ports.ts'
import { contentFact } from './content.ts'
import { type DiskQuestion, lastIdIn, readDisk } from './disk-reader.ts'
import { createDiskWriter, type DiskLimits, type DiskWriter } from './disk-writer.ts'
import { createIds, itemOf, type JournalItem } from './journal-item.ts'
import { cursorOf, filterOf, type LogPage, type LogPosition, type LogQuery, type ReadLogs } from './log-query.ts'
import { createRing, type Ring, type RingLimits } from './ring.ts'

export interface JournalOptions {
  /** Takes secrets out of an entry's facts. */
  readonly clear: (entry: JournalEntry) => JournalEntry
  /** LOG_CONTENT: takes secrets out of content, which is then kept. Default: none is. */
  readonly clearContent?: (text: string) => string
  /** Told of every entry, cleared. */
  readonly log: (entry: JournalEntry) => void
  /** Told of every entry as it is kept. */
  readonly onEntry?: (entry: JournalEntry, item: JournalItem) => void
  /** Told of every entry that is not in LOG_DIR, because it could not be written in time. */
  readonly onLost?: () => void
  /** null: memory alone. */
  readonly disk: DiskLimits | null
  readonly now: () => number
  /** Default: `RING_LIMITS`. */
  readonly ring?: RingLimits
  /** How long a disk that hangs may hold up an answer, or the end of the process. Default: `PATIENCE_MS`. */
  readonly patienceMs?: number
  /** How much of the files one question reads. Default: as `readDisk` has it. */
  readonly maxScanBytes?: number
}

export interface Journal {
  readonly write: WriteJournal
  readonly read: ReadLogs
  /** What waits is handed to the disk. Nothing is written after it. */
  close(): Promise<void>
}

const PATIENCE_MS = 2000

/** So many runs' sessions are remembered, the oldest forgotten first. */
const MAX_SESSIONS = 20_000

export function createJournal(options: JournalOptions): Journal {
  const { disk: limits, maxScanBytes, now, clearContent, patienceMs = PATIENCE_MS } = options
  const ring = createRing(options.ring)
  const newId = createIds(limits === null ? null : lastIdIn(limits.folder), now)
  const sessionOf = rememberSessions()
  const disk: DiskWriter | null =
    limits === null
      ? null
      : createDiskWriter({
          ...limits,
          now,
          onBroken: (code) => write({ event: 'log_dir_failed', run_id: null, code }),
          onBack: (lost) => write({ event: 'log_dir_back', run_id: null, lost }),
          onLost: () => options.onLost?.(),
        })

  function write(entry: JournalEntry, content?: () => unknown): void {
    const facts = options.clear(entry)
    const keeps = clearContent !== undefined && content !== undefined
    const cleared = keeps ? { ...facts, content: contentFact(content(), clearContent) } : facts
    options.log(cleared)
    const item = itemOf(newId(), cleared, sessionOf(cleared))
    ring.push(item)
    disk?.write(item)
    options.onEntry?.(cleared, item)
  }

  async function read(query: LogQuery): Promise<LogPage> {
    // A disk that does not take what waits would not answer either, and whoever asks it is stuck with it.
    const answers = disk !== null && (await inTime(disk.flush(), patienceMs))
    if (limits === null || !answers) return readMemory(query, ring)
    return readBoth(query, ring, { folder: limits.folder, ...(maxScanBytes === undefined ? {} : { maxScanBytes }) })
  }

  return { write, read, close: async () => void (disk !== null && (await inTime(disk.flush(), patienceMs))) }
}

/** False: it goes on without us. */
function inTime(work: Promise<void>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms)
    void work.then(() => {
      clearTimeout(timer)
      resolve(true)
    })
  })
}

/** Which session a run belongs to is said once, by `accepted`. */
function rememberSessions(): (entry: JournalEntry) => string | null {
  const sessions = new Map<string, string>()
  return ({ event, run_id, session_id }) => {
    if (run_id === null) return null
    if (event !== 'accepted' || typeof session_id !== 'string') return sessions.get(run_id) ?? null
    sessions.set(run_id, session_id)
    const [oldest] = sessions.size > MAX_SESSIONS ? sessions.keys() : []
    if (oldest !== undefined) sessions.delete(oldest)
    return session_id
  }
}

function readMemory(query: LogQuery, ring: Ring): LogPage {
  const part = select(ring.after(query.after?.id ?? null), query, query.limit)
  return page(query, part.lines, part.last, { more: part.more, source: 'memory' })
}

/** What memory still has is taken from there, what is older from the files. */
async function readBoth(
  query: LogQuery,
  ring: Ring,
  disk: Pick<DiskQuestion, 'folder' | 'maxScanBytes'>,
): Promise<LogPage> {
  // Taken before the first wait: what falls out of the ring meanwhile is not missed.
  const before = ring.firstId()
  const recent = ring.after(query.after?.id ?? null)
  const old = await readDisk({ ...disk, query, filter: filterOf(query), before })
  if (!old.done) return page(query, old.lines, old.last, { more: true, source: 'disk' })
  const part = select(recent, query, query.limit - old.lines.length)
  const source = sourceOf(old.lines.length > 0, part.lines.length > 0)
  return page(query, [...old.lines, ...part.lines], part.last ?? old.last, { more: part.more, source })
}

/** An empty page was looked for in both. */
function sourceOf(onDisk: boolean, inMemory: boolean): LogPage['source'] {
  if (onDisk === inMemory) return 'mixed'
  return onDisk ? 'disk' : 'memory'
}

/** The wanted ones among entries of the ring, and the last one that was looked at. */
function select(items: readonly JournalItem[], query: LogQuery, limit: number) {
  const filter = filterOf(query)
  const lines: string[] = []
  let last: LogPosition | null = null
  for (const item of items) {
    if (filter.isTooNew(item.id)) break
    if (lines.length === limit) return { lines, last, more: true }
    last = { id: item.id, place: null }
    if (!filter.isTooOld(item.id) && filter.matches(item)) lines.push(item.line)
  }
  return { lines, last, more: false }
}

function page(
  { after }: LogQuery,
  lines: readonly string[],
  last: LogPosition | null,
  rest: Pick<LogPage, 'more' | 'source'>,
): LogPage {
  const position = last ?? after
  return { lines, cursor: position === null ? null : cursorOf(position), ...rest }
}
