/**
 * Makes V8 collect its garbage now. It collects when something new asks for room; an engine that takes no run because memory
 * is short asks for little, and what an earlier rush left would keep its door shut. The only place that does this: the
 * process stands still meanwhile.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

let collect: (() => void) | null = null

export function collectGarbage(): void {
  collect ??= collector()
  collect()
}

/** V8 has no other way to it than a flag that new contexts look at. */
function collector(): () => void {
  setFlagsFromString('--expose-gc')
  const found = runInNewContext('gc') as () => void
  setFlagsFromString('--no-expose-gc')
  return found
}
