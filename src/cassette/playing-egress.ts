/**
 * The door out of a replay: it opens nothing. What was recorded of a lane's exchanges comes again, each piece at its time, and
 * where the engine ended an exchange then, it is left to end it now.
 */
import { BodyBroken } from '../egress/body.ts'
import type { Egress, EgressAnswer, EgressRequest, Fault } from '../egress/egress.ts'
import {
  FETCHED_LANE,
  type ChunkLine,
  type EndLine,
  type HeadLine,
  type NoAnswerLine,
  type TimedLine,
} from './format.ts'
import type { VirtualTime } from './virtual-time.ts'

/** One exchange as it was. */
interface Taped {
  readonly lane: string
  answer: HeadLine | NoAnswerLine | null
  readonly chunks: ChunkLine[]
  end: EndLine | null
}

export class Player {
  readonly #time: VirtualTime
  readonly #startedAt: number
  readonly #lanes = new Map<string, Taped[]>()

  constructor(lines: readonly TimedLine[], time: VirtualTime, startedAt: number) {
    this.#time = time
    this.#startedAt = startedAt
    const byNumber = new Map<number, Taped>()
    for (const line of lines) {
      if (line.kind === 'request') {
        const taped: Taped = { lane: line.lane, answer: null, chunks: [], end: null }
        byNumber.set(line.exchange, taped)
        const lane = this.#lanes.get(line.lane) ?? []
        lane.push(taped)
        this.#lanes.set(line.lane, lane)
      } else if ('exchange' in line) {
        const taped = byNumber.get(line.exchange)
        if (taped === undefined) continue
        if (line.kind === 'chunk') taped.chunks.push(line)
        else if (line.kind === 'end') taped.end = line
        else taped.answer = line
      }
    }
  }

  egress(lane: string): Egress {
    return {
      request: (request) => this.#exchange(lane, request),
      judge: () => null,
      close: async () => {},
    }
  }

  async #exchange(lane: string, { purpose, signal, url }: EgressRequest): Promise<EgressAnswer> {
    const host = URL.parse(url)?.hostname ?? ''
    const aborted: Fault = { kind: 'aborted', message: `the call to ${host} was aborted` }
    const taped = this.#lanes.get(purpose === 'image' ? FETCHED_LANE : lane)?.shift()
    if (taped === undefined) {
      return {
        kind: 'fault',
        fault: { kind: 'connect', message: 'the cassette holds no more exchanges here', unsent: true },
      }
    }
    const { answer } = taped
    const left = answer === null || (answer.kind === 'no_answer' && answer.how === 'left')
    if (!(await this.until(left ? null : answer, signal))) {
      return { kind: 'fault', fault: (answer?.kind === 'no_answer' ? answer.fault : null) ?? aborted }
    }
    if (answer?.kind === 'head') {
      const stop = new AbortController()
      const body = this.#body(taped, AbortSignal.any([signal, stop.signal]), aborted)
      const { headers, status } = answer
      return { kind: 'response', response: { status, headers, body, destroy: () => stop.abort() } }
    }
    if (answer?.refusal != null) return { kind: 'refused', refusal: answer.refusal }
    return { kind: 'fault', fault: answer?.fault ?? aborted }
  }

  async *#body(taped: Taped, signal: AbortSignal, aborted: Fault): AsyncGenerator<Uint8Array, void> {
    for (const chunk of taped.chunks) {
      if (!(await this.until(chunk, signal))) throw new BodyBroken(aborted)
      yield 'text' in chunk ? Buffer.from(chunk.text, 'utf8') : Buffer.from(chunk.base64, 'base64')
    }
    const { end } = taped
    if (!(await this.until(end?.how === 'left' ? null : end, signal))) throw new BodyBroken(aborted)
    if (taped.answer?.kind === 'head' && taped.answer.headers['content-encoding'] !== undefined) this.#time.unpacking()
    if (end?.how === 'broken') throw new BodyBroken(end.fault ?? aborted)
  }

  /** True when its time has come; null never comes. False: the engine let go first. */
  until(line: { readonly at: number; readonly seq: number } | null, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false)
    return new Promise((resolve) => {
      const off =
        line === null ? () => {} : this.#time.schedule(this.#startedAt + line.at, line.seq, () => settle(true))
      const onAbort = () => settle(false)
      const settle = (came: boolean) => {
        off()
        signal.removeEventListener('abort', onAbort)
        resolve(came)
      }
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}
