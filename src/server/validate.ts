/** POST /validate (SPEC §2.7): whatever can be read as a JSON object is answered 200, faults or none. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isJsonObject } from '../contract/json.ts'
import { JSON_TYPE, sendError } from './error-answer.ts'
import { bodyOf } from './body-bytes.ts'
import { readJsonBody } from './json-body.ts'
import type { ServerOptions } from './server-options.ts'

export async function validate(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Pick<ServerOptions, 'validate'>,
): Promise<FastifyReply> {
  const body = readJsonBody(request.headers, bodyOf(request))
  if (body.kind === 'fault') return sendError(reply, body)
  if (!isJsonObject(body.value)) {
    return sendError(reply, { code: 'invalid_request', message: 'the body must be a JSON object: the body of a run' })
  }
  return reply
    .code(200)
    .type(JSON_TYPE)
    .send(JSON.stringify(options.validate(body.value)))
}
