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
  const tried = new Map<string, number>()
  for (const turn of turns) {
    if (turn.kind !== 'assistant') continue
    for (const { call } of turn.results) {
      const native = nativeId(call, profile)
      const id = native !== null && !taken.has(native) ? native : madeId(call, ids.size, profile, taken, tried)
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

/**
 * The first id of its row that is free. What was found taken stays so: where one id comes on every turn, each turn begins where the
 * one before ended, and the ids are the same as if it had begun anew.
 * @param number how many calls stand before this one in the conversation
 * @param tried by row: where to begin
 */
function madeId(
  call: ToolCallPart,
  number: number,
  profile: Profile,
  taken: ReadonlySet<string>,
  tried: Map<string, number>,
): string {
  const { first, id: made, row } = MAKERS[profile.madeCallIds](call, number)
  for (let at = Math.max(first, tried.get(row) ?? 0); ; at += 1) {
    const id = made(at)
    if (taken.has(id)) continue
    tried.set(row, at + 1)
    return id
  }
}

/** The ids that a call may have, one after another. Calls of one row have the same ones, from `first` on. */
interface IdRow {
  readonly row: string
  readonly first: number
  readonly id: (at: number) => string
}

const MAKERS: Readonly<Record<Profile['madeCallIds'], (call: ToolCallPart, number: number) => IdRow>> = {
  /** At most 40 of `[a-zA-Z0-9_-]`, which every vendor but the two below takes; the engine's own ids already are that. */
  short: ({ call_id }) => ({
    row: call_id,
    first: 0,
    id: (at) =>
      at === 0 && /^[a-zA-Z0-9_-]{1,40}$/.test(call_id) ? call_id : `call_${digest(call_id, at).slice(0, 24)}`,
  }),
  /** Exactly nine letters and digits (Mistral). */
  nine: ({ call_id }) => ({ row: call_id, first: 0, id: (at) => digest(call_id, at).slice(0, 9) }),
  /**
   * `functions.<tool>:<n>`, n counted over the conversation: Kimi's template knows the tool of a result by nothing else. An id
   * has 64 characters at most, and the end of it tells it from others.
   */
  numbered: ({ tool }, number) => {
    const name = wireToolName(tool)
    return { row: name, first: number, id: (at) => `functions.${name}:${at}`.slice(-64) }
  },
}

function digest(callId: string, salt: number): string {
  return createHash('sha256').update(`${salt}:${callId}`).digest('hex')
}
