/**
 * One call of a tool: up to three attempts, and a late result where the tool promises one (SPEC §5.4, §5.7).
 *
 * One deadline holds for the whole call, so a tool that drips, hangs or asks to wait cannot outlast it. What the call comes
 * to is decided by the tool's last word; where a request was sent and no word came, it is `unknown`, never an error.
 */
import { assertNever } from '../contract/assert-never.ts'
import type { Sampler } from '../contract/trace-context.ts'
import type { Egress } from '../egress/egress.ts'
import type { CallOrder, CallOutcome } from '../engine/ports.ts'
import { judgeResult, type Settled } from './answer.ts'
import { runAttempt, type AttemptEnd } from './attempt.ts'
import { CallStop, type Stop } from './call-stop.ts'
import { EMPTY_NOTE, isEmptyResult } from './empty-result.ts'
import { exchangeOf } from './exchange.ts'
import { fitError, fitResult } from './fit-result.ts'
import type { LateResults } from './late-results.ts'
import { MAX_ATTEMPTS, retryPauseMs } from './retry-pause.ts'

export interface CallParts {
  readonly egress: Egress
  readonly lateResults: LateResults
  /** The address for a late result, call token included. */
  readonly resultUrl: (runId: string, callId: string) => string
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** From 0 up to 1. */
  readonly random: () => number
  /** Which traces are recorded. Default: none is. */
  readonly sampler?: Sampler | undefined
}

/** SPEC §5.4. */
const MIN_BODY_LIMIT_BYTES = 1024 * 1024

/** What a call has come to so far: what it ends with if nothing better comes. */
type Standing =
  /** No request has reached the tool. `error`: why, once one was tried. */
  | { readonly kind: 'unheard'; readonly error: string }
  | { readonly kind: 'unanswered'; readonly reason: 'timeout' | 'reset' }
  /** The tool's word, though it may change. */
  | { readonly kind: 'answered'; readonly error: string }

/** An attempt that something outside has ended. `unheard`: nothing of it had left by then. */
interface StoppedAttempt {
  readonly kind: 'stopped'
  readonly stop: Stop
  readonly unheard: Extract<AttemptEnd, { kind: 'unreachable' }> | null
}

/** How a call ends, before it is measured and cut. */
type Ending =
  | Settled
  | { readonly kind: 'unknown'; readonly reason: 'cancelled' | 'timeout' | 'reset' }
  | { readonly kind: 'not_sent' }

/** Never rejects, unless `attemptStarting` does. */
export async function callTool(
  parts: CallParts,
  order: CallOrder,
  attemptStarting: (attempt: number) => Promise<void>,
  signal: AbortSignal,
): Promise<CallOutcome> {
  const startedAt = parts.now()
  const deadlineAt = Math.min(order.deadlineAt, startedAt + order.tool.timeout_ms)
  const call = new ToolCall(parts, order, deadlineAt, new CallStop(signal, Math.max(0, deadlineAt - startedAt)))
  const closeLate = parts.lateResults.open(order.runId, order.callId, (answer) => call.stop.lateResult(answer))
  try {
    const late = deadlineAt <= startedAt && call.stop.reason === null
    const ending = late ? NO_TIME : await call.run(attemptStarting)
    return outcomeOf(ending, order, { attempts: call.attempts, durationMs: Math.max(0, parts.now() - startedAt) })
  } finally {
    closeLate()
    call.stop.release()
  }
}

const NO_TIME: Ending = { kind: 'error', error: 'there was no time left for this call; it was not sent' }

class ToolCall {
  /** Sent so far. */
  attempts = 0
  readonly stop: CallStop
  readonly #parts: CallParts
  readonly #order: CallOrder
  readonly #deadlineAt: number

  constructor(parts: CallParts, order: CallOrder, deadlineAt: number, stop: CallStop) {
    this.#parts = parts
    this.#order = order
    this.#deadlineAt = deadlineAt
    this.stop = stop
  }

  async run(attemptStarting: (attempt: number) => Promise<void>): Promise<Ending> {
    let standing: Standing = { kind: 'unheard', error: '' }
    for (;;) {
      if (this.stop.reason !== null) return this.#stopped(this.stop.reason, standing)
      await attemptStarting(this.attempts + 1)
      if (this.stop.reason !== null) return this.#stopped(this.stop.reason, standing)

      const end = await this.#attempt()
      switch (end.kind) {
        case 'ok':
        case 'error':
        case 'deferred':
        case 'not_deferred':
          return end
        case 'accepted':
          return this.#cutOff(await this.stop.stopped)
        case 'stopped':
          return end.unheard === null ? this.#cutOff(end.stop) : this.#stopped(end.stop, next(standing, end.unheard))
        case 'retry':
        case 'unreachable':
        case 'unanswered':
          break
        default:
          return assertNever(end)
      }
      standing = next(standing, end)
      const asked = end.kind === 'retry' ? end.retryAfterMs : null
      const pauseMs = retryPauseMs(this.attempts, asked, this.#parts.random())
      const fits = this.#parts.now() + pauseMs < this.#deadlineAt
      if (this.attempts >= MAX_ATTEMPTS || !fits) return endingOf(standing)
      await this.#pause(pauseMs)
    }
  }

  /** One request, unless the call is stopped before its answer is there. */
  async #attempt(): Promise<AttemptEnd | StoppedAttempt> {
    const { egress, now, resultUrl, sampler = null } = this.#parts
    const order = this.#order
    this.attempts += 1
    const exchange = exchangeOf(order, {
      attempt: this.attempts,
      resultUrl: resultUrl(order.runId, order.callId),
      leftMs: this.#deadlineAt - now(),
      sampler,
    })
    const maxBodyBytes = Math.max(4 * order.maxResultBytes, MIN_BODY_LIMIT_BYTES)
    const controller = new AbortController()
    const attempt = runAttempt(
      egress,
      { url: order.tool.url, exchange, effect: order.tool.effect, maxBodyBytes },
      now,
      controller.signal,
    )
    // Raced, so that a call ends at once even where something beneath is slow to let go.
    const stopped = this.stop.stopped.then((stop) => ({ kind: 'stopped' as const, stop }))
    const end = await Promise.race([attempt, stopped])
    if (end.kind !== 'stopped') return end
    controller.abort(end.stop.kind)
    // A gate that lets go at once says whether the tool can have heard of the call; nobody waits for another.
    const left = await Promise.race([attempt, nextTurn()])
    return { ...end, unheard: left?.kind === 'unreachable' ? left : null }
  }

  async #pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const over = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))
    await Promise.race([over, this.stop.stopped])
    clearTimeout(timer)
  }

  /** Stopped while a request was out, or a promised result was waited for. */
  #cutOff(stop: Stop): Ending {
    switch (stop.kind) {
      case 'late_result':
        return judgeResult(stop.answer, this.#order.tool.effect)
      case 'deadline':
        return { kind: 'unknown', reason: 'timeout' }
      case 'interrupted':
        return { kind: 'unknown', reason: stop.why === 'deadline' ? 'timeout' : 'cancelled' }
      default:
        return assertNever(stop)
    }
  }

  /** Stopped while nothing was out. */
  #stopped(stop: Stop, standing: Standing): Ending {
    if (stop.kind === 'late_result') return judgeResult(stop.answer, this.#order.tool.effect)
    if (standing.kind === 'unanswered') return this.#cutOff(stop)
    if (standing.kind === 'unheard' && stop.kind === 'interrupted') return { kind: 'not_sent' }
    return standing.kind === 'unheard' && standing.error === '' ? NO_TIME : endingOf(standing)
  }
}

function nextTurn(): Promise<null> {
  return new Promise((resolve) => setImmediate(resolve, null))
}

/** An answer is the tool's word whatever was before it; a request that never arrived changes nothing about one that may have. */
function next(
  standing: Standing,
  end: Extract<AttemptEnd, { kind: 'retry' | 'unreachable' | 'unanswered' }>,
): Standing {
  if (end.kind === 'retry') return { kind: 'answered', error: end.error }
  if (end.kind === 'unanswered') return end
  return standing.kind === 'unheard' ? { kind: 'unheard', error: end.error } : standing
}

function endingOf(standing: Standing): Ending {
  if (standing.kind === 'unanswered') return { kind: 'unknown', reason: standing.reason }
  return { kind: 'error', error: standing.error }
}

function outcomeOf(
  ending: Ending,
  order: CallOrder,
  figures: Pick<CallOutcome, 'attempts' | 'durationMs'>,
): CallOutcome {
  const { maxResultBytes } = order
  switch (ending.kind) {
    case 'ok': {
      const empty = isEmptyResult(ending.result)
      return { kind: 'ok', empty, ...fitResult(ending.result, empty ? EMPTY_NOTE : null, maxResultBytes), ...figures }
    }
    case 'error':
      return { kind: 'error', ...fitError(ending.error, maxResultBytes), ...figures }
    case 'deferred':
    case 'not_deferred':
    case 'unknown':
    case 'not_sent':
      return { ...ending, ...figures, resultBytes: 0 }
    default:
      return assertNever(ending)
  }
}
