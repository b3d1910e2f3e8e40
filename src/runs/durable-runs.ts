/**
 * Runs that outlast the process: the memory of `memory-runs.ts`, with a spool beside it. The memory decides everything; here
 * it is only written down, at the moments a promise depends on:
 *
 *     admit ── durable ──▶ 202      calls decided ── written ──▶ tool      result ── durable ──▶ done, callback
 *     ack ── durable ──▶ 200        attempt, step, attempt to deliver: written, nobody waits
 *
 * A run begins while its first frame is still on its way to the disk: a first token is not held up, and no tool is called
 * before. Where the frame cannot be written the run is taken back. Later faults let the run go on in memory, and are
 * journalled once a run.
 */
import { join } from 'node:path'
import { createMemoryRuns, type MemoryRuns, type MemoryRunsOptions } from './memory-runs.ts'
import type { DeliveryState } from '../contract/delivery.ts'
import type { RunId } from '../contract/ids.ts'
import type { Callback } from '../contract/run-request.ts'
import type { StreamEvent } from '../contract/stream-event.ts'
import type { CommitPoint, EnginePorts } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import type {
  AckOutcome,
  Admission,
  AdmitOutcome,
  DeliveryAttempt,
  RedeliverOutcome,
  ResultBytes,
  RunLease,
  RunQueue,
  RunStore,
} from './ports.ts'
import { restartedResult } from './restarted.ts'
import { createSharedMoment, gatherShownText } from './shown-text.ts'
import { endedOf, endedRun } from './ended-run.ts'
import { keptRequest } from './kept-request.ts'
import type { EndedRun } from './run-entry.ts'
import { doneEvent, endedEntry } from './runner.ts'
import type { Sealer } from './sealer.ts'
import type { OnWrite, When, WriteFault } from './spool-file.ts'
import { Spool } from './spool.ts'
import { loadKeys, loadRuns, type LeftRun, type LoadOptions, type UnreadableFile } from './spool-load.ts'
import { codeOf, type StateDisk } from './state-disk.ts'
import { takeLock } from './state-lock.ts'
import { progressOf, recordOf, toldAtFirst, type Accepted, type KnownKey } from './spool-record.ts'

export interface DurableRunsOptions extends Omit<MemoryRunsOptions, 'onAdmitted' | 'onDropped'> {
  /** STATE_DIR: it must be there, and this process must be the only one to use it. */
  readonly directory: string
  readonly sealer: Sealer
  /** Default: the real one. */
  readonly disk?: StateDisk
  /** STATE_MAX_BYTES. */
  readonly maxBytes: number
  /** Told of every write to it. Default: nobody. */
  readonly onWrite?: OnWrite
  /** Told of each run that an earlier life left, before anything else is: what is known of its secrets. */
  readonly onLeft: (runId: RunId, callback: Callback | null) => void
  /** Told after that of a run that was going on, before its end is journalled. Default: nobody is. */
  readonly onCut?: (record: RunRecord) => void
  readonly ticket: EnginePorts['ticket']
  readonly say: EnginePorts['say']
}

export type Recovery =
  /** The runs whose result is to be delivered, and those that were being sent again though the harness had them. */
  | { readonly ok: true; readonly undelivered: readonly RunId[]; readonly again: readonly RunId[] }
  /** Why the folder cannot be used: one sentence for the operator. */
  | { readonly ok: false; readonly reason: string }

export interface DurableRuns extends Pick<MemoryRuns, 'store' | 'queue' | 'events'> {
  /** Takes up what an earlier life of the engine left; called once, before anything is admitted. */
  recover(): Promise<Recovery>
  /** Resolves when everything is written and every file closed. */
  close(): Promise<void>
}

export function createDurableRuns(options: DurableRunsOptions): DurableRuns {
  const runs = new Durable(options)
  return {
    store: runs,
    queue: runs,
    events: runs.memory.events,
    recover: () => runs.recover(),
    close: () => runs.close(),
  }
}

/** A request leaves behind these. */
const SENDING: ReadonlySet<CommitPoint> = new Set(['attempt', 'tool_attempt'])

/** A run as far as it must be known to write it down. */
interface Written {
  readonly accepted: Accepted
  /** Resolves to whether the run may go on: its first frame is durable. */
  readonly begun: Promise<boolean>
}

class Durable implements RunStore, RunQueue {
  readonly memory: MemoryRuns
  readonly #options: DurableRunsOptions
  readonly #spool: Spool
  readonly #moment = createSharedMoment()
  /** Of the runs that go on. */
  readonly #written = new Map<RunId, Written>()
  /** Of all runs that are kept. */
  readonly #keys = new Map<RunId, KnownKey>()
  /** Runs of which something could not be written: that is told once. */
  readonly #lost = new Set<RunId>()

  #release: () => Promise<void> = async () => {}

  constructor(options: DurableRunsOptions) {
    this.#options = options
    this.#spool = new Spool(options)
    this.memory = createMemoryRuns({
      ...options,
      onAdmitted: (key, admission, record) => this.#begin(key, admission, record),
      onDropped: (runIds) => this.#drop(runIds),
    })
  }

  async close(): Promise<void> {
    this.memory.close()
    this.#moment.close()
    await this.#spool.close()
    await this.#release()
  }

  // ------------------------------------------------------------------------------------------------------ store

  #begin(key: KnownKey, { request, warnings }: Admission, record: RunRecord): void {
    const { runId } = key
    const at = record.deadlineAt - request.limits.timeout_ms
    const accepted: Accepted = { kind: 'accepted', at, key, request: keptRequest(request), warnings }
    const begun = this.#spool.begin(runId, accepted).then((fault) => {
      if (fault === null) return true
      this.#tellLost(runId, 'accepted', fault)
      // What is written of it is looked at until its loop has ended too.
      this.#keys.delete(runId)
      this.memory.revoke(runId)
      return false
    })
    this.#written.set(runId, { accepted, begun })
    this.#keys.set(runId, key)
  }

  async admit(admission: Admission): Promise<AdmitOutcome> {
    const outcome = await this.memory.store.admit(admission)
    if (outcome.kind !== 'new' && outcome.kind !== 'repeat') return outcome
    // A repeat promises as much as what it repeats.
    return (await this.#written.get(outcome.runId)?.begun) === false ? { kind: 'not_kept' } : outcome
  }

  async ack(runId: string): Promise<AckOutcome> {
    const outcome = await this.memory.store.ack(runId)
    if (outcome === 'stored') await this.#stored(runId, 'acked')
    return outcome
  }

  async delivered(runId: string): Promise<void> {
    await this.memory.store.delivered(runId)
    if ((await this.memory.store.get(runId))?.state === 'stored') await this.#stored(runId, 'delivered')
  }

  async redeliver(runId: string): Promise<RedeliverOutcome> {
    const known = this.#known(runId)
    const view = await this.memory.store.get(runId)
    // Written before it begins, so that what comes of it stands behind it.
    if (known !== undefined && view?.result && (await this.memory.store.callback(runId)) !== null) {
      this.#noted(known.runId, 'delivery', await this.#spool.again(known.runId))
    }
    return this.memory.store.redeliver(runId)
  }

  /** After a loss of power a result may be delivered once more; only an ack promises that it is not. */
  async #stored(runId: string, by: 'delivered' | 'acked'): Promise<void> {
    const known = this.#known(runId)
    if (known === undefined) return
    const stored = { kind: 'stored', by, at: Date.now() } as const
    this.#noted(known.runId, 'stored', await this.#spool.stored(known.runId, stored, by === 'acked' ? 'synced' : 'now'))
  }

  async noteDelivery(runId: string, attempt: DeliveryAttempt, state: DeliveryState): Promise<void> {
    const known = this.#known(runId)
    if (known !== undefined) {
      const written = this.#spool
        .tried(known.runId, { kind: 'tried', attempt, state })
        .then((fault) => this.#noted(known.runId, 'delivery', fault))
      // To wait for that one would part it from what follows.
      if (state !== 'delivered') await written
    }
    await this.memory.store.noteDelivery(runId, attempt, state)
  }

  get(runId: string) {
    return this.memory.store.get(runId)
  }

  waitForStatus(runId: string, signal: AbortSignal) {
    return this.memory.store.waitForStatus(runId, signal)
  }

  waitForEnd(runId: string, signal: AbortSignal) {
    return this.memory.store.waitForEnd(runId, signal)
  }

  requestCancel(runId: string) {
    return this.memory.store.requestCancel(runId)
  }

  callback(runId: string) {
    return this.memory.store.callback(runId)
  }

  counts() {
    return this.memory.store.counts()
  }

  // ------------------------------------------------------------------------------------------------------ queue

  start(handle: (lease: RunLease) => Promise<void>): void {
    this.memory.queue.start((lease) => handle(this.#leaseOf(lease)))
  }

  drain(signal: AbortSignal): Promise<void> {
    return this.memory.queue.drain(signal)
  }

  #leaseOf(lease: RunLease): RunLease {
    const written = this.#written.get(lease.runId)
    if (written === undefined) return lease
    const told = toldAtFirst(written.accepted)
    const text = gatherShownText(this.#moment, this.memory.tail(lease.runId), (shown) => {
      void this.#spool.shown(lease.runId, shown).then((fault) => this.#noted(lease.runId, 'progress', fault))
    })
    const note = async (record: RunRecord, when: When) => {
      const progress = progressOf(record, told)
      if (progress === null) return
      if (progress.messages !== undefined) text.clear()
      this.#noted(lease.runId, 'progress', await this.#spool.progress(lease.runId, progress, when))
    }
    return {
      ...lease,
      commit: async (record, point) => {
        // A tool's answer, the step it ends and the next attempt are one write so, and not three.
        const noting = note(record, SENDING.has(point) ? 'now' : 'soon')
        // The ids of its calls, and that one is about to be sent, are known before it is.
        if (point === 'tool_attempt') await noting
      },
      announce: async (record, done) => {
        // Whoever was told that it is cancelled finds it so after a restart.
        await note(record, 'now')
        await lease.announce(record, done)
      },
      append(event) {
        lease.append(event)
        if (event.event === 'reset') text.flush()
      },
      finish: (record, result, done) => {
        text.stop()
        return this.#finish(lease, written, record, result, done)
      },
    }
  }

  async #finish(
    lease: RunLease,
    written: Written,
    record: RunRecord,
    result: ResultBytes,
    done: StreamEvent,
  ): Promise<void> {
    if (await written.begun) {
      const ended = endedOf(written.accepted, record, result, done)
      this.#noted(lease.runId, 'result', await this.#spool.end(lease.runId, ended, result.json))
    }
    this.#written.delete(lease.runId)
    await lease.finish(record, result, done)
  }

  #drop(runIds: readonly RunId[]): void {
    const now = Date.now()
    const keys = runIds.map((runId) => this.#keys.get(runId)).filter((key) => key !== undefined)
    for (const runId of runIds) this.#forget(runId)
    void this.#spool
      .remove(
        runIds,
        keys.filter(({ expiresAt }) => expiresAt > now),
      )
      .then((fault) => {
        const [first] = runIds
        if (fault !== null && first !== undefined) this.#tellLost(first, 'key', fault)
      })
  }

  #forget(runId: RunId): void {
    this.#written.delete(runId)
    this.#keys.delete(runId)
    this.#lost.delete(runId)
  }

  #known(runId: string): KnownKey | undefined {
    return this.#keys.get(runId as RunId)
  }

  #noted(runId: RunId, what: Lost, fault: WriteFault): void {
    if (fault === null || this.#lost.has(runId)) return
    this.#lost.add(runId)
    this.#tellLost(runId, what, fault)
  }

  #tellLost(runId: RunId, what: Lost, code: string): void {
    this.#options.journal({ event: 'state_lost', run_id: runId, what, code })
  }

  // ------------------------------------------------------------------------------------------------------ recovery

  async recover(): Promise<Recovery> {
    const lock = await takeLock(join(this.#options.directory, 'lock'))
    if (!lock.ok) return lock
    this.#release = lock.release
    try {
      return { ok: true, ...(await this.#recover()) }
    } catch (error) {
      return { ok: false, reason: `it cannot be read (${codeOf(error)})` }
    }
  }

  async #recover(): Promise<Omit<Extract<Recovery, { ok: true }>, 'ok'>> {
    const { directory, sealer, undeliveredTtlMs, journal } = this.#options
    const options: LoadOptions = { directory, sealer, unreadableTtlMs: undeliveredTtlMs }
    const runs: EndedRun[] = []
    const again: RunId[] = []
    const tellUnreadable = ({ runId, name, code }: UnreadableFile) =>
      journal({ event: 'state_unreadable', run_id: runId, file: name, code })
    for await (const left of loadRuns(options)) {
      if (left.kind === 'ended' && left.stored !== null && left.again) again.push(left.runId)
      if (left.kind === 'unreadable') tellUnreadable(left)
      else runs.push(left.kind === 'cut' ? await this.#endCut(left) : this.#takeUp(left))
    }
    const { keys, names, unreadable } = await loadKeys(options, Date.now())
    for (const left of unreadable) tellUnreadable(left)
    await this.#spool.replaceKeys(keys, names)
    this.memory.restore(runs, [...keys, ...this.#keys.values()])
    const undelivered = runs.filter(({ stored, delivery }) => !stored && delivery.state === 'pending')
    return { undelivered: undelivered.map(({ runId }) => runId), again }
  }

  #takeUp(left: Extract<LeftRun, { kind: 'ended' }>): EndedRun {
    const { runId, ended, json, tried, stored, again } = left
    this.#options.onLeft(runId, ended.callback)
    this.#spool.adopt(runId, left.file, stored !== null && !again)
    this.#keys.set(runId, ended.key)
    const isGone = !again && tried.at(-1)?.state === 'gone'
    return endedRun(runId, ended, json, { attempts: tried.map(({ attempt }) => attempt), stored, isGone })
  }

  /** It was going on: it ends now, and that is written before anybody is told. */
  async #endCut({ runId, name, accepted, progresses, shown }: Extract<LeftRun, { kind: 'cut' }>): Promise<EndedRun> {
    const { journal, say, ticket, onLeft } = this.#options
    onLeft(runId, accepted.request.callback)
    const record = recordOf(runId, accepted, progresses)
    this.#options.onCut?.(record)
    const result = restartedResult(record, shown, accepted.request.promptTokens, { now: () => Date.now(), say, ticket })
    const bytes: ResultBytes = { json: JSON.stringify(result), status: result.status }
    const ended = endedOf(accepted, record, bytes, doneEvent(result))
    this.#keys.set(runId, accepted.key)
    this.#noted(runId, 'result', await this.#spool.end(runId, ended, bytes.json, name))
    // Its text may hold a secret of the request, and those are not kept.
    journal(endedEntry(result))
    return endedRun(runId, ended, bytes.json, { attempts: [], stored: null, isGone: false })
  }
}

/** What could not be written. */
type Lost = 'accepted' | 'progress' | 'result' | 'delivery' | 'stored' | 'key'
