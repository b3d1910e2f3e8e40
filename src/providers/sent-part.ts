/**
 * How an image or file goes to a model: as it was given, as what the engine fetched from its address, or not at all; and what
 * is to be fetched for that. Pure; `run-parts.ts` fetches. SPEC §10.
 *
 * Nothing here asks whether something is there yet: what is not fetched is not sent, and a stand-in takes its place.
 */
import type { FilePart, ImagePart, StoredMessage } from '../contract/message.ts'
import type { DialectCall } from './dialect.ts'
import { plainType } from './part-kind.ts'
import type { Profile } from './profile.ts'

export type MediaPart = ImagePart | FilePart

/** What came from an address, or why nothing did. */
export type FetchedPart =
  /** Base64. */
  | { readonly ok: true; readonly data: string }
  /** A sentence without a subject; of the address it names the host only. */
  | { readonly ok: false; readonly why: string }

/** By `fetchKey`. What is not in it was not fetched. */
export interface FetchedParts {
  get(key: string): FetchedPart | undefined
}

/** One address that the engine itself must read. */
export interface WantedPart {
  readonly key: string
  readonly url: string
  /** As it was declared. */
  readonly mimeType: string
}

type Facts = Pick<DialectCall, 'profile' | 'repairs' | 'fetched'>

/** True where the model reads parts of this MIME type. */
export function isRead(mimeType: string, { reads }: Pick<Profile, 'reads'>): boolean {
  const type = plainType(mimeType)
  return reads.includes(type) || reads.includes(`${type.slice(0, type.indexOf('/'))}/*`)
}

/** The same address may be declared as two types, and only one of them be right. */
export function fetchKey({ mime_type, url }: MediaPart): string {
  return `${plainType(mime_type)} ${url ?? ''}`
}

/** True where the engine has to fetch this part for the model to read it. */
export function isFetched(part: MediaPart, { profile, repairs }: Omit<Facts, 'fetched'>): boolean {
  if (!isRead(part.mime_type, profile) || typeof part.url !== 'string') return false
  return repairs.has('no_urls') || !isRead(part.mime_type, { reads: profile.readsByUrl })
}

/** The part as it goes to the model, its MIME type plain; null: a stand-in goes (`stand-in.ts`). */
export function sentPart(given: MediaPart, call: Facts): MediaPart | null {
  if (!isRead(given.mime_type, call.profile)) return null
  const part = { ...given, mime_type: plainType(given.mime_type) }
  if (!isFetched(part, call)) return typeof part.data === 'string' || typeof part.url === 'string' ? part : null
  if (call.repairs.has('no_fetched')) return null
  const found = call.fetched?.get(fetchKey(part))
  if (found?.ok !== true) return null
  const { url: _url, ...rest } = part
  return { ...rest, data: found.data }
}

/** Every address that requests with these messages need read, once, the newest first: what is asked about stands last. */
export function wantedParts(messages: readonly StoredMessage[], call: Omit<Facts, 'fetched'>): WantedPart[] {
  const wanted = new Map<string, WantedPart>()
  for (const message of messages.toReversed()) {
    if (message.role !== 'user') continue
    for (const part of message.content.toReversed()) {
      if (part.type === 'text' || !isFetched(part, call)) continue
      const key = fetchKey(part)
      // Set again it keeps its first place.
      wanted.set(key, { key, url: part.url ?? '', mimeType: part.mime_type })
    }
  }
  return [...wanted.values()]
}
