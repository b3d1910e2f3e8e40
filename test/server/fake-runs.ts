/** A run store that does what a test tells it: answers of `admit` are scripted, runs end when the test says so. */
import { runId as toRunId, type RunId } from '../../src/contract/ids.ts'
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import type { DeliveryState } from '../../src/contract/delivery.ts'
import type { Callback } from '../../src/contract/run-request.ts'
import type { Status } from '../../src/contract/result.ts'
import { createRunEventLog, type RunEventLog } from '../../src/runs/event-log.ts'
import type { Admission, AdmitOutcome, DeliveryAttempt, EventLog, RunStore, RunView } from '../../src/runs/ports.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface FakeRun {
  readonly view: Mutable<RunView>
  readonly log: RunEventLog
  readonly attempts: DeliveryAttempt[]
  callback: Callback | null
}

export const ID = toRunId('01J00000000000000000000000')
export const OTHER_ID = toRunId('01J00000000000000000000001')

export class FakeRuns {
  readonly runs = new Map<string, FakeRun>()
  readonly admissions: Admission[] = []
  readonly calls: string[] = []
  /** What `admit` answers next. */
  outcome: AdmitOutcome = { kind: 'new', runId: ID }
  running = 0
  /** Called on `requestCancel` of a running run. */
  onCancel: (runId: string) => void = () => {}
  /** Signals of waits that are still open. */
  readonly waits = new Set<AbortSignal>()
  readonly #waiters = new Set<() => void>()

  add(runId: RunId = ID): FakeRun {
    const attempts: DeliveryAttempt[] = []
    const run: FakeRun = {
      view: {
        runId,
        state: 'running',
        status: 'running',
        startedAt: '2026-11-30T12:00:00.000Z',
        deadlineAt: '2026-11-30T12:05:00.000Z',
        warnings: [],
        delivery: { state: 'none', attempts, attempts_left_off: 0 },
        result: null,
      },
      log: createRunEventLog(),
      attempts,
      callback: null,
    }
    this.runs.set(runId, run)
    return run
  }

  append(...events: StreamEvent[]): void {
    for (const event of events) this.runs.get(ID)?.log.append(event)
  }

  /** `json` is the result's text as it is sent everywhere. */
  end(json: string, status: Status = 'completed', runId: RunId = ID): void {
    const run = this.runs.get(runId)
    if (run === undefined) throw new Error('no such run')
    Object.assign(run.view, { state: 'ended', status, result: { json, status } })
    run.log.append({
      event: 'done',
      data: { status, stop_reason: null, limit_reached: null, error: null, pending: 0 },
    })
    for (const wake of this.#waiters) wake()
  }

  readonly store: RunStore = {
    admit: async (admission) => {
      this.admissions.push(admission)
      return this.outcome
    },
    get: async (runId) => this.runs.get(runId)?.view ?? null,
    waitForStatus: (runId, signal) => this.store.waitForEnd(runId, signal),
    waitForEnd: async (runId, signal) => {
      this.waits.add(signal)
      await new Promise<void>((resolve) => {
        const look = () => {
          const run = this.runs.get(runId)
          if (run !== undefined && run.view.result === null && !signal.aborted) return
          this.#waiters.delete(look)
          signal.removeEventListener('abort', look)
          resolve()
        }
        this.#waiters.add(look)
        signal.addEventListener('abort', look)
        look()
      })
      this.waits.delete(signal)
      return this.runs.get(runId)?.view ?? null
    },
    requestCancel: async (runId) => {
      this.calls.push(`cancel ${runId}`)
      const run = this.runs.get(runId)
      if (run === undefined) return 'none'
      if (run.view.result !== null) return 'ended'
      this.onCancel(runId)
      return 'requested'
    },
    ack: async (runId) => {
      this.calls.push(`ack ${runId}`)
      const run = this.runs.get(runId)
      if (run === undefined) return 'run_not_found'
      if (run.view.result === null) return 'run_active'
      this.#settle(run, 'acked')
      return 'stored'
    },
    redeliver: async (runId) => {
      this.calls.push(`redeliver ${runId}`)
      const run = this.runs.get(runId)
      if (run === undefined) return 'run_not_found'
      if (run.view.result === null) return 'run_active'
      return run.callback === null ? 'no_callback' : 'begun'
    },
    delivered: async (runId) => {
      this.calls.push(`delivered ${runId}`)
      const run = this.runs.get(runId)
      if (run !== undefined) this.#settle(run, 'delivered')
    },
    callback: async (runId) => this.runs.get(runId)?.callback ?? null,
    noteDelivery: async (runId, attempt, state) => {
      this.calls.push(`note ${runId} ${attempt.status} ${state}`)
      const run = this.runs.get(runId)
      if (run === undefined) return
      run.attempts.push(attempt)
      if (run.view.state === 'ended') run.view.delivery = { state, attempts: run.attempts, attempts_left_off: 0 }
      this.onNote()
    },
    counts: async () => ({ running: this.running, undelivered: 0 }),
  }

  onNote: () => void = () => {}

  readonly events: EventLog = {
    read: async (runId, after, signal) => this.runs.get(runId)?.log.read(after, signal) ?? null,
  }

  #settle(run: FakeRun, state: DeliveryState): void {
    if (run.view.state !== 'ended') return
    Object.assign(run.view, { state: 'stored', delivery: { state, attempts: run.attempts, attempts_left_off: 0 } })
  }
}
