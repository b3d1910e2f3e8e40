/** GET /runs/{id}/stream (SPEC §9): decides between 204, an error and a stream, and opens the stream. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { thrownText } from '../contract/thrown-text.ts'
import { sendError, sendNoRun } from './error-answer.ts'
import type { OpenAnswers } from './open-answers.ts'
import { parameter, queryValue } from './request-values.ts'
import type { ServerOptions } from './server-options.ts'
import { STREAM_HEADERS } from './sse.ts'
import { formatNames, isFormat, openForm, type FormatName } from './stream-format.ts'
import { STALLED_MS, writeStream } from './stream-writer.ts'

export async function streamRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
  openAnswers: OpenAnswers,
): Promise<FastifyReply> {
  const format = formatOf(request)
  if (format === 'unknown') return sendUnknownFormat(reply)
  const form = openForm(format, lastEventId(request))
  const runId = parameter(request, 'run_id')
  const answer = openAnswers.open('stream', reply.raw)
  try {
    const reading = await options.events.read(runId, form.after, answer.signal)
    if (reading === null) return sendNoRun(reply, runId)
    // A plain EventSource reconnects after the end for ever, unless it is told that there is nothing more.
    if (reading.atEnd) return reply.code(204).send()
    if (form.needsPast) for await (const event of reading.had) form.had(event)
    // fastify's own stream answers cost a third more for each event.
    reply.hijack()
    reply.raw.writeHead(200, { ...definedHeaders(reply), ...STREAM_HEADERS, ...form.headers })
    await writeStream(reply.raw, reading.events, {
      stalledMs: options.stalledMs ?? STALLED_MS,
      signal: answer.signal,
      opening: form.open(),
      write: (event) => form.write(event),
      onDropped: () => options.watch?.streamDropped(),
    })
    return reply
  } catch (error) {
    if (!reply.sent) throw error
    options.log.error({ stack: thrownText(error) }, 'a stream failed')
    reply.raw.destroy()
    return reply
  } finally {
    answer.release()
  }
}

/** null: the engine's own form. What stands twice names none. */
function formatOf(request: FastifyRequest): FormatName | null | 'unknown' {
  const name = queryValue(request, 'format')
  if (name !== null) return isFormat(name) ? name : 'unknown'
  return Object.hasOwn(request.query as object, 'format') ? 'unknown' : null
}

function sendUnknownFormat(reply: FastifyReply): FastifyReply {
  const message = `must stand once and be ${formatNames.join(' or ')}; leave it out for the engine's own events`
  return sendError(reply, {
    code: 'invalid_request',
    message: 'the query has one fault: format is not known',
    details: [{ path: 'format', message }],
  })
}

/** What browsers send when they reconnect goes before what a first address says. An empty one is none. */
function lastEventId(request: FastifyRequest): string | undefined {
  const header = request.headers['last-event-id']
  const id = (typeof header === 'string' && header !== '' ? header : null) ?? queryValue(request, 'last_event_id')
  return id === null || id === '' ? undefined : id
}

/** The CORS headers set so far. */
function definedHeaders(reply: FastifyReply): Record<string, string | number | string[]> {
  return Object.fromEntries(
    Object.entries(reply.getHeaders()).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
