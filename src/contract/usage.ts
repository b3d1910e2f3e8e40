/**
 * Token counts and cost (SPEC §6.3). No token is counted twice: input excludes cache reads and writes, output includes
 * reasoning.
 */
import { Type, type Static } from 'typebox'
import { closed, nullable, oneWordOf } from './schema.ts'
import type { RawNumber } from './json.ts'
import { PROVIDERS } from './run-request.ts'

const Cost = Type.Unsafe<number | RawNumber | null>({
  type: ['number', 'null'],
  description: 'exact decimal in the currency of pricing; null without pricing',
})

const count = () => Type.Integer({ minimum: 0 })

const tokens = {
  input_tokens: count(),
  cache_read_tokens: count(),
  cache_write_tokens: count(),
  output_tokens: count(),
  reasoning_tokens: count(),
  total_tokens: count(),
}

export const Tokens = closed(tokens)
export type Tokens = Static<typeof Tokens>

export const Attempt = closed({
  step: Type.Integer({ minimum: 1 }),
  attempt: Type.Integer({ minimum: 1, description: 'counted over all models of the step' }),
  provider: oneWordOf(PROVIDERS),
  model: Type.String(),
  status: oneWordOf(['ok', 'failed', 'unknown'], 'unknown: whether and what the provider billed was never told'),
  ...tokens,
  estimated: Type.Boolean({ description: 'true: the token figures are estimates' }),
  cost: Cost,
  http_status: nullable(Type.Integer()),
  error_code: nullable(Type.String()),
  provider_request_id: nullable(Type.String()),
  queued_ms: count(),
  first_token_ms: nullable(count()),
  duration_ms: count(),
})
export type Attempt = Static<typeof Attempt>

export const Usage = closed({
  ...tokens,
  cost: Cost,
  currency: nullable(Type.String()),
  complete: Type.Boolean({ description: 'false: at least one attempt never told its usage' }),
  attempts: Type.Array(Attempt),
})
export type Usage = Static<typeof Usage>

export const NO_TOKENS: Tokens = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  total_tokens: 0,
}
