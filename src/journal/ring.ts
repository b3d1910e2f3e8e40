/**
 * The newest entries of the journal, in memory, bounded by count and size. Adding one costs the same however many there are;
 * they stand in the order of their ids.
 */
import type { JournalItem } from './journal-item.ts'

export interface RingLimits {
  readonly maxItems: number
  /** Of the lines, UTF-16 units. */
  readonly maxChars: number
}

const RING_LIMITS: RingLimits = { maxItems: 20_000, maxChars: 16_777_216 }

export interface Ring {
  push(item: JournalItem): void
  /** The id of the oldest entry; null: there is none. */
  firstId(): string | null
  /** Entries behind this id, oldest first, as they are now. null: all. */
  after(id: string | null): readonly JournalItem[]
}

/** How many places at the front may be empty before the list is cut. */
const SLACK = 1024
/** Stands in such a place, so that what was there is let go of at once. */
const GONE: JournalItem = { id: '', event: '', runId: null, sessionId: null, line: '' }

export function createRing({ maxItems, maxChars }: RingLimits = RING_LIMITS): Ring {
  let items: JournalItem[] = []
  let head = 0
  let chars = 0

  function push(item: JournalItem): void {
    items.push(item)
    chars += item.line.length
    while (items.length - head > maxItems || (chars > maxChars && items.length - head > 1)) {
      chars -= items[head]?.line.length ?? 0
      items[head] = GONE
      head += 1
    }
    // Half of it empty: each entry is moved at most once for one that went.
    if (head > SLACK && head > items.length / 2) {
      items = items.slice(head)
      head = 0
    }
  }

  function after(id: string | null): readonly JournalItem[] {
    if (id === null) return items.slice(head)
    let low = head
    let high = items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((items[middle]?.id ?? '') <= id) low = middle + 1
      else high = middle
    }
    return items.slice(low)
  }

  return { push, firstId: () => items[head]?.id ?? null, after }
}
