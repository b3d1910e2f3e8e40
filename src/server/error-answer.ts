/** Error answers: the contract's body and status for a code, in one place. SPEC §11. */
import { type ErrorBody, errors, type Fault, type HttpErrorCode } from '../contract/errors.ts'
import type { FastifyReply } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** The code of the error it was answered with; null: none. */
    errorCode: HttpErrorCode | null
  }
}

export const JSON_TYPE = 'application/json; charset=utf-8'

/** What a caller should wait before it tries again, seconds. */
export const RETRY_AFTER_S: Partial<Record<HttpErrorCode, number>> = {
  overloaded: 5,
  draining: 10,
  state_unavailable: 10,
}

export interface ErrorFacts {
  readonly code: HttpErrorCode
  /** What was got and what to do; never a secret. */
  readonly message: string
  readonly details?: readonly Fault[]
  readonly runId?: string
}

export function errorBody(facts: ErrorFacts): ErrorBody {
  const { code, message, details, runId } = facts
  return {
    error: {
      code,
      message,
      ...(details === undefined ? {} : { details }),
      ...(runId === undefined ? {} : { run_id: runId }),
    },
  }
}

/** `status`: where it is not the code's own, as in `/ready`. */
export function sendError(
  reply: FastifyReply,
  facts: ErrorFacts,
  status: number = errors[facts.code].http,
): FastifyReply {
  const retryAfter = RETRY_AFTER_S[facts.code]
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  reply.request.errorCode = facts.code
  return reply
    .code(status)
    .type(JSON_TYPE)
    .send(JSON.stringify(errorBody(facts)))
}

/** The one thing said about a run nobody knows, whether it never was or is not kept any more. */
export function sendNoRun(reply: FastifyReply, runId: string): FastifyReply {
  const message = 'no such run: the id is wrong, or the run is not kept any more'
  return sendError(reply, { code: 'run_not_found', message, runId: runId.slice(0, 100) })
}
