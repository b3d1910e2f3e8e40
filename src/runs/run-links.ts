/** The addresses of one run that are handed to others, each with the token that opens it and nothing else. SPEC §3.5. */
import { callToken, type EngineTokens, runToken } from './run-token.ts'

/** `publicUrl`: how others reach this engine, PUBLIC_URL; it may have a path, with or without a slash at the end. */
export interface LinkFacts {
  readonly publicUrl: string
  readonly tokens: EngineTokens
  readonly runId: string
}

export function streamUrl(facts: LinkFacts): string {
  return `${runUrl(facts)}/stream?token=${runToken(facts.tokens, facts.runId)}`
}

export function cancelUrl(facts: LinkFacts): string {
  return `${runUrl(facts)}/cancel?token=${runToken(facts.tokens, facts.runId)}`
}

/** Where a tool hands in its late result. SPEC §5.7. */
export function resultUrl(facts: LinkFacts, callId: string): string {
  const token = callToken(facts.tokens, facts.runId, callId)
  return `${runUrl(facts)}/calls/${encodeURIComponent(callId)}/result?token=${token}`
}

function runUrl(facts: LinkFacts): string {
  return `${facts.publicUrl.replace(/\/+$/, '')}/runs/${encodeURIComponent(facts.runId)}`
}
