/** The short text that stands where a model cannot take a part (SPEC §6.4), and the warning that says so. Pure. */
import type { Warning } from '../contract/result.ts'
import type { DialectCall } from './dialect.ts'
import type { Profile } from './profile.ts'
import { fetchKey, isFetched, isRead, type MediaPart } from './sent-part.ts'

/** The same text for the same part and model on every turn, whatever kept it from being fetched. */
export function standIn(part: MediaPart, { profile }: Pick<DialectCall, 'profile'>): string {
  const { reads } = profile
  if (isByAddress(part, profile))
    return `[${part.type} omitted: it was given by an address, which this model does not read]`
  if (reads.length === 0) return `[${part.type} omitted: this model reads text only]`
  return `[${part.type} omitted: this model does not read ${part.mime_type}]`
}

function isByAddress(part: MediaPart, profile: Profile): boolean {
  return isRead(part.mime_type, profile) && typeof part.data !== 'string' && typeof part.url === 'string'
}

/** @param index of the message in the conversation */
export function partReplaced(
  part: MediaPart,
  call: Pick<DialectCall, 'profile' | 'target' | 'repairs' | 'fetched'>,
  index: number,
  place: number,
): Warning {
  return {
    code: 'part_replaced',
    message: `${part.type} of type ${part.mime_type} was replaced by a short text: ${reasonOf(part, call)}`,
    path: `messages[${index}].content[${place}]`,
  }
}

function reasonOf(part: MediaPart, call: Pick<DialectCall, 'profile' | 'target' | 'repairs' | 'fetched'>): string {
  const { model } = call.target
  if (!isFetched(part, call)) return `${model} cannot read it`
  const found = call.fetched?.get(fetchKey(part))
  if (found === undefined) return `${model} reads no address: send it as data`
  if (!found.ok) return `${model} is not sent its address, and ${found.why}: send it as data`
  return call.repairs.has('no_fetched') ? `${model} refused what its address holds` : `${model} cannot read it`
}
