/**
 * The text of a step on its way to the disk: what a reader was shown is worth keeping when the step is cut, and not worth a
 * write for every piece. Pieces are gathered and told together, so that of a killed run at most the last two seconds are
 * missing; those of all runs at the same moments, because many small writes in one go cost a fraction of as many apart.
 */
import type { EventTail } from './event-log.ts'

/** Text of a step from `offset` on (UTF-16 units); what stood there before is void. */
export interface ShownText {
  readonly step: number
  readonly offset: number
  readonly text: string
}

const GATHER_MS = 2000

export interface ShownTextGatherer {
  /** A text that was told is void: that is told at once. */
  readonly flush: () => void
  /** What was shown stands in a message now: nothing of it is told any more. */
  readonly clear: () => void
  /** The run has ended. */
  readonly stop: () => void
}

/** Calls all that wait, in one go, every `GATHER_MS` while there are any. */
export interface SharedMoment {
  wait(call: () => void): void
  stopWaiting(call: () => void): void
  /** Nobody waits any more. */
  close(): void
}

export function createSharedMoment(): SharedMoment {
  const waiting = new Set<() => void>()
  let timer: NodeJS.Timeout | null = null

  function come(): void {
    for (const call of waiting) call()
  }

  function close(): void {
    waiting.clear()
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  return {
    wait(call) {
      waiting.add(call)
      timer ??= setInterval(come, GATHER_MS).unref()
    },
    stopWaiting(call) {
      waiting.delete(call)
      if (waiting.size === 0) close()
    },
    close,
  }
}

/** What a run shows is looked at now and then, not piece by piece; `tell` is called where there is more of it. */
export function gatherShownText(
  moment: SharedMoment,
  tail: EventTail,
  tell: (shown: ShownText) => void,
): ShownTextGatherer {
  function flush(): void {
    let shown: ShownText[] = []
    for (const { data, event } of tail.take()) {
      if (event === 'reset') shown = [{ step: data.step, offset: 0, text: '' }]
      else if (event === 'delta') shown.push({ step: data.step, offset: data.offset, text: data.text })
    }
    for (const one of shown) tell(one)
  }

  moment.wait(flush)
  return { flush, clear: () => tail.skip(), stop: () => moment.stopWaiting(flush) }
}

/** The text that stood in a step when the run was cut. '': none, or of another step. */
export function shownTextOf(told: readonly ShownText[], step: number): string {
  let text = ''
  for (const shown of told) if (shown.step === step) text = text.slice(0, shown.offset) + shown.text
  return text
}
