/**
 * The door out with a tape beside it: every exchange is noted as it happens, and nothing about it is changed. What the tape
 * is told costs no wait.
 */
import { BodyBroken } from '../egress/body.ts'
import type { Egress, EgressAnswer, EgressRequest } from '../egress/egress.ts'
import { FETCHED_LANE } from './format.ts'
import { plainAnswerHeaders, plainRequestHeaders, plainUrl } from './secrets.ts'
import type { Tape, TapedBody } from './tape.ts'

/** `lane`: `model`, or the id of a tool call; what is fetched from an address has its own. */
export function recordingEgress(egress: Egress, tape: Tape, lane: string): Egress {
  return {
    request: (request) => exchange(egress, tape, lane, request),
    judge: (...asked) => egress.judge(...asked),
    close: () => egress.close(),
  }
}

async function exchange(egress: Egress, tape: Tape, lane: string, request: EgressRequest): Promise<EgressAnswer> {
  const number = tape.nextExchange()
  const { body, headers, method, signal, url } = request
  tape.event({
    kind: 'request',
    exchange: number,
    lane: request.purpose === 'image' ? FETCHED_LANE : lane,
    method,
    url: plainUrl(url),
    headers: plainRequestHeaders(headers),
    body: body === undefined ? null : typeof body === 'string' ? body : Buffer.from(body).toString('utf8'),
  })
  const answer = await egress.request(request)
  if (answer.kind !== 'response') {
    const how = signal.aborted ? 'left' : answer.kind
    const refusal = answer.kind === 'refused' ? answer.refusal : null
    tape.event({
      kind: 'no_answer',
      exchange: number,
      how,
      refusal,
      fault: answer.kind === 'fault' ? answer.fault : null,
    })
    return answer
  }
  const { response } = answer
  tape.event({ kind: 'head', exchange: number, status: response.status, headers: plainAnswerHeaders(response.headers) })
  return {
    kind: 'response',
    response: {
      status: response.status,
      headers: response.headers,
      body: taped(response.body, tape.body(number), signal),
      destroy: () => response.destroy(),
    },
  }
}

async function* taped(
  body: AsyncIterable<Uint8Array>,
  tape: TapedBody,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let end: Parameters<TapedBody['end']> = ['left', null]
  try {
    for await (const chunk of body) {
      tape.chunk(chunk)
      yield chunk
    }
    end = ['whole', null]
  } catch (error) {
    const fault = error instanceof BodyBroken ? error.fault : null
    if (!signal.aborted && fault?.kind !== 'aborted') end = ['broken', fault]
    throw error
  } finally {
    tape.end(...end)
  }
}
