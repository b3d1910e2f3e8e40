/**
 * What is known of images and files given by address before anything is fetched: which of them never will be, for their address
 * is refused or their type cannot be checked, and why. Word for word what a run says of them. Pure.
 */
import type { StoredMessage } from '../contract/message.ts'
import type { Warning } from '../contract/result.ts'
import type { Target } from '../contract/run-request.ts'
import type { Refusal } from '../egress/egress.ts'
import type { DialectCall, Repair } from './dialect.ts'
import { refusedWhy, UNCHECKABLE } from './fetch-part.ts'
import { canBeChecked } from './part-kind.ts'
import { hasProfile, profileFor } from './profile.ts'
import { type FetchedPart, type FetchedParts, fetchKey, isFetched, wantedParts } from './sent-part.ts'
import { partReplaced } from './stand-in.ts'

/** Stands where a run has what it fetched. */
const FETCHED = '[fetched]'

type JudgeUrl = (url: string) => Refusal | null

/** As if every fetch that may be tried had brought something. */
export function judgedParts(
  messages: readonly StoredMessage[],
  call: Pick<DialectCall, 'profile' | 'repairs'>,
  judge: JudgeUrl,
): FetchedParts {
  const judged = wantedParts(messages, call).map(({ key, mimeType, url }): [string, FetchedPart] => {
    const why = whyNot(mimeType, url, judge)
    if (why !== null) return [key, { ok: false, why }]
    // Text is sent as text.
    const data = mimeType.toLowerCase().startsWith('text/') ? Buffer.from(FETCHED).toString('base64') : FETCHED
    return [key, { ok: true, data }]
  })
  return new Map(judged)
}

function whyNot(mimeType: string, url: string, judge: JudgeUrl): string | null {
  if (!canBeChecked(mimeType)) return UNCHECKABLE
  const refusal = judge(url)
  return refusal === null ? null : refusedWhy(refusal)
}

const NO_REPAIRS: ReadonlySet<Repair> = new Set()

/** What the first model's requests will replace because it is never fetched. A target without a row has none. */
export function refusedParts(messages: readonly StoredMessage[], target: Target, judge: JudgeUrl): Warning[] {
  if (!hasProfile(target)) return []
  const call = { target, profile: profileFor(target), repairs: NO_REPAIRS }
  const fetched = judgedParts(messages, call, judge)
  return messages.flatMap((message, index) => {
    if (message.role !== 'user') return []
    return message.content.flatMap((part, place) => {
      if (part.type === 'text' || !isFetched(part, call) || fetched.get(fetchKey(part))?.ok === true) return []
      return [partReplaced(part, { ...call, fetched }, index, place)]
    })
  })
}
