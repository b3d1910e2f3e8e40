/** The bodies this server answers with, beside the result itself. One source for the OpenAPI document and the tests. */
import { Type } from 'typebox'
import { errors } from '../contract/errors.ts'
import { CONTRACT_VERSION } from '../contract/run-request.ts'
import { RunResult, STATUSES, Warning } from '../contract/result.ts'
import { closed, instant, nullable, oneWordOf, text } from '../contract/schema.ts'

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
    state: oneWordOf(['none', 'pending', 'delivered', 'acked', 'undelivered']),
    attempts: Type.Array(
      closed({
        at: instant(),
        status: nullable(Type.Integer()),
        content_type: nullable(Type.String()),
        error: nullable(Type.String()),
        duration_ms: Type.Integer({ minimum: 0 }),
      }),
    ),
  }),
  result: Type.Unsafe<unknown>({ oneOf: [RunResult, { type: 'null' }] }),
})

export const CancelledRun = closed({ run_id: text(1, 100), status: oneWordOf(STATUSES) })

export const AckedRun = closed({ run_id: text(1, 100), acked: Type.Literal(true) })

export const LateResultAnswer = closed({ status: oneWordOf(['recorded', 'already_recorded']) })

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
