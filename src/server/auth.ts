/**
 * Who is calling (SPEC §2.2). Engine tokens are compared in constant time: both sides are hashed, so that lengths are equal,
 * and all of them are always compared. No token, right or wrong, enters a log or a message.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { EngineTokens } from '../runs/run-token.ts'

/** True for one of the engine tokens. Made once per server: the accepted ones are hashed here. */
export function engineTokenCheck(tokens: EngineTokens): (given: string) => boolean {
  const accepted = tokens.map(sha256)
  return (given) => {
    const digest = sha256(given)
    let matches = 0
    for (const candidate of accepted) matches += timingSafeEqual(candidate, digest) ? 1 : 0
    return matches > 0
  }
}

/** The token of `Authorization: Bearer …`, or null. The scheme's name ignores case (RFC 9110 §11.1). */
export function bearerToken(authorization: string | undefined): string | null {
  return /^bearer +([^\s]+) *$/i.exec(authorization ?? '')?.[1] ?? null
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
