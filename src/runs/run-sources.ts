/**
 * Where a run's answers, times and ids come from. Everything about a run that is not in its record comes through here, which
 * is what lets a run be recorded and played again.
 */
import { ulid } from 'ulid'
import { callId, type CallId } from '../contract/ids.ts'
import type { EnginePorts, Interruption, ModelPort, ToolPort } from '../engine/ports.ts'
import type { RunRecord } from '../engine/record.ts'
import { steadyClock } from './steady-clock.ts'

export interface RunSources {
  /** A model port for one run: what it learns about a provider on the way stays within the run. */
  readonly model: ModelPort
  readonly tools: ToolPort
  readonly ticket: EnginePorts['ticket']
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly newCallId: () => CallId
  /** Runs it once that time has come, in ms since the epoch; the function that comes back takes it off. */
  readonly atDeadline: (at: number, run: () => void) => () => void
  /** The run is being stopped; called once more where that ends what is drained after a cancel. */
  readonly stopped: (why: Interruption) => void
  /** The run has ended with this result; called once, last. */
  readonly ended: (json: string) => void
}

/** Called once a run, before its first step. */
export type SourcesFor = (record: RunRecord) => RunSources

export interface LiveParts {
  /** `now`: the run's clock, by which its deadline is set. `release`: called when the run has ended. */
  readonly modelForRun: (now: () => number) => ModelPort & { release(): void }
  readonly toolsForRun: (now: () => number) => ToolPort
  readonly ticket: EnginePorts['ticket']
}

/** The world as it is: this machine's time as the run begins, and what passes from then on; ids made anew. */
export function liveSources(parts: LiveParts): RunSources {
  const now = steadyClock()
  const model = parts.modelForRun(now)
  return {
    model,
    tools: parts.toolsForRun(now),
    ticket: parts.ticket,
    now,
    newCallId: () => callId(ulid()),
    atDeadline(at, run) {
      const timer = setTimeout(run, at - now())
      return () => clearTimeout(timer)
    },
    stopped: () => {},
    ended: () => model.release(),
  }
}
