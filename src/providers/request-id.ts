/**
 * A provider's own name for a request, as it may be stored and shown to people: one short word. What quotes something secret
 * that was sent along is no name, encoded or hashed neither. Pure.
 */
import { createHash } from 'node:crypto'

const NAME = /^[\x21-\x7e]{1,200}$/
/** Shorter parts of a header stand in many words. */
const SHORTEST_PART = 8

/** @param sent the headers of the request, values and all */
export function requestIdOf(given: string | null, sent: Readonly<Record<string, string>>): string | null {
  if (given === null || !NAME.test(given)) return null
  const parts = Object.values(sent).flatMap((value) => value.split(' '))
  return parts.some((part) => part.length >= SHORTEST_PART && quotes(given, part)) ? null : given
}

/** As it is, for a URL, in base64 and in hex in whatever letters, the part itself and its hash. */
function quotes(given: string, part: string): boolean {
  if (given.includes(part) || given.includes(encodeURIComponent(part.toWellFormed()))) return true
  const lower = given.toLowerCase()
  return [Buffer.from(part), createHash('sha256').update(part).digest()].some((bytes) => {
    const base64 = bytes.toString('base64').replaceAll('=', '')
    return (
      given.includes(base64) || given.includes(bytes.toString('base64url')) || lower.includes(bytes.toString('hex'))
    )
  })
}
