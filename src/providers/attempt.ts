/**
 * One attempt: one HTTP request to a provider, from the first byte out to the last byte in. It never repeats anything and
 * never rejects; whatever happens, there is one outcome (`attempt-outcome.ts` lists the ways to end), and by then the socket
 * is on its way down. Nothing reaches the sink after the outcome.
 *
 * With `drain` an abort for a cancel ends nothing by itself: the attempt shows nothing more and is read on, for its usage, to
 * one of its ends, until `drain` aborts or too much has come.
 */
import { assertNever } from '../contract/assert-never.ts'
import type { Egress, EgressResponse } from '../egress/egress.ts'
import { AnswerFeed } from './answer-feed.ts'
import { AttemptClock } from './attempt-clock.ts'
import type { AttemptLimits, Due } from './attempt-deadlines.ts'
import { type AttemptFault, faultOf, faultOfEgress, mayHaveLeft } from './attempt-fault.ts'
import { type AttemptOutcome, outcomeOf } from './attempt-outcome.ts'
import { ClosableSink } from './closable-sink.ts'
import type { Authorization, Granted } from './credentials.ts'
import type { Dialect, DialectCall, ProviderRequest, Reader, Reading, Sink } from './dialect.ts'
import { ErrorBody } from './error-body.ts'

export interface Exchange {
  /** The egress gate, or what plays a provider inside the engine. */
  readonly send: Egress['request']
  readonly dialect: Dialect
  readonly call: DialectCall
  readonly request: ProviderRequest
  /** Asked first, for what the request must show beside. null or absent: nothing. */
  readonly authorize?: ((signal: AbortSignal) => Promise<Authorization>) | null
  /** Hosts the egress gate allows beside its list. */
  readonly ownHosts: readonly string[]
  readonly limits: AttemptLimits
  readonly sink: Sink
  readonly signal: AbortSignal
  /**
   * null or absent: an abort cuts, whatever for. `onDraining`: the attempt has begun to be drained; nothing waits for
   * it any more.
   */
  readonly drain?: { readonly signal: AbortSignal; readonly onDraining: () => void } | null
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** So much of an answer is read after a cancel. SPEC §8.3. */
export const MAX_DRAINED_BYTES = 8 * 1024 * 1024
/**
 * After its end mark an answer's connection gets this long to end by itself and go back to the pool, which saves the next
 * step a handshake. The outcome does not wait for it; what comes is thrown away.
 */
const SETTLE_MS = 50

export function runAttempt(exchange: Exchange): Promise<AttemptOutcome> {
  return new Promise((resolve) => new LiveAttempt(exchange, resolve).start())
}

type End = AttemptOutcome['end']

class LiveAttempt {
  readonly #exchange: Exchange
  readonly #resolve: (outcome: AttemptOutcome) => void
  readonly #clock: AttemptClock
  readonly #sink: ClosableSink
  /** Aborts what is under way at the gate, in every phase. */
  readonly #stop = new AbortController()
  readonly #onAbort = () => this.#cancelled()
  readonly #onDrainOver = () => this.#interrupt('aborted')
  #settling: ReturnType<typeof setTimeout> | null = null
  /** `settling`: the outcome is told, the connection may still end by itself. */
  #state: 'live' | 'settling' | 'over' = 'live'
  /** Bytes that came since the cancel; null: it is not drained. */
  #drained: number | null = null
  #sent = true
  #response: EgressResponse | null = null
  #reader: Reader | null = null
  readonly #errorBody = new ErrorBody()

  constructor(exchange: Exchange, resolve: (outcome: AttemptOutcome) => void) {
    this.#exchange = exchange
    this.#resolve = resolve
    this.#clock = new AttemptClock(exchange.limits, exchange.now, (what) => this.#onDue(what))
    this.#sink = new ClosableSink(exchange.sink, () => (this.#clock.times.textShown = true))
  }

  start(): void {
    const { signal } = this.#exchange
    if (signal.aborted) {
      this.#sent = false
      return this.#end('aborted')
    }
    const due = this.#clock.dueAtStart()
    if (due !== null) {
      this.#sent = false
      return this.#onDue(due)
    }
    signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#clock.arm()
    this.#pump().catch((error: unknown) => {
      // A reader that throws has a bug; without its reading the attempt still ends.
      this.#reader = null
      const name = error instanceof Error ? error.name : 'something'
      this.#end('fault', faultOf('malformed', `reading the answer threw ${name}`, this.#response?.status ?? null))
    })
  }

  async #pump(): Promise<void> {
    const { call, ownHosts, request, send } = this.#exchange
    const granted = await this.#authorized()
    if (granted === null) return
    const answer = await send({
      purpose: 'provider',
      provider: call.target.provider,
      ownHosts,
      method: 'POST',
      url: request.url,
      headers: { ...request.headers, ...granted.headers },
      body: request.body,
      signal: this.#stop.signal,
    })
    if (this.#state !== 'live') {
      if (answer.kind === 'response') answer.response.destroy()
      return
    }
    if (answer.kind !== 'response') {
      this.#sent = mayHaveLeft(answer)
      return this.#end('fault', faultOfEgress(answer))
    }
    this.#response = answer.response
    if (answer.response.status === 401) granted.refused()
    await (answer.response.status >= 300 ? this.#readError(answer.response) : this.#readAnswer(answer.response))
  }

  /** null: the attempt has ended, and nothing was sent to the model. */
  async #authorized(): Promise<Granted | null> {
    const { authorize } = this.#exchange
    if (authorize == null) return NOTHING_TO_SHOW
    this.#sent = false
    const authorization = await authorize(this.#stop.signal)
    if (this.#state !== 'live') return null
    if (authorization.kind === 'denied') {
      this.#end('fault', authorization.fault)
      return null
    }
    this.#sent = true
    return authorization
  }

  async #readAnswer(response: EgressResponse): Promise<void> {
    const reader = this.#exchange.dialect.reader(this.#sink, this.#exchange.call)
    const feed = new AnswerFeed(reader, response)
    this.#reader = reader
    const chunks = response.body[Symbol.asyncIterator]()
    let whole = false
    while (!whole) {
      const chunk = await nextOf(chunks)
      if (this.#state === 'settling' && chunk?.done === false) continue
      if (this.#state !== 'live') return this.#settled()
      if (chunk === null) break
      if (chunk.done === true) whole = true
      else this.#take(chunk.value, feed, reader)
    }
    feed.end(whole)
    if (feed.fault !== null) return this.#end('fault', faultOf('malformed', feed.fault, response.status))
    this.#finish(whole ? 'ended' : 'drop')
  }

  #take(chunk: Uint8Array, feed: AnswerFeed, reader: Reader): void {
    const { times } = this.#clock
    const first = times.lastByteAt === null
    times.lastByteAt = this.#clock.now()
    feed.bytes(chunk)
    if (this.#drained !== null) this.#drained += chunk.byteLength
    if (feed.fault !== null) return this.#end('fault', faultOf('malformed', feed.fault, this.#response?.status ?? null))
    if (times.firstTokenAt === null && reader.started) times.firstTokenAt = times.lastByteAt
    if (reader.progress === 'closed') return this.#finish('settle')
    if (reader.progress === 'finished' && times.finishedAt === null) {
      times.finishedAt = times.lastByteAt
      this.#clock.arm()
    } else if (first) this.#clock.arm()
    if (this.#drained !== null && this.#drained > MAX_DRAINED_BYTES) this.#interrupt('aborted')
  }

  async #readError(response: EgressResponse): Promise<void> {
    this.#clock.times.errorAt = this.#clock.now()
    this.#clock.arm()
    await this.#errorBody.read(response, () => this.#state === 'live')
    if (this.#state === 'live') this.#endError(response)
  }

  #endError(response: EgressResponse): void {
    const { dialect, now } = this.#exchange
    this.#end('fault', dialect.fault(response.status, response.headers, this.#errorBody.text, now()))
  }

  #onDue(what: Due['what']): void {
    const { limits } = this.#exchange
    const status = this.#response?.status ?? null
    switch (what) {
      case 'deadline':
        return this.#interrupt('deadline')
      case 'give_up':
        return this.#interrupt('given_up')
      case 'first_token':
        return this.#end('fault', faultOf('timeout', `nothing of an answer within ${limits.firstTokenMs} ms`, status))
      case 'stall':
        return this.#end('fault', faultOf('timeout', `no byte for ${limits.stallMs} ms`, status))
      case 'late':
        return this.#finish('drop')
      case 'error_body':
        if (this.#response !== null) this.#endError(this.#response)
        return
      default:
        return assertNever(what)
    }
  }

  /** Cut, or drained where that is wanted and the request may have left. */
  #cancelled(): void {
    const { drain, signal } = this.#exchange
    if (drain == null || drain.signal.aborted || signal.reason !== 'cancelled' || !this.#sent) {
      return this.#interrupt('aborted')
    }
    this.#sink.close()
    this.#drained = 0
    // There is no other step to give it up for.
    this.#clock.times.textShown = true
    drain.signal.addEventListener('abort', this.#onDrainOver, { once: true })
    drain.onDraining()
  }

  #interrupt(end: End): void {
    if (this.#clock.times.finishedAt === null) this.#end(end)
    else this.#finish('drop')
  }

  /** The answer's own end. `ended`: its connection has come to an end by itself. */
  #finish(socket: Socket): void {
    if (this.#state !== 'live') return
    const reading = this.#reader?.end() ?? null
    if (reading?.fault != null) return this.#conclude('fault', reading.fault, reading, 'drop')
    if (reading?.complete === true) return this.#conclude('answer', null, reading, socket)
    const how = socket === 'ended' ? 'ended' : 'broke off'
    const fault = faultOf('interrupted', `the stream ${how} without its end mark`, this.#response?.status ?? null)
    this.#conclude('fault', fault, reading, 'drop')
  }

  /** An end from outside the answer: what the reader still holds back is not shown any more. */
  #end(end: End, fault: AttemptFault | null = null): void {
    if (this.#state !== 'live') return
    this.#sink.close()
    this.#conclude(end, fault, this.#reader?.end() ?? null, 'drop')
  }

  #conclude(end: End, fault: AttemptFault | null, reading: Reading | null, socket: Socket): void {
    this.#sink.close()
    this.#state = socket === 'settle' ? 'settling' : 'over'
    this.#exchange.signal.removeEventListener('abort', this.#onAbort)
    this.#exchange.drain?.signal.removeEventListener('abort', this.#onDrainOver)
    this.#clock.stop()
    if (socket === 'settle') this.#settling = setTimeout(() => this.#drop(), SETTLE_MS).unref()
    if (socket === 'drop') this.#drop()
    const facts = {
      times: this.#clock.times,
      sent: this.#sent,
      drained: this.#drained !== null,
      response: this.#response,
      reader: this.#reader,
      requestHeaders: this.#exchange.request.headers,
    }
    this.#resolve(outcomeOf({ end, fault, reading }, facts, this.#clock.now()))
  }

  #drop(): void {
    this.#state = 'over'
    this.#stop.abort()
    this.#response?.destroy()
  }

  #settled(): void {
    this.#state = 'over'
    if (this.#settling !== null) clearTimeout(this.#settling)
  }
}

/** What becomes of the connection: it has ended, it may end by itself, or it is closed at once. */
type Socket = 'ended' | 'settle' | 'drop'

const NOTHING_TO_SHOW: Granted = { kind: 'granted', headers: {}, refused: () => {} }

/** null: the connection broke, or was destroyed from this side; its error says nothing that is not known here. */
async function nextOf(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array, unknown> | null> {
  try {
    return await chunks.next()
  } catch {
    return null
  }
}
