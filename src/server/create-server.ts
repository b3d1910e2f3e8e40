/**
 * The HTTP side of the engine: registers the routes of `routes.ts` and what holds for all of them. What a route does
 * stands in its own file; this one decides nothing about runs.
 *
 * fastify's logger stays off and nothing here logs a request: URLs carry tokens.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type AccessVerdict, type Grant, judgeAccess } from './access.ts'
import { bodyOf, readBodyBytes, tellToSend } from './body-bytes.ts'
import { engineTokenCheck } from './auth.ts'
import { corsHeaders, preflightHeaders } from './cors.ts'
import { JSON_TYPE, sendError, sendNoRun } from './error-answer.ts'
import { createLastBytes } from './last-bytes.ts'
import { lateResult } from './late-result.ts'
import { logs } from './logs.ts'
import { createOpenAnswers } from './open-answers.ts'
import { openApiText } from './openapi.ts'
import { overloadFacts } from './overload-answer.ts'
import { health, ready } from './probes.ts'
import { methodsOf, type Route, type RouteName, routes, routesAt } from './routes.ts'
import { ackRun, cancelRun, getRun, redeliverRun } from './run-answers.ts'
import { answerBadBytes, answerThrown, oddHead, readAwayBefore } from './server-faults.ts'
import type { ServerOptions, ServerTimeouts } from './server-options.ts'
import { DRAINING, startRun } from './start-run.ts'
import { parameter } from './request-values.ts'
import { streamRun } from './stream-answer.ts'
import { validate } from './validate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** As whom the request was let in; set before its body is read. */
    grant: Grant
  }
}

export interface EngineServer {
  /** Not listening yet. `close()` ends streams and waits, then idle connections. */
  readonly app: FastifyInstance
  /**
   * For shutdown, once the runs have ended: streams end by themselves with `done`; those that still flow when the signal
   * aborts end without it, so that their reader reconnects elsewhere. Resolves when all are closed, about a second later at
   * most.
   */
  closeStreams(signal: AbortSignal): Promise<void>
  /** For shutdown: resolves when the answers that are being taken now have been, or when the signal aborts. */
  lastBytes(signal: AbortSignal): Promise<void>
  /** Streams that are being read. */
  openStreams(): number
}

/**
 * Load balancers keep idle connections for 60 s and more; whoever closes first must be they. Reading a request is limited,
 * answering one is not: a stream and a waited run may take as long as they take.
 */
const TIMEOUTS: ServerTimeouts = { keepAliveMs: 75_000, headersMs: 80_000, requestMs: 300_000, checkMs: 10_000 }

/** Of bodies that nobody reads. */
const MAX_IGNORED_BYTES = 65_536

/** The text format of Prometheus. */
const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>

export function createServer(options: ServerOptions): EngineServer {
  const openAnswers = createOpenAnswers()
  const lastBytes = createLastBytes()
  /** The answer to the newest request of a connection. */
  const newest = new WeakMap<Socket, ServerResponse>()
  const { keepAliveMs, headersMs, requestMs, checkMs } = options.timeouts ?? TIMEOUTS
  const app = Fastify({
    logger: false,
    bodyLimit: options.maxBodyBytes,
    keepAliveTimeout: keepAliveMs,
    requestTimeout: requestMs,
    // Node's own 400 for a missing Host has no body: `oddHead` sees to it.
    http: { headersTimeout: headersMs, connectionsCheckingInterval: checkMs, requireHostHeader: false },
    // Beyond what a head may hold: an id that is too long is one that nobody knows.
    routerOptions: { maxParamLength: 65_536 },
    return503OnClosing: false,
    clientErrorHandler: (error, socket) => answerBadBytes(error, socket, newest.get(socket)),
    // A path that cannot be decoded: hooks are not asked about it.
    frameworkErrors: (error, request, reply) => {
      openAnswer(request, reply, options)
      void answerThrown(error, request, reply, options.log)
    },
  })

  // Bodies arrive as bytes, whatever they call themselves; a route that wants JSON reads it itself.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
    readBodyBytes(payload, request.routeOptions.bodyLimit),
  )
  app.decorateRequest('grant', 'open')
  app.decorateRequest('errorCode', null)
  app.addHook('onSend', async (request, reply) => {
    // A stranger must not be able to hold up the end.
    if (request.grant !== 'open') lastBytes.watch(reply.raw)
    await readAwayBefore(reply, request)
  })
  app.addHook('onResponse', async (request, reply) => {
    bodyOf(request)?.release()
    options.watch?.answered(routeNameOf(request), reply.raw.statusCode, request.errorCode)
  })
  app.addHook('onRequest', async (request, reply) => {
    openAnswer(request, reply, options)
    const odd = oddHead(request.raw)
    if (odd !== null) return sendError(reply, odd)
    // Before its body is read: nobody has looked yet who is calling.
    return request.is404 ? answerUnrouted(request, reply, options) : undefined
  })
  app.addHook('preParsing', async ({ raw, routeOptions }, reply) => tellToSend(raw, reply.raw, routeOptions.bodyLimit))
  hearRequests(app.server, newest)
  app.addHook('preClose', async () => {
    await Promise.all([openAnswers.closeAll('stream'), openAnswers.closeAll('wait')])
  })
  app.setErrorHandler((error, request, reply) => answerThrown(error, request, reply, options.log))

  const document = openApiText(options.version)
  const providers = JSON.stringify(options.providers)
  const handlers: Record<RouteName, Handler> = {
    startRun: (request, reply) => startRun(request, reply, options, openAnswers),
    validate: (request, reply) => validate(request, reply, options),
    getRun: (request, reply) => getRun(request, reply, options),
    cancelRun: (request, reply) => cancelRun(request, reply, options, openAnswers),
    ackRun: (request, reply) => ackRun(request, reply, options),
    redeliverRun: (request, reply) => redeliverRun(request, reply, options),
    streamRun: (request, reply) => streamRun(request, reply, options, openAnswers),
    lateResult: (request, reply) => lateResult(request, reply, options),
    logs: (request, reply) => logs(request, reply, options),
    metrics: async (_request, reply) =>
      reply
        .code(200)
        .type(METRICS_TYPE)
        .send(await options.readMetrics()),
    providers: async (_request, reply) => reply.code(200).type(JSON_TYPE).send(providers),
    health: (_request, reply) => health(reply, options),
    ready: (_request, reply) => ready(reply, options),
    openApi: async (_request, reply) => reply.code(200).type(JSON_TYPE).send(document),
  }
  const admitCaller = callerCheck(options)
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
    app.route({
      method: route.method,
      url: route.path,
      exposeHeadRoute: methodsOf([route]).includes('HEAD'),
      bodyLimit: route.body === 'ignored' ? MAX_IGNORED_BYTES : options.maxBodyBytes,
      onRequest: (request, reply) => admitCaller(route, request, reply),
      handler: handlers[name],
    })
  }
  return {
    app,
    openStreams: () => openAnswers.count('stream'),
    lastBytes: (signal) => lastBytes.taken(signal),
    async closeStreams(signal) {
      await openAnswers.idle('stream', signal)
      await openAnswers.closeAll('stream')
    },
  }
}

/** What Node would else see to by itself. */
function hearRequests(server: FastifyInstance['server'], newest: WeakMap<Socket, ServerResponse>): void {
  server.on('request', ({ socket }, response) => newest.set(socket, response))
  // Without listeners Node answers: 417 without a body, and 100 before anybody has looked who is asking.
  for (const expectation of ['checkExpectation', 'checkContinue']) {
    server.on(expectation, (request, response) => server.emit('request', request, response))
  }
}

/** What stands on every answer, whatever becomes of the request. */
function openAnswer(request: FastifyRequest, reply: FastifyReply, { allowedOrigins }: ServerOptions): void {
  // What a caller wrote comes back in errors: no browser may take it for a page.
  reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  const forBrowsers = routesAt(request.url).some(({ browser }) => browser)
  if (forBrowsers) reply.headers(corsHeaders(request.headers.origin, allowedOrigins))
}

/** Lets a caller in or answers it, before its body is read. */
function callerCheck(options: ServerOptions) {
  const isEngineToken = engineTokenCheck(options.tokens)
  return async (route: Route, request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const verdict = await judgeAccess(route, request, { ...options, isEngineToken })
    if (verdict.kind !== 'granted') return sendRefusal(verdict, request, reply)
    request.grant = verdict.grant
    // fastify turns a content type that is none down; here nobody asks for one.
    if (route.body === 'ignored') delete request.raw.headers['content-type']
    if (route !== routes.startRun && route !== routes.redeliverRun) return undefined
    if (options.draining()) return sendError(reply, DRAINING)
    if (route === routes.redeliverRun) return undefined
    // Before the body is read: it is part of what there is too much of.
    const overload = await overloadFacts(options)
    return overload === null ? undefined : sendError(reply, overload)
  }
}

/** As SPEC §2.1 writes it. A HEAD counts as the GET it stands for. */
function routeNameOf({ method, routeOptions: { url } }: FastifyRequest): string {
  if (url === undefined) return 'none'
  const path = url.replace(':run_id', '{id}').replace(/:(\w+)/g, '{$1}')
  return `${method === 'HEAD' ? 'GET' : method} ${path}`
}

function sendRefusal(
  verdict: Exclude<AccessVerdict, { kind: 'granted' }>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  switch (verdict.kind) {
    case 'unauthorized': {
      reply.header('www-authenticate', `Bearer realm="theloop"${verdict.wrong ? ', error="invalid_token"' : ''}`)
      if (verdict.opener === 'call') {
        const message = 'a late result is opened by the token of its call alone: post it to the whole result_url'
        return sendError(reply, { code: 'unauthorized', message })
      }
      const got = verdict.wrong ? 'the token is not one of this engine' : 'no token came'
      return sendError(reply, { code: 'unauthorized', message: `${got}: send Authorization: Bearer <engine token>` })
    }
    case 'forbidden':
      return sendError(reply, { code: 'forbidden', message: 'the token in the query does not open this address' })
    case 'no_run':
      return sendNoRun(reply, parameter(request, 'run_id'))
  }
}

/** A path nobody has, a method the path does not have, or a question about a path's methods. */
function answerUnrouted(request: FastifyRequest, reply: FastifyReply, options: ServerOptions): FastifyReply {
  const found = routesAt(request.url)
  if (found.length === 0) return sendError(reply, { code: 'not_found', message: 'there is nothing at this path' })
  const methods = methodsOf(found)
  reply.header('allow', methods.join(', '))
  if (request.method !== 'OPTIONS') {
    const message = `this path takes ${methods.join(', ')}; got ${request.method}`
    return sendError(reply, { code: 'method_not_allowed', message })
  }
  const forBrowsers = found.filter(({ browser }) => browser).map(({ method }) => method)
  if (forBrowsers.length > 0) {
    reply.headers(preflightHeaders(request.headers.origin, options.allowedOrigins, forBrowsers))
  }
  return reply.code(204).send()
}
