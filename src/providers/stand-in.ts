/** The short text that stands where a model cannot take a part (SPEC §6.4), and the warning that says so. Pure. */
import type { FilePart, ImagePart } from '../contract/message.ts'
import type { Warning } from '../contract/result.ts'
import type { Profile } from './profile.ts'

/** True where the model reads parts of this MIME type. */
export function isRead(mimeType: string, { reads }: Profile): boolean {
  const type = mimeType.toLowerCase()
  return reads.includes(type) || reads.includes(`${type.slice(0, type.indexOf('/'))}/*`)
}

/** The same text for the same part and model on every turn. */
export function standIn(part: ImagePart | FilePart, { reads }: Profile): string {
  if (reads.length === 0) return `[${part.type} omitted: this model reads text only]`
  return `[${part.type} omitted: this model does not read ${part.mime_type}]`
}

/** @param index of the message in the conversation */
export function partReplaced(part: ImagePart | FilePart, model: string, index: number, place: number): Warning {
  return {
    code: 'part_replaced',
    message: `${part.type} of type ${part.mime_type} was replaced by a short text: ${model} cannot read it`,
    path: `messages[${index}].content[${place}]`,
  }
}
