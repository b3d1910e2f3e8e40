/**
 * One attempt: one HTTP request to a provider, from the first byte out to the last byte in. It never repeats anything and
 * never rejects; whatever happens, there is one outcome, and by then the socket is on its way down.
 *
 * Ways to end, and what the outcome says:
 * - `answer`: the protocol's end mark was seen. The reading is whole.
 * - `fault`: the provider, the network, the egress gate or a deadline of the attempt's own ended it.
 * - `aborted`, `given_up`, `deadline`: the signal, the step's `giveUpAt` (nothing shown by then) or the run's deadline did.
 *   An answer that only waited for late usage then counts as `answer`: nothing of it is missing.
 *
 * With `drain` an abort for a cancel ends nothing by itself: the attempt shows nothing more and is read on, for its usage, to
 * one of the ends above, until `drain` aborts or too much has come.
 *
 * Whatever came before the end is in `reading`, so that usage told early is kept. Nothing reaches the sink after the outcome.
 * One timer an attempt: it looks at time stamps when it fires, so that a chunk costs no timer.
 */
import { assertNever } from '../contract/assert-never.ts'
import type { Egress, EgressResponse } from '../egress/egress.ts'
import { AnswerFeed } from './answer-feed.ts'
import { type AttemptLimits, type AttemptTimes, type Due, nextDue } from './attempt-deadlines.ts'
import { type AttemptFault, faultOf, faultOfEgress } from './attempt-fault.ts'
import type { Authorization, Granted } from './credentials.ts'
import type { Dialect, DialectCall, ProviderRequest, Reader, Reading, Sink } from './dialect.ts'
import { requestIdOf } from './request-id.ts'

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

export interface AttemptOutcome {
  readonly end: 'answer' | 'fault' | 'aborted' | 'given_up' | 'deadline'
  /** Set when `end` is `fault`. */
  readonly fault: AttemptFault | null
  /** null: no 2xx answer began. */
  readonly reading: Reading | null
  /** False: the request cannot have reached the provider. */
  readonly sent: boolean
  /** It was cancelled, and read on for its usage. */
  readonly drained: boolean
  /** Something of the model came. */
  readonly started: boolean
  /** Output in UTF-16 units as far as it came. */
  readonly outputLength: number
  readonly httpStatus: number | null
  /** The provider's name for this exchange: its header, else the id inside the answer. */
  readonly requestId: string | null
  readonly firstTokenMs: number | null
  readonly durationMs: number
}

/** So much of an answer is read after a cancel. SPEC §8.3. */
export const MAX_DRAINED_BYTES = 8 * 1024 * 1024
/** The body of an HTTP error is read so far. */
const MAX_ERROR_BYTES = 64 * 1024
/**
 * After its end mark an answer's connection gets this long to end by itself and go back to the pool, which saves the next
 * step a handshake. The outcome does not wait for it; what comes is thrown away.
 */
const SETTLE_MS = 50
/** Longer delays overflow setTimeout and fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647

export function runAttempt(exchange: Exchange): Promise<AttemptOutcome> {
  return new Promise((resolve) => new LiveAttempt(exchange, resolve).start())
}

type End = AttemptOutcome['end']
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

class LiveAttempt {
  readonly #exchange: Exchange
  readonly #resolve: (outcome: AttemptOutcome) => void
  readonly #times: Mutable<AttemptTimes>
  /** Aborts what is under way at the gate, in every phase. */
  readonly #stop = new AbortController()
  readonly #onAbort = () => this.#cancelled()
  readonly #onDrainOver = () => this.#interrupt('aborted')
  #timer: ReturnType<typeof setTimeout> | null = null
  /** `settling`: the outcome is told, the connection may still end by itself. */
  #state: 'live' | 'settling' | 'over' = 'live'
  #muted = false
  /** Bytes that came since the cancel; null: it is not drained. */
  #drained: number | null = null
  #sent = true
  #response: EgressResponse | null = null
  #reader: Reader | null = null
  #errorText = ''

  constructor(exchange: Exchange, resolve: (outcome: AttemptOutcome) => void) {
    this.#exchange = exchange
    this.#resolve = resolve
    const startedAt = exchange.now()
    const never = { lastByteAt: null, firstTokenAt: null, finishedAt: null, errorAt: null }
    this.#times = { startedAt, ...never, textShown: false }
  }

  start(): void {
    const { signal } = this.#exchange
    if (signal.aborted) {
      this.#sent = false
      return this.#end('aborted')
    }
    const due = nextDue(this.#times, this.#exchange.limits)
    if (due.at <= this.#times.startedAt) {
      this.#sent = false
      return this.#onDue(due.what)
    }
    signal.addEventListener('abort', this.#onAbort, { once: true })
    this.#arm()
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
      this.#sent = answer.kind === 'fault' && !UNSENT.has(answer.fault.kind)
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
    const reader = this.#exchange.dialect.reader(this.#sink(), this.#exchange.call)
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
    const times = this.#times
    const first = times.lastByteAt === null
    times.lastByteAt = this.#exchange.now()
    feed.bytes(chunk)
    if (this.#drained !== null) this.#drained += chunk.byteLength
    if (feed.fault !== null) return this.#end('fault', faultOf('malformed', feed.fault, this.#response?.status ?? null))
    if (times.firstTokenAt === null && reader.started) times.firstTokenAt = times.lastByteAt
    if (reader.progress === 'closed') return this.#finish('settle')
    if (reader.progress === 'finished' && times.finishedAt === null) {
      times.finishedAt = times.lastByteAt
      this.#arm()
    } else if (first) this.#arm()
    if (this.#drained !== null && this.#drained > MAX_DRAINED_BYTES) this.#interrupt('aborted')
  }

  async #readError(response: EgressResponse): Promise<void> {
    this.#times.errorAt = this.#exchange.now()
    this.#arm()
    const decoder = new TextDecoder()
    let bytes = 0
    try {
      for await (const chunk of response.body) {
        if (this.#state !== 'live') return
        this.#errorText += decoder.decode(chunk.subarray(0, MAX_ERROR_BYTES - bytes), { stream: true })
        bytes += chunk.byteLength
        if (bytes >= MAX_ERROR_BYTES) break
      }
    } catch {
      // The status says enough; what came of the body is used.
    }
    if (this.#state === 'live') this.#endError(response)
  }

  #endError(response: EgressResponse): void {
    const { dialect, now } = this.#exchange
    this.#end('fault', dialect.fault(response.status, response.headers, this.#errorText, now()))
  }

  #sink(): Sink {
    const { sink } = this.#exchange
    return {
      text: (text) => {
        if (this.#muted) return
        this.#times.textShown = true
        sink.text(text)
      },
      reasoning: (text) => {
        if (!this.#muted) sink.reasoning(text)
      },
    }
  }

  /** One timer at most. It is set anew only where something became due sooner; what moves away is seen when it fires. */
  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    const { at } = nextDue(this.#times, this.#exchange.limits)
    const inMs = Math.min(Math.max(at - this.#exchange.now(), 0), LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => this.#onTimer(), inMs)
  }

  #onTimer(): void {
    const { limits, now } = this.#exchange
    const due = nextDue(this.#times, limits)
    if (now() < due.at) this.#arm()
    else this.#onDue(due.what)
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
    this.#muted = true
    this.#drained = 0
    // There is no other step to give it up for.
    this.#times.textShown = true
    drain.signal.addEventListener('abort', this.#onDrainOver, { once: true })
    drain.onDraining()
  }

  #interrupt(end: End): void {
    if (this.#times.finishedAt === null) this.#end(end)
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
    this.#muted = true
    this.#conclude(end, fault, this.#reader?.end() ?? null, 'drop')
  }

  #conclude(end: End, fault: AttemptFault | null, reading: Reading | null, socket: Socket): void {
    this.#muted = true
    this.#state = socket === 'settle' ? 'settling' : 'over'
    this.#exchange.signal.removeEventListener('abort', this.#onAbort)
    this.#exchange.drain?.signal.removeEventListener('abort', this.#onDrainOver)
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = socket === 'settle' ? setTimeout(() => this.#drop(), SETTLE_MS).unref() : null
    if (socket === 'drop') this.#drop()
    this.#resolve(this.#outcome(end, fault, reading))
  }

  #drop(): void {
    this.#state = 'over'
    this.#timer = null
    this.#stop.abort()
    this.#response?.destroy()
  }

  #settled(): void {
    this.#state = 'over'
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #outcome(end: End, fault: AttemptFault | null, reading: Reading | null): AttemptOutcome {
    const { startedAt, firstTokenAt } = this.#times
    const now = this.#exchange.now()
    const started = this.#reader?.started ?? false
    const headers = this.#response?.headers
    // A whole document starts and ends in one moment.
    const firstAt = firstTokenAt ?? (started ? now : null)
    return {
      end,
      fault,
      reading,
      sent: this.#sent,
      drained: this.#drained !== null,
      started,
      outputLength: this.#reader?.outputLength ?? 0,
      httpStatus: this.#response?.status ?? null,
      requestId: requestIdOf(
        headers?.['request-id'] ?? headers?.['x-request-id'] ?? reading?.responseId ?? null,
        this.#exchange.request.headers,
      ),
      firstTokenMs: firstAt === null ? null : Math.max(0, firstAt - startedAt),
      durationMs: Math.max(0, now - startedAt),
    }
  }
}

/** What becomes of the connection: it has ended, it may end by itself, or it is closed at once. */
type Socket = 'ended' | 'settle' | 'drop'

const NOTHING_TO_SHOW: Granted = { kind: 'granted', headers: {}, refused: () => {} }

/** Faults before a connection stood. */
const UNSENT: ReadonlySet<string> = new Set(['connect', 'dns', 'tls'])

/** null: the connection broke, or was destroyed from this side; its error says nothing that is not known here. */
async function nextOf(chunks: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array, unknown> | null> {
  try {
    return await chunks.next()
  } catch {
    return null
  }
}
