/**
 * The text of a step on its way to the disk: what a reader was shown is worth keeping when the step is cut, and not worth a
 * write for every piece. Pieces are gathered and told together, so that of a killed run at most the last second is missing;
 * those of all runs at the same moments, because many small writes in one go cost a fraction of as many apart.
 */
import type { StreamEvent } from '../contract/stream-event.ts'

/** Text of a step from `offset` on (UTF-16 units); what stood there before is void. */
export interface ShownText {
  readonly step: number
  readonly offset: number
  readonly text: string
}

const GATHER_MS = 1000

export interface ShownTextGatherer {
  readonly note: (event: StreamEvent) => void
  /** What was shown stands in a message now, or the run has ended: nothing of it is told any more. */
  readonly clear: () => void
}

/** Calls all that wait, in one go, within a second of the first. */
export interface SharedMoment {
  wait(call: () => void): void
  stopWaiting(call: () => void): void
}

export function createSharedMoment(): SharedMoment {
  const waiting = new Set<() => void>()
  let timer: NodeJS.Timeout | null = null

  function come(): void {
    timer = null
    const calls = [...waiting]
    waiting.clear()
    for (const call of calls) call()
  }

  return {
    wait(call) {
      waiting.add(call)
      timer ??= setTimeout(come, GATHER_MS).unref()
    },
    stopWaiting: (call) => void waiting.delete(call),
  }
}

/** `tell` is called at most once a second, and at once where a text that was told is void. */
export function gatherShownText(moment: SharedMoment, tell: (shown: ShownText) => void): ShownTextGatherer {
  let step = 0
  let offset = 0
  let pieces: string[] = []

  function clear(): void {
    moment.stopWaiting(flush)
    pieces = []
  }

  function flush(): void {
    const text = pieces.join('')
    clear()
    tell({ step, offset, text })
  }

  function note(event: StreamEvent): void {
    if (event.event === 'reset') {
      clear()
      tell({ step: event.data.step, offset: 0, text: '' })
    }
    if (event.event !== 'delta') return
    if (pieces.length === 0) {
      ;({ step, offset } = event.data)
      moment.wait(flush)
    }
    pieces.push(event.data.text)
  }

  return { note, clear }
}

/** The text that stood in a step when the run was cut. '': none, or of another step. */
export function shownTextOf(told: readonly ShownText[], step: number): string {
  let text = ''
  for (const shown of told) if (shown.step === step) text = text.slice(0, shown.offset) + shown.text
  return text
}
