/**
 * Canonical JSON (RFC 8785) and the keys derived from it. SPEC §5.2 publishes the byte recipe and test vectors, so that
 * a harness can compute the same keys.
 */
import { createHash } from 'node:crypto'
import { isRawNumber, type Json } from './json.ts'

/**
 * RFC 8785: keys sorted by UTF-16 code units, no white space, numbers as ECMAScript writes them.
 * One addition: a number whose digits a double cannot hold stands with its own digits.
 */
export function canonical(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (isRawNumber(value)) return value.rawJSON
  if (Array.isArray(value)) return `[${value.map((item: Json) => canonical(item)).join(',')}]`
  const fields = Object.entries(value as Record<string, Json>)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`)
  return `{${fields.join(',')}}`
}

function sha256(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex')
}

/** `sha256:` + hex SHA-256 of the canonical args. */
export function argsHash(args: Json): string {
  return `sha256:${sha256(canonical(args))}`
}

export interface CallKeyFacts {
  readonly sessionId: string | null
  readonly tool: string
  readonly originRequestId: string
  readonly argsHash: string
}

/** `ck_` + hex SHA-256 of the canonical array `[session_id, tool, origin_request_id, args_hash]`: one logical call, one key. */
export function callKey(facts: CallKeyFacts): string {
  return `ck_${sha256(canonical([facts.sessionId, facts.tool, facts.originRequestId, facts.argsHash]))}`
}

/** `op_` + hex SHA-256 of the canonical array `[session_id, tool, origin_request_id]`: the id of a harness's operation row. */
export function operationKey(facts: Omit<CallKeyFacts, 'argsHash'>): string {
  return `op_${sha256(canonical([facts.sessionId, facts.tool, facts.originRequestId]))}`
}

/** Hex SHA-256 of canonical JSON: how two request bodies are compared. */
export function fingerprint(value: Json): string {
  return sha256(canonical(value))
}
