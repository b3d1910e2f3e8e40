/**
 * Tokens that anybody with the engine's tokens can check and nobody has to store: run tokens, call tokens and approval
 * tickets. Each is an HMAC-SHA-256 keyed with an engine token: made with the first, accepted with any, so that engine
 * tokens can be rotated while runs are under way.
 *
 * What is signed is a JSON array that begins with the kind, so that no field can slide into another and no token of one
 * kind passes as another. Tokens are secrets: they never enter a log or a message.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

/** The engine tokens, the first one signing. */
export type EngineTokens = readonly [string, ...string[]]

/** Lets its holder read the stream of one run and cancel it: 43 characters of base64url. SPEC §2.2. */
export function runToken(tokens: EngineTokens, runId: string): string {
  return sign(tokens[0], ['run', runId], 'base64url')
}

export function isRunToken(tokens: EngineTokens, runId: string, token: string): boolean {
  return isSigned(tokens, ['run', runId], 'base64url', token)
}

/** Lets its holder hand in the late result of one call: 43 characters of base64url. SPEC §5.7. */
export function callToken(tokens: EngineTokens, runId: string, callId: string): string {
  return sign(tokens[0], ['call', runId, callId], 'base64url')
}

export function isCallToken(tokens: EngineTokens, runId: string, callId: string, token: string): boolean {
  return isSigned(tokens, ['call', runId, callId], 'base64url', token)
}

/** What an approval was asked for. */
export interface TicketCall {
  readonly callId: string
  readonly tool: string
  /** `sha256:` + hex, of the canonical args. */
  readonly argsHash: string
}

export interface TicketFacts extends TicketCall {
  readonly runId: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** `v1.<run_id>.<expires ms>.<hex HMAC over run, call, tool, args_hash and expiry>`. SPEC §5.5. */
export function signTicket(tokens: EngineTokens, facts: TicketFacts): string {
  return `v1.${facts.runId}.${facts.expiresAt}.${sign(tokens[0], ticketFields(facts), 'hex')}`
}

const TICKET = /^v1\.([^.]{1,100})\.(0|[1-9]\d{0,15})\.([0-9a-f]{64})$/

/**
 * Whether a ticket was given for just this call. `mismatch` before `expired`: only a genuine ticket can have expired.
 * `now` in milliseconds since the epoch; a ticket is good up to and including its last millisecond.
 */
export function checkTicket(
  tokens: EngineTokens,
  ticket: string,
  call: TicketCall,
  now: number,
): 'ok' | 'mismatch' | 'expired' {
  const [, runId, expires, signature] = TICKET.exec(ticket) ?? []
  if (runId === undefined || expires === undefined || signature === undefined) return 'mismatch'
  const facts = { ...call, runId, expiresAt: Number(expires) }
  if (!isSigned(tokens, ticketFields(facts), 'hex', signature)) return 'mismatch'
  return now > facts.expiresAt ? 'expired' : 'ok'
}

type Fields = readonly (string | number)[]
type Encoding = 'base64url' | 'hex'

function ticketFields(facts: TicketFacts): Fields {
  return ['ticket', facts.runId, facts.callId, facts.tool, facts.argsHash, facts.expiresAt]
}

function sign(token: string, fields: Fields, encoding: Encoding): string {
  return createHmac('sha256', token).update(JSON.stringify(fields)).digest(encoding)
}

/**
 * Compares with every token in constant time: neither which one matched nor how far one matched can be timed. The texts
 * are compared, not what they decode to, so that each token has one spelling.
 */
function isSigned(tokens: EngineTokens, fields: Fields, encoding: Encoding, given: string): boolean {
  const givenBytes = Buffer.from(given)
  let matches = 0
  for (const token of tokens) {
    const expected = Buffer.from(sign(token, fields, encoding))
    if (givenBytes.length === expected.length && timingSafeEqual(givenBytes, expected)) matches += 1
  }
  return matches > 0
}
