/**
 * GET /runs/{id}, cancel, ack and redeliver (SPEC §2.4–2.6, §7.4). The result is always put in as the text it has,
 * never serialized again.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { assertNever } from '../contract/assert-never.ts'
import type { RunView } from '../runs/ports.ts'
import { JSON_TYPE, sendError, sendNoRun } from './error-answer.ts'
import type { OpenAnswers } from './open-answers.ts'
import { parameter } from './request-values.ts'
import type { ServerOptions } from './server-options.ts'
import { DRAINING, GAVE_UP } from './start-run.ts'

export async function getRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const runId = parameter(request, 'run_id')
  const view = await options.store.get(runId)
  return view === null ? sendNoRun(reply, runId) : reply.code(200).type(JSON_TYPE).send(viewText(view))
}

function viewText(view: RunView): string {
  const facts = JSON.stringify({
    run_id: view.runId,
    status: view.status,
    started_at: view.startedAt,
    deadline_at: view.deadlineAt,
    delivery: view.delivery,
  })
  return `${facts.slice(0, -1)},"result":${view.result?.json ?? 'null'}}`
}

/**
 * Answers when the run has ended; a run token, which is told the status alone, once that is known. Cancelling what has ended
 * is no fault: it answers the same way.
 */
export async function cancelRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
  openAnswers: OpenAnswers,
): Promise<FastifyReply> {
  const { store } = options
  const runId = parameter(request, 'run_id')
  if ((await store.requestCancel(runId)) === 'none') return sendNoRun(reply, runId)
  const waiting = openAnswers.open('wait', reply.raw)
  const whole = request.grant === 'engine'
  const view = await (whole ? store.waitForEnd(runId, waiting.signal) : store.waitForStatus(runId, waiting.signal))
  waiting.release()
  // A run token is in a browser's hands: it may end the run, not read what the harness may want to hold back.
  const text = whole ? view?.result?.json : statusText(view)
  if (text !== undefined) return reply.code(200).type(JSON_TYPE).send(text)
  return waiting.signal.aborted ? sendError(reply, { ...DRAINING, message: GAVE_UP, runId }) : sendNoRun(reply, runId)
}

function statusText(view: RunView | null): string | undefined {
  if (view === null || view.status === 'running') return undefined
  return JSON.stringify({ run_id: view.runId, status: view.status })
}

export async function ackRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const runId = parameter(request, 'run_id')
  const outcome = await options.store.ack(runId)
  switch (outcome) {
    case 'stored':
      return reply
        .code(200)
        .type(JSON_TYPE)
        .send(JSON.stringify({ run_id: runId, acked: true }))
    case 'run_active':
      return sendError(reply, {
        code: 'run_active',
        message: 'the run has not ended: there is no result to ack',
        runId,
      })
    case 'run_not_found':
      return sendNoRun(reply, runId)
    default:
      return assertNever(outcome)
  }
}

/** Answered when it is begun: what comes of it stands in GET /runs/{id}. */
export async function redeliverRun(
  request: FastifyRequest,
  reply: FastifyReply,
  options: ServerOptions,
): Promise<FastifyReply> {
  const runId = parameter(request, 'run_id')
  const outcome = await options.store.redeliver(runId)
  switch (outcome) {
    case 'begun':
      return reply
        .code(202)
        .type(JSON_TYPE)
        .send(JSON.stringify({ run_id: runId, redelivering: true }))
    case 'run_active':
      return sendError(reply, { code: 'run_active', message: 'the run has not ended: there is nothing to send', runId })
    case 'no_callback':
      return sendError(reply, {
        code: 'no_callback',
        message: 'the run was posted without a callback: take its result from GET /runs/{id}, and ack it',
        runId,
      })
    case 'run_not_found':
      return sendNoRun(reply, runId)
    default:
      return assertNever(outcome)
  }
}
