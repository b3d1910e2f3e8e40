/**
 * One run of the loop against a model, tools, a clock and a stop drawn from a tape of numbers. The ports check while they are
 * used what may only be seen there: nothing is asked or sent after a stop, nothing is sent twice, the record is plain JSON at
 * every commit point.
 */
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { callId, runId, type CallId } from '../../src/contract/ids.ts'
import { parseJson, type JsonObject } from '../../src/contract/json.ts'
import type { StoredMessage } from '../../src/contract/message.ts'
import type { Tool } from '../../src/contract/run-request.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import type { Attempt } from '../../src/contract/usage.ts'
import type { Ending } from '../../src/engine/ending.ts'
import { runLoop } from '../../src/engine/loop.ts'
import { lastCallAt } from '../../src/engine/plan.ts'
import type {
  Ask,
  CallOrder,
  CallOutcome,
  CommitPoint,
  EnginePorts,
  Interruption,
  JournalEntry,
  ModelPart,
  StepAnswer,
  StepTap,
} from '../../src/engine/ports.ts'
import { openRecord, type RunRecord } from '../../src/engine/record.ts'
import { say } from '../fakes/engine.ts'
import { at } from '../fakes/run-request.ts'
import { attemptFrom, outcomeFrom, partsFrom, requestFrom, stopFrom, Tape } from './random-draws.ts'

const START = Date.parse(at)

/** What the ports saw of a run, and the run itself. */
export class RandomRun {
  readonly record: RunRecord
  readonly events: StreamEvent[] = []
  readonly journal: JournalEntry[] = []
  readonly asks: Ask[] = []
  /** What became of every call that came to the tool port, by call id. */
  readonly outcomes = new Map<CallId, CallOutcome | 'under way'>()
  readonly attempts: Attempt[] = []
  readonly commits: CommitPoint[] = []
  controller = new AbortController()
  now = START
  readonly #tape: Tape
  #callIds = 0
  #asking = false
  #underWay = 0
  /** Tools that broke the contract, by the step in which they did. */
  readonly #breaches = new Map<string, number>()
  /** The commit point of kind `step` from which the run is gone on with a second time; counts down. */
  #resumeAt: number
  snapshot: Snapshot | null = null

  constructor(numbers: ArrayLike<number>) {
    this.#tape = new Tape(numbers)
    const request = requestFrom(this.#tape)
    this.record = openRecord(runId('01JDZZZZZZZZZZZZZZZZZZZZZZ'), request, [], START)
    this.#resumeAt = this.#tape.below(4)
    this.#maybeStop(40)
  }

  async run(): Promise<Ending> {
    return this.#run(this.record)
  }

  /** Goes on from the record as it was read back at a commit point between two steps. The tape has gone on meanwhile. */
  async resume(snapshot: Snapshot): Promise<ResumedRun> {
    for (const [list, length] of snapshot.lengths) list.length = length
    for (const id of [...this.outcomes.keys()].slice(snapshot.calls)) this.outcomes.delete(id)
    this.#breaches.clear()
    this.controller = new AbortController()
    this.now = snapshot.now
    const record = reread(snapshot.json) as unknown as RunRecord
    const ending = await this.#run(record)
    return { record, ending }
  }

  async #run(record: RunRecord): Promise<Ending> {
    const ending = await runLoop(record, this.#ports(record), this.controller.signal)
    assert.equal(this.#asking, false, 'the run ended while the model was asked')
    assert.equal(this.#underWay, 0, 'the run ended while a call was under way')
    return ending
  }

  #ports(record: RunRecord): EnginePorts {
    return {
      model: async (ask, tap, signal) => {
        assert.ok(!signal.aborted, 'the model is asked after the stop')
        assert.ok(!this.#asking, 'two questions at once')
        this.#asking = true
        this.asks.push({ ...ask, messages: [...ask.messages] })
        const answer = await this.#model(ask, tap, signal)
        this.#asking = false
        return answer
      },
      tools: {
        checkArgs: (_tool, args) => ('bad' in args ? ['bad is no field.'] : []),
        call: async (order, attemptStarting, signal) => this.#tool(record, order, attemptStarting, signal),
      },
      now: () => this.now,
      newCallId: () => callId(`01JDZZZZZZZZZZZZZZZZZZ${String((this.#callIds += 1)).padStart(4, '0')}`),
      commit: async (point) => this.#commit(record, point),
      announce: async () => assert.fail('nothing is drained here'),
      emit: (event) => this.events.push(event),
      journal: (entry) => this.journal.push(entry),
      ticket: () => 'ticket',
      say,
      checkOutput: (_schema, value) =>
        typeof value === 'object' && value !== null && 'ok' in value ? [] : ['ok is missing.'],
    }
  }

  #commit(record: RunRecord, point: CommitPoint): void {
    this.commits.push(point)
    // The request is the same object all along; it is read back where the run is gone on with.
    const { request, ...state } = record
    const json = JSON.stringify(state)
    assert.ok(isDeepStrictEqual(reread(json), state), `the record at ${point} is not plain JSON`)
    if (point === 'step' && record === this.record) {
      if (this.#resumeAt === 0) this.snapshot = this.#takeSnapshot(JSON.stringify({ ...state, request }))
      this.#resumeAt -= 1
    }
    this.#maybeStop(60)
  }

  #takeSnapshot(json: string): Snapshot {
    const lists: readonly unknown[][] = [this.events, this.journal, this.asks, this.attempts, this.commits]
    return {
      json,
      now: this.now,
      calls: this.outcomes.size,
      lengths: lists.map((list) => [list, list.length] as const),
    }
  }

  #maybeStop(times: number): void {
    if (this.#tape.once(times)) this.#stop(this.#tape.of('cancelled', 'shutdown', 'lost', 'cancelled'))
  }

  #stop(why: Interruption): void {
    if (!this.controller.signal.aborted) this.controller.abort(why)
  }

  /** The clock goes on; the deadline strikes when it is passed, as the timer of a run does. */
  #spend(ms: number): void {
    this.now += ms
    if (this.now >= this.record.deadlineAt) this.#stop('deadline')
  }

  async #model(ask: Ask, tap: StepTap, signal: AbortSignal): Promise<StepAnswer> {
    let shown = ''
    for (let attempt = 1; ; attempt += 1) {
      if (this.#tape.once(20)) tap.wait('queue', 5)
      const target = Math.min(ask.targets.length - 1, ask.firstTarget + this.#tape.of(0, 0, 0, 1))
      await tap.attemptStarting({ attempt, target })
      const parts = partsFrom(this.#tape)
      const whole = !signal.aborted && !this.#tape.once(5)
      if (shown !== '') tap.reset('retry')
      shown = ''
      // A fault and a stop leave what had come by then.
      const heard = whole ? parts : parts.slice(0, this.#tape.below(parts.length + 1))
      if (!signal.aborted || whole) shown = this.#show(heard, tap)
      this.#spend(this.#tape.of(10, 10, 10, 5_000, 15_000, 60_000))
      this.#maybeStop(40)
      const done = whole && (!signal.aborted || this.#tape.once(2))
      const model = ask.targets[target]?.model ?? ''
      const fault = done ? null : signal.aborted ? 'cancelled' : 'network'
      const ended = attemptFrom(this.#tape, { step: ask.step, attempt, model }, fault)
      this.attempts.push(ended)
      tap.attemptEnded(ended)
      if (done)
        return {
          kind: 'answer',
          message: { parts, stop: stopFrom(this.#tape), target, provider_data: this.#tape.of(null, { id: 'm1' }) },
        }
      if (signal.aborted) return { kind: 'interrupted', shown, target }
      if (shown === '' && this.#tape.once(2)) return this.#giveUp(ask, signal, target)
      if (this.#tape.once(2)) {
        return { kind: 'failed', failure: { code: 'provider_unavailable', detail: 'HTTP 500' }, shown, target }
      }
    }
  }

  #giveUp(ask: Ask, signal: AbortSignal, target: number): StepAnswer {
    this.#spend(Math.max(0, ask.giveUpAt - this.now))
    return signal.aborted && this.#tape.once(2) ? { kind: 'interrupted', shown: '', target } : { kind: 'out_of_time' }
  }

  /** What is visible of the parts. */
  #show(parts: readonly ModelPart[], tap: StepTap): string {
    let shown = ''
    for (const part of parts) {
      if (part.type === 'reasoning') tap.reasoning(part.text)
      if (part.type !== 'text' || part.text === '') continue
      const half = part.text.length >> 1
      for (const chunk of [part.text.slice(0, half), part.text.slice(half)]) if (chunk !== '') tap.text(chunk)
      shown += part.text
    }
    return shown
  }

  async #tool(
    record: RunRecord,
    order: CallOrder,
    attemptStarting: (attempt: number) => Promise<void>,
    signal: AbortSignal,
  ): Promise<CallOutcome> {
    assert.ok(!signal.aborted, 'a call is sent after the stop')
    assert.ok(!this.outcomes.has(order.callId), 'a call is sent twice')
    const breach = this.#breaches.get(order.tool.name)
    assert.ok(breach === undefined || breach === record.steps, 'a closed tool is called')
    assert.equal(this.asks.at(-1)?.toolChoice, 'auto', 'a call is sent on a step without tools')
    assert.equal(order.deadlineAt, lastCallAt(record))
    assert.ok(record.batch?.calls.some((one) => one.callId === order.callId && one.decision.kind === 'send'))
    this.outcomes.set(order.callId, 'under way')
    this.#underWay += 1
    assert.ok(this.#underWay <= 8, 'more than eight calls at once')
    await attemptStarting(1)
    const outcome = signal.aborted ? notSent : await this.#answerOf(order.tool, signal)
    if (outcome.kind === 'not_deferred') this.#breaches.set(order.tool.name, record.steps)
    this.outcomes.set(order.callId, outcome)
    this.#underWay -= 1
    return outcome
  }

  async #answerOf(asked: Tool, signal: AbortSignal): Promise<CallOutcome> {
    for (let ticks = this.#tape.below(3); ticks > 0; ticks -= 1) await Promise.resolve()
    this.#spend(this.#tape.of(5, 5, 5, 20_000))
    this.#maybeStop(30)
    return outcomeFrom(this.#tape, asked, signal.aborted)
  }
}

export interface Snapshot {
  readonly json: string
  readonly now: number
  /** How many calls had come to the tool port. */
  readonly calls: number
  readonly lengths: readonly (readonly [unknown[], number])[]
}

export interface ResumedRun {
  readonly record: RunRecord
  readonly ending: Ending
}

const notSent: CallOutcome = { kind: 'not_sent', attempts: 0, durationMs: 0, resultBytes: 0 }

function reread(json: string): JsonObject {
  const parsed = parseJson(json)
  assert.ok(parsed.ok)
  return parsed.value as JsonObject
}

/** A history in which the harness has closed what the run left open. */
export function closedHistory(record: RunRecord): StoredMessage[] {
  const closed = record.pending.map(({ call_id, tool: name }): StoredMessage => ({
    role: 'tool',
    call_id,
    tool: name,
    is_error: true,
    error: 'superseded',
  }))
  return [...record.request.messages, ...record.messages, ...closed]
}
