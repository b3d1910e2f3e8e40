/**
 * One step: the chain of models asked until there is an answer, a failure that nothing more can mend, or no time.
 *
 *     fetch ─▶ queue for the key ─▶ commit ─▶ attempt ─▶ record ─▶ answer
 *       ▲                                        │ fault
 *       └─────── retry, repair, next ◀───────────┘ (retry.ts decides)
 *
 * Time: nothing goes on beyond `deadlineAt`. It is the run's own deadline, whose signal is due in the same moment, so the
 * sockets are closed and the signal is waited for. `giveUpAt` counts between attempts and until an attempt shows text.
 */
import { LONGEST_TIMER_MS } from '../contract/longest-timer.ts'
import type { Target } from '../contract/run-request.ts'
import { timeLimit } from '../egress/time-limit.ts'
import type { Ask, KeyGate, KeySlot, ModelPort, ProviderFailure, StepAnswer, StepTap } from '../engine/ports.ts'
import { messageOf } from './answer-message.ts'
import { runAttempt } from './attempt.ts'
import type { AttemptFault } from './attempt-fault.ts'
import { type AttemptOutcome, interruptionOf, slotOutcomeOf } from './attempt-outcome.ts'
import { attemptRecord } from './attempt-record.ts'
import type { DialectCall, Reading, Repair } from './dialect.ts'
import { offeredRepair } from './offered-repair.ts'
import { pause } from './pause.ts'
import { type Decision, decide } from './retry.ts'
import { openRoute, type Route, type RouteSources } from './route.ts'
import type { RunMemory } from './run-memory.ts'
import { sentPart, wantedParts } from './sent-part.ts'
import { stepFailure } from './step-failure.ts'
import { StepView } from './step-view.ts'
import { mediaOf } from '../usage/media.ts'

export interface StepSettings extends RouteSources {
  readonly gate: KeyGate
  readonly firstTokenMs: number
  readonly stallMs: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** 0 up to 1. */
  readonly random: () => number
}

/** Never rejects. */
export function askModels(
  settings: StepSettings,
  memory: RunMemory,
  ...asked: Parameters<ModelPort>
): Promise<StepAnswer> {
  return new ModelStep(settings, memory, ...asked).run()
}

type Stop = 'aborted' | 'given_up' | 'deadline'
type Failed = { readonly kind: 'failure'; readonly failure: ProviderFailure; readonly moveOn: boolean }

/** The signal of the run's deadline is due when it passes here; a caller whose signal is later than this has none. */
const SIGNAL_GRACE_MS = 5_000
/** A timer may fire a moment before the clock says so; the loop must find the time passed. */
const EARLY_MS = 1
/** Of the time that is left: the model needs some too. */
const FETCH_SHARE = 0.5

class ModelStep {
  readonly #settings: StepSettings
  readonly #memory: RunMemory
  readonly #ask: Ask
  readonly #tap: StepTap
  readonly #signal: AbortSignal
  readonly #drain: AbortSignal | null
  readonly #view: StepView
  /** Resolves when an attempt is left to be drained. */
  readonly #left: Promise<'draining'>
  #leave: () => void = () => {}
  #attempts = 0

  constructor(settings: StepSettings, memory: RunMemory, ...[ask, tap, signal, drain]: Parameters<ModelPort>) {
    this.#settings = settings
    this.#memory = memory
    this.#ask = ask
    this.#tap = tap
    this.#signal = signal
    this.#drain = drain ?? null
    this.#left = new Promise((resolve) => (this.#leave = () => resolve('draining')))
    this.#view = new StepView(tap)
  }

  async run(): Promise<StepAnswer> {
    try {
      return await this.#askChain()
    } catch (error) {
      // A commit that was lost or cancelled under way, or a bug of a dialect; the loop is told in its own words either way.
      const shown = this.#view.shown
      const target = this.#ask.firstTarget
      if (this.#signal.aborted) return { kind: 'interrupted', shown, target }
      const name = error instanceof Error ? error.name : 'something'
      const failure: ProviderFailure = { code: 'engine_error', detail: `the model chain threw ${name}` }
      return { kind: 'failed', failure, shown, target }
    }
  }

  async #askChain(): Promise<StepAnswer> {
    const { targets, firstTarget } = this.#ask
    let failure: ProviderFailure = { code: 'engine_error', detail: 'there is no model to ask' }
    let index = firstTarget
    for (; index < targets.length; index += 1) {
      const target = targets[index]
      if (target === undefined) break
      const answer = await this.#askModel(target, index)
      if (answer.kind !== 'failure') return answer
      failure = answer.failure
      if (!answer.moveOn) break
    }
    const last = Math.max(0, Math.min(index, targets.length - 1))
    return { kind: 'failed', failure, shown: this.#view.shown, target: last }
  }

  async #askModel(target: Target, index: number): Promise<StepAnswer | Failed> {
    const routed = openRoute(target, this.#ask, this.#settings)
    if (!routed.ok) return { kind: 'failure', failure: routed.failure, moveOn: !this.#view.everText }
    // A token grows old in any step, however often one was replaced before.
    this.#memory.repairsOf(index).delete('new_token')
    for (let tries = 1; ; tries += 1) {
      await this.#fetchParts(routed.route, index)
      const place = await this.#queue(routed.route)
      if (typeof place === 'string') return this.#stopped(place, index)
      const attempt = this.#attempt(routed.route, index, tries, place)
      const outcome = await (this.#drain === null ? attempt : Promise.race([attempt, this.#left]))
      if (outcome === 'draining') return this.#draining(attempt, index)
      if (outcome.end === 'answer' && outcome.reading !== null) return this.#answered(outcome.reading, index)
      if (outcome.end !== 'fault' || outcome.fault === null) return this.#stopped(stopOf(outcome), index)

      const decision = this.#decide(outcome.fault, routed.route, index, tries)
      switch (decision.kind) {
        case 'next_model':
        case 'end': {
          const failure = stepFailure(outcome.fault, routed.route, decision)
          return { kind: 'failure', failure, moveOn: decision.kind === 'next_model' }
        }
        case 'repair':
          this.#memory.repairsOf(index).add(decision.repair)
          break
        case 'retry':
          if (!(await this.#backOff(decision.waitMs))) return this.#stopped('aborted', index)
      }
    }
  }

  /** Whatever this model needs of what was given by address, once a run; what it takes too long for is left out. */
  async #fetchParts(route: Route, index: number): Promise<void> {
    const { egress, now } = this.#settings
    const wanted = wantedParts(this.#ask.messages, { ...route, repairs: this.#memory.repairsOf(index) })
    const leftMs = this.#nextLimit().at - now()
    if (wanted.length === 0 || leftMs <= 0) return
    await this.#memory.parts.load(wanted, {
      send: (request) => egress.request(request),
      now,
      withinMs: leftMs * FETCH_SHARE,
      tell: (fetch) => this.#tap.partFetched(fetch),
      signal: this.#signal,
    })
  }

  /** A place in the key's queue, or why there was no more waiting for one. */
  async #queue(route: Route): Promise<{ readonly slot: KeySlot; readonly queuedMs: number } | Stop> {
    const { gate, now } = this.#settings
    const from = now()
    const limit = this.#nextLimit()
    if (this.#signal.aborted) return 'aborted'
    if (from >= limit.at) return limit.stop

    const wait = timeLimit(Math.min(limit.at - from + EARLY_MS, LONGEST_TIMER_MS), this.#signal)
    const session = this.#ask.cacheKey ?? this.#ask.runId
    // How long it will be, nobody knows: 0.
    const most = route.profile.concurrency ?? undefined
    const onQueued = (position: number) => this.#tap.wait('queue', 0, position)
    const slot = await gate.acquire(route.gateKey, session, wait.signal, onQueued, most)
    wait.release()
    if (slot !== null) return { slot, queuedMs: Math.max(0, now() - from) }
    return this.#signal.aborted ? 'aborted' : limit.stop
  }

  async #attempt(
    route: Route,
    index: number,
    tries: number,
    { queuedMs, slot }: { readonly slot: KeySlot; readonly queuedMs: number },
  ): Promise<AttemptOutcome> {
    const { deadlineAt, step } = this.#ask
    const { firstTokenMs, now, stallMs } = this.#settings
    this.#attempts += 1
    const attempt = this.#attempts
    try {
      const call = this.#callOf(route, new Set(this.#memory.repairsOf(index)))
      const request = route.dialect.request(call)
      for (const warning of this.#memory.newWarnings(request.warnings, index)) this.#tap.warn(warning)
      await this.#tap.attemptStarting({ attempt, target: index })
      const outcome = await runAttempt({
        send: route.sender(this.#ask, tries),
        dialect: route.dialect,
        call,
        request,
        authorize: route.authorize,
        ownHosts: route.ownHosts,
        limits: { firstTokenMs, stallMs, deadlineAt, giveUpAt: this.#giveUpAt() },
        sink: this.#view,
        signal: this.#signal,
        drain: this.#drain === null ? null : { signal: this.#drain, onDraining: this.#leave },
        now,
      })
      slot.release(slotOutcomeOf(outcome))
      if (outcome.end !== 'answer') this.#view.attemptFailed()
      const { target } = route
      const interruption = interruptionOf(outcome, this.#signal.reason)
      this.#tap.attemptEnded(
        attemptRecord({
          step,
          attempt,
          target,
          queuedMs,
          body: request.body,
          media: mediaOf(this.#ask.messages, (part) => sentPart(part, call)),
          outcome,
          interruption,
        }),
      )
      return outcome
    } finally {
      slot.release({ kind: 'other' })
    }
  }

  #callOf(route: Route, repairs: ReadonlySet<Repair>): DialectCall {
    return { ...route, ask: this.#ask, repairs, fetched: this.#memory.parts }
  }

  #answered(reading: Reading, index: number): StepAnswer {
    const { message, refusal } = messageOf(reading, index)
    this.#view.refresh()
    if (refusal !== null && this.#view.shown === '') this.#view.text(refusal)
    return { kind: 'answer', message }
  }

  /** Cancelled: the answer is had at once, its usage when it has been read. The key's place is held until then. */
  #draining(attempt: Promise<AttemptOutcome>, index: number): StepAnswer {
    const ended = () => {}
    return { kind: 'interrupted', shown: this.#view.shown, target: index, drained: attempt.then(ended, ended) }
  }

  async #stopped(stop: Stop, index: number): Promise<StepAnswer> {
    if (stop === 'given_up') return { kind: 'out_of_time' }
    const shown = this.#view.shown
    if (stop === 'deadline' && (await pause(SIGNAL_GRACE_MS, this.#signal))) {
      const failure: ProviderFailure = { code: 'provider_timeout', detail: 'the deadline passed without an answer' }
      return { kind: 'failed', failure, shown, target: index }
    }
    return { kind: 'interrupted', shown, target: index }
  }

  /** False when the signal ended it. Ends early where there is no time left; the queue will say so. */
  #backOff(waitMs: number): Promise<boolean> {
    this.#tap.wait('retry', waitMs)
    const leftMs = this.#nextLimit().at - this.#settings.now()
    return pause(Math.max(0, Math.min(waitMs, leftMs + EARLY_MS)), this.#signal)
  }

  #decide(fault: AttemptFault, route: Route, index: number, tries: number): Decision {
    const { deadlineAt, targets } = this.#ask
    const { now, random } = this.#settings
    const offer = offeredRepair(fault, this.#memory.repairsOf(index), (repairs) => {
      return route.dialect.request(this.#callOf(route, repairs)).body
    })
    return decide(offer.fault, {
      tries,
      hasNext: index + 1 < targets.length,
      textShown: this.#view.everText,
      repairs: offer.spent,
      leftMs: deadlineAt - now(),
      untilGiveUpMs: this.#giveUpAt() - now(),
      random: random(),
    })
  }

  /** From the run's deadline on there is no giving up a step for the sake of the next. */
  #giveUpAt(): number {
    return this.#ask.giveUpAt < this.#ask.deadlineAt ? this.#ask.giveUpAt : Infinity
  }

  /** What ends a wait between two attempts. */
  #nextLimit(): { readonly at: number; readonly stop: Stop } {
    const giveUpAt = this.#giveUpAt()
    return giveUpAt === Infinity ? { at: this.#ask.deadlineAt, stop: 'deadline' } : { at: giveUpAt, stop: 'given_up' }
  }
}

function stopOf(outcome: AttemptOutcome): Stop {
  return outcome.end === 'given_up' || outcome.end === 'deadline' ? outcome.end : 'aborted'
}
