/** The bodies this server answers with, beside the result itself. One source for the OpenAPI document and the tests. */
import { Type } from 'typebox'
import { errors } from '../contract/errors.ts'
import { DELIVERY_FAULTS, DELIVERY_STATES } from '../contract/delivery.ts'
import { CONTRACT_VERSION } from '../contract/run-request.ts'
import { RunResult, STATUSES, Warning } from '../contract/result.ts'
import { closed, instant, nullable, oneWordOf, open, text } from '../contract/schema.ts'
import { MAX_ATTEMPTS_KEPT } from '../runs/ports.ts'

const HTTP_CODES = Object.entries(errors).flatMap(([code, facts]) => ('http' in facts ? [code] : []))

const runStatus = () => oneWordOf([...STATUSES, 'running'])

export const ErrorAnswer = closed({
  error: closed({
    code: oneWordOf(HTTP_CODES),
    message: Type.String(),
    details: Type.Optional(
      Type.Array(
        closed({ path: Type.String({ description: 'JSON path; empty: the whole body' }), message: Type.String() }),
      ),
    ),
    run_id: Type.Optional(Type.String()),
  }),
})

export const StartedRun = closed({
  run_id: text(1, 100),
  status: runStatus(),
  stream_url: Type.String(),
  cancel_url: Type.String(),
  deadline_at: instant('after it the harness looks for the result itself'),
  warnings: Type.Array(Warning),
  repeated: Type.Optional(Type.Literal(true, { description: 'this idempotency_key was seen; no second run' })),
})

export const RunAnswer = closed({
  run_id: text(1, 100),
  status: runStatus(),
  started_at: instant(),
  deadline_at: instant(),
  delivery: closed({
    state: oneWordOf(DELIVERY_STATES),
    attempts: Type.Array(
      closed({
        at: instant(),
        status: nullable(Type.Integer()),
        content_type: nullable(Type.String()),
        fault: nullable(oneWordOf(DELIVERY_FAULTS, 'null: a 2xx came')),
        error: nullable(Type.String()),
        duration_ms: Type.Integer({ minimum: 0 }),
        next_at: nullable(instant('when the next attempt is due; null: none is')),
      }),
      { maxItems: MAX_ATTEMPTS_KEPT },
    ),
    attempts_left_off: Type.Integer({ minimum: 0, description: 'attempts before these' }),
  }),
  result: Type.Unsafe<unknown>({ oneOf: [RunResult, { type: 'null' }] }),
})

export const CancelledRun = closed({ run_id: text(1, 100), status: oneWordOf(STATUSES) })

export const AckedRun = closed({ run_id: text(1, 100), acked: Type.Literal(true) })

export const RedeliveredRun = closed({ run_id: text(1, 100), redelivering: Type.Literal(true) })

export const LateResultAnswer = closed({ status: oneWordOf(['recorded', 'already_recorded']) })

/** Beside these, whatever the event has to tell. */
const LogEntry = open({
  id: text(1, 100),
  at: instant(),
  event: text(1, 100),
  run_id: nullable(Type.String()),
  session_id: nullable(Type.String()),
})

export const Logs = closed({
  entries: Type.Array(LogEntry),
  cursor: nullable(Type.String({ description: 'goes on behind this page, now or once there is more' })),
  more: Type.Boolean({ description: 'the page ended before the journal did' }),
  source: oneWordOf(['memory', 'disk', 'mixed']),
})

/** What ERROR_WEBHOOK_URL is sent. */
export const ErrorNotice = closed({
  type: Type.Literal('engine_error'),
  event: text(1, 100),
  code: nullable(Type.String()),
  count: Type.Integer({ minimum: 1, description: 'errors of this event and code that this post stands for' }),
  first_at: instant(),
  last_at: instant(),
  entry: LogEntry,
})

export const Health = closed({
  status: oneWordOf(['ok', 'draining']),
  version: Type.String(),
  contract_version: Type.Literal(CONTRACT_VERSION),
  runs: Type.Object({
    running: Type.Integer({ minimum: 0 }),
    queued: Type.Integer({ minimum: 0 }),
    undelivered: Type.Integer({ minimum: 0 }),
  }),
})

export const Ready = closed({ status: Type.Literal('ready') })
