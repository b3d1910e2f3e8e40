/**
 * Where results are delivered: keeps each delivery's headers and its very bytes, and answers what the test says, one answer a
 * try; the last one stands for all further tries.
 */
import type { ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import type { JsonObject } from '../../src/contract/json.ts'
import type { RunResult } from '../../src/contract/result.ts'
import { recordingServer, type Received, type RecordingServer } from '../conformance/recording-server.ts'

/** A status, or a hand that writes the whole answer. */
export type ReceiverAnswer = number | ((request: Received, response: ServerResponse) => void | Promise<void>)

/** Answers with this status when that has come. */
export function answersBehind(opened: Promise<unknown>, status: number): ReceiverAnswer {
  return async (_request, response) => {
    await opened
    response.writeHead(status).end()
  }
}

export interface CallbackReceiver extends RecordingServer {
  /** `callback` of a run request. */
  callback(headers?: Readonly<Record<string, string>>): JsonObject
}

export async function startReceiver(
  t: TestContext,
  answers: readonly ReceiverAnswer[] = [204],
): Promise<CallbackReceiver> {
  const server = await recordingServer(t, 'the callback receiver', async (request, response) => {
    const answer = answers[Math.min(request.number, answers.length) - 1] ?? 204
    if (typeof answer === 'function') return answer(request, response)
    response.writeHead(answer, { 'content-type': 'application/json' }).end(answer === 204 ? undefined : '{}')
  })
  return { ...server, callback: (headers = {}) => ({ url: `${server.url}/result?secret=SECRET-in-query`, headers }) }
}

/** The result inside a delivery, as text: exactly the bytes between the envelope's braces. */
export function payloadText({ text }: Received): string {
  const match = /^\{"payload":(.*)\}$/s.exec(text)
  if (match?.[1] === undefined) throw new Error(`a callback's body is no envelope: ${text.slice(0, 200)}`)
  return match[1]
}

export function payloadOf(delivery: Received): RunResult {
  return JSON.parse(payloadText(delivery)) as RunResult
}
