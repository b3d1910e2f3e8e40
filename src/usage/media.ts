/**
 * What images and PDFs of a conversation weigh in an estimate. Their base64 is no text: four bytes of it are no token, and a
 * photograph would count for hundreds of thousands. A rule of thumb, as every estimate. Pure. SPEC §6.3.
 */
import type { FilePart, ImagePart, StoredMessage } from '../contract/message.ts'

export interface Media {
  /** Bytes of base64 that stand in a request which sends them all. */
  readonly bytes: number
  readonly tokens: number
}

/** What an image costs at most where its size is brought into bounds first; the largest vendors' figures lie below. */
const IMAGE_TOKENS = 1_600
const PAGE_TOKENS = 2_000
/** Of a PDF, decoded. */
const PAGE_BYTES = 60_000
/** Of a PDF that is given by its address. */
const UNSEEN_PAGES = 5

type MediaPart = ImagePart | FilePart

/** @param sentPart what goes to the model for a part; null: words, which count as such */
export function mediaOf(messages: readonly StoredMessage[], sentPart: (part: MediaPart) => MediaPart | null): Media {
  let bytes = 0
  let tokens = 0
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const given of message.content) {
      const part = given.type === 'text' ? null : sentPart(given)
      if (part === null) continue
      const size = typeof part.data === 'string' ? part.data.length : 0
      const type = part.mime_type.toLowerCase()
      if (type.startsWith('image/')) tokens += IMAGE_TOKENS
      else if (type === 'application/pdf') tokens += PAGE_TOKENS * pagesOf(size)
      else continue
      bytes += size
    }
  }
  return { bytes, tokens }
}

/** @param size of the base64; 0: not known */
function pagesOf(size: number): number {
  return size === 0 ? UNSEEN_PAGES : Math.ceil((size * 3) / 4 / PAGE_BYTES)
}
