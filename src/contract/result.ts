/** The result of a run (SPEC §6): one object, the same bytes in the callback, the waited answer, GET and an engine-token cancel. */
import { Type, type Static } from 'typebox'
import { errors, type RunErrorCode } from './errors.ts'
import { STOP_REASONS, type NewMessage, StoredMessage } from './message.ts'
import { anyJson, anyObject, closed, instant, nullable, oneWordOf, text } from './schema.ts'
import { Usage } from './usage.ts'

export const STATUSES = ['completed', 'awaiting_tool', 'stopped_limit', 'cancelled', 'failed'] as const
export type Status = (typeof STATUSES)[number]

export const LIMITS_REACHED = [
  'max_steps',
  'max_tool_calls',
  'timeout_ms',
  'max_output_tokens_total',
  'max_total_tokens',
  'max_cost',
] as const
export type LimitReached = (typeof LIMITS_REACHED)[number]

export const CALL_STATUSES = ['ok', 'error', 'deferred', 'invalid', 'refused', 'not_sent', 'unknown'] as const
export type CallStatus = (typeof CALL_STATUSES)[number]

export const WARNINGS = [
  'header_dropped',
  'param_dropped',
  'part_replaced',
  'loop_protection',
  'write_not_deferred',
  'reasoning_dropped',
  'format_not_met',
] as const

export const Warning = closed({ code: oneWordOf(WARNINGS), message: Type.String(), path: nullable(Type.String()) })
export type Warning = Static<typeof Warning>

export const PendingCall = closed({
  call_id: text(1, 200),
  tool: text(1, 64),
  operation_id: nullable(text(1, 500)),
  args_hash: text(1, 100),
  ticket: text(1, 2000, 'HMAC over run, call_id, tool, args_hash and expiry; may be sent back inside the tool message'),
  expires_at: instant(),
})
export type PendingCall = Static<typeof PendingCall>

export const ToolCallRecord = closed({
  call_id: text(1, 200),
  tool: Type.String(),
  effect: nullable(oneWordOf(['read', 'write'], 'null: no such tool')),
  step: Type.Integer({ minimum: 1 }),
  status: oneWordOf(CALL_STATUSES),
  attempts: Type.Integer({ minimum: 0 }),
  duration_ms: Type.Integer({ minimum: 0 }),
  result_bytes: Type.Integer({ minimum: 0, description: 'size of the whole result as JSON, before any cut' }),
  truncated: Type.Boolean(),
})
export type ToolCallRecord = Static<typeof ToolCallRecord>

const RUN_ERROR_CODES = Object.entries(errors)
  .filter(([, facts]) => !('http' in facts))
  .map(([code]) => code as RunErrorCode)

export const RunError = closed({
  code: oneWordOf(RUN_ERROR_CODES),
  message: Type.String({ description: 'for the end user, in ENGINE_LOCALE' }),
})
export type RunError = Static<typeof RunError>

export const RunResult = closed({
  contract_version: Type.Literal('1'),
  run_id: text(1, 100),
  status: oneWordOf(STATUSES),
  history_revision: nullable(Type.Integer()),
  idempotency_key: text(1, 200),
  origin_request_id: text(1, 200),
  text: Type.String(),
  answer_source: nullable(
    oneWordOf(['model', 'fallback'], 'fallback: a fixed sentence in ENGINE_LOCALE; null: there is no answer'),
  ),
  stop_reason: nullable(oneWordOf(STOP_REASONS)),
  limit_reached: nullable(oneWordOf(LIMITS_REACHED)),
  output: anyJson(),
  messages: Type.Unsafe<readonly NewMessage[]>({ type: 'array', items: StoredMessage }),
  pending: Type.Array(PendingCall),
  tool_calls: Type.Array(ToolCallRecord),
  usage: Usage,
  error: nullable(RunError),
  warnings: Type.Array(Warning),
  steps: Type.Integer({ minimum: 0 }),
  started_at: instant(),
  finished_at: instant(),
  meta: anyObject(),
})
export type RunResult = Static<typeof RunResult>

/** The envelope of a callback (SPEC §7). */
export const CallbackBody = closed({ payload: RunResult })
