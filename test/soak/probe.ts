/**
 * Loaded into the engine's process before it (`node --import`): tells what the process holds, and moves its clock, when its
 * parent asks by IPC. Nothing of it is in the product.
 *
 * Moving the clock is what a day does: `Date` is later from then on, and every interval has been due.
 */
import { Socket } from 'node:net'
import { queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What the parent sends. */
export type Question = { readonly ask: 'holdings' } | { readonly ask: 'later'; readonly ms: number }

/** What a process holds, after a collection of garbage. */
export interface Holdings {
  readonly heapBytes: number
  /** Buffers beside the heap. */
  readonly externalBytes: number
  /** Objects of these kinds that anything still points at, whether they are open or not. */
  readonly objects: { readonly timers: number; readonly sockets: number; readonly abortSignals: number }
}

let aheadMs = 0
const RealDate = Date
class LaterDate extends RealDate {
  constructor(...parts: [] | [number | string | Date]) {
    if (parts.length === 0) super(LaterDate.now())
    else super(...(parts as [number]))
  }
  static override now(): number {
    return RealDate.now() + aheadMs
  }
}
globalThis.Date = LaterDate as DateConstructor

/** Live intervals and what each calls. */
const intervals = new Map<unknown, () => void>()
const { clearInterval: realClear, setInterval: realSet } = globalThis
globalThis.setInterval = (call: () => void, ms?: number) => {
  const timer = realSet(call, ms)
  intervals.set(timer, call)
  return timer
}
globalThis.clearInterval = (timer: Parameters<typeof realClear>[0]) => {
  intervals.delete(timer)
  realClear(timer)
}

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
setFlagsFromString('--no-expose-gc')
const probeTimer = setTimeout(() => {}, 0)
const Timeout = probeTimer.constructor as new () => unknown
clearTimeout(probeTimer)

const count = (kind: abstract new (...parts: never[]) => unknown) => queryObjects(kind, { format: 'count' })

function holdings(): Holdings {
  collect()
  const objects = { timers: count(Timeout), sockets: count(Socket), abortSignals: count(AbortSignal) }
  collect()
  const { external, heapUsed } = process.memoryUsage()
  return { heapBytes: heapUsed, externalBytes: external, objects }
}

process.on('message', (question: Question) => {
  if (question.ask === 'later') {
    aheadMs += question.ms
    for (const call of intervals.values()) call()
  }
  process.send?.(holdings())
})
// It must not keep a process alive that has nothing else to do.
process.channel?.unref()
