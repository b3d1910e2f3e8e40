/**
 * GET /openapi.json: OpenAPI 3.1 made from the route table and from the schemas that validate requests. What a route can
 * answer is written here and nowhere else; a test holds it against the routes and the error table.
 */
import type { TSchema } from 'typebox'
import { errors, type HttpErrorCode } from '../contract/errors.ts'
import { ProviderList } from '../contract/provider-list.ts'
import { CallbackBody, RunResult } from '../contract/result.ts'
import { CONTRACT_VERSION } from '../contract/run-request.ts'
import { RunRequestBody } from '../contract/run-request-body.ts'
import { streamEvents } from '../contract/stream-event.ts'
import { LateResult, ToolAnswer, ToolCallBody } from '../contract/tool-exchange.ts'
import { ValidateBody, Validation } from '../contract/validation.ts'
import {
  AckedRun,
  CancelledRun,
  ErrorAnswer,
  ErrorNotice,
  Health,
  LateResultAnswer,
  Logs,
  Ready,
  RedeliveredRun,
  RunAnswer,
  StartedRun,
} from './answer-schemas.ts'
import { RETRY_AFTER_S } from './error-answer.ts'
import { logsParameters } from './logs-query.ts'
import { formatNames } from './stream-format.ts'
import { type Access, type Route, type RouteName, routes } from './routes.ts'

const schemas = {
  RunRequest: RunRequestBody,
  ValidateRequest: ValidateBody,
  Validation,
  RunResult,
  LateResult,
  CallbackBody,
  ToolCall: ToolCallBody,
  ToolAnswer,
  StartedRun,
  Run: RunAnswer,
  CancelledRun,
  AckedRun,
  RedeliveredRun,
  LateResultAnswer,
  Logs,
  ErrorNotice,
  Providers: ProviderList,
  Health,
  Ready,
  Error: ErrorAnswer,
} as const satisfies Record<string, TSchema>

type SchemaName = keyof typeof schemas

interface Answer {
  readonly status: number
  readonly says: string
  /** Of a JSON body; several: one of them. */
  readonly bodies?: readonly SchemaName[]
  /** Of a body without a schema. Neither: no body. */
  readonly media?: string
  /** It says when to come back. */
  readonly retryAfter?: true
}

interface Operation {
  readonly summary: string
  readonly body?: SchemaName
  readonly answers: readonly Answer[]
  /** Beside those every route of its kind has. */
  readonly errors: readonly HttpErrorCode[]
  /** Headers that are read, beside those of every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** What a parameter means; with a list, all it may be. */
  readonly query?: Readonly<Record<string, string | { readonly says: string; readonly oneOf: readonly string[] }>>
}

/** W3C Trace Context: SPEC §12.7. */
const TRACE = {
  traceparent: 'the trace this is part of: https://www.w3.org/TR/trace-context/',
  tracestate: 'what goes with it',
}

const SIGNED = {
  'webhook-id': 'the same at every attempt',
  'webhook-timestamp': 'of this attempt, seconds since the epoch',
  'webhook-signature': 'v1, and a HMAC a secret, separated by spaces: https://www.standardwebhooks.com/',
}

const operations: Record<RouteName, Operation> = {
  startRun: {
    summary: 'Start a run, repeat the answer about one, or wait for its result',
    body: 'RunRequest',
    answers: [
      { status: 202, says: 'a run has started', bodies: ['StartedRun'] },
      { status: 200, says: 'the same request came before; with wait: the result', bodies: ['StartedRun', 'RunResult'] },
    ],
    errors: [
      'ticket_mismatch',
      'ticket_expired',
      'idempotency_conflict',
      'run_active',
      'result_pending',
      'overloaded',
      'draining',
      'state_unavailable',
      'run_not_found',
    ],
    headers: TRACE,
  },
  validate: {
    summary: 'The body of a run, checked without running it, and what its first request would be changed by',
    body: 'ValidateRequest',
    answers: [{ status: 200, says: 'the verdict, faults or none', bodies: ['Validation'] }],
    errors: [],
  },
  getRun: {
    summary: 'State, deliveries, and the result once there is one',
    answers: [{ status: 200, says: 'the run as it stands', bodies: ['Run'] }],
    errors: ['run_not_found'],
  },
  cancelRun: {
    summary: 'End a run; answers when it has ended',
    answers: [
      { status: 200, says: 'engine token: the result; run token: the status', bodies: ['RunResult', 'CancelledRun'] },
    ],
    errors: ['run_not_found', 'too_large', 'draining'],
  },
  ackRun: {
    summary: 'The result is stored: frees the session, stops the attempts of the callback',
    answers: [{ status: 200, says: 'stored, now or before', bodies: ['AckedRun'] }],
    errors: ['run_not_found', 'run_active', 'too_large'],
  },
  redeliverRun: {
    summary: 'Send the callback again, the same bytes, now and by the schedule from its beginning',
    answers: [{ status: 202, says: 'it is being sent', bodies: ['RedeliveredRun'] }],
    errors: ['run_not_found', 'run_active', 'no_callback', 'too_large', 'draining'],
  },
  streamRun: {
    summary: 'The events of a run, live and replayed',
    answers: [
      {
        status: 200,
        says: 'server-sent events: see the schemas Stream_…, or with format those of that protocol',
        media: 'text/event-stream',
      },
      { status: 204, says: 'last_event_id is already the last event' },
    ],
    errors: ['run_not_found', 'invalid_request'],
    headers: { 'Last-Event-ID': 'replays what comes after this event' },
    query: {
      last_event_id: 'replays what comes after it; the Last-Event-ID header goes first',
      format: { says: 'the events of another protocol in place of those of the engine', oneOf: formatNames },
    },
  },
  lateResult: {
    summary: "A tool's late result, after it answered accepted",
    body: 'LateResult',
    answers: [{ status: 200, says: 'recorded, now or before', bodies: ['LateResultAnswer'] }],
    errors: ['call_closed'],
  },
  logs: {
    summary: 'A page of the journal, oldest first',
    answers: [{ status: 200, says: 'entries, and where to go on', bodies: ['Logs'] }],
    errors: ['invalid_request'],
    query: logsParameters,
  },
  providers: {
    summary: 'What the engine knows of each provider and group of models',
    answers: [{ status: 200, says: 'the table that requests are made from', bodies: ['Providers'] }],
    errors: [],
  },
  metrics: {
    summary: 'How the engine does, for Prometheus',
    answers: [{ status: 200, says: 'the text format of Prometheus', media: 'text/plain' }],
    errors: [],
  },
  health: {
    summary: 'Liveness, versions and how many runs there are',
    answers: [{ status: 200, says: 'alive', bodies: ['Health'] }],
    errors: [],
  },
  ready: {
    summary: 'Whether this instance takes new runs',
    answers: [
      { status: 200, says: 'yes', bodies: ['Ready'] },
      { status: 503, says: 'no: draining or overloaded', bodies: ['Error'], retryAfter: true },
    ],
    errors: [],
  },
  openApi: {
    summary: 'This document',
    answers: [{ status: 200, says: 'OpenAPI 3.1', media: 'application/json' }],
    errors: [],
  },
}

/** Answers any path can give. */
const EVERYWHERE: readonly HttpErrorCode[] = ['not_found', 'method_not_allowed', 'internal']

const ERRORS_OF_ACCESS: Record<Access, readonly HttpErrorCode[]> = {
  open: [],
  engine: ['unauthorized'],
  reader: ['unauthorized'],
  run: ['unauthorized', 'forbidden'],
  call: ['unauthorized', 'forbidden'],
}

const SECURITY: Record<Access, readonly object[]> = {
  open: [],
  engine: [{ engineToken: [] }],
  reader: [{ engineToken: [] }, {}],
  run: [{ engineToken: [] }, { token: [] }],
  call: [{ token: [] }],
}

const JSON_BODY_ERRORS: readonly HttpErrorCode[] = ['invalid_request', 'too_large', 'unsupported_media_type']

/** The document as JSON text, made once. `version` is the engine's. */
export function openApiText(version: string): string {
  const paths: Record<string, Record<string, object>> = {}
  for (const [name, route] of Object.entries(routes) as [RouteName, Route][]) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(name, route) }
  }
  return JSON.stringify({
    openapi: '3.1.0',
    info: {
      title: 'theloop',
      version,
      description: `The agent loop as a stateless service. Contract version ${CONTRACT_VERSION}.`,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    webhooks: {
      toolCall: exchange('What a tool is sent', 'ToolCall', {
        headers: {
          'Idempotency-Key': 'the call_key: the same for the same call',
          'X-Deadline-Ms': 'milliseconds left for this call',
          ...TRACE,
        },
        answer: { status: 200, says: 'the answer', bodies: ['ToolAnswer'] },
      }),
      result: exchange('What callback.url is sent', 'CallbackBody', {
        headers: { 'X-Engine-Secret': 'the first of CALLBACK_SECRET', ...SIGNED, ...TRACE },
        answer: { status: 200, says: 'any 2xx: stored' },
      }),
      error: exchange('What ERROR_WEBHOOK_URL is sent', 'ErrorNotice', {
        headers: SIGNED,
        answer: { status: 200, says: 'any 2xx: taken' },
      }),
    },
    components: {
      schemas: {
        ...schemas,
        ...Object.fromEntries(Object.entries(streamEvents).map(([name, schema]) => [`Stream_${name}`, schema])),
      },
      securitySchemes: {
        engineToken: { type: 'http', scheme: 'bearer' },
        token: { type: 'apiKey', in: 'query', name: 'token' },
      },
    },
  })
}

function operationOf(name: RouteName, route: Route): object {
  const operation = operations[name]
  const codes = [
    ...ERRORS_OF_ACCESS[route.access],
    ...(route.body === 'json' ? JSON_BODY_ERRORS : []),
    ...operation.errors,
    ...EVERYWHERE,
  ]
  return {
    operationId: name,
    summary: operation.summary,
    security: SECURITY[route.access],
    parameters: parametersOf(route, operation),
    ...(operation.body === undefined ? {} : { requestBody: { required: true, content: content([operation.body]) } }),
    responses: { ...errorAnswers(codes), ...answersOf(operation.answers) },
  }
}

function parametersOf(route: Route, operation: Operation): object[] {
  const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => {
    return { name, in: 'path', required: true, schema: { type: 'string' } }
  })
  const inQuery = Object.entries(operation.query ?? {}).map(([name, about]) => {
    const { says, ...values } = typeof about === 'string' ? { says: about } : { says: about.says, enum: about.oneOf }
    return { name, in: 'query', required: false, description: says, schema: { type: 'string', ...values } }
  })
  return [...inPath, ...inQuery, ...headerParameters(operation.headers ?? {})]
}

function headerParameters(headers: Readonly<Record<string, string>>): object[] {
  return Object.entries(headers).map(([name, says]) => {
    return { name, in: 'header', required: false, description: says, schema: { type: 'string' } }
  })
}

function answersOf(answers: readonly Answer[]): Record<string, object> {
  return Object.fromEntries(
    answers.map(({ status, says, bodies, media, retryAfter }) => {
      const described = media === undefined ? bodies && content(bodies) : { [media]: {} }
      const answer = { description: says, ...(retryAfter ? { headers: RETRY_AFTER } : {}) }
      return [String(status), described === undefined ? answer : { ...answer, content: described }]
    }),
  )
}

/** One answer a status, with the codes it can carry. */
function errorAnswers(codes: readonly HttpErrorCode[]): Record<string, object> {
  const byStatus = Map.groupBy(new Set(codes), (code) => errors[code].http)
  return Object.fromEntries(
    [...byStatus].map(([status, found]) => [
      String(status),
      {
        description: found.join(', '),
        ...(found.some((code) => RETRY_AFTER_S[code] !== undefined) ? { headers: RETRY_AFTER } : {}),
        content: content(['Error']),
        'x-error-codes': found,
      },
    ]),
  )
}

const RETRY_AFTER = {
  'Retry-After': { description: 'seconds to wait before it is tried again', schema: { type: 'integer' } },
}

function content(names: readonly SchemaName[]): object {
  const references = names.map((name) => ({ $ref: `#/components/schemas/${name}` }))
  return { 'application/json': { schema: references.length === 1 ? references[0] : { oneOf: references } } }
}

interface Exchange {
  readonly headers: Readonly<Record<string, string>>
  readonly answer: Answer
}

function exchange(summary: string, body: SchemaName, { headers, answer }: Exchange): object {
  const requestBody = { required: true, content: content([body]) }
  return { post: { summary, parameters: headerParameters(headers), requestBody, responses: answersOf([answer]) } }
}
