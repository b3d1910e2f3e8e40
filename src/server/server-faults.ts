/**
 * What a caller is told when fastify or Node turn a request down by themselves, or when the engine has a bug: always the
 * contract's error body. fastify's own messages are not passed on, for some quote the URL, and with it a token.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { thrownText } from '../contract/thrown-text.ts'
import { errorBody, type ErrorFacts, JSON_TYPE, sendError } from './error-answer.ts'
import type { ServerLog } from './server-options.ts'

/** How long the rest of a body that nobody wants is read and thrown away before the answer. */
const LINGER_MS = 2_000

/** Everything that was thrown on the way. */
export async function answerThrown(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  log: ServerLog,
): Promise<FastifyReply> {
  const { code, statusCode } = error as { readonly code?: unknown; readonly statusCode?: unknown }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const limit = request.routeOptions.bodyLimit
    return sendError(reply, { code: 'too_large', message: `the body is larger than ${limit} bytes` })
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return sendError(reply, { code: 'unsupported_media_type', message: 'the content type is not one' })
  }
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    return sendError(reply, {
      code: 'invalid_request',
      message: 'the request is not valid HTTP, or its body broke off',
    })
  }
  log.error(
    { stack: thrownText(error), method: request.method, route: request.routeOptions.url },
    'a request met a bug',
  )
  return sendError(reply, { code: 'internal', message: 'the engine has a bug; what it was stands in its log' })
}

/** What of a request's head RFC 9112 or this engine does not take, though Node has read it. null: nothing. */
export function oddHead(message: IncomingMessage): ErrorFacts | null {
  const { headers, httpVersionMajor, httpVersionMinor } = message
  const isNew = httpVersionMajor > 1 || (httpVersionMajor === 1 && httpVersionMinor >= 1)
  if (isNew && headers.host === undefined) return { code: 'invalid_request', message: 'a Host header is missing' }
  // Node takes the first; a proxy in front may have gone by the last.
  if (hostHeaders(message) > 1) return { code: 'invalid_request', message: 'the Host header stands twice' }
  const expected = headers.expect
  if (expected !== undefined && expected.toLowerCase() !== '100-continue') {
    return { code: 'invalid_request', message: 'the Expect header may say 100-continue and nothing else' }
  }
  return null
}

function hostHeaders({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length
}

/**
 * Before an answer that closes its connection. One that is closed while its other side still sends is reset, and the answer with
 * it: whoever posts a large body would see a broken connection in place of a 401, a 429 or a 413.
 */
export async function readAwayBefore(reply: FastifyReply, request: FastifyRequest): Promise<void> {
  const closes = !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
  // Who asks first whether to send has not begun, unless something came all the same.
  const sends = request.headers.expect === undefined || request.raw.readableLength > 0
  if (closes && sends && !request.raw.complete) await readAway(request.raw)
}

function readAway(body: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      clearTimeout(timer)
      body.off('end', settle)
      body.off('close', settle)
      resolve()
    }
    const timer = setTimeout(settle, LINGER_MS)
    body.on('end', settle)
    body.on('close', settle)
    if (body.readableEnded || body.destroyed) settle()
    else body.resume()
  })
}

/**
 * Bytes that are no HTTP request: there is no request object to answer through. `newest`: the answer to the last request of the
 * connection that was one. Where that is still to be given, it is, and the connection closed behind it: another answer before
 * it would be taken for it, and inside a stream be garbage.
 */
export function answerBadBytes(error: NodeJS.ErrnoException, socket: Socket, newest: ServerResponse | undefined): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  if (newest !== undefined && isOwed(newest)) {
    // Every further byte is told as another fault.
    if (newest.listeners('close').includes(closeBehind)) return
    newest.shouldKeepAlive = false
    newest.once('close', closeBehind)
    return
  }
  const { status, facts } = badBytes(error.code)
  const body = JSON.stringify(errorBody(facts))
  const head = [
    `HTTP/1.1 ${status}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    'x-content-type-options: nosniff',
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy())
}

/** Bad bytes inside the request itself are answered in its place, if nothing was yet. */
function isOwed({ headersSent, req, socket, writableFinished }: ServerResponse): boolean {
  if (writableFinished) return false
  // Without a socket it waits behind the answer to a request before it.
  return req.complete || headersSent || socket === null
}

function closeBehind(this: ServerResponse): void {
  this.req.socket.end(() => this.req.socket.destroy())
}

function badBytes(code: string | undefined): { readonly status: string; readonly facts: ErrorFacts } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return {
        status: '431 Request Header Fields Too Large',
        facts: { code: 'too_large', message: 'the headers are too large' },
      }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: '408 Request Timeout',
        facts: { code: 'invalid_request', message: 'the request took too long to arrive' },
      }
    default:
      return { status: '400 Bad Request', facts: { code: 'invalid_request', message: 'this is not an HTTP request' } }
  }
}
