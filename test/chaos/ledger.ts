/**
 * What the world outside saw of an engine that is killed again and again: every request of a model, every call of a tool, every
 * result. The engine's own words are held against it. Nothing here asks the engine anything.
 */
import type { RunResult } from '../../src/contract/result.ts'
import { Signal } from '../conformance/facts.ts'

/** Figures that the provider told at the end of an answer that was written whole. */
export interface Told {
  readonly input: number
  readonly output: number
}

export interface Stored {
  readonly result: RunResult
  /** The very bytes of the result. */
  readonly text: string
  /** How often it was delivered. */
  times: number
}

export class Ledger {
  /** By idempotency key: the requests that came to the provider, by the ids that it answered them with. */
  readonly asked = new Map<string, Set<string>>()
  readonly told = new Map<string, Told>()
  /** By run, then by call: how often it came to a tool. */
  readonly called = new Map<string, Map<string, number>>()
  /** By run. */
  readonly stored = new Map<string, Stored>()
  /** The run that an idempotency key has its result of. */
  readonly runOfKey = new Map<string, string>()
  /** Results that their receiver did not want: whoever waits must fetch them. */
  readonly refused = new Set<string>()
  readonly counts = new Map<string, number>()
  readonly faults: string[] = []
  readonly changed = new Signal()

  fault(text: string): void {
    this.faults.push(text)
    this.changed.emit()
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1)
  }

  ask(key: string, id: string): void {
    const ids = this.asked.get(key) ?? new Set()
    this.asked.set(key, ids.add(id))
  }

  call(runId: string, callId: string): void {
    const calls = this.called.get(runId) ?? new Map<string, number>()
    this.called.set(runId, calls.set(callId, (calls.get(callId) ?? 0) + 1))
  }

  /** A result as its receiver has it. A second one of a run must be the first to the byte, and a key has one run. */
  store(key: string, text: string): void {
    const result = JSON.parse(text) as RunResult
    const { run_id: runId } = result
    const known = this.stored.get(runId)
    if (known !== undefined) {
      known.times += 1
      if (known.text !== text) this.fault(`${runId}: its result came again with other bytes`)
      return
    }
    const other = this.runOfKey.get(key)
    if (other !== undefined) this.fault(`${key}: two runs have a result: ${other} and ${runId}`)
    this.stored.set(runId, { result, text, times: 1 })
    this.runOfKey.set(key, runId)
    this.changed.emit()
  }

  refuse(runId: string): void {
    this.refused.add(runId)
    this.changed.emit()
  }
}
