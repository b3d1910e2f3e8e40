/** The short text that stands where a model cannot take a part (SPEC §6.4), and the warning that says so. Pure. */
import type { FilePart, ImagePart } from '../contract/message.ts'
import type { Warning } from '../contract/result.ts'
import type { DialectCall } from './dialect.ts'
import type { Profile } from './profile.ts'

/** True where the model reads parts of this MIME type. */
function isRead(mimeType: string, { reads }: Profile): boolean {
  const type = mimeType.toLowerCase()
  return reads.includes(type) || reads.includes(`${type.slice(0, type.indexOf('/'))}/*`)
}

/** True where this part itself goes to the model. The engine fetches nothing: where nobody reads an address, its part is replaced. */
export function isSent(
  part: ImagePart | FilePart,
  { profile, repairs }: Pick<DialectCall, 'profile' | 'repairs'>,
): boolean {
  if (!isRead(part.mime_type, profile)) return false
  return typeof part.data === 'string' || (profile.readsUrls && !repairs.has('no_urls'))
}

/** The same text for the same part and model on every turn. */
export function standIn(part: ImagePart | FilePart, { profile }: Pick<DialectCall, 'profile'>): string {
  const { reads } = profile
  if (isByAddress(part, profile))
    return `[${part.type} omitted: it was given by an address, which this model does not read]`
  if (reads.length === 0) return `[${part.type} omitted: this model reads text only]`
  return `[${part.type} omitted: this model does not read ${part.mime_type}]`
}

function isByAddress(part: ImagePart | FilePart, profile: Profile): boolean {
  return isRead(part.mime_type, profile) && typeof part.data !== 'string' && typeof part.url === 'string'
}

/** @param index of the message in the conversation */
export function partReplaced(
  part: ImagePart | FilePart,
  { profile, target: { model } }: Pick<DialectCall, 'profile' | 'target'>,
  index: number,
  place: number,
): Warning {
  const why = isByAddress(part, profile) ? `${model} reads no address: send it as data` : `${model} cannot read it`
  return {
    code: 'part_replaced',
    message: `${part.type} of type ${part.mime_type} was replaced by a short text: ${why}`,
    path: `messages[${index}].content[${place}]`,
  }
}
