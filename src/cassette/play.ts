/**
 * One recorded run, run again: the same runner, loop, model chain, dialects and tools, with a cassette where the world was.
 *
 * Installs `VirtualTime`, so it belongs in a thread of its own (`play-thread.ts`). A key's queue and what a key is exchanged
 * for are played from the cassette: they belong to many runs.
 */
import { callId as asCallId, type CallId } from '../contract/ids.ts'
import { instantOf } from '../contract/instant.ts'
import type { JournalEntry, ToolPort } from '../engine/ports.ts'
import { openRecord } from '../engine/record.ts'
import type { Locale } from '../i18n/say.ts'
import { sayIn } from '../i18n/say.ts'
import { providerTable } from '../providers/built-in.ts'
import type { AttemptFault } from '../providers/attempt-fault.ts'
import type { Scope } from '../providers/gigachat/token-settings.ts'
import { createModel, type ModelSources } from '../providers/model.ts'
import type { RunLease } from '../runs/ports.ts'
import type { RunSources } from '../runs/run-sources.ts'
import { createRunner } from '../runs/runner.ts'
import { checkValue } from '../tools/arguments.ts'
import { createLateResults, type LateAnswer, type LateResults } from '../tools/late-results.ts'
import { createTools } from '../tools/tools.ts'
import type { AuthorizationLine, Cassette, RunFacts, SlotLine, StopLine } from './format.ts'
import { Player } from './playing-egress.ts'
import { SECRET } from './secrets.ts'
import { VirtualTime } from './virtual-time.ts'

export interface Played {
  /** null: the run waited for something that the cassette does not hold. */
  readonly json: string | null
  /** What the run said of failures and bugs on the way. */
  readonly journal: readonly JournalEntry[]
}

export async function play(cassette: Cassette): Promise<Played> {
  const { run, lines } = cassette
  const startedAt = instantOf(run.record.startedAt)
  const time = new VirtualTime(startedAt)
  time.install()
  const player = new Player(lines, time, startedAt)
  const given = new Given(cassette.readings, time)
  const lateResults = createLateResults({ now: () => time.now })
  playLateResults(cassette, time, startedAt, lateResults)
  const stops = { cancelled: new AbortController(), lost: new AbortController(), shutdown: new AbortController() }
  // The second one ended what was drained after a cancel.
  const stopLines = lines.filter((line) => line.kind === 'stop')
  for (const line of stopLines) {
    if (line.why === 'deadline') continue
    const stop = stops[line.why]
    playStop(line, startedAt, time, given, () => stop.abort())
  }
  let deadlines = 0
  const journal: JournalEntry[] = []
  let json: string | null = null
  const sources: RunSources = {
    model: playedModel(cassette, player, given),
    tools: playedTools(player, given, lateResults),
    ticket: () => SECRET,
    now: given.clock('clock run'),
    newCallId: () => given.callId(),
    atDeadline(at, run) {
      const line = stopLines[deadlines]
      deadlines += 1
      return line?.why === 'deadline'
        ? playStop(line, startedAt, time, given, run)
        : time.schedule(at, Number.MAX_SAFE_INTEGER, run)
    },
    stopped: () => {},
    ended: (result) => (json = result),
  }
  const runner = createRunner({
    sourcesFor: () => sources,
    outbox: { add: () => {} },
    // Written from the settings, which had checked it.
    say: sayIn(run.facts.locale as Locale),
    checkOutput: checkValue,
    journal: (entry) => journal.push(entry),
    shutdown: stops.shutdown.signal,
  })
  await time.runUntil(runner(leaseOf(cassette, stops)))
  return { json, journal: journal.filter(({ event }) => event === 'failed' || event === 'bug') }
}

interface Stops {
  readonly cancelled: AbortController
  readonly lost: AbortController
  readonly shutdown: AbortController
}

/** Other code may take fewer readings: so long a stop waits for them. */
const STOP_PATIENCE_MS = 10

function playLateResults({ lines, run }: Cassette, time: VirtualTime, startedAt: number, door: LateResults): void {
  for (const line of lines) {
    if (line.kind !== 'late_result') continue
    // Taken from a call's door when it was recorded, so it has the form.
    const answer = line.answer as unknown as LateAnswer
    time.schedule(startedAt + line.at, line.seq, () => void door.record(run.record.runId, line.call_id, answer))
  }
}

/** A stop comes when it came, behind every reading that was taken before it. */
function playStop(line: StopLine, startedAt: number, time: VirtualTime, given: Given, stop: () => void): () => void {
  let off: () => void = () => {}
  const due = (at: number, patience: number) => {
    off = time.schedule(at, line.seq, () => {
      // Timers may be due at the same moment: those that were first then are first now.
      if (patience > 0 && given.isBehind(line.readings)) return due(time.now + 1, patience - 1)
      given.align(line.readings)
      stop()
    })
  }
  due(startedAt + line.at, STOP_PATIENCE_MS)
  return () => off()
}

function leaseOf({ run }: Cassette, { cancelled, lost }: Stops): RunLease {
  return {
    runId: run.record.runId,
    cancelled: cancelled.signal,
    lost: lost.signal,
    // What a later version has beside stands as it would in a new run.
    load: async () => ({ ...openRecord(run.record.runId, run.record.request, [], 0), ...run.record }),
    commit: async () => undefined,
    announce: async () => undefined,
    finish: async () => undefined,
    append: () => {},
  }
}

function playedModel({ lines, run }: Cassette, player: Player, given: Given): RunSources['model'] {
  const { facts } = run
  const slots = lines.filter((line): line is SlotLine => line.kind === 'slot')
  const authorizations = lines.filter((line): line is AuthorizationLine => line.kind === 'authorization')
  const gate: ModelSources['gate'] = {
    async acquire(_key, _session, signal) {
      const slot = slots.shift()
      // More than were recorded are asked for by other code than recorded them: they are there at once.
      const granted = slot === undefined || (await player.until(slot.granted ? slot : null, signal))
      return granted ? { release: () => {} } : null
    },
  }
  const credentials: ModelSources['credentials'] = async (_key, signal) => {
    const line = authorizations.shift()
    if (line !== undefined) await player.until(line, signal)
    if (line === undefined || line.fault === null) return { kind: 'granted', headers: {}, refused: () => {} }
    // Written from such a fault.
    return { kind: 'denied', fault: line.fault as unknown as AttemptFault }
  }
  const model = createModel({
    egress: player.egress('model'),
    // Written from the settings, which had checked it.
    table: providerTable(facts.gigachat_scope as Scope),
    keys: keysOf(facts),
    gate,
    firstTokenMs: facts.first_token_ms,
    stallMs: facts.stall_ms,
    now: given.clock('clock model'),
    random: given.random('random model'),
  })
  return model.forRun((shared) => ({ ...shared, credentials }))
}

function keysOf({ base_urls: baseUrls, certified, keys }: RunFacts): ModelSources['keys'] {
  const marked = Object.fromEntries(keys.map((provider) => [provider, SECRET]))
  return { keys: marked, baseUrls, certified: certified as NonNullable<ModelSources['keys']['certified']> }
}

function playedTools(player: Player, given: Given, lateResults: LateResults): ToolPort {
  const toolsOf = (lane: string) =>
    createTools({
      egress: player.egress(lane),
      lateResults,
      now: given.clock(`clock ${lane}`),
      random: given.random(`random ${lane}`),
      resultUrl: () => SECRET,
    })
  return {
    checkArgs: toolsOf('').checkArgs,
    call: (order, attemptStarting, signal) => toolsOf(order.callId).call(order, attemptStarting, signal),
  }
}

/** What the run was given one by one, given again; once that is used up, the time of the replay, the middle, a new id. */
class Given {
  readonly #readings: ReadonlyMap<string, readonly (number | string)[]>
  readonly #next = new Map<string, number>()
  readonly #time: VirtualTime
  #made = 0

  constructor(readings: Cassette['readings'], time: VirtualTime) {
    this.#readings = readings
    this.#time = time
  }

  /** Fewer readings were taken than these. */
  isBehind(taken: StopLine['readings']): boolean {
    return Object.entries(taken).some(([of, count]) => (this.#next.get(of) ?? 0) < count)
  }

  /** Goes on where the recorded run was by then. */
  align(taken: StopLine['readings']): void {
    for (const [of, count] of Object.entries(taken)) this.#next.set(of, count)
  }

  clock(of: string): () => number {
    return () => {
      const value = this.#number(of)
      if (value === null) return this.#time.now
      this.#time.advance(value)
      return value
    }
  }

  random(of: string): () => number {
    return () => this.#number(of) ?? 0.5
  }

  callId(): CallId {
    const value = this.#take('call_ids')
    this.#made += 1
    // Recorded as the engine made it.
    return typeof value === 'string' ? (value as CallId) : asCallId(`REPLAY${String(this.#made).padStart(20, '0')}`)
  }

  #number(of: string): number | null {
    const value = this.#take(of)
    return typeof value === 'number' ? value : null
  }

  #take(of: string): number | string | undefined {
    const index = this.#next.get(of) ?? 0
    this.#next.set(of, index + 1)
    return this.#readings.get(of)?.[index]
  }
}
