/** POST /runs/{id}/calls/{call_id}/result (SPEC §5.7): a tool hands in the result it promised with `accepted`. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { assertNever } from '../contract/assert-never.ts'
import { check, Faults } from '../contract/check.ts'
import type { Keywords } from '../contract/schema.ts'
import { LateResult as LateResultSchema, withResult } from '../contract/tool-exchange.ts'
import { JSON_TYPE, sendError } from './error-answer.ts'
import { bodyOf } from './body-bytes.ts'
import { readJsonBody } from './json-body.ts'
import type { LateResult } from './late-results-port.ts'
import { parameter } from './request-values.ts'
import type { ServerOptions } from './server-options.ts'

export async function lateResult(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const body = readJsonBody(request.headers, bodyOf(request))
  if (body.kind === 'fault') return sendError(reply, body)
  const answer = withResult(body.value)
  const faults = new Faults()
  check(LateResultSchema as unknown as Keywords, answer, '', faults)
  if (faults.list.length > 0) {
    const message = 'the body must be {"status":"ok","result":…} or {"status":"error","error":"…"}'
    return sendError(reply, { code: 'invalid_request', message, details: faults.list })
  }

  const runId = parameter(request, 'run_id')
  // The check above is what makes the body this type.
  const result = answer as unknown as LateResult
  const outcome = await options.lateResults.record(runId, parameter(request, 'call_id'), result)
  switch (outcome) {
    case 'recorded':
    case 'already_recorded':
      return reply
        .code(200)
        .type(JSON_TYPE)
        .send(JSON.stringify({ status: outcome }))
    // The token says that there was such a call; what nobody remembers any more is over for long.
    case 'closed':
    case 'unknown':
      return sendError(reply, { code: 'call_closed', message: 'the call is over: its result comes too late', runId })
    default:
      return assertNever(outcome)
  }
}
