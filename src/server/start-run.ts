/** POST /runs (SPEC §3): from a body to 202, 200, a waited result, or the reason why nothing was started. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { assertNever } from '../contract/assert-never.ts'
import { MAX_FAULTS } from '../contract/check.ts'
import { thrownText } from '../contract/thrown-text.ts'
import { parseTraceContext, type TraceContext } from '../contract/trace-context.ts'
import type { AdmitOutcome, Admission } from '../runs/ports.ts'
import { cancelUrl, streamUrl } from '../runs/run-links.ts'
import type { AdmissionAnswer } from './admission-port.ts'
import { type ErrorFacts, JSON_TYPE, sendError, sendNoRun } from './error-answer.ts'
import { bodyOf } from './body-bytes.ts'
import { readJsonBody } from './json-body.ts'
import type { OpenAnswers } from './open-answers.ts'
import type { ServerOptions } from './server-options.ts'

export const DRAINING: ErrorFacts = {
  code: 'draining',
  message:
    'this engine is shutting down: nothing was started. Send the same request to another instance, or again later',
}

export async function startRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
  openAnswers: OpenAnswers,
): Promise<FastifyReply> {
  const body = readJsonBody(request.headers, bodyOf(request))
  if (body.kind === 'fault') return sendError(reply, body)
  const answer = await options.admit(body.value, traceOf(request))
  if (answer.kind === 'refused') return sendError(reply, refusal(answer))
  if (options.draining()) return sendError(reply, DRAINING)

  const { admission } = answer
  const outcome = await options.store.admit(admission)
  switch (outcome.kind) {
    case 'new':
    case 'repeat':
      return admission.request.wait
        ? waited(outcome.runId, admission, reply, options, openAnswers)
        : accepted(outcome, reply, options)
    case 'conflict':
    case 'run_active':
    case 'result_pending':
    case 'overloaded':
    case 'not_kept':
      return sendError(reply, notStarted(outcome))
    default:
      return assertNever(outcome)
  }
}

/** Of a header that stands twice nothing is believed: Node joins it, and no `traceparent` reads so. */
function traceOf({ headers }: FastifyRequest): TraceContext | null {
  const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value)
  return parseTraceContext(text(headers['traceparent']), text(headers['tracestate']))
}

function refusal({ code, faults }: Extract<AdmissionAnswer, { kind: 'refused' }>): ErrorFacts {
  const count = faults.length === 1 ? 'one fault' : `${faults.length} faults`
  const cut = faults.length >= MAX_FAULTS
  const had = cut ? `at least ${count}` : count
  const told = cut ? 'the first of them stand in details, more may follow' : 'all of them stand in details'
  return { code, message: `the request has ${had}: ${first(faults)}; ${told}`, details: faults }
}

function first(faults: Extract<AdmissionAnswer, { kind: 'refused' }>['faults']): string {
  const [fault] = faults
  return fault === undefined ? 'none was named' : `${fault.path === '' ? 'the body' : fault.path} ${fault.message}`
}

type NotStarted = Exclude<AdmitOutcome, { kind: 'new' | 'repeat' }>

function notStarted(outcome: NotStarted): ErrorFacts {
  switch (outcome.kind) {
    case 'conflict':
      return {
        code: 'idempotency_conflict',
        message: 'this idempotency_key came before with another body: use a new key, or send the same body',
        runId: outcome.runId,
      }
    case 'run_active':
      return {
        code: 'run_active',
        message: 'this session has a run going: wait for its end, or cancel it',
        runId: outcome.runId,
      }
    case 'result_pending':
      return {
        code: 'result_pending',
        message: 'the last result of this session is neither delivered nor acked: get it, store it, ack it',
        runId: outcome.runId,
      }
    case 'overloaded':
      return { code: 'overloaded', message: 'as many runs are going as this engine may run: nothing was started' }
    case 'not_kept':
      return {
        code: 'state_unavailable',
        message:
          'this engine cannot write to its STATE_DIR, so the run was not taken. Send the same request again later',
      }
  }
}

async function accepted(
  { kind, runId }: Extract<AdmitOutcome, { kind: 'new' | 'repeat' }>,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const view = await options.store.get(runId)
  // An idempotency key can outlive its run's result.
  if (view === null) return sendNoRun(reply, runId)
  const links = { publicUrl: options.publicUrl, tokens: options.tokens, runId }
  const answer = {
    run_id: runId,
    status: kind === 'new' ? 'running' : view.status,
    stream_url: streamUrl(links),
    cancel_url: cancelUrl(links),
    deadline_at: view.deadlineAt,
    warnings: view.warnings,
    ...(kind === 'repeat' ? { repeated: true } : {}),
  }
  return reply
    .code(kind === 'new' ? 202 : 200)
    .type(JSON_TYPE)
    .send(JSON.stringify(answer))
}

/**
 * Answers with the result. A caller that goes away changes nothing for the run; without a callback the result counts as
 * delivered only when all of it was handed to the network.
 */
async function waited(
  runId: string,
  admission: Admission,
  reply: FastifyReply,
  options: ServerOptions,
  openAnswers: OpenAnswers,
): Promise<FastifyReply> {
  const { store, log } = options
  const waiting = openAnswers.open('wait', reply.raw)
  const view = await store.waitForEnd(runId, waiting.signal)
  waiting.release()
  if (waiting.signal.aborted && !view?.result) return sendError(reply, { ...DRAINING, message: GAVE_UP, runId })
  if (!view?.result) return sendNoRun(reply, runId)
  if (admission.request.callback === null) {
    reply.raw.once('finish', () => {
      store.delivered(runId).catch((error: unknown) => log.error({ stack: thrownText(error) }, 'the store failed'))
    })
  }
  return reply.code(200).type(JSON_TYPE).send(view.result.json)
}

/** What a waiting caller is told when the server closes under it. */
export const GAVE_UP =
  'this engine is shutting down: the run was not awaited to its end. Ask for it with GET /runs/{id}'
