/**
 * The ids under which calls are known to a provider, decided for a whole request at once. Pure.
 *
 * A family's own id goes back unchanged, because some chat templates print it. Every other call gets one made from its
 * `call_id`. Ids are unique within the request: where an id comes again, the first call keeps it and the later ones get
 * made ids, so that a longer conversation never changes what was sent before.
 */
import { createHash } from 'node:crypto'
import type { ToolCallPart } from '../contract/message.ts'
import { ownCall } from './own-material.ts'
import type { Profile } from './profile.ts'
import { wireToolName } from './tool-definition.ts'
import type { Turn } from './turns.ts'

/** By the part itself, which is unique where its ids may not be. */
export type WireIds = ReadonlyMap<ToolCallPart, string>

export function wireIds(turns: readonly Turn[], profile: Profile): WireIds {
  const ids = new Map<ToolCallPart, string>()
  const taken = new Set<string>()
  for (const turn of turns) {
    if (turn.kind !== 'assistant') continue
    for (const { call } of turn.results) {
      const native = nativeId(call, profile)
      const id = native !== null && !taken.has(native) ? native : madeId(call, ids.size, profile, taken)
      ids.set(call, id)
      taken.add(id)
    }
  }
  return ids
}

function nativeId(call: ToolCallPart, profile: Profile): string | null {
  const id = ownCall(call, profile)?.['id']
  if (typeof id !== 'string' || id === '') return null
  return profile.nativeCallIds === null || profile.nativeCallIds.test(id) ? id : null
}

/** `number` is how many calls stand before this one in the conversation. */
function madeId(call: ToolCallPart, number: number, profile: Profile, taken: ReadonlySet<string>): string {
  for (let salt = 0; ; salt += 1) {
    const id = MAKERS[profile.madeCallIds](call, number, salt)
    if (!taken.has(id)) return id
  }
}

type Maker = (call: ToolCallPart, number: number, salt: number) => string

const MAKERS: Readonly<Record<Profile['madeCallIds'], Maker>> = {
  /** At most 40 of `[a-zA-Z0-9_-]`, which every vendor but the two below takes; the engine's own ids already are that. */
  short: ({ call_id }, _number, salt) =>
    salt === 0 && /^[a-zA-Z0-9_-]{1,40}$/.test(call_id) ? call_id : `call_${digest(call_id, salt).slice(0, 24)}`,
  /** Exactly nine letters and digits (Mistral). */
  nine: ({ call_id }, _number, salt) => digest(call_id, salt).slice(0, 9),
  /**
   * `functions.<tool>:<n>`, n counted over the conversation: Kimi's template knows the tool of a result by nothing else. An id
   * has 64 characters at most, and the end of it tells it from others.
   */
  numbered: ({ tool }, number, salt) => `functions.${wireToolName(tool)}:${number + salt}`.slice(-64),
}

function digest(callId: string, salt: number): string {
  return createHash('sha256').update(`${salt}:${callId}`).digest('hex')
}
