/** GET /logs (SPEC §12.4): a page of the journal. Entries are handed on as the JSON text they are kept as. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { JSON_TYPE, sendError } from './error-answer.ts'
import { parseLogsQuery } from './logs-query.ts'
import type { ServerOptions } from './server-options.ts'

export async function logs(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const parsed = parseLogsQuery(request.query as Readonly<Record<string, unknown>>)
  if (!parsed.ok) {
    const { faults } = parsed
    const message = `the query has ${faults.length} fault${faults.length === 1 ? '' : 's'}; all of them stand in details`
    return sendError(reply, { code: 'invalid_request', message, details: faults })
  }
  const { lines, ...rest } = await options.readLogs(parsed.query)
  const body = `{"entries":[${lines.join(',')}],${JSON.stringify(rest).slice(1)}`
  return reply.code(200).type(JSON_TYPE).send(body)
}
