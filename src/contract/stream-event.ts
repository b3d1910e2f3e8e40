/** The events of GET /runs/{id}/stream (SPEC §9). `data` of each is one JSON line. */
import { Type, type Static } from 'typebox'
import { LIMITS_REACHED, RunError, STATUSES } from './result.ts'
import { STOP_REASONS } from './message.ts'
import { anyJson, anyObject, closed, nullable, oneWordOf } from './schema.ts'

const step = () => Type.Integer({ minimum: 1 })
const reset = oneWordOf(['retry', 'repair', 'empty', 'restart'])

export const streamEvents = {
  start: closed({ run_id: Type.String() }),
  step: closed({ step: step(), final: Type.Boolean({ description: 'true: this step may not use tools' }) }),
  delta: closed({ step: step(), offset: Type.Integer({ minimum: 0 }), text: Type.String() }),
  reset: closed({ step: step(), reason: reset }),
  reasoning: closed({ step: step(), text: Type.String() }),
  tool_call: closed({
    step: step(),
    n: Type.Integer({ minimum: 1, description: 'number of the call within the run' }),
    label: nullable(Type.String()),
    tool: Type.Optional(Type.String()),
    call_id: Type.Optional(Type.String()),
    args: Type.Optional(anyObject()),
  }),
  tool_result: closed({
    step: step(),
    n: Type.Integer({ minimum: 1 }),
    ok: Type.Boolean(),
    deferred: Type.Optional(Type.Boolean({ description: 'true: there is no result yet' })),
    result: Type.Optional(anyJson()),
  }),
  wait: closed({
    reason: oneWordOf(['queue', 'retry']),
    ms: Type.Integer({ minimum: 0 }),
    position: Type.Optional(Type.Integer({ minimum: 1, description: 'in the queue when the wait began; 1: next' })),
  }),
  resync: closed({ step: Type.Integer({ minimum: 0 }), text: Type.String() }),
  done: closed({
    status: oneWordOf(STATUSES),
    stop_reason: nullable(oneWordOf(STOP_REASONS)),
    limit_reached: nullable(oneWordOf(LIMITS_REACHED)),
    error: nullable(RunError),
    pending: Type.Integer({ minimum: 0 }),
  }),
} as const

export type StreamEventName = keyof typeof streamEvents
export type ResetReason = Static<typeof reset>

type Data<N extends StreamEventName> = Static<(typeof streamEvents)[N]>
/** One event: its name and its data. */
export type StreamEvent = {
  readonly [N in StreamEventName]: { readonly event: N; readonly data: Data<N> }
}[StreamEventName]

export type DoneEvent = Extract<StreamEvent, Readonly<Record<'event', 'done'>>>
