/** /health and /ready (SPEC §12.2): what a load balancer and an operator ask. No secret and no run id is in either. */
import type { FastifyReply } from 'fastify'
import { CONTRACT_VERSION } from '../contract/run-request.ts'
import { JSON_TYPE, sendError } from './error-answer.ts'
import { overloadFacts } from './overload-answer.ts'
import type { ServerOptions } from './server-options.ts'

export async function health(reply: FastifyReply, options: ServerOptions): Promise<FastifyReply> {
  const { running, undelivered } = await options.store.counts()
  const answer = {
    status: options.draining() ? 'draining' : 'ok',
    version: options.version,
    contract_version: CONTRACT_VERSION,
    runs: { running, queued: options.queued(), undelivered },
  }
  return reply.code(200).type(JSON_TYPE).send(JSON.stringify(answer))
}

/** 503 for every reason: a load balancer knows no other way to be told "not here". */
export async function ready(reply: FastifyReply, options: ServerOptions): Promise<FastifyReply> {
  if (options.draining()) return sendError(reply, { code: 'draining', message: 'this engine is shutting down' }, 503)
  const { running } = await options.store.counts()
  if (running >= options.maxRuns) {
    return sendError(reply, { code: 'overloaded', message: 'as many runs are going as this engine may run' }, 503)
  }
  const overload = await overloadFacts(options)
  if (overload !== null) return sendError(reply, overload, 503)
  return reply
    .code(200)
    .type(JSON_TYPE)
    .send(JSON.stringify({ status: 'ready' }))
}
